"""
Mapping from scene objects to robots, bodies, materials and signals as plain data.

`scene.map_scene` is the entry point; `records` holds the result types. Imports `assembly` and its
imports, description's `mechanism` and `urdf`, and `shapes`.
"""
