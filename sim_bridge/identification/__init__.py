"""
Parameter identification from recorded robot motion: friction, damping, armature, inertias.

`identify` runs the whole procedure. A first guess by inverse dynamics, linear in the parameters,
is followed by least squares between simulated and recorded motion over short windows. The result
contains confidence intervals, identifiable combinations, and cross-validation errors. The package
imports `batch` and its dependencies. It does not depend on bags or ROS; they provide a
`Recording`.
"""
