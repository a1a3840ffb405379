"""Contact forces between two bodies, in a frame's axes; after AGX's ContactForceReader."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.validation import instance_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.moving_frame import MovingFrame
from sim_bridge.world.bodies import Body, geometries_of


class ContactForceReader(DeclaredAttributes):
    """
    Total contact force on a body a by a body b in the last step, computed at each access.

    force = normal_force + tangential_force; (3,) [N], mean over the last step, in axes of
    `frame` at its current pose.
    """

    __slots__ = ('a', 'b', 'frame')

    def __init__(self, a: Body, b: Body | None = None, frame: MovingFrame | None = None):
        """
        Read the forces on a body.

        a: robot, link or geometry. b: the same, or None for all bodies touching a. frame: link or
        observer frame; forces are in its axes, and the torque is about its origin; None for the
        world frame. Raises InvalidValueError for other objects and for objects in two worlds.
        """
        world = _world_of(a)
        geometries_of('a', a, world)
        if b is not None:
            geometries_of('b', b, world)
        if frame is not None:
            instance_of('frame', frame, MovingFrame, 'a link, an observer frame, or None')
        self.a: Final = a
        self.b: Final = b
        self.frame: Final = frame

    def __repr__(self) -> str:
        """Show the two bodies."""
        return f'<ContactForceReader of {self.b or "all"!r} on {self.a!r}>'

    @property
    def force(self) -> FloatArray:
        """(3,) total force on a [N]."""
        return self._turned(self._read()[0].sum(axis=0))

    @property
    def normal_force(self) -> FloatArray:
        """(3,) force component along the contact normals [N]."""
        return self._turned(self._parts()[0])

    @property
    def tangential_force(self) -> FloatArray:
        """(3,) force component across the contact normals: friction [N]."""
        return self._turned(self._parts()[1])

    @property
    def torque(self) -> FloatArray:
        """(3,) torque on a about `frame`'s origin, or the world's [N m]."""
        forces, _, positions, torques = self._read()
        origin = np.zeros(3) if self.frame is None else self.frame.p
        return self._turned((torques + np.cross(positions - origin, forces)).sum(axis=0))

    @property
    def count(self) -> int:
        """Contact count in the last step, including contacts without force."""
        return len(self._read()[0])

    def _parts(self) -> tuple[FloatArray, FloatArray]:
        forces, normals, _, _ = self._read()
        along = np.einsum('ni,ni->n', forces, normals)[:, np.newaxis] * normals
        return along.sum(axis=0), (forces - along).sum(axis=0)

    def _read(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return forces on a, normals, positions and torques, each (n, 3); world axes."""
        contacts = _world_of(self.a).contacts
        signs = contacts.signs(self.a, self.b)
        chosen = np.flatnonzero(signs)
        sign = signs[chosen, np.newaxis]
        return (
            sign * contacts.forces[chosen],
            contacts.normals[chosen],
            contacts.positions[chosen],
            sign * contacts.torques[chosen],
        )

    def _turned(self, vector: FloatArray) -> FloatArray:
        return vector if self.frame is None else self.frame.vector_from_world(vector)


def _world_of(body: Any) -> Any:
    """Return the world of a robot, link or geometry; None for anything else."""
    robot = (
        body.link.robot
        if isinstance(body, Geometry)
        else (body.robot if isinstance(body, Link) else body)
    )
    return getattr(robot, 'world', None)
