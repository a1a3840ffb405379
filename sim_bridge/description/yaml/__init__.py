"""
YAML files, and the sensors and loop joints declared in them.

Imports the room `mechanism`.
"""
