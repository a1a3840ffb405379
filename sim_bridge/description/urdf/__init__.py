"""
URDF and xacro files, including their SDF elements and `<sim_bridge>` elements.

Imports the rooms `sdf`, `yaml`, `mechanism` and `xml`, and urdf-parser-py.
"""
