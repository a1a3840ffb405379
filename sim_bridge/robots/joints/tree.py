"""Tree joint backend: its coordinates and parameters in the world's arrays."""

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

# parameter arrays in the model
PARAMETERS = 'passive', 'limits', 'motor', 'stop'
# motor command arrays in the state
_COMMANDS = 'control', 'target', 'course'
# joint types whose position coordinates end with a quaternion
WITH_QUATERNION = JointType.BALL, JointType.FLOATING


class TreeJointBackend:
    """
    Backend for a joint in a robot's tree.

    name: joint name. place: name for messages. frames: on both links. coordinates: nq and nv.
    parent_link: None for the world.
    """

    key: str | None = None
    """Name among the world's joints; None for a joint in a robot's description."""
    has_user_axes = False
    """Whether the axes are independent axes of an angular motor; never for a tree joint."""
    by_second = True
    """Whether the second link is the child; otherwise the first is."""

    def __init__(
        self, robot: Robot, description: JointDescription, parent: Link | None, child: Link
    ):
        """Place a described joint between two robot links."""
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
        """Set the robot, the description and the links; parent: None for the world."""
        self.robot, self.slot, self.description = robot, robot.slot, description
        self.parent_link, self.child_link = parent, child
        self.coordinates = coordinate_counts(description)

    type = ReadOnly[JointType]('description.type', 'The joint type.')
    mimic = ReadOnly[Mimic | None](
        'description.mimic', 'Mimic law by which it follows another joint; None if none.'
    )

    @property
    def owner(self) -> str:
        """The robot's name, for the joint's repr."""
        return repr(self.robot.name)

    @property
    def is_ball(self) -> bool:
        """Whether it is a ball joint; its parameters have one value for all directions."""
        return self.type is JointType.BALL

    @property
    def axis_count(self) -> int:
        """Coordinate count about or along an axis."""
        return 0 if self.type in WITH_QUATERNION else self.coordinates[1]

    # --- coordinates, efforts and parameters -----------------------------------------------------

    def settle(self) -> None:
        """Join the robots' arrays, so views returned afterwards stay valid."""
        self.robot.simulation.cache.settle()

    def positions(self) -> np.ndarray:
        """Return the positions (nq,) [m, rad]; a view."""
        slot = self.slot
        part = slot.part
        start = part.at.q + slot.blueprint.joint_q.get(self.name, 0)
        return part.state.q[start : start + self.coordinates[0]]

    def velocities(self) -> np.ndarray:
        """Return the velocities (nv,) [m/s, rad/s]; a view."""
        return self.slot.part.state.v[self._rows()]

    def accelerations(self) -> np.ndarray:
        """Return the accelerations (nv,) for the current state and efforts [m/s², rad/s²]."""
        # before looking up the rows, because this may join the arrays and change the rows
        accelerations = self.robot.simulation.observation.observer().workspace.ddq
        return accelerations[self._rows()]

    def efforts(self) -> np.ndarray:
        """Return the applied efforts u (nv,) [N, N m]; a view."""
        return self.slot.part.state.u[self._rows()]

    def change(self) -> Change:
        """Return a context for several writes: either all take effect, or none."""
        return Change(self.robot.simulation.staleness)

    def check_movable(self, what: str, place: str = '') -> None:
        """Do nothing: tree joint positions and velocities can be set."""

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Set finite positions."""
        slot = self.slot
        part = slot.part
        start = part.at.q + slot.blueprint.joint_q.get(self.name, 0)
        own = part.state.q[start : start + self.coordinates[0]]
        self.robot.simulation.staleness.write_view(State, 'q', own, rows, values)

    def write(self, field: str, index: Any, values: Any) -> None:
        """
        Write rows in a parameter array, or in a `State` array with one row per velocity.

        Motor commands wake the robot.
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
        """Raise StateError: a tree joint's direction is constant."""
        raise StateError(
            f'the direction of {place} is part of a tree; add_joint(…, tree=False) makes a '
            'constraint, whose `axis` can be set'
        )

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Set finite efforts."""
        slot = self.slot
        part = slot.part
        start = part.at.v + slot.blueprint.joint_v.get(self.name, 0)
        own = part.state.u[start : start + self.coordinates[1]]
        self.robot.simulation.staleness.write_view(State, 'u', own, rows, values)

    def parameters(self, array: str) -> np.ndarray:
        """Return (nv, k) rows in model array 'passive', 'limits', 'motor' or 'stop'."""
        return getattr(self.slot.part.model, array)[self._rows()]

    def states(self, array: str) -> np.ndarray:
        """Return (nv, …) rows in a `State` array with one row per velocity; a view."""
        return getattr(self.slot.part.state, array)[self._rows()]

    def view(self, what: str, number: int) -> np.ndarray | None:
        """Return a view (1,) into axis `number`'s values; see `Axis.view`."""
        self.settle()
        row = slice(number, number + 1)
        if what in ('q', 'dq'):
            return (self.positions() if what == 'q' else self.velocities())[row]
        return self.states('motor')[row]

    def _rows(self) -> slice:
        """Return the joint's velocity rows in the world's arrays."""
        slot = self.slot
        start = slot.part.at.v + slot.blueprint.joint_v.get(self.name, 0)
        return slice(start, start + self.coordinates[1])

    # --- geometry and reaction -------------------------------------------------------------------

    def is_linear(self, number: int) -> bool:
        """Return whether axis `number` is linear; otherwise it is revolute."""
        return bool(self.slot.blueprint.model.kind[self._body(number)] == engine.PRISMATIC)

    def direction(self, number: int) -> np.ndarray:
        """Return the unit vector (3,) along or about which the second link moves; world axes."""
        simulation = self.robot.simulation
        simulation.cache.settle()
        pose = simulation.observation.observer().workspace.pose[
            self.slot.part.at.body + self._body(number)
        ]
        # if the first link is the child, the pose is the first link's
        return pose[[2, 5, 8]] * (1.0 if self.by_second else -1.0)

    def error(self) -> tuple[float, float]:
        """Return the position error [m] and the sine of the angular error: 0 for a tree joint."""
        return 0.0, 0.0

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force [N] and torque [N m] on the second link; see `AnyJoint.reaction`."""
        if self.name not in self.slot.blueprint.joint_body:
            raise StateError(
                f'the reaction of fixed joint {self.name!r} of robot {self.robot.name!r} is not '
                'computed: its links are one body. Declare a force-torque sensor on it'
            )
        # the child link's site contains the body joint's reaction
        site = self.robot.simulation.observation.sites()[self.child_link.slot.site]
        rotation = site[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3)
        force = -rotation @ site[SITE_FORCE : SITE_FORCE + 3]
        torque = -rotation @ site[SITE_TORQUE : SITE_TORQUE + 3]
        arm = self.child_link.p - self.frames.second.pose[1]
        torque = torque + np.cross(arm, force)
        return (force, torque) if self.by_second else (-force, -torque)

    def _body(self, number: int) -> int:
        """Return the index of the body that an axis moves, among the robot's bodies."""
        own = self.slot.blueprint
        moves = (own.model.kind > engine.WELD) & (own.model.kind < engine.FREE)
        at = own.joint_v[self.name] + number
        return int(np.flatnonzero(moves & (own.model.v_index == at))[0])
