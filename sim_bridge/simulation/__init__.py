"""
The arrays of all robots in a world, joined into one model and state, and the step call.

Knows parts and slots, never robots; imports `engine`, `sensors` and `compilation`.
"""
