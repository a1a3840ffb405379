"""A joint between two links that the trees do not have: it closes a loop, or yields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data.loops import (
    AXES_OF_TYPE,
    AxisValues,
    DISTANCE,
    DOT,
    HARD,
    LoopJoint,
    Loops,
    ROWS_OF_TYPE,
    SLIDE,
    WORLD,
    Z,
)
from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.arguments import checked_cfm, checked_share
from sim_bridge.robots.joints.constraint_axis import ConstraintAxis
from sim_bridge.robots.joints.free_axes import FreeAxes

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDynamics, JointLimits
    from sim_bridge.engine.data.state import State
    from sim_bridge.robots.joints.spec import JointSpec
    from sim_bridge.robots.link import Link
    from sim_bridge.world.world import World

_ERP, _STOP_ERP = 0.2, 0.2


class ConstraintJoint(AnyJoint, ConstraintAxis):
    """
    A joint that is solved for as rows beside the trees: bilateral constraints with multipliers.

    It holds to rounding, or where cfm is not 0 yields like ODE's joints: its velocity error is
    ERP / h times its position error, less CFM times its force. After ODE's joints, their feedback
    and parameters.

    One that leaves a single coordinate free is its axis, of others see `axes`. q, dq, ddq, u are
    numbers or arrays over these, in the order of a tree's joint of that type; a hinge-2's
    suspension is no axis. They raise StateError for ball joints, whose angles an angular motor
    measures, and q and dq where they are set: they follow from the links.
    """

    is_tree = False

    def __init__(self, world: World, key: str, spec: JointSpec):
        """
        Belong to a world; `World.add_joint` and `World.load_urdf` make them.

        key: its name among the world's joints: a robot's begins with that of the robot.
        """
        self.world = world
        self.key = key
        self.name = spec.name
        self.type = spec.type
        self.frames = spec.constraint_frames
        self._rows = ROWS_OF_TYPE[spec.type]
        self.references = [_reference_of(row, spec) for row in self._rows]
        """What the error of each row is counted from [m, 1]."""
        self._compliance = (
            _ERP if spec.erp is None else spec.erp, 0.0 if spec.cfm is None else spec.cfm)
        self._suspension = spec.suspension
        self._axes = AXES_OF_TYPE[spec.type] if spec.axes is None else spec.axes
        count = len(self._axes)
        self._vectors = np.zeros((count, 3)) if spec.vectors is None else spec.vectors
        self.free = FreeAxes(self.frames, self._axes, self._vectors)
        self.joint = self
        self.number = 0
        self.coordinates = count, count
        self.axes = (self,) if count == 1 else tuple(
            ConstraintAxis(self, number) for number in range(count))
        self.values = _values(count)
        self.values.q[:] = self.free.positions(self.values.q)
        self._start = self.values.q.copy()

    def __repr__(self) -> str:
        """Show the names."""
        names = [frame.link.name if frame.link else 'the world' for frame in self.frames]
        return f'<ConstraintJoint {self.name!r} ({self.type}) of {names[0]} and {names[1]}>'

    @property
    def place(self) -> str:
        """Where the joint is, for messages."""
        return f'joint {self.key!r}'

    # --- where it is -----------------------------------------------------------------------------

    @property
    def link1(self) -> Link | None:
        """The first link; None for the world."""
        return self.frames[0].link

    @property
    def link2(self) -> Link | None:
        """The second link; None for the world."""
        return self.frames[1].link

    @property
    def anchor(self) -> np.ndarray:
        """(3,) where it is on the first link [m], world; after ODE."""
        return self.frames[0].pose[1].copy()

    @property
    def anchor2(self) -> np.ndarray:
        """(3,) where it is on the second link [m], world."""
        return self.frames[1].pose[1].copy()

    @property
    def axis(self) -> np.ndarray:
        """(3,) the first link's axis, world."""
        return self.frames[0].pose[0][:, Z].copy()

    @property
    def axis2(self) -> np.ndarray:
        """(3,) the second link's axis, world."""
        return self.frames[1].pose[0][:, Z].copy()

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) the joint's frame on the first link, the axis last; world."""
        return self.frames[0].pose[0]

    @property
    def error(self) -> tuple[float, float]:
        """By how much it is not closed: way [m], and sine of an angle or of its complement."""
        (R_A, p_A), (R_B, p_B) = (frame.pose for frame in self.frames)
        worst = [0.0, 0.0]
        for (kind, i, j), reference in zip(self._rows, self.references, strict=True):
            if kind == SLIDE:
                value = R_A[:, i] @ (p_B - p_A)
            elif kind == DOT:
                value = R_A[:, i] @ R_B[:, j]
            else:
                value = np.linalg.norm(p_B - p_A)
            worst[kind == DOT] = max(worst[kind == DOT], abs(float(value - reference)))
        return worst[0], worst[1]

    @property
    def has_user_axes(self) -> bool:
        """Whether each of its axes acts for itself, as those of an angular motor may do."""
        return self.free.are_users

    # --- what passes -----------------------------------------------------------------------------

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Force [N] and torque [N m] of the first link on the second through the joint.

        About `anchor2`, world axes, at the present state; rows that yield, and what acts along the
        axes, with their means over the last step.
        """
        self.world.observed_sites()
        return self.world.constraint_wrench(self)

    # --- parameters ------------------------------------------------------------------------------

    @property
    def erp(self) -> float:
        """Share of the error that a step takes back where it yields; from 0 to 1, to be set."""
        return self._compliance[0]

    @erp.setter
    def erp(self, value: float) -> None:
        self.compliance = checked_share('erp', value, self.place), self.cfm

    @property
    def cfm(self) -> float:
        """How much it yields [m/(N s), rad/(N m s)]; 0 where it is rigid, to be set."""
        return self._compliance[1]

    @cfm.setter
    def cfm(self, value: float) -> None:
        self.compliance = self.erp, checked_cfm(value, self.place)

    @property
    def compliance(self) -> tuple[float, float]:
        """Its erp and cfm, for snapshots."""
        return self._compliance

    @compliance.setter
    def compliance(self, value: tuple[float, float]) -> None:
        self._compliance = value
        self.world.reconnect_joints()

    # --- for World -------------------------------------------------------------------------------

    def describe(self, limits: JointLimits, dynamics: JointDynamics) -> None:
        """Take over what a description says of its first axis, if it has one of that kind."""
        if not self.axes or self.type in ('universal', 'hinge2', 'planar'):
            return
        axis = self.axes[0]
        axis.lower, axis.upper = limits.lower, limits.upper
        axis.effort_limit, axis.velocity_limit = limits.effort, limits.velocity
        axis.damping, axis.friction = dynamics.damping, dynamics.friction
        axis.stiffness, axis.reference = dynamics.stiffness, dynamics.reference

    def restart(self) -> None:
        """Count angles as at the beginning, and let its motors go for where it is."""
        self.values.q[:] = self._start
        driven = self.values.control != BY_EFFORT
        self.values.target[:] = 0.0
        self.values.target[driven, 0] = self._start[driven]

    def record(self) -> LoopJoint:
        """Return what the engine needs to know, of the robots' present places in its arrays."""
        bodies, numbers = [], []
        for link, rotation, position in self.frames:
            body = WORLD
            if link is not None:
                place = link.placement
                body = link.robot.part.at.body + place.body
                position = place.position + place.rotation @ position
                rotation = place.rotation @ rotation
            bodies.append(body)
            numbers += [*rotation.ravel(), *position]
        erp, cfm = [self.erp] * len(self._rows), [self.cfm] * len(self._rows)
        if self._suspension is not None:
            # as ODE's ERP and CFM stand for a spring and a damper; manual, 3.8.2
            h = self.world.time_step
            stiffness, damping = self._suspension.stiffness, self._suspension.damping
            row = self._rows.index((SLIDE, Z, Z))
            cfm[row] = 1.0 / (h * stiffness + damping)
            erp[row] = h * stiffness * cfm[row]
        return LoopJoint(
            self._rows, (bodies[0], bodies[1]), np.array(numbers), self.references, erp, cfm,
            self._axes, self._vectors, self.values)

    def bind(self, loops: Loops, state: State, first: int) -> None:
        """Take new places for the numbers of its axes, from row `first` on, and fill them in."""
        rows = slice(first, first + len(self.axes))
        places = AxisValues(
            *(getattr(loops, field)[rows] for field in ('passive', 'limits', 'motor', 'stop')),
            *(getattr(state, f'axis_{field}')[rows] for field in AxisValues._fields[4:]))
        for place, values in zip(places, self.values, strict=True):
            place[...] = values
        self.values = places

    def wrench_in(
        self, number: int, loops: Loops, arm: np.ndarray, force: np.ndarray, state: State,
        origin: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return force and torque about anchor2 on the second link.

        number: of the joint in `loops`. arm, force: the rows' wrenches, and their forces now, as
        of LoopWork. origin: O of the second body's tree; None for the world.
        """
        rows = np.flatnonzero(loops.joint[: loops.size[HARD]] == number)
        wrench = force[rows] @ arm[rows, 6:]
        torque, push = wrench[:3], wrench[3:]
        if origin is not None:
            torque = torque - np.cross(self.anchor2 - origin, push)
        yielded = state.loop_wrench[number]
        return push + yielded[3:], torque + yielded[:3]

    def _own(self, numbers: np.ndarray) -> float | np.ndarray:
        if self.type == 'ball':
            raise StateError(
                f'{self.place} is ball and closes a loop, or yields: it has no coordinates. Those '
                'of an angular motor beside it are its angles (World.add_angular_motor)')
        return super()._own(numbers)

    @property
    def _type_name(self) -> str:
        return self.type


def _reference_of(row: tuple[int, int, int], spec: JointSpec) -> float:
    """Return what a row's error is counted from."""
    kind, i, j = row
    if kind == DISTANCE:
        return spec.distance
    # the cosine of the angle between the axes of a universal joint and of a hinge-2
    return float(spec.axis2[Z]) if kind == DOT and i == j else 0.0


def _values(count: int) -> AxisValues:
    """Return the values of axes on which nothing acts."""
    return AxisValues(
        passive=np.zeros((count, 5)),
        limits=np.tile([-np.inf, np.inf, np.inf, np.inf], (count, 1)),
        motor=np.tile([0.0, 0.0, np.inf], (count, 1)),
        stop=np.tile([0.0, _STOP_ERP, 0.0], (count, 1)),
        q=np.zeros(count), u=np.zeros(count), control=np.zeros(count, np.int64),
        target=np.zeros((count, 2)), mode=np.zeros(count, np.int64), effort=np.zeros((count, 4)))
