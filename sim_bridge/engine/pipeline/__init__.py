"""
Pipeline: runs the stages in order, for steps, observations and queries between steps.

Imports the functions it calls from `engine.constraints`, `engine.contact`, `engine.dynamics`,
`engine.data` and `engine.math`. Stages, including the `engine.collision` stages, are called by
address. No other part of the engine imports the pipeline.
"""
