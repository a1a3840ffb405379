"""
YAML files, and the sensors and loop joints declared in them.

Readers only: each returns the data classes of `description.model`.
"""
