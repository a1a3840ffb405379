"""
Command `sim_bridge`, one file per verb.

A verb's module has `add_parser(subparsers)`, which adds its arguments, and `run(args)`, which runs
the verb and returns the exit code. Only the requested verb's module is imported. Modules without
`add_parser` are helpers. This package imports `ros` and its dependencies; `control` nodes are
started as separate processes.
"""
