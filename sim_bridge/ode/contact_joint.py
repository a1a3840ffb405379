"""Contact joint: contact between two bodies in the next steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode import constants as ode
from sim_bridge.ode.contact import Contact
from sim_bridge.ode.contact_rows import ContactRow
from sim_bridge.ode.joints import Joint, JointGroup
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.ode.world import World

_SLACK = 1e-6  # tolerance for the length of unit vectors
Arm = FloatArray | None
Feedback = tuple[Triple, Triple, Triple, Triple]


class ContactJoint(Joint):
    """Contact between two bodies until the joint ends, usually with its group."""

    _type = ode.JointTypeContact

    def __init__(self, world: World, jointgroup: JointGroup | None, contact: Contact) -> None:
        """Copy the present data of a contact."""
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
        """Register with the world; the engine has no joint for a contact."""
        self._made = []
        self._arms: list[Arm] = []
        self._feedback: Feedback | None = None
        self.world.admit_contact(self)

    @property
    def is_over(self) -> bool:
        """Whether the joint has ended permanently."""
        return self._is_over

    def renew(self) -> None:
        """Do nothing: contacts are passed to each step."""

    def _begin(self) -> None:
        """Do nothing: the contact has its own position."""

    def make(self) -> None:
        """Do nothing: the engine has no joint for a contact."""

    def unmake(self) -> None:
        """Do nothing: there is no engine joint."""

    def row(self, numbers: dict[int, int]) -> ContactRow | None:
        """
        Wake the attached bodies and return the contact for a step, None if it does not act.

        numbers: cache of geometry indices in the engine, by geom number; extended by this call.
        """
        if not self.is_live:
            return None
        self._wake()
        point, normal, depth, *geoms = self._geom
        if self._has_feedback:
            self._arms = [
                None if body is None else np.array(point) - body.getPosition()
                for body in self.bodies
            ]
        return ContactRow(
            self._number_of(0, geoms, numbers),
            self._number_of(1, geoms, numbers),
            point,
            normal,
            depth,
            self._direction,
            self._material,
        )

    @property
    def wants_feedback(self) -> bool:
        """Whether the joint needs its force after a step."""
        return self._has_feedback

    def take_feedback(self, force: FloatArray, torque: FloatArray) -> None:
        """Store the wrench on the first body in a step: (3,) [N], (3,) about the point [N m]."""
        on_first, on_second = (
            ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            if arm is None
            else (triple(sign * force), triple(sign * (torque + np.cross(arm, force))))
            for sign, arm in zip((1.0, -1.0), self._arms, strict=True)
        )
        self._feedback = *on_first, *on_second

    def getFeedback(self) -> Feedback | None:
        """
        Return force and torque on the first body, then on the second, about their centres.

        Means over the last step [N, N m]. None unless setFeedback was called before that step.
        """
        return self._feedback if self._has_feedback else None

    def _number_of(self, side: int, geoms: list[Any], numbers: dict[int, int]) -> int:
        """Return the engine's geometry index for one side: the geom's, if its body is attached."""
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
