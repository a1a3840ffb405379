"""
The broad phase: boxes of the geometries, and the pairs of boxes that overlap.

Imports `engine.data`; knows no shapes but their boxes.
"""
