"""A contact joint: what two bodies push each other with in the next steps."""

from __future__ import annotations

from collections.abc import Iterable
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

    def renew(self) -> None:
        """Do nothing: contacts are handed to each step."""

    def _begin(self) -> None:
        """Do nothing: the contact says where it is."""

    def unmake(self) -> None:
        """Do nothing: nothing was made."""

    def prepare_step(self, time_step: float) -> Iterable[ContactRow]:
        """Return the contact."""
        super().prepare_step(time_step)
        if not self.is_live:
            return ()
        point, normal, depth, *geoms = self._geom
        a, b = (self._geometry(number, geoms).index for number in (0, 1))
        return (ContactRow(a, b, point, normal, depth, self._direction, self._material),)

    def _geometry(self, number: int, geoms: list[Any]) -> Any:
        """Return the engine's geometry of a side: the geom's, if its body is that."""
        body = self.bodies[number]
        for geom in geoms:
            if geom is not None and geom.getBody() is body:
                found = geom.geometry_in(self.world)
                if found is not None:
                    return found
        return self.world.environment() if body is None else body.robot.root_link.geometries[0]
