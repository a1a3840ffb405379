"""
Joints and their axes, as users see them, and the seats that provide their numbers.

A joint's seat is in a tree (`tree`, `mounted`) or among the constraints (`constraint`). Imports
`simulation`, `engine` and `description.model`; links, robots and the simulation are known by
`protocols`.
"""
