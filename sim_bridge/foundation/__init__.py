"""
Basics for every package: errors, validation, array types, rotations, the version.

It imports nothing else from this project.
"""
