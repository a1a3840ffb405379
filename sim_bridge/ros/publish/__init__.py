"""
Publishing: topics of robots and of the world, frames, diagnostics.

Imports `ros.process`, `ros.params` and `ros.wire`.
"""
