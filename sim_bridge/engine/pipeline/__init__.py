"""
The pipeline that runs the stages in order: steps, observations, and queries between steps.

Imports the functions it calls from `engine.constraints`, `engine.contact`, `engine.dynamics`,
`engine.data` and `engine.math`. Stages, among them those of `engine.collision`, are called by
their addresses. Nothing in the engine imports it.
"""
