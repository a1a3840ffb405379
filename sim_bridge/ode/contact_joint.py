"""A contact joint: what two bodies push each other with in the next steps."""

from __future__ import annotations

import math
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode import constants as ode
from sim_bridge.ode.contact import Contact
from sim_bridge.ode.joints import Joint, JointGroup
from sim_bridge.ode.made import ContactRow
from sim_bridge.ode.world import World

_SLACK = 1e-6  # of the length of unit vectors


class ContactJoint(Joint):
    """Pushes two bodies apart at a contact, until it ends: usually with its group."""

    _type = ode.JointTypeContact

    def __init__(self, world: World, jointgroup: JointGroup | None, contact: Contact) -> None:
        """Take a contact as it is now."""
        if not isinstance(contact, Contact):
            raise InvalidValueError('contact', contact, 'a Contact', 'ContactJoint')
        super().__init__(world, jointgroup)
        self._geom = contact.getContactGeomParams()
        normal = self._geom[1]
        if abs(math.hypot(*normal) - 1.0) > _SLACK:
            raise InvalidValueError('normal', normal, 'a unit vector', 'ContactJoint')
        self._material = contact.material(*world.contact_settings())
        self._direction = contact.direction

    def _enter(self) -> None:
        """Be handed to steps by the world; nothing is made in the engine."""
        self._made = []
        self.world.admit_contact(self)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, for good."""
        return self._is_over

    def renew(self) -> None:
        """Do nothing: contacts are handed to each step."""

    def _begin(self) -> None:
        """Do nothing: the contact says where it is."""

    def unmake(self) -> None:
        """Do nothing: nothing was made."""

    def row(self, numbers: dict[int, int]) -> ContactRow | None:
        """
        Wake what it ties together; return the contact for a step, None where it does not act.

        numbers: of the engine's geometries by those of geoms, as far as they are known; kept.
        """
        if not self.is_live:
            return None
        self._wake()
        point, normal, depth, *geoms = self._geom
        return ContactRow(
            self._number_of(0, geoms, numbers), self._number_of(1, geoms, numbers), point, normal,
            depth, self._direction, self._material)

    def _number_of(self, side: int, geoms: list[Any], numbers: dict[int, int]) -> int:
        """Return the engine's number of a side's geometry: the geom's, if its body is that."""
        body = self.bodies[side]
        for geom in geoms:
            if geom is not None and geom.getBody() is body:
                number = numbers.get(geom.number)
                if number is not None:
                    return number
                found = geom.geometry_in(self.world)
                if found is not None:
                    numbers[geom.number] = number = found.index
                    return int(number)
        found = self.world.environment() if body is None else body.robot.root_link.geometries[0]
        return int(found.index)
