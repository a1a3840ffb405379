"""
Joints solved as constraint rows: closed loops, compliant joints, angular motors.

Their arrays are `Loops` and `LoopWork` in `engine.data.loops`, since most of them close loops.

Imports `engine.dynamics`, `engine.data` and `engine.math`. The contact and constraint stages meet
in `engine.pipeline`, and in the arrays of `engine.data`.
"""
