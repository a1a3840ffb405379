"""
A running simulation on the graph: loading, robots' interfaces, the control step, spawning.

Imports `ros.command`, `ros.publish` and what these may import.
"""
