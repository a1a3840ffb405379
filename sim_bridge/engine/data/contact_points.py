"""Contact points in one step: the narrow phase's input to the solver."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

# entries in Contacts.size
COUNT = 0  # found points
OVERFLOW = 1  # 1 if there was no room for all points


class Contacts(NamedTuple):
    """
    Contact points, ordered by (geometry a, geometry b, feature).

    The normal points from the second geometry towards the first, in the push direction on the
    first.
    """

    size: Annotated[IntVector, Dims(2)]
    """Entries COUNT, OVERFLOW."""
    geometry: Annotated[IntMatrix, Dims('nc', 2, points_at='ng')]
    """The two geometries, lower number first."""
    feature: Annotated[IntVector, Dims('nc')]
    """Identifier of the touching features: equal while the same features touch."""
    point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    """Midpoint between the two witness points, world."""
    normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    """Unit vector, world."""
    gap: Annotated[FloatVector, Dims('nc', unit='m')]
    """Signed distance, negative inside."""


def make_contacts(capacity: int) -> Contacts:
    """Allocate arrays for `capacity` points."""
    return make(Contacts, {'nc': capacity})
