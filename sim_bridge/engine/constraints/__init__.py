"""
Joints that are solved as constraint rows: closed loops, compliant joints, angular motors.

Their arrays are `Loops` and `LoopWork` of `engine.data.loops`: most of these joints close loops.

Imports `engine.dynamics`, `engine.data` and `engine.math`. The stages of contacts and of loops
meet in `engine.pipeline`, and in the arrays of `engine.data`.
"""
