"""
Fitting parameters of a robot to its recorded motion: friction, damping, armature, inertias.

`identify` does all of it: a first guess by inverse dynamics, which is linear in the parameters,
then least squares of simulated against recorded motion over short windows; how sure each value
is, which combinations the motion tells and which it does not, and errors on windows held out.
Imports `batch` and what is below it; it knows nothing of bags and ROS, which give it a
`Recording`.
"""
