"""
Line segments against geometries: where they first cross a surface, and its normal there.

Imports `engine.collision.mesh` and `engine.collision.broad`.
"""
