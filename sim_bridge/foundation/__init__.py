"""
What every package may use: errors, validation of values, types of arrays, rotations, the version.

Imports nothing else of this project.
"""
