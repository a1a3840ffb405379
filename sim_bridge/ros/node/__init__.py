"""
The node itself, plain or managed; connects all other packages of `ros`.

No module in `ros` imports it.
"""
