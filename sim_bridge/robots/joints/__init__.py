"""
Joints and their axes for users, and the joint backends behind them.

The backend of a joint is in a tree (`tree`, `mounted`) or among the constraints (`constraint`).
Imports `robots.owners`, the types of links and robots, and the layers below `robots`.
"""
