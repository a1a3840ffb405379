"""
Robots, links, geometries and devices as users see them: views of a simulation's arrays.

Imports `simulation`, `sensors`, `compilation`, `description`, `shapes`, `engine` and `foundation`;
`robots.joints` holds the joints.
"""
