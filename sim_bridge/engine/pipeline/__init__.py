"""
What runs the stages in order: a step, an observation, what is read between steps.

Imports what it calls of `engine.constraints`, `engine.contact`, `engine.dynamics`, `engine.data`
and `engine.math`; stages, among them those of `engine.collision`, it calls by their addresses.
Nothing in the engine imports it.
"""
