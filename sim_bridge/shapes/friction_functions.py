"""Friction that a Python function decides: what it is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sim_bridge.foundation.arrays import FloatArray, Vector


class TouchingPair(NamedTuple):
    """
    Two geometries that touch in a step, with n points; copies, in world axes.

    a, b: names (robot, link, geometry); a has the first material of `set_contact_material`.
    positions: (n, 3) [m] and depths: (n,) [m], positive inside, in the middle of the step.
    normals: (n, 3), from b to a. velocities: (n, 3) of a's surface relative to b's at the start of
    the step [m/s]. normal_forces: (n,) of the last step, 0 for points that are new [N]. friction,
    friction2: of the contact material. time_step: s.
    """

    a: tuple[str, str, str]
    b: tuple[str, str, str]
    positions: FloatArray
    depths: FloatArray
    normals: FloatArray
    velocities: FloatArray
    normal_forces: FloatArray
    friction: float
    friction2: float
    time_step: float


class PairFriction(NamedTuple):
    """
    The friction of two geometries in a step; each number for all points, or (n,) for each of them.

    friction: coefficient of the exact cone; with friction2, along the first direction, and each
    direction for itself. friction2: along the second one. is_force: they are bounds [N], not
    coefficients. direction: (3,) or (n, 3) the first direction, world; None: that of the pair.
    """

    friction: float | Vector
    friction2: float | Vector | None = None
    is_force: bool = False
    direction: Vector | FloatArray | None = None


FrictionFunction: TypeAlias = Callable[[TouchingPair], PairFriction | None]
"""Returns the friction of two geometries, or None for that of the contact material."""
