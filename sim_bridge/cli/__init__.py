"""
The command `sim_bridge`, a file per verb.

A verb's module has `add_parser(subparsers)`, which adds its arguments, and `run(args)`, which does
it and returns the exit code. Only the module of the verb asked for is imported. Modules without
`add_parser` help them. Imports `ros` and what that may import; nodes of `control` are started as
processes of their own.
"""
