"""
The node itself, plain and managed: wires all other rooms together.

Nothing in `ros` imports it.
"""
