"""
The world: robots by name, joints between them, steps, snapshots, contacts, queries.

Imports `robots`, `simulation`, `compilation`, `description`, `shapes`, `engine`, `compiler` and
`foundation`; nothing of ROS.
"""
