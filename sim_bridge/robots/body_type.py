"""What moves a robot's base, and whether gravity acts on it; to be changed while a world runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.compilation.bodies import check_motion
from sim_bridge.compilation.compile import Blueprint, compile_robot
from sim_bridge.engine.data.model import KINEMATIC
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.rotation import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_vector,
)
from sim_bridge.foundation.validation import finite_vector, positive_number, truth, unit_quaternion
from sim_bridge.simulation.assembly import carry_bodies, move_over, Part

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot


class MotionControl:
    """The motion control of a Robot, after AGX's."""

    @property
    def motion(self: Robot) -> str:
        """
        What moves the base: 'dynamic', forces; 'static', nothing; 'kinematic', `move_to`.

        To be set at any time. The base stays where it is and, unless it becomes static, goes on as
        it moves; a kinematic one does so until it is told otherwise. As when a robot is added,
        views of the world's arrays are to be taken anew, and older snapshots no longer fit. Other
        links of a robot are moved by the motors of their joints, which unless limited are as
        strong as it takes.

        Raises InvalidValueError for another value, or for a body without end that would move, and
        StateError for a base that hangs on a joint, or that has no mass and would be dynamic.
        """
        if self.fixed_base:
            return 'static'
        return 'kinematic' if self.blueprint.model.kind[0] == KINEMATIC else 'dynamic'

    @motion.setter
    def motion(self: Robot, value: str) -> None:
        place = f'robot {self.name!r}'
        shapes = self.collisions.shapes
        check_motion(value, [shape.placed for shape in shapes], place)
        if self.blueprint.mount is not None:
            raise StateError(
                f'{place} hangs on joint {self.blueprint.mount.joint.name!r}, which moves its '
                'base. Remove that first')
        if value == self.motion:
            return
        try:
            blueprint = compile_robot(
                self.description, value == 'static', shapes, value == 'kinematic')
        except InvalidValueError as error:
            raise StateError(
                f'{place} cannot be dynamic: {error}. A body that begins static or kinematic has '
                'the mass or density that add_body was given') from error
        old, parts = self.blueprint, (self.part, self.initial, self.added)
        part, self.initial, self.added = (
            _with_other_base(old, part, blueprint) for part in parts)
        self.rebuild(blueprint, None, part)
        self.world.rejoin()

    def move_to(
        self: Robot,
        position: Sequence[float],
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        dt: float | None = None,
    ) -> None:
        """
        Let a kinematic body move so that it is at a pose after `dt` seconds.

        It moves there at a steady velocity and turns about a fixed axis, the shorter way, and goes
        on like that until it is told otherwise. dt: the time step if None. Raises
        InvalidValueError for another body than a kinematic one, or values that are no pose.
        """
        place = f'robot {self.name!r}'
        if self.motion != 'kinematic':
            raise InvalidValueError(
                'motion', self.motion, "'kinematic', for what is moved", place)
        p = finite_vector('position', position, 3, place)
        quat = unit_quaternion(orientation, place)
        dt = self.world.time_step if dt is None else positive_number(
            'dt', dt, 'a positive number [s]', place)
        _, state, at = self.part
        now = state.q[at.q : at.q + 7]
        turn = matrix_from_quaternion(quat) @ matrix_from_quaternion(now[3:]).T
        self.set_base_velocity((p - now[:3]) / dt, rotation_vector(turn) / dt)

    @property
    def gravity_mode(self: Robot) -> bool:
        """Whether gravity acts on all of its links; to be set for all, or for one by `link`."""
        return all(link.gravity for link in self.links)

    @gravity_mode.setter
    def gravity_mode(self: Robot, value: bool) -> None:
        gravity = truth('gravity_mode', value, f'robot {self.name!r}')
        for link in self.links:
            link.gravity = gravity


def _with_other_base(old: Blueprint, source: Part, new: Blueprint) -> Part:
    """Return arrays for a robot whose base moves in another way, but is and goes where it was."""
    part = move_over(old, source, new)
    carry_bodies(new.model, source, part)
    (model, state, at), velocity = source, np.zeros(6)
    if old.fixed_base:
        frame = model.frame[at.body]
        pose = np.array([*frame[9:], *quaternion_from_matrix(frame[:9].reshape(3, 3))])
    else:
        pose, velocity = state.q[at.q : at.q + 7], state.v[at.v : at.v + 6]
    if new.fixed_base:
        part.model.frame[0] = [*matrix_from_quaternion(pose[3:]).ravel(), *pose[:3]]
    else:
        part.state.q[:7] = pose
        part.state.v[:6] = part.state.v_left[:6] = velocity
    return part
