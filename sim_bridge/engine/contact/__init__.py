"""
What contacts do: rows, surface laws, islands and the solvers of the contact problem.

Like the rest of the engine it knows numpy and numba only.
"""
