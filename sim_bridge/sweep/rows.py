"""Rows: what is kept of a run, and what of it must be the same wherever it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
import platform
from typing import Any

import numpy as np

from sim_bridge.foundation.version import __version__
from sim_bridge.simulation.snapshots import HASH_VERSION

DONE, FAILED, CRASHED, HUNG = 'done', 'failed', 'crashed', 'hung'
STATUSES = (DONE, FAILED, CRASHED, HUNG)
"""Of runs: to its end; ended by an error; its process died; it took longer than allowed."""


@dataclass
class Row:
    """
    One run.

    status: one of STATUSES; reason: why it is not DONE. inputs, measures, criteria: by name;
    measures are numbers, criteria whether each holds; none of them where the run did not end.
    success: whether all criteria hold; None without criteria, False for a run that is not DONE.
    state_hash: after the last step that was taken, '' where there was none. steps: control steps.
    simulated_s: their time [s]. noise_seed: of sensors. files: SHA-256, by path, of what the world
    was built from. versions: of what bits depend on beside these. attempts: processes that began
    the run. wall_s: how long it took [s], and load_s how long of that the world was built. host,
    processor: of the machine.
    """

    run: int
    status: str
    reason: str = ''
    success: bool | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    criteria: Mapping[str, bool] = field(default_factory=dict)
    state_hash: str = ''
    steps: int = 0
    simulated_s: float = 0.0
    noise_seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1
    wall_s: float = 0.0
    load_s: float = 0.0
    host: str = ''
    processor: str = ''

    def same(self) -> dict[str, Any]:
        """Return what is the same for the same run, wherever and however often it is made."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in OF_THE_MACHINE}


OF_THE_MACHINE = ('attempts', 'wall_s', 'load_s', 'host', 'processor')
"""Fields of rows that tell of the machine and of chance."""


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of what bits depend on."""
    import llvmlite

    return {
        'sim_bridge': __version__,
        'hash': str(HASH_VERSION),
        'python': platform.python_version(),
        'numpy': np.__version__,
        'llvmlite': str(llvmlite.__version__),
    }


@cache
def processor() -> str:
    """Return the model of the processor."""
    try:
        with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
            for line in file:
                if line.startswith('model name'):
                    return line.partition(':')[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
