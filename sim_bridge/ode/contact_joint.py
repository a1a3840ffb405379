"""A contact joint: what two bodies push each other with in the next steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode.contact import Contact
from sim_bridge.ode.joints import Joint, JointGroup
from sim_bridge.ode.world import World
from sim_bridge.world.made_contacts import MadeContact


class ContactJoint(Joint):
    """Pushes two bodies apart at a contact, until it ends: usually with its group."""

    def __init__(self, world: World, jointgroup: JointGroup | None, contact: Contact) -> None:
        """Take a contact as it is now."""
        if not isinstance(contact, Contact):
            raise InvalidValueError('contact', contact, 'a Contact', 'ContactJoint')
        super().__init__(world, jointgroup)
        self._geom = contact.getContactGeomParams()
        self._material = contact.material(*world.contact_settings())
        self._direction = contact.direction

    def make(self) -> None:
        """Make nothing: contacts are handed to each step."""
        self.is_stale = False

    def prepare_step(self, time_step: float) -> Iterable[Any]:
        """Return the contact."""
        super().prepare_step(time_step)
        if not self.is_live:
            return ()
        point, normal, depth, *geoms = self._geom
        a, b = (self._geometry(number, geoms) for number in (0, 1))
        return (MadeContact(a, b, point, normal, depth, self._material, self._direction),)

    def _geometry(self, number: int, geoms: list[Any]) -> Any:
        """Return the engine's geometry of a side: the geom's, if its body is that."""
        body = self.bodies[number]
        for geom in geoms:
            if geom is not None and geom.getBody() is body:
                found = geom.geometry_in(self.world)
                if found is not None:
                    return found
        return self.world.environment() if body is None else body.robot.root_link.geometries[0]
