"""
Joint trajectories: splines through points, and following them within tolerances.

Imports `robots` and `foundation`; nothing of ROS.
"""
