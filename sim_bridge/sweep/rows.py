"""Rows: one record for each run; most fields do not depend on the machine."""

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
"""Run states: completed; ended by an error; process died; time limit exceeded."""


@dataclass
class Row:
    """
    One run.

    status: one of STATUSES; reason: why it is not DONE. inputs, measures, criteria: by name;
    measures are numbers, criteria whether each holds; both empty if the run did not end. success:
    whether all criteria hold; None without criteria, False unless DONE.
    state_hash: after the last step, '' without a step. steps: control step count.
    simulated_s: simulated time [s]. noise_seed: sensor noise seed. files: SHA-256, by path,
    for files the world was built from. versions: for all software that affects the bits.
    attempts: how many processes began the run. wall_s: duration [s]; load_s: part of it
    spent building the world [s]. host, processor: machine and processor name.
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
        """Return the fields equal in each repetition, on any machine."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in OF_THE_MACHINE}


OF_THE_MACHINE = ('attempts', 'wall_s', 'load_s', 'host', 'processor')
"""Row fields that depend on the machine or on chance."""


@cache
def versions() -> Mapping[str, str]:
    """Return versions for all software that affects the bits."""
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
    """Return the processor model."""
    try:
        with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
            for line in file:
                if line.startswith('model name'):
                    return line.partition(':')[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
