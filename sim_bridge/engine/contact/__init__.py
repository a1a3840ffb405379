"""
The contact problem of a step: rows, surface laws, islands, and the solvers.

Imports `engine.dynamics` and `engine.data`.
"""
