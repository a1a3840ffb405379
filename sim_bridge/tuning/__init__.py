"""
Servo gain optimisation by simulation, with measures and constraints.

`optimise` reads a tuning file, simulates many candidates at once as worlds in a batch, and
searches with scipy's differential evolution; constraints are measures with a limit. The package
imports `batch` and its dependencies.
"""
