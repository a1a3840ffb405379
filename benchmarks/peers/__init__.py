"""
The engines that are compared: one module each, one protocol for all.

A peer is built from a mechanism, a time step and gravity; `reset` puts it into a state, `step`
advances it, `motion` tells where all bodies are and how they move. `work` is what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
import importlib
from typing import Protocol

import numpy as np

from benchmarks.mechanism import Mechanism, Motion, State


class Peer(Protocol):
    """What the benchmarks ask of an engine."""

    version: str

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N], world axes, at the centre of mass of body 0 in all steps to come."""

    def step(self, n: int) -> None:
        """Advance `n` steps."""

    def work(self, n: int) -> None:
        """Do the work of `n` steps in one native loop, without Python in between."""

    def motion(self) -> Motion:
        """Return poses and velocities of all bodies."""


class MissingPeerError(Exception):
    """An engine is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Entry:
    """A line of the tables: a module of this package, its class and the options for it."""

    module: str
    factory: str
    options: tuple[tuple[str, object], ...] = ()


ENTRIES = {
    'sim_bridge': Entry('sim_bridge', 'SimBridge'),
    'sim_bridge rk5': Entry('sim_bridge', 'SimBridge', (('integrator', 'rk5'),)),
    'MuJoCo Euler': Entry('mujoco', 'MuJoCo', (('integrator', 'EULER'),)),
    'MuJoCo implicitfast': Entry('mujoco', 'MuJoCo', (('integrator', 'IMPLICITFAST'),)),
    'MuJoCo RK4': Entry('mujoco', 'MuJoCo', (('integrator', 'RK4'),)),
    'ODE dWorldStep': Entry('ode', 'Ode'),
    'ODE dWorldStep, finite rotation': Entry('ode', 'Ode', (('finite_rotation', True),)),
    'ODE dWorldQuickStep': Entry('ode', 'Ode', (('quick', True),)),
    'Pinocchio aba': Entry('pinocchio', 'Pinocchio'),
}


def build(name: str, mechanism: Mechanism, time_step: float, gravity: np.ndarray) -> Peer:
    """Build an engine of ENTRIES by its name; raises MissingPeerError if it is not installed."""
    entry = ENTRIES[name]
    return _load(entry)(mechanism, time_step, gravity, **dict(entry.options))


def _load(entry: Entry) -> type:
    module = importlib.import_module(f'benchmarks.peers.{entry.module}')
    return getattr(module, entry.factory)


def find_missing() -> dict[str, str]:
    """Return, for every engine that cannot be used here, how to install it."""
    missing = {}
    for name, entry in ENTRIES.items():
        try:
            _load(entry)
        except MissingPeerError as error:
            missing[name] = str(error)
    return missing


def versions() -> dict[str, str]:
    """Return the version of every engine that is here."""
    missing = find_missing()
    return {entry.factory: _load(entry).version for name, entry in ENTRIES.items()
            if name not in missing}
