"""
A running simulation on the graph: loading, robot interfaces, control steps, spawning.

Imports `ros.command`, `ros.publish` and their dependencies.
"""
