"""
Controller nodes, which answer each joint state with one command.

Each is a process of its own. Imports the names of `sim_bridge`, `foundation`, and of `ros` the
rooms `params`, `process`, `publish` and `wire`.
"""
