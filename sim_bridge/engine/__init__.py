"""
The stepper: articulated-body dynamics in kernels over plain arrays.

It imports numpy and `sim_bridge.compiler` only. A constant `Model`, a mutable `State` and a
scratch `Workspace` go in; the kernels `step`, `observe`, `inverse_dynamics`, `mass_matrix` and
`jacobian` work on them.
"""
