"""
Controller nodes: they answer each joint state with one command.

Each controller is a separate process. The package imports the public names of `sim_bridge`,
`foundation`, and from `ros` the packages `params`, `process`, `publish` and `wire`.
"""

import sys

from sim_bridge.foundation.early_signals import quit_on_signals

# value of sys.argv while Python imports the parent packages of a module run with -m
if sys.argv[:1] == ['-m']:
    quit_on_signals(0)
