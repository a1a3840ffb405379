"""
Joint trajectories: splines through points, and following them within tolerances.

It imports `robots` and `foundation`, and nothing from ROS.
"""
