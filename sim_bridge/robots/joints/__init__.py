"""
Joints and their axes, as users see them, and the backends that provide their numbers.

A joint's backend is in a tree (`tree`, `mounted`) or among the constraints (`constraint`). Imports
`robots.owners`, by which joints know links and robots, and what is below `robots`.
"""
