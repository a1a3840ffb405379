"""User contacts: contacts added for one step, after ODE's contact joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, finite_vector, instance_of, items_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.shapes.material import ContactMaterial
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.user_contacts import UserContactArrays

_SLACK = 1e-6  # tolerance on the length of unit vectors


@dataclass(frozen=True, eq=False)
class UserContact:
    """
    A contact for the next `World.step`, whether or not the geometries touch.

    a, b: geometries whose links push each other, enabled or not, on two different bodies; forces
    must move at least one body.
    point: (3,) [m], world. normal: (3,) unit vector, world, direction in which a is pushed. depth:
    overlap [m], negative for a gap.
    material: contact law. Its `motion` and `motion2` are velocities, a's surface relative to b's,
    along `direction` and normal × direction. Unset values are as for two default materials.
    Adhesion, directions in frames, 'box' friction, friction functions, depth factors, reduction,
    contact areas and solve types apply to material pairs only.
    direction: (3,) first friction direction, world, made orthogonal to the normal; None for any.

    Raises InvalidValueError for other values.
    """

    a: Geometry
    b: Geometry
    point: Vector
    normal: Vector
    depth: float
    material: ContactMaterial = ContactMaterial()
    direction: Vector | None = None

    def __post_init__(self) -> None:
        """Check values independent of a world."""
        place = 'contact'
        for name in ('a', 'b'):
            instance_of(name, getattr(self, name), Geometry, 'a geometry', place)
        instance_of('material', self.material, ContactMaterial, 'a ContactMaterial', place)
        finite_number('depth', self.depth, place)
        object.__setattr__(self, 'point', finite_vector('point', self.point, 3, place))
        normal = finite_vector('normal', self.normal, 3, place)
        if abs(np.linalg.norm(normal) - 1.0) > _SLACK:
            raise InvalidValueError('normal', tuple(normal.tolist()), 'a unit vector', place)
        object.__setattr__(self, 'normal', normal)
        if self.direction is not None:
            object.__setattr__(
                self, 'direction', finite_vector('direction', self.direction, 3, place)
            )


def user_contact_arrays(
    simulation: Simulation, contacts: Iterable[UserContact] | UserContactArrays
) -> UserContactArrays | None:
    """
    Return contacts as arrays for the simulation's next step; None without contacts.

    `UserContactArrays` are returned unchecked. Raises InvalidValueError for objects that are not
    contacts between two bodies in this world.
    """
    if isinstance(contacts, UserContactArrays):
        return contacts
    if isinstance(contacts, tuple) and not contacts:
        return None
    given: list[UserContact] = list(items_of('contacts', contacts, UserContact, 'UserContacts'))
    if not given:
        return None
    law_of: dict[Any, int] = {}
    rows: list[np.ndarray] = []
    for contact in given:
        for name in ('a', 'b'):
            one: Geometry = getattr(contact, name)
            if one.link.robot.simulation is not simulation:
                raise InvalidValueError(name, one, 'a geometry of this world', 'contact')
        if contact.material not in law_of:
            law_of[contact.material] = len(rows)
            rows.append(simulation.registry.materials.law_of(contact.material))
    geometry = np.array([(each.a.index, each.b.index) for each in given], np.int64)
    body = simulation.cache.geometry.body[geometry]
    for row in np.flatnonzero(body[:, 0] == body[:, 1]):
        raise InvalidValueError(
            'b', given[row].b, f'a geometry of another body than {given[row].a!r}', 'contact'
        )
    materials = [each.material for each in given]
    return UserContactArrays(
        geometry,
        np.array([each.point for each in given]),
        np.array([each.normal for each in given]),
        np.array([-each.depth for each in given]),
        np.array(
            [(0.0, 0.0, 0.0) if each.direction is None else each.direction for each in given]
        ),
        np.array([(each.motion or 0.0, each.motion2 or 0.0) for each in materials]),
        np.array([law_of[each] for each in materials]),
        np.array(rows),
    )
