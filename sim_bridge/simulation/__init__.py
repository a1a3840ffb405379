"""
The arrays of all robots of a world joined into one model and state, and the step call.

Knows parts and slots, never robots; imports `engine`, `sensors` and `compilation`.
"""
