"""
What runs the stages in order: a step, an observation, what is read between steps.

Imports all other packages of the engine; nothing in the engine imports it.
"""
