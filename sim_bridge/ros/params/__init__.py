"""
Parameters: their tables, files, and those supplied with robots.

Imports `ros.process`, and `compilation`, `description`, `engine.data`, `shapes` and `foundation`.
"""
