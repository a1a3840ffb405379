"""
A URDF's `<gazebo>` elements: sensors, contact parameters, physics and loop joints, as in SDF.

Imports the rooms `mechanism` and `xml`.
"""
