"""
URDF and xacro files, with what stands in them in SDF's words and in `<sim_bridge>`.

Imports the rooms `sdf`, `yaml`, `mechanism` and `xml`, and urdf-parser-py.
"""
