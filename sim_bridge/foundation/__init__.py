"""
What every package may use: errors, validation of values, rotations, the version.

Imports nothing else of this project.
"""
