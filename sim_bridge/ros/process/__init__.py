"""
A node as a process: threads, pacing, executors, signals, deadlines.

Imports `ros.wire`.
"""
