"""
Shapes and materials as users give them: sizes, masses, mesh files, records for the engine.

Imports `engine.collision` and `engine.data` for records, and `foundation`.
"""
