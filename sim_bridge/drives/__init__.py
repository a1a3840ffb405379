"""
Wheeled and tracked drives: kinematics, limits of speed, odometry, and driving a robot.

Imports `robots`, `description` and `foundation`; nothing of ROS.
"""
