"""
What `<gazebo>` elements say in SDF's words: sensors, contact parameters, physics, loop joints.

Imports the rooms `mechanism` and `xml`.
"""
