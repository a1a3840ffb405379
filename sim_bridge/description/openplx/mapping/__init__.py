"""
Mapping from the objects of a scene to robots, bodies, materials and signals as plain data.

`scene.map_scene` is the entry point; `records` holds the result types. Imports `assembly` and its
imports, `mechanism` and `urdf` of description, and `shapes`.
"""
