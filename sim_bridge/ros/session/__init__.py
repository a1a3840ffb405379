"""
A running simulation on the graph: loading, robots' interfaces, one control step, spawning.

Imports `ros.command`, `ros.publish` and what these may import.
"""
