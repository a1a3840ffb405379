"""
Robots, links, geometries and devices for users: views of a simulation's arrays.

Imports `simulation`, `sensors`, `compilation`, `description`, `shapes`, `engine` and `foundation`.
`robots.joints` holds the joints.
"""
