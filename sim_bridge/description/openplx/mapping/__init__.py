"""
From the objects of a scene to robots, bodies, materials and signals as plain data.

`scene.map_scene` does it; `records` has what it returns. Imports `assembly` and what that imports,
`mechanism` and `urdf` of description, and `shapes`.
"""
