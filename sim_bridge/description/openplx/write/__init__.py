"""
Robots written as OpenPLX.

`robot.openplx_text` does it. Imports `mechanism` of description, and no reader.
"""
