"""
Triangle meshes and height fields: triangles, and contacts with all other shapes.

Imports `engine.collision.narrow` for each triangle.
"""
