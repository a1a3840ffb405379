"""
Compile units in a separate process: `python -m sim_bridge.compiler MODULE:KERNEL …`.

Entries are compiled for the argument kinds in their annotations.
"""

from __future__ import annotations

from importlib import import_module
import os
import sys

from sim_bridge.compiler.build import build
from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit

# low priority: everything else on the machine is more urgent
_NICENESS = 10


def find(name: str) -> Unit:
    """Return the unit of an entry or a stage; name: MODULE:FUNCTION."""
    module, _, kernel = name.partition(':')
    for each in vars(import_module(module)).values():
        if isinstance(each, (Entry, Stage)) and each.__qualname__ == kernel:
            return each.unit
    raise SystemExit(f'module {module} has no entry or stage {kernel!r}')


if __name__ == '__main__':
    # the parent's waiting thread may have real-time priority, which this process inherits
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(_NICENESS)
    build(map(find, sys.argv[1:]))
