"""
Robots and worlds in MuJoCo's format MJCF.

MuJoCo parses and compiles the file in the confined reader process; this package maps the compiled
model to plain descriptions. `write` is the way back.
"""
