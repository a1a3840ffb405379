"""The place of a joint in a robot's tree: its coordinates and parameters in the world's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.model import JointDescription, JointType, Mimic
from sim_bridge.description.stages import coordinate_counts
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.state import State
from sim_bridge.engine.pipeline.observe import SITE_FORCE, SITE_ROTATION, SITE_TORQUE
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.frame import JointFrame, JointFrames
from sim_bridge.robots.owners import Link, Robot
from sim_bridge.simulation.change import Change

# rows of the model
PARAMETERS = 'passive', 'limits', 'motor', 'stop'
# of a motor
_COMMANDS = 'control', 'target', 'course'
# position coordinates of these end with a quaternion
WITH_QUATERNION = JointType.BALL, JointType.FLOATING


class TreeJointBackend:
    """
    The backend of a joint in a robot's tree.

    name: of the joint. place: where it is, for messages. frames: on both links. coordinates: nq
    and nv. parent_link: None for the world.
    """

    key: str | None = None
    """Its name among the world's joints, if it is one of those."""
    has_user_axes = False
    """Whether its axes are independent, as those of an angular motor; else they share work."""
    by_second = True
    """Whether the second link hangs on the first one; else the first on the second."""

    def __init__(
        self, robot: Robot, description: JointDescription, parent: Link | None, child: Link
    ):
        """Place a described joint between two links of a robot."""
        self.hang(robot, description, parent, child)
        self.name = description.name
        self.place = f'robot {robot.name!r}, joint {self.name!r}'
        origin, last = description.origin, description.axis2
        own = description.child_pose.inverse
        self.frames = JointFrames(
            JointFrame(parent, origin.rotation, origin.position),
            JointFrame(child, own.rotation, own.position),
            description.axis,
            description.axis if last is None else last,
        )

    def hang(
        self, robot: Robot, description: JointDescription, parent: Link | None, child: Link
    ) -> None:
        """Set the robot, the joint's description and its links; parent: None for the world."""
        self.robot, self.slot, self.description = robot, robot.slot, description
        self.parent_link, self.child_link = parent, child
        self.coordinates = coordinate_counts(description)

    type = ReadOnly[JointType]('description.type', 'The joint type.')
    mimic = ReadOnly[Mimic | None](
        'description.mimic', 'The law by which it follows another joint; None if it follows none.'
    )

    @property
    def owner(self) -> str:
        """The robot that it is part of, for its repr."""
        return repr(self.robot.name)

    @property
    def is_ball(self) -> bool:
        """Whether it is a ball joint, whose parameters are the same in all directions."""
        return self.type is JointType.BALL

    @property
    def axis_count(self) -> int:
        """The number of coordinates that turn about an axis or slide along one."""
        return 0 if self.type in WITH_QUATERNION else self.coordinates[1]

    # --- its numbers -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Join the robots' arrays, so that the views returned next stay valid."""
        self.robot.simulation.cache.settle()

    def positions(self) -> np.ndarray:
        """Return (nq,) the positions [m, rad]; a view."""
        slot = self.slot
        part = slot.part
        start = part.at.q + slot.blueprint.joint_q.get(self.name, 0)
        return part.state.q[start : start + self.coordinates[0]]

    def velocities(self) -> np.ndarray:
        """Return (nv,) the velocities [m/s, rad/s]; a view."""
        return self.slot.part.state.v[self._rows()]

    def accelerations(self) -> np.ndarray:
        """Return (nv,) the accelerations for the present state and efforts [m/s², rad/s²]."""
        # before the rows are looked up: it may join the arrays, which changes them
        accelerations = self.robot.simulation.observation.observer().workspace.ddq
        return accelerations[self._rows()]

    def efforts(self) -> np.ndarray:
        """Return (nv,) the applied efforts u [N, N m]; a view."""
        return self.slot.part.state.u[self._rows()]

    def change(self) -> Change:
        """Return a context for several writes, which are all made or none."""
        return Change(self.robot.simulation.staleness)

    def check_movable(self, what: str, place: str) -> None:
        """Do nothing: positions and velocities of a tree joint can be set."""

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Set finite positions."""
        write_view = self.robot.simulation.staleness.write_view
        write_view(State, 'q', self.positions(), rows, values)

    def write(self, field: str, index: Any, values: Any) -> None:
        """
        Write rows of a parameter array, or of an array of `State` that has a row per velocity.

        Commands of the motor wake the robot.
        """
        slot, staleness = self.slot, self.robot.simulation.staleness
        if field in PARAMETERS:
            array = getattr(slot.part.model, field)[self._rows()]
            staleness.write_view(Model, field, array, index, values)
        else:
            array = getattr(slot.part.state, field)[self._rows()]
            robots = (slot,) if field in _COMMANDS else ()
            staleness.write_view(State, field, array, index, values, robots)

    def set_direction(self, number: int, value: object, place: str) -> None:
        """Raise StateError: the joint was made with it."""
        raise StateError(
            f'the direction of {place} is part of a tree; that of a constraint, which '
            'add_joint(…, tree=False) makes, can be set by its `axis`'
        )

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Set finite efforts."""
        self.write('u', rows, values)

    def parameters(self, array: str) -> np.ndarray:
        """Return (nv, k) rows of the model's array 'passive', 'limits', 'motor' or 'stop'."""
        return getattr(self.slot.part.model, array)[self._rows()]

    def states(self, array: str) -> np.ndarray:
        """Return (nv, …) rows of an array of `State` that has a row for each velocity; a view."""
        return getattr(self.slot.part.state, array)[self._rows()]

    def view(self, what: str, number: int) -> np.ndarray | None:
        """Return (1,) a number of axis `number` in the world's arrays; as `Axis.view`."""
        self.settle()
        row = slice(number, number + 1)
        if what in ('q', 'dq'):
            return (self.positions() if what == 'q' else self.velocities())[row]
        return self.states('motor')[row]

    def _rows(self) -> slice:
        """Return its velocity coordinates in the world's arrays."""
        slot = self.slot
        start = slot.part.at.v + slot.blueprint.joint_v.get(self.name, 0)
        return slice(start, start + self.coordinates[1])

    # --- where it is, and what passes ------------------------------------------------------------

    def is_linear(self, number: int) -> bool:
        """Return whether axis `number` slides; else it turns."""
        return bool(self.slot.blueprint.model.kind[self._body(number)] == engine.PRISMATIC)

    def direction(self, number: int) -> np.ndarray:
        """Return (3,) the unit vector along or about which the second link moves; world axes."""
        simulation = self.robot.simulation
        simulation.cache.settle()
        pose = simulation.observation.observer().workspace.pose[
            self.slot.part.at.body + self._body(number)
        ]
        # where the first link hangs on the second, the pose is that of the first
        return pose[[2, 5, 8]] * (1.0 if self.by_second else -1.0)

    def error(self) -> tuple[float, float]:
        """Return position error [m] and sine of the angular error: a tree joint has none."""
        return 0.0, 0.0

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force [N] and torque [N m] on the second link; as `AnyJoint.reaction`."""
        if self.name not in self.slot.blueprint.joint_body:
            raise StateError(
                f'the reaction of fixed joint {self.name!r} of robot {self.robot.name!r} is not '
                'computed: its links are one body. Declare a force-torque sensor on it'
            )
        # the child link's site has the reaction of the body's joint
        site = self.robot.simulation.observation.sites()[self.child_link.slot.site]
        rotation = site[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3)
        force = -rotation @ site[SITE_FORCE : SITE_FORCE + 3]
        torque = -rotation @ site[SITE_TORQUE : SITE_TORQUE + 3]
        arm = self.child_link.p - self.frames.second.pose[1]
        torque = torque + np.cross(arm, force)
        return (force, torque) if self.by_second else (-force, -torque)

    def _body(self, number: int) -> int:
        """Return the number of the robot's body that moves along or about an axis."""
        own = self.slot.blueprint
        moves = (own.model.kind > engine.WELD) & (own.model.kind < engine.FREE)
        at = own.joint_v[self.name] + number
        return int(np.flatnonzero(moves & (own.model.v_index == at))[0])
