"""
Bags: recording what a simulator publishes and takes, reading and replaying it.

Imports `ros.session` and below.
"""
