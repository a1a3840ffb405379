"""
Dynamics of trees: kinematics, articulated-body elimination, joint laws, energy.

Imports `engine.data` and `engine.math`.
"""
