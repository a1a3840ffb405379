"""
Wheeled and tracked drives: kinematics, speed limits, odometry, and driving a robot.

It imports `robots`, `description` and `foundation`, and nothing from ROS.
"""
