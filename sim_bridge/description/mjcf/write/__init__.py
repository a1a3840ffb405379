"""
Robots written as MJCF.

`robot.mjcf_text` is the entry point. Imports `mechanism` of description, and no reader.
"""
