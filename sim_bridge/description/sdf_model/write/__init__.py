"""
Robots written as SDF models.

`robot.sdf_text` is the entry point. Imports `mechanism` and the constants in `surface`.
"""
