"""
Published topics: robots, world, frames, diagnostics.

Imports `ros.process`, `ros.params` and `ros.wire`.
"""
