"""
Contact problem: rows, contact laws, islands, solvers.

Imports `engine.dynamics` and `engine.data`.
"""
