"""
Small vectors, matrices and rotations for kernels.

Imports only `sim_bridge.compiler`.
"""
