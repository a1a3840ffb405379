"""
Joints that are solved as constraint rows: closed loops, compliant joints, angular motors.

Imports `engine.dynamics`, `engine.data` and `engine.math`. The stages of contacts and of loops
meet in `engine.pipeline`, and in the arrays of `engine.data`.
"""
