"""
A scene with contacts given to every engine: planes, loose bodies, robots, and contact materials.

Plain data, as in `mechanism.py`, and the few formulas used to judge all engines. SI units;
rotations map body axes to world axes; bodies are ordered solids first, then robot bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.mechanism import Mechanism, Motion, motion_of, State
from benchmarks.shapes import Box, Placed, Sphere

ANYTHING = 'anything'


@dataclass(frozen=True)
class Surface:
    """Contact law between two materials: Coulomb friction and velocity restitution."""

    friction: float = 0.0
    restitution: float = 0.0


@dataclass(frozen=True)
class Plane:
    """A fixed half-space: everything behind `position`, against the unit vector `normal`."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    normal: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    material: str = ANYTHING


@dataclass(frozen=True)
class Solid:
    """
    A loose rigid body with its frame at its centre of mass, and its initial state.

    inertia: (3, 3) about the centre of mass, body axes. linear, angular: world axes.
    """

    shape: Sphere | Box
    mass: float
    inertia: np.ndarray
    position: np.ndarray
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular: np.ndarray = field(default_factory=lambda: np.zeros(3))
    material: str = ANYTHING


@dataclass(frozen=True)
class Machine:
    """
    A robot, its initial state, and a spring and damper about `rest` in each joint.

    stiffness [N m/rad], damping [N m s/rad], rest (n,) [rad] over the mechanism's joints. Its
    bodies do not collide with each other, nor with other robots.
    """

    mechanism: Mechanism
    state: State
    stiffness: float
    damping: float
    rest: np.ndarray
    material: str = ANYTHING


@dataclass(frozen=True)
class Scene:
    """
    Everything given to an engine.

    surfaces: contact law for each material pair; the order in a pair does not matter.
    erp: penetration fraction removed in a step, for engines with this parameter;
        None leaves each engine its default.
    """

    name: str
    time_step: float
    surfaces: Mapping[tuple[str, str], Surface]
    planes: tuple[Plane, ...] = (Plane(),)
    solids: tuple[Solid, ...] = ()
    machines: tuple[Machine, ...] = ()
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    erp: float | None = None

    @property
    def materials(self) -> list[str]:
        """Name the materials, sorted."""
        return sorted({name for pair in self.surfaces for name in pair})

    def surface(self, a: str, b: str) -> Surface | None:
        """Return the contact law between two materials; None if they never touch."""
        return self.surfaces.get((a, b)) or self.surfaces.get((b, a))

    def start(self) -> Motion:
        """Return the initial motion."""
        parts = [_motion_of_solids(self.solids)] if self.solids else []
        parts += [motion_of(machine.mechanism, machine.state) for machine in self.machines]
        return join_motions(parts)


def join_motions(parts: list[Motion]) -> Motion:
    """Concatenate the motions of several body groups."""
    if len(parts) == 1:
        return parts[0]
    return Motion(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ('com', 'rotation', 'velocity', 'angular')
        )
    )


def _motion_of_solids(solids):
    return Motion(
        com=np.array([solid.position for solid in solids], dtype=float),
        rotation=np.array([solid.rotation for solid in solids], dtype=float),
        velocity=np.array([solid.linear for solid in solids], dtype=float),
        angular=np.array([solid.angular for solid in solids], dtype=float),
    )


def energy_of_solids(scene: Scene, motion: Motion) -> float:
    """Return the loose bodies' kinetic and potential energy [J]; potential 0 at the origin."""
    n = len(scene.solids)
    mass = np.array([solid.mass for solid in scene.solids])
    inertia = np.array([solid.inertia for solid in scene.solids])
    v, p = motion.velocity[:n], motion.com[:n]
    w = np.einsum('nji,nj->ni', motion.rotation[:n], motion.angular[:n])
    return float(
        0.5 * mass @ (v**2).sum(axis=1)
        - mass @ (p @ scene.gravity)
        + 0.5 * np.einsum('ni,nij,nj->', w, inertia, w)
    )


def shapes_of(scene: Scene) -> list[tuple[Placed, ...]]:
    """Return every body's shapes, placed in its frame at the centre of mass."""
    shapes = [(Placed(solid.shape),) for solid in scene.solids]
    for machine in scene.machines:
        for body in machine.mechanism.bodies:
            shapes.append(
                tuple(
                    Placed(part.shape, part.position - body.com, part.rotation)
                    for part in body.shapes
                )
            )
    return shapes
