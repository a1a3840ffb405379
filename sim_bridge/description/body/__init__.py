"""
Choreonoid's body files: links, shapes, devices and extra joints, as a `RobotDescription`.

Keys are those of format version 1 and 2, in snake case or camel case. docs/choreonoid.md says what
each is here.
"""
