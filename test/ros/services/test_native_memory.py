"""Resident memory of a node over spawned and deleted robots, native allocations included."""

from __future__ import annotations

from pathlib import Path

import pytest
from standard_simulation import result

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = [
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
    pytest.mark.long,
]

# allocators and caches of the middleware fill in the first cycles
_WARM_UP, _CYCLES = 250, 250
_GROWTH_MB = 5.0


def resident_mb(pid: int) -> float:
    """Return a process's resident memory [MB]."""
    status = Path(f'/proc/{pid}/status').read_text()
    (line,) = (each for each in status.splitlines() if each.startswith('VmRSS:'))
    return int(line.split()[1]) / 1024


def test_a_robot_spawned_and_deleted_again_and_again_leaves_no_memory_behind(start):
    """Spawn and delete a robot 500 times over the services; memory is flat in the second half."""
    simulation = start()

    def cycle(count: int) -> float:
        for _ in range(count):
            assert result(simulation.spawn('pendulum', name='guest')) == 1
            assert result(simulation('DeleteEntity', entity='guest')) == 1
        return resident_mb(simulation.process.pid)

    middle = cycle(_WARM_UP)
    assert cycle(_CYCLES) - middle < _GROWTH_MB
