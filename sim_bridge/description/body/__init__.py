"""
Choreonoid's body files: links, shapes, devices and extra joints, read into a `RobotDescription`.

Keys follow format versions 1 and 2, in snake case or camel case. docs/choreonoid.md explains the
use of each key.
"""
