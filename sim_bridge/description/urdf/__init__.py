"""
URDF and xacro files, and their `<sim_bridge>` extension.

Readers only: each returns the data classes of `description.model`.
"""
