"""
Collision detection: contact points, normals and signed distances of geometries.

A broad phase finds pairs of overlapping boxes, a narrow phase up to eight contact points of each;
imports `engine.data` and `engine.math`.
"""
