"""
Controller nodes, which answer each joint state with one command.

Each is a process of its own. Imports the names of `sim_bridge`, `foundation`, and of `ros` the
rooms `params`, `process`, `publish` and `wire`.
"""

import sys

from sim_bridge.foundation.early_signals import quit_on_signals

# what Python says while it imports the packages of a module that it is to run
if sys.argv[:1] == ['-m']:
    quit_on_signals(0)
