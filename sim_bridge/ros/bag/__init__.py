"""
Bags: recording a simulator's inputs and outputs, reading and replaying them.

Imports `ros.session` and below.
"""
