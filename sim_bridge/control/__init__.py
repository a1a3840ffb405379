"""
Controller nodes that are good enough to use: effort commands, one for each joint state.

Each is a process of its own. Imports the names of `sim_bridge`, `foundation`, and of `ros` the
rooms `params`, `process`, `publish` and `wire`.
"""
