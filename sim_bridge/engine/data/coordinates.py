"""
Arrays of textbook dynamics: one row for each velocity coordinate of a robot, and scratch memory.

A joint's coordinates are those of all its bodies: three of a ball joint, six of a free one.
Spatial quantities are as in `workspace`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.model import (
    BALL,
    BALL_STAGE,
    body_count,
    FREE,
    Model,
    model_sizes,
    WELD,
)
from sim_bridge.engine.data.parts import Dims, make

RATE_SIZE = 12
# items of Coordinates.total
MOMENTUM, ANGULAR_MOMENTUM, KINETIC, POTENTIAL = 0, 3, 6, 7
TOTAL_SIZE = 8


class Coordinates(NamedTuple):
    """What the algorithms of `dynamics.composite` keep of each coordinate."""

    order: Annotated[IntVector, Dims('nv', points_at='nv')]
    """All coordinates, each after those nearer to its root."""
    above: Annotated[IntVector, Dims('nv', points_at='nv')]
    """The next coordinate on the way to the root, -1 for none."""
    moved: Annotated[IntVector, Dims('nv', points_at='nb')]
    """Last body of the coordinate's joint: the child."""
    holder: Annotated[IntVector, Dims('nv', points_at='nb')]
    """Body that the joint's axes are fixed in, -1 for the world."""
    tip: Annotated[IntVector, Dims('nb', points_at='nv')]
    """Of a body: the last coordinate that moves it, -1 for none."""
    path: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Bodies from one to its root."""
    axis: Annotated[FloatMatrix, Dims('nv', 6, unit='1; m')]
    """S: spatial velocity for a unit of the coordinate."""
    axis_rate: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s; m/s')]
    """Its time derivative at zero accelerations."""
    shift: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s; m/s')]
    """
    v x S, v: velocity of the joint's child.

    What the velocities of all that the joint carries lack, seen from there, when the coordinate's
    position changes by a unit; zero for the translations of a free joint.
    """
    shift_rate: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s²; m/s²')]
    """Likewise of accelerations: a x S + v x (v x S)."""
    composite_rate: Annotated[FloatMatrix, Dims('nb', RATE_SIZE, unit='kg m²/s; kg m/s')]
    """Matrix of `composite.store_rate` by rows, then the rate of the first moment of mass."""
    factor: Annotated[FloatMatrix, Dims('nv', 'nv', unit='SI')]
    """Mass matrix, then its factor L, M = Lᵀ D L, below the diagonal."""
    pivot: Annotated[FloatVector, Dims('nv', unit='SI')]
    """1 / D; 0 for what moves as it is told to."""
    total: Annotated[FloatVector, Dims(TOTAL_SIZE, unit='kg m/s; kg m²/s; J')]
    """
    Of all bodies: MOMENTUM, ANGULAR_MOMENTUM about the centre of mass, KINETIC and POTENTIAL.

    Energies: the kinetic one with that of rotors; the potential one is zero at the world's origin.
    """


def make_coordinates(model: Model) -> Coordinates:
    """Allocate the arrays for `model`, and number its coordinates."""
    sizes = model_sizes(model)
    count = sizes['nv']
    above, moved, holder = (np.full(count, -1, np.int64) for _ in range(3))
    tip = np.full(body_count(model), -1, np.int64)
    order: list[int] = []
    for body, (parent, kind, first) in enumerate(
        zip(model.parent.tolist(), model.kind.tolist(), model.v_index.tolist(), strict=True)
    ):
        last = int(tip[parent]) if parent >= 0 else -1
        own = range(first, first + (6 if kind >= FREE else kind > WELD))
        for coordinate in own:
            above[coordinate], moved[coordinate], last = last, body, coordinate
            is_later_stage = (
                parent >= 0 and kind in (BALL_STAGE, BALL) and (model.kind[parent] == BALL_STAGE)
            )
            holder[coordinate] = holder[above[coordinate]] if is_later_stage else parent
        if kind == BALL:
            moved[first - 2 : first] = body
        tip[body] = last
        order += own
    return make(
        Coordinates,
        sizes,
        order=np.array(order, np.int64),
        above=above,
        moved=moved,
        holder=holder,
        tip=tip,
    )
