"""
Parameters: their tables, files, and what robots bring along.

Imports `ros.process`, and `compilation`, `description`, `engine.data`, `shapes` and `foundation`.
"""
