"""Contacts that a user makes for one step, after ODE's contact joints."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

USER_CONTACT = 1 << 60
"""Features of made contacts are this and more, those of contacts found are less."""


class UserContacts(NamedTuple):
    """
    The contacts of the next step that are made, ordered by (geometry a, geometry b).

    At the step's start; the normal pushes the first geometry, whose number is the lower.
    """

    size: Annotated[IntVector, Dims(1)]
    """As `Contacts.size`, without OVERFLOW."""
    geometry: Annotated[IntMatrix, Dims('user_contacts', 2, points_at='ng')]
    """The two geometries, whose bodies are pushed."""
    feature: Annotated[IntVector, Dims('user_contacts')]
    """USER_CONTACT, and the number among those of the same geometries."""
    law: Annotated[IntVector, Dims('user_contacts', points_at='laws')]
    """Row of ContactMaterials.law."""
    point: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='m')]
    """World."""
    normal: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='1')]
    """Unit vector, world."""
    gap: Annotated[FloatVector, Dims('user_contacts', unit='m')]
    """Negative inside."""
    direction: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='1')]
    """First direction of friction, world; zero for any."""
    motion: Annotated[FloatMatrix, Dims('user_contacts', 2, unit='m/s')]
    """Wanted velocities of the first surface relative to the second, along both directions."""


def make_user_contacts(room: int) -> UserContacts:
    """Allocate room for so many."""
    return make(UserContacts, {'user_contacts': room})
