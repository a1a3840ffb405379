"""
Contact points of two convex features: faces clipped against each other, thinned out and named.

Imports `engine.data` and `engine.math`.
"""
