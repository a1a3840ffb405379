"""
VRML97 (ISO/IEC 14772): text as nodes, and their geometry as triangles.

Callers interpret the nodes: `scene` finds drawn geometry, `description.body.humanoid` reads
robots.
"""
