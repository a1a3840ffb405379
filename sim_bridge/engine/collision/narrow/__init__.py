"""
Narrow phase for two convex shapes: signed distance, normal and contact points.

Imports `engine.collision.clip` for the points.
"""
