"""Contacts that a user makes for one step, after ODE's contact joints."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

MADE = 1 << 60
"""Features of made contacts are this and more, those of contacts found are less."""


class MadeContacts(NamedTuple):
    """
    The contacts of the next step that are made, ordered by (geometry a, geometry b).

    At the step's start; the normal pushes the first geometry, whose number is the lower.
    """

    size: Annotated[IntVector, Dims(1)]
    """As `Contacts.size`, without OVERFLOW."""
    geometry: Annotated[IntMatrix, Dims('made', 2, points_at='ng')]
    """The two geometries, whose bodies are pushed."""
    feature: Annotated[IntVector, Dims('made')]
    """MADE, and the number among those of the same geometries."""
    law: Annotated[IntVector, Dims('made', points_at='laws')]
    """Row of Surfaces.law."""
    point: Annotated[FloatMatrix, Dims('made', 3, unit='m')]
    """World."""
    normal: Annotated[FloatMatrix, Dims('made', 3, unit='1')]
    """Unit vector, world."""
    gap: Annotated[FloatVector, Dims('made', unit='m')]
    """Negative inside."""
    direction: Annotated[FloatMatrix, Dims('made', 3, unit='1')]
    """First direction of friction, world; zero for any."""
    motion: Annotated[FloatMatrix, Dims('made', 2, unit='m/s')]
    """Wanted velocities of the first surface relative to the second, along both directions."""


def make_made_contacts(room: int) -> MadeContacts:
    """Allocate room for so many."""
    return make(MadeContacts, {'made': room})
