"""
The compared engines: one module each, one protocol for all.

A peer is built from a mechanism, a time step and gravity. `reset` sets its state, `step`
advances it, `motion` returns poses and velocities of all bodies. `work` is timed.
A contact peer is built from a scene, which contains all these.
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
    """Engine interface for the benchmarks."""

    version: str

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N], world axes, at body 0's centre of mass in all later steps."""

    def step(self, n: int) -> None:
        """Advance `n` steps."""

    def work(self, n: int) -> None:
        """Do the work for `n` steps in one native loop, without Python in between."""

    def motion(self) -> Motion:
        """Return all body poses and velocities."""


class ContactPeer(Protocol):
    """Engine interface for the benchmarks with contacts."""

    version: str

    def reset(self) -> None:
        """Set the scene's initial state, without forces."""

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at a loose body's centre of mass in all later steps."""

    def step(self, n: int) -> None:
        """Advance `n` steps: in one native loop, if the engine has one."""

    def motion(self) -> Motion:
        """Return all body poses and velocities, in scene order."""

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step."""


class CameraPeer(Protocol):
    """Engine interface for the benchmark of cameras; built from a shot and samples a pixel."""

    version: str
    has_lenses: bool
    has_colors: bool

    def depth(self) -> np.ndarray:
        """Take a picture; (height, width) depths along the axis [m], infinite for none."""

    def color(self) -> np.ndarray:
        """Take a picture; (height, width, 3) uint8."""


class MissingPeerError(Exception):
    """An engine is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Entry:
    """A table line: a module in this package, its class and its options."""

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

CAMERA_ENTRIES = {
    'sim_bridge': Entry('camera_sim_bridge', 'SimBridgeCamera'),
    'Embree': Entry('camera_embree', 'EmbreeCamera'),
    'MuJoCo': Entry('camera_mujoco', 'MuJoCoCamera'),
    'VTK': Entry('camera_vtk', 'VtkCamera'),
}


def build(name: str, mechanism: Mechanism, time_step: float, gravity: np.ndarray) -> Peer:
    """Build an engine from ENTRIES by its name; raises MissingPeerError if it is not installed."""
    entry = ENTRIES[name]
    return _load(entry)(mechanism, time_step, gravity, **dict(entry.options))


def build_scene(name: str, scene: Scene) -> ContactPeer:
    """Build an engine from CONTACT_ENTRIES by name; raises MissingPeerError if it is missing."""
    entry = CONTACT_ENTRIES[name]
    return _load(entry)(scene, **dict(entry.options))


def load_camera(name: str) -> type:
    """Return an engine's class from CAMERA_ENTRIES by name."""
    return _load(CAMERA_ENTRIES[name])


def _load(entry: Entry) -> type:
    module = importlib.import_module(f'benchmarks.peers.{entry.module}')
    return getattr(module, entry.factory)


def find_missing(entries: Mapping[str, Entry] = ENTRIES) -> dict[str, str]:
    """Return installation hints for every engine that cannot be used here."""
    missing = {}
    for name, entry in entries.items():
        try:
            _load(entry)
        except MissingPeerError as error:
            missing[name] = str(error)
    return missing


def versions(entries: Mapping[str, Entry] = ENTRIES) -> dict[str, str]:
    """Return every available engine's version."""
    missing = find_missing(entries)
    return {
        entry.factory.removesuffix('Scene'): _load(entry).version
        for name, entry in entries.items()
        if name not in missing
    }
