"""
Robots written as OpenPLX.

`robot.openplx_text` is the entry point. Imports `mechanism` of description, and no reader.
"""
