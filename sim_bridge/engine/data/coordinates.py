"""
Arrays for textbook dynamics: one row per velocity coordinate in a robot, and scratch memory.

A joint's coordinates include all its bodies: three for a ball joint, six for a free joint. Spatial
quantities are as in `workspace`.
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
# entries in Coordinates.total
MOMENTUM, ANGULAR_MOMENTUM, KINETIC, POTENTIAL = 0, 3, 6, 7
TOTAL_SIZE = 8


class Coordinates(NamedTuple):
    """Arrays per coordinate for the algorithms in `dynamics.composite`."""

    order: Annotated[IntVector, Dims('nv', points_at='nv')]
    """All coordinates, each after those nearer to its root."""
    above: Annotated[IntVector, Dims('nv', points_at='nv')]
    """Next coordinate on the way to the root, -1 for none."""
    moved: Annotated[IntVector, Dims('nv', points_at='nb')]
    """Last body of the coordinate's joint: the child."""
    holder: Annotated[IntVector, Dims('nv', points_at='nb')]
    """Body to which the joint's axes are fixed, -1 for the world."""
    tip: Annotated[IntVector, Dims('nb', points_at='nv')]
    """Last coordinate that moves a body, -1 for none."""
    path: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Bodies from one body to its root."""
    axis: Annotated[FloatMatrix, Dims('nv', 6, unit='1; m')]
    """S: spatial velocity per unit velocity of the coordinate."""
    axis_rate: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s; m/s')]
    """Time derivative of S at zero accelerations."""
    shift: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s; m/s')]
    """
    v x S, with v the child's velocity.

    Seen from the child, the velocities of all bodies carried by the joint lack this term when the
    coordinate's position changes by a unit. It is zero for a free joint's translations.
    """
    shift_rate: Annotated[FloatMatrix, Dims('nv', 6, unit='1/s²; m/s²')]
    """The same correction for accelerations: a x S + v x (v x S)."""
    composite_rate: Annotated[FloatMatrix, Dims('nb', RATE_SIZE, unit='kg m²/s; kg m/s')]
    """Matrix of `composite.store_rate` by rows, then the rate of the first mass moment."""
    factor: Annotated[FloatMatrix, Dims('nv', 'nv', unit='SI')]
    """Mass matrix, later its factor L below the diagonal, M = Lᵀ D L."""
    pivot: Annotated[FloatVector, Dims('nv', unit='SI')]
    """1 / D; 0 for prescribed motion."""
    total: Annotated[FloatVector, Dims(TOTAL_SIZE, unit='kg m/s; kg m²/s; J')]
    """
    Totals over all bodies: MOMENTUM, ANGULAR_MOMENTUM about the mass centre, KINETIC, POTENTIAL.

    KINETIC includes the rotors. POTENTIAL is zero at the world origin.
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
