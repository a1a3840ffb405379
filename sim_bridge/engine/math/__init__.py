"""
Small vectors, matrices and rotations as kernels use them.

Imports `sim_bridge.compiler` only.
"""
