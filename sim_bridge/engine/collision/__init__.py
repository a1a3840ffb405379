"""
Collision detection: contact points, normals and signed distances of geometries.

A broad phase finds pairs of overlapping boxes, a narrow phase up to eight contact points of each.
Imports `engine.dynamics` for velocities and poses of bodies, `engine.data` and `engine.math`, and
`foundation` for errors.
"""
