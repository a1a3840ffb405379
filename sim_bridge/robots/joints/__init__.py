"""
Joints and their axes: parameters, motors, tree joints, and joints that close loops.

Imports `simulation` and `description.model`.
"""
