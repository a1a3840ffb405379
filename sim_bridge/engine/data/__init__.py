"""
Arrays of a world: model, state, workspace, and those of collision, contact and constraints.

Imports `engine.math`; `world_table` lists all parts in the order in which kernels find them.
"""
