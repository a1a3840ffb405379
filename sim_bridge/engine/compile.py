"""
Compiling stages side by side: `python -m sim_bridge.engine.compile DETECT CONTACT`.

Numba compiles one function at a time in one process, and keeps the result on disk for all others.
What is not there yet is compiled by processes of its own, one per stage.
"""

from __future__ import annotations

from collections.abc import Iterable
import os
from pathlib import Path
import subprocess
import sys

from sim_bridge.engine.collision.stage import DETECT, DETECT_CONVEX, DETECT_SURFACE
from sim_bridge.engine.contact.stage import CONTACT, NEWTON, SHARE
from sim_bridge.engine.loops.stage import LOOPS
from sim_bridge.engine.stages import Stage

STAGES = {
    'DETECT': DETECT, 'DETECT_CONVEX': DETECT_CONVEX, 'DETECT_SURFACE': DETECT_SURFACE,
    'CONTACT': CONTACT, 'NEWTON': NEWTON, 'SHARE': SHARE, 'LOOPS': LOOPS}


def compile_side_by_side(stages: Iterable[Stage]) -> None:
    """
    Compile those of STAGES that were never compiled, on all processors.

    A process that fails leaves its stage to whoever asks for the stage's address, who then meets
    the error.
    """
    wanted = set(stages)
    names = [name for name, stage in STAGES.items() if stage in wanted and not stage.is_cached]
    if len(names) < 2 or (os.cpu_count() or 1) < 2:
        return
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get('PYTHONPATH')])]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}
    processes = [
        subprocess.Popen([sys.executable, '-m', __name__, name], env=environment,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        for name in names
    ]
    for process in processes:
        process.wait()


if __name__ == '__main__':
    for given in sys.argv[1:]:
        _ = STAGES[given].address
