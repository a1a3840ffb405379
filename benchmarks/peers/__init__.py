"""
The engines that are compared: one module each, one protocol for all.

A peer is built from a mechanism, a time step and gravity; `reset` puts it into a state, `step`
advances it, `motion` tells where all bodies are and how they move. `work` is what is timed.
A contact peer is built from a scene, which has all of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import importlib
from typing import Protocol

import numpy as np

from benchmarks.mechanism import Mechanism, Motion, State
from benchmarks.scene import Scene


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


class ContactPeer(Protocol):
    """What the benchmarks with contacts ask of an engine."""

    version: str

    def reset(self) -> None:
        """Put everything where the scene starts, without forces."""

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at the centre of mass of a loose body in all steps to come."""

    def step(self, n: int) -> None:
        """Advance `n` steps: in one native loop, where the engine has one."""

    def motion(self) -> Motion:
        """Return poses and velocities of all bodies, in the order of the scene."""

    @property
    def contact_count(self) -> int:
        """Number of contact points in the last step."""


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

CONTACT_ENTRIES = {
    'sim_bridge': Entry('contact_sim_bridge', 'SimBridgeScene'),
    'sim_bridge iterative': Entry(
        'contact_sim_bridge', 'SimBridgeScene', (('solver', 'iterative'),)
    ),
    'sim_bridge without a budget': Entry(
        'contact_sim_bridge', 'SimBridgeScene', (('step_budget', None),)
    ),
    'sim_bridge split': Entry('contact_sim_bridge', 'SimBridgeScene', (('solver', 'split'),)),
    'MuJoCo': Entry('contact_mujoco', 'MuJoCoScene'),
    'MuJoCo implicitfast': Entry(
        'contact_mujoco', 'MuJoCoScene', (('integrator', 'IMPLICITFAST'),)
    ),
    'MuJoCo CG': Entry('contact_mujoco', 'MuJoCoScene', (('solver', 'CG'),)),
    'MuJoCo noslip': Entry('contact_mujoco', 'MuJoCoScene', (('noslip', 10),)),
    'MuJoCo CG noslip': Entry('contact_mujoco', 'MuJoCoScene', (('solver', 'CG'), ('noslip', 10))),
    'MuJoCo PGS noslip': Entry(
        'contact_mujoco', 'MuJoCoScene', (('solver', 'PGS'), ('noslip', 10))
    ),
    'MuJoCo stiff': Entry('contact_mujoco', 'MuJoCoScene', (('stiff', True), ('noslip', 10))),
    'ODE dWorldStep': Entry('contact_ode', 'OdeScene'),
    'ODE dWorldQuickStep': Entry('contact_ode', 'OdeScene', (('quick', True),)),
    'Bullet': Entry('contact_bullet', 'BulletScene'),
    'Bullet 1000 iterations': Entry('contact_bullet', 'BulletScene', (('iterations', 1000),)),
    'Bullet multibody': Entry('contact_bullet', 'BulletScene', (('maximal', False),)),
}


def build(name: str, mechanism: Mechanism, time_step: float, gravity: np.ndarray) -> Peer:
    """Build an engine of ENTRIES by its name; raises MissingPeerError if it is not installed."""
    entry = ENTRIES[name]
    return _load(entry)(mechanism, time_step, gravity, **dict(entry.options))


def build_scene(name: str, scene: Scene) -> ContactPeer:
    """Build an engine of CONTACT_ENTRIES by its name; raises MissingPeerError if it is missing."""
    entry = CONTACT_ENTRIES[name]
    return _load(entry)(scene, **dict(entry.options))


def _load(entry: Entry) -> type:
    module = importlib.import_module(f'benchmarks.peers.{entry.module}')
    return getattr(module, entry.factory)


def find_missing(entries: Mapping[str, Entry] = ENTRIES) -> dict[str, str]:
    """Return, for every engine that cannot be used here, how to install it."""
    missing = {}
    for name, entry in entries.items():
        try:
            _load(entry)
        except MissingPeerError as error:
            missing[name] = str(error)
    return missing


def versions(entries: Mapping[str, Entry] = ENTRIES) -> dict[str, str]:
    """Return the version of every engine that is here."""
    missing = find_missing(entries)
    return {
        entry.factory.removesuffix('Scene'): _load(entry).version
        for name, entry in entries.items()
        if name not in missing
    }
