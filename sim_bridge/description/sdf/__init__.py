"""
What `<gazebo>` elements say in SDF's words: sensors, contact parameters, extra joints.

Readers only: each returns the data classes of `description.model`.
"""
