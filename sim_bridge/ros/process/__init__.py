"""
A node as a process: threads, pacing, executors, signals, deadlines.

Imports `ros.params` and `ros.wire`.
"""
