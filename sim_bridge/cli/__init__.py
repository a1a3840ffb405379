"""
The command `sim_bridge`, a file per verb.

A verb's module has `add_parser(subparsers)`, which adds its arguments, and `run(args)`, which does
it and returns the exit code. Only the module of the verb asked for is imported.
"""
