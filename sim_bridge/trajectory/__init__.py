"""
Joint trajectories: splines through points, and following them within tolerances.

Imports `world` and `robots`; nothing of ROS.
"""
