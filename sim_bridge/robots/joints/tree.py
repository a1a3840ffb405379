"""The place of a joint in a robot's tree: its coordinates and parameters in the world's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import JointType
from sim_bridge.description.stages import coordinate_counts
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.pipeline.observe import SITE_FORCE, SITE_ROTATION, SITE_TORQUE
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import unit_quaternion
from sim_bridge.robots.joints.frame import JointFrame, JointFrames

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDescription, Mimic
    from sim_bridge.robots.interfaces import LinkInterface, RobotInterface

_QUATERNIONS = JointType.BALL, JointType.FLOATING


class TreeSeat:
    """The seat of a joint in a robot's tree; see `seat.Seat`."""

    key: str | None = None
    has_user_axes = False
    by_second = True
    """Whether it is the second link that hangs on the first one."""

    def __init__(
        self, robot: RobotInterface, description: JointDescription, parent: LinkInterface | None,
        child: LinkInterface
    ):
        """Sit between two links of a robot, as a description says."""
        self.hang(robot, description, parent, child)
        self.name = description.name
        self.place = f'robot {robot.name!r}, joint {self.name!r}'
        origin, last = description.origin, description.axis2
        self.frames = JointFrames(
            JointFrame(parent, origin.rotation, origin.position),
            JointFrame(child, np.eye(3), np.zeros(3)),
            description.axis, description.axis if last is None else last)

    def hang(
        self, robot: RobotInterface, description: JointDescription, parent: LinkInterface | None,
        child: LinkInterface
    ) -> None:
        """Belong to a robot, between these links; parent: None for the world."""
        self.robot, self.slot, self.description = robot, robot.slot, description
        self.parent_link, self.child_link = parent, child
        self.coordinates = coordinate_counts(description)

    @property
    def type(self) -> JointType:
        """The kind of joint."""
        return self.description.type

    @property
    def is_ball(self) -> bool:
        """Whether it is a ball joint, whose parameters are the same in all directions."""
        return self.type is JointType.BALL

    @property
    def axis_count(self) -> int:
        """How many of its coordinates turn about, or slide along, an axis."""
        return 0 if self.type in _QUATERNIONS else self.coordinates[1]

    @property
    def mimic(self) -> Mimic | None:
        """The law that makes it follow another."""
        return self.description.mimic

    # --- its numbers -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Join the robots' arrays; views of those before would not stay valid."""
        self.robot.simulation.settle()

    def positions(self) -> np.ndarray:
        """Return the view of the positions."""
        slot = self.slot
        part = slot.part
        start = part.at.q + slot.blueprint.joint_q.get(self.name, 0)
        return part.state.q[start : start + self.coordinates[0]]

    def velocities(self) -> np.ndarray:
        """Return the view of the velocities."""
        return self.slot.part.state.v[self._rows()]

    def accelerations(self) -> np.ndarray:
        """Return the accelerations at the present state under the present efforts."""
        # which joins the arrays, so that rows may be others
        accelerations = self.robot.simulation.observed_accelerations()
        return accelerations[self._rows()]

    def efforts(self) -> np.ndarray:
        """Return the view of the applied efforts."""
        return self.slot.part.state.u[self._rows()]

    def check_movable(self, what: str, place: str) -> None:
        """Let it be moved."""

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Write positions; a quaternion is normalised, and InvalidValueError raised for none."""
        if isinstance(values, np.ndarray) and self.type in _QUATERNIONS:
            values[-4:] = unit_quaternion(values[-4:], self.place, 'quaternion of q')
        self.positions()[rows] = values

    def set_velocities(self, rows: slice, values: np.ndarray | float) -> None:
        """Write velocities."""
        self.velocities()[rows] = values

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Write efforts."""
        self.efforts()[rows] = values

    def parameters(self, array: str) -> np.ndarray:
        """Return the rows of one of the model's arrays of parameters."""
        return getattr(self.slot.part.model, array)[self._rows()]

    def states(self, array: str) -> np.ndarray:
        """Return the view of the rows of one of State's arrays by velocity."""
        return getattr(self.slot.part.state, array)[self._rows()]

    def _rows(self) -> slice:
        """Return its velocity coordinates in the world's arrays."""
        slot = self.slot
        start = slot.part.at.v + slot.blueprint.joint_v.get(self.name, 0)
        return slice(start, start + self.coordinates[1])

    # --- where it is, and what passes ------------------------------------------------------------

    def is_linear(self, number: int) -> bool:
        """Return whether an axis slides; else it turns."""
        return bool(self.slot.blueprint.model.kind[self._body(number)] == engine.PRISMATIC)

    def direction(self, number: int) -> np.ndarray:
        """Return the unit vector along which, or about which, an axis moves the second link."""
        simulation = self.robot.simulation
        simulation.settle()
        pose = simulation.observed_pose(self.slot.part.at.body + self._body(number))
        # of a joint whose first link hangs on its second, what hangs moves the other way
        return pose[[2, 5, 8]] * (1.0 if self.by_second else -1.0)

    def error(self) -> tuple[float, float]:
        """Return by how much it is not closed: nothing, as it is part of a tree."""
        return 0.0, 0.0

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 on the second link; see `AnyJoint.reaction`."""
        if self.name not in self.slot.blueprint.joint_body:
            raise StateError(
                f'the reaction of fixed joint {self.name!r} of robot {self.robot.name!r} is not '
                'computed: its links are one body. Declare a force-torque sensor on it'
            )
        # the child link's frame is the joint's, and its site's reaction that of its body's joint
        site = self.robot.simulation.observed_sites()[self.child_link.slot.site]
        rotation = site[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3)
        force = -rotation @ site[SITE_FORCE : SITE_FORCE + 3]
        torque = -rotation @ site[SITE_TORQUE : SITE_TORQUE + 3]
        arm = self.child_link.p - self.frames.second.pose[1]
        torque = torque + np.cross(arm, force)
        return (force, torque) if self.by_second else (-force, -torque)

    def wake(self) -> None:
        """Wake the robot, if it was asleep."""
        self.slot.wake()
        self.robot.simulation.forget_observations()

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        self.robot.simulation.invalidate()

    def _body(self, number: int) -> int:
        """Return the robot's body that moves along or about an axis."""
        own = self.slot.blueprint
        moves = (own.model.kind > engine.WELD) & (own.model.kind < engine.FREE)
        at = own.joint_v[self.name] + number
        return int(np.flatnonzero(moves & (own.model.v_index == at))[0])
