"""
Optimising gains of joints' servos by simulation: what varies, what is measured, what must hold.

`optimise` reads a tuning file, simulates many candidates at once as worlds of a batch, and
searches by differential evolution of scipy; constraints are measures with a limit. Imports `batch`
and what is below it.
"""
