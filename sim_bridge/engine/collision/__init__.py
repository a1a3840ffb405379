"""
Collision detection: contact points, normals and signed distances between geometries.

A broad phase finds pairs whose boxes overlap. A narrow phase finds up to eight contact points for
each pair. Imports `engine.dynamics` for body velocities and poses, `engine.data` and
`engine.math`, and `foundation` for errors.
"""
