"""
Robots, links, geometries and devices as users see them: views of a simulation's arrays.

Imports `simulation` and `compilation`; `robots.joints` holds the joints.
"""
