"""The contact points of one step, the narrow phase's input to the solver."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

# entries of Contacts.size
COUNT = 0  # points found
OVERFLOW = 1  # 1 where there was no room for all


class Contacts(NamedTuple):
    """
    Contact points, ordered by (geometry a, geometry b, feature).

    The normal points from the second geometry towards the first, the way the first is pushed.
    """

    size: Annotated[IntVector, Dims(2)]
    """COUNT, OVERFLOW."""
    geometry: Annotated[IntMatrix, Dims('nc', 2, points_at='ng')]
    """The two geometries, the first the lower number."""
    feature: Annotated[IntVector, Dims('nc')]
    """What touches what: equal from step to step as long as the same features touch."""
    point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    """Midway between the two nearest points, world."""
    normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    """Unit vector, world."""
    gap: Annotated[FloatVector, Dims('nc', unit='m')]
    """Signed distance, negative inside."""


def make_contacts(capacity: int) -> Contacts:
    """Allocate room for `capacity` points."""
    return make(Contacts, {'nc': capacity})
