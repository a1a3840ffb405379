"""
What must hold of links, joints, loops, masses and sensors, whatever format declares them.

Imports the data of `model`, the joint stages and the report; nothing here reads a file.
"""
