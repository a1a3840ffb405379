"""
Compile units in a process of their own: `python -m sim_bridge.compiler MODULE:KERNEL …`.

Entries are compiled for the kinds of argument that their annotations say.
"""

from __future__ import annotations

from importlib import import_module
import os
import sys

from sim_bridge.compiler.build import build
from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit

# whatever else goes on is more urgent
_NICENESS = 10


def find(name: str) -> Unit:
    """Return the unit of an entry or a stage, by its module and the name of its function."""
    module, _, kernel = name.partition(':')
    for each in vars(import_module(module)).values():
        if isinstance(each, (Entry, Stage)) and each.__qualname__ == kernel:
            return each.unit
    raise SystemExit(f'module {module} has no entry or stage {kernel!r}')


if __name__ == '__main__':
    # the thread that waits for this may be one that goes before all others
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(_NICENESS)
    build(map(find, sys.argv[1:]))
