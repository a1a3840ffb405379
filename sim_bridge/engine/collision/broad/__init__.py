"""
Broad phase: bounding boxes around geometries, and the pairs whose boxes overlap.

Imports `engine.data`; knows shapes only by their boxes.
"""
