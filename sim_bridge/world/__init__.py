"""
The world: robots by name, joints between them, steps, snapshots, contacts, queries.

Imports `robots` and `simulation`; nothing of ROS.
"""
