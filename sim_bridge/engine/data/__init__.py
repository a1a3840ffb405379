"""
Arrays of a world: model, state, workspace, and those of collision, contact and constraints.

Imports `compiler` and `engine.math`. `parts` says how an array is declared, and what follows from
that; `world_table` lists all parts in the order in which kernels find them.
"""
