"""
World arrays: model, state, workspace, and arrays for collision, contact and constraints.

Imports `compiler` and `engine.math`. `parts` describes how arrays are declared, and derives their
handling from the declarations. `world_table` lists all parts in the kernels' order.
"""
