"""
The stepper: articulated-body dynamics in Numba kernels over plain arrays.

This layer knows numpy and numba only. A constant `Model`, a mutable `State` and a scratch
`Workspace` go in; the kernels `step`, `observe` and those of `inverse`, `mass_matrix` and
`jacobian` work on them.
"""
