"""
Parameters: their tables, files, and what robots bring along.

Imports `ros.process` and `ros.wire`.
"""
