"""
Contact points between two convex features: clipped, reduced in number and labelled.

Imports `engine.data` and `engine.math`.
"""
