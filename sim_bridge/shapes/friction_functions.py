"""Friction computed by a Python function: its argument and its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sim_bridge.foundation.arrays import FloatArray, Vector


class TouchingPair(NamedTuple):
    """
    Two touching geometries in one step, with n contact points; copies, in world axes.

    a, b: names (robot, link, geometry); a has the first material of `set_contact_material`.
    positions: (n, 3) [m] and depths: (n,) [m], positive inside, in the middle of the step.
    normals: (n, 3), from b to a. velocities: (n, 3) of a's surface relative to b's at the start of
    the step [m/s]. normal_forces: (n,) in the last step, 0 for new points [N]. friction,
    friction2: coefficients in the contact material. time_step: s.
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
    Friction of two geometries in one step; each number for all points, or (n,), one for each.

    friction: coefficient for the exact cone; with friction2: coefficient along direction 1,
    bounded independently of direction 2. friction2: coefficient along direction 2.
    is_force: whether friction and friction2 are force bounds [N] instead of coefficients.
    direction: (3,) or (n, 3) first direction, world axes; None: the pair's direction.
    """

    friction: float | Vector
    friction2: float | Vector | None = None
    is_force: bool = False
    direction: Vector | FloatArray | None = None


FrictionFunction: TypeAlias = Callable[[TouchingPair], PairFriction | None]
"""Returns the friction between two geometries; None for the contact material's friction."""
