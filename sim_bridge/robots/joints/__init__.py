"""
Joints and their axes for users, and the joint backends behind them.

A joint's backend is in a tree (`tree`, `mounted`) or among the constraints (`constraint`).
Imports `robots.owners`, types for links and robots, and the layers below `robots`.
"""
