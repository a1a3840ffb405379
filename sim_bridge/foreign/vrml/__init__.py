"""
VRML97 (ISO/IEC 14772): its text as nodes, and their geometry as triangles.

What the nodes mean is left to who asks: `scene` walks what is drawn, `description.body.humanoid`
reads robots.
"""
