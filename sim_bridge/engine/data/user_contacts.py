"""User contacts, added by a user for one step, after ODE's contact joints."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

USER_CONTACT = 1 << 60
"""Least feature number for user contacts; features of found contacts are smaller."""


class UserContacts(NamedTuple):
    """
    User contacts for the next step, ordered by (geometry a, geometry b).

    Values are at the step's start. The normal pushes the first geometry, the one with the lower
    number.
    """

    size: Annotated[IntVector, Dims(1)]
    """As `Contacts.size`, without OVERFLOW."""
    geometry: Annotated[IntMatrix, Dims('user_contacts', 2, points_at='ng')]
    """The two geometries whose bodies are pushed."""
    feature: Annotated[IntVector, Dims('user_contacts')]
    """USER_CONTACT plus the contact's number among contacts of the same geometries."""
    law: Annotated[IntVector, Dims('user_contacts', points_at='laws')]
    """Row in ContactMaterials.law."""
    point: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='m')]
    """Contact point, world."""
    normal: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='1')]
    """Unit vector, world."""
    gap: Annotated[FloatVector, Dims('user_contacts', unit='m')]
    """Signed distance, negative inside."""
    direction: Annotated[FloatMatrix, Dims('user_contacts', 3, unit='1')]
    """First friction direction, world; zero for any direction."""
    motion: Annotated[FloatMatrix, Dims('user_contacts', 2, unit='m/s')]
    """Target velocities of the first surface relative to the second, along both directions."""


def make_user_contacts(room: int) -> UserContacts:
    """Allocate arrays for `room` contacts."""
    return make(UserContacts, {'user_contacts': room})
