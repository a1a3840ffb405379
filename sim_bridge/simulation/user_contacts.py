"""User contacts for the next step, as engine arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.contact_materials import ContactMaterials, MATERIAL_LAW_SIZE
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.user_contacts import make_user_contacts, USER_CONTACT, UserContacts
from sim_bridge.foundation.arrays import FloatArray


class UserContactArrays(NamedTuple):
    """
    m user contacts, in any order, and their laws.

    geometry: (m, 2) numbers. point: (m, 3) [m]. normal: (m, 3) unit, the way the first is pushed.
    gap: (m,) [m]. direction: (m, 3) first friction direction, zero for any. motion: (m, 2)
    wanted velocities at the first surface [m/s]. law: (m,) row numbers in laws. laws: (k, 19) as
    ContactMaterials.law. Vectors are in world axes.
    """

    geometry: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    direction: np.ndarray
    motion: np.ndarray
    law: np.ndarray
    laws: np.ndarray


class UserContactBuffer:
    """The engine's room for user contacts: none until the first."""

    def __init__(self) -> None:
        """Begin without any."""
        self.contacts: UserContacts = make_user_contacts(0)
        self.laws = np.zeros((0, MATERIAL_LAW_SIZE))
        """The last rows in ContactMaterials.law, reserved for user contacts."""

    def is_short_of(self, contacts: UserContactArrays) -> bool:
        """Return whether there is no room for these contacts."""
        return len(self.contacts.law) < len(contacts.law) or len(self.laws) < len(contacts.laws)

    def grow(self, contacts: UserContactArrays) -> None:
        """Make room for these contacts, with new arrays."""
        if len(self.contacts.law) < len(contacts.law):
            self.contacts = make_user_contacts(2 * len(contacts.law))
        if len(self.laws) < len(contacts.laws):
            self.laws = np.zeros((2 * len(contacts.laws), MATERIAL_LAW_SIZE))

    def clear(self) -> None:
        """Drop the contacts."""
        self.contacts.size[COUNT] = 0

    def fill(self, contacts: UserContactArrays, contact_materials: ContactMaterials) -> None:
        """Write the contacts, in the engine's order, and their laws; there is room."""
        first = len(contact_materials.law) - len(self.laws)
        self.laws[: len(contacts.laws)] = contacts.laws
        contact_materials.law[first:] = self.laws
        is_turned = contacts.geometry[:, 0] > contacts.geometry[:, 1]
        sign = np.where(is_turned, -1.0, 1.0)[:, None]
        pair = np.sort(contacts.geometry, axis=1)
        order = np.lexsort((pair[:, 1], pair[:, 0]))
        count, own = len(order), self.contacts
        own.size[COUNT] = count
        own.geometry[:count] = pair = pair[order]
        is_first = np.ones(count, bool)
        is_first[1:] = (pair[1:] != pair[:-1]).any(axis=1)
        own.feature[:count] = (
            USER_CONTACT
            + np.arange(count)
            - np.maximum.accumulate(np.where(is_first, np.arange(count), 0))
        )
        own.law[:count] = first + contacts.law[order]
        own.point[:count], own.gap[:count] = contacts.point[order], contacts.gap[order]
        # the second direction, normal × first, stays, and the velocity along it turns around
        own.normal[:count] = (sign * contacts.normal)[order]
        own.direction[:count] = (sign * contacts.direction)[order]
        own.motion[:count, 0] = contacts.motion[order, 0]
        own.motion[:count, 1] = (sign[:, 0] * contacts.motion[:, 1])[order]


def user_contact_impulses(state: State, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """
    Return (m, 6) the last step's user contact impulses on their first geometries.

    Impulse [N s], and its torque about the point [N m s], world axes; zero for contacts that did
    not act. pairs: the contacts' geometries, in the order given to the step.
    """
    count = int(state.contact_size[COUNT])
    places = {
        (*pair, feature): place
        for place, (pair, feature) in enumerate(
            zip(
                state.contact_geometry[:count].tolist(),
                state.contact_feature[:count].tolist(),
                strict=True,
            )
        )
    }
    impulses, ranks = np.zeros((len(pairs), 6)), Counter[tuple[int, int]]()
    for number, (a, b) in enumerate(pairs):
        pair = min(a, b), max(a, b)
        place = places.get((*pair, USER_CONTACT + ranks[pair]))
        ranks[pair] += 1
        if place is not None:
            impulses[number] = (1.0 if a <= b else -1.0) * state.contact_impulse[place]
    return impulses
