"""
Triangle meshes and height fields: their triangles, and their contacts with all other shapes.

Imports `engine.collision.narrow` for each triangle.
"""
