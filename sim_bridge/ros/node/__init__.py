"""
The node itself, plain or managed: wires all other packages of `ros` together.

Nothing in `ros` imports it.
"""
