"""
Checks for links, joints, loops, masses and sensors, the same for every file format.

Imports the data of `model`, the joint stages and the report. Nothing here reads a file.
"""
