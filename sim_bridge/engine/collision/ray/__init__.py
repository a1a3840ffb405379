"""
Line segments against geometries: first crossing of a surface, and the normal there.

Imports `engine.collision.mesh` and `engine.collision.broad`.
"""
