"""
Parameters: their tables, files, and what robots bring along.

Imports no other room of `ros` but `wire`.
"""
