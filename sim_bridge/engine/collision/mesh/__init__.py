"""
Triangle meshes and height fields: their triangles, and their contacts with everything else.

Imports `engine.collision.narrow` for each triangle.
"""
