"""The seat of a joint outside the trees: rows that close a loop or are compliant."""

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
from sim_bridge.engine.data.state import (
    BY_EFFORT,
    COURSE_SIZE,
    FRICTION_SHARE,
    MOTOR_SHARE,
    STOP_SHARE,
)
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.arguments import checked_cfm, checked_share
from sim_bridge.robots.joints.free_axes import FreeAxes
from sim_bridge.robots.joints.joint import ConstraintJoint

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDynamics, JointLimits
    from sim_bridge.engine.data.state import State
    from sim_bridge.robots.joints.spec import JointSpec
    from sim_bridge.simulation.simulation import Simulation

_ERP, _STOP_ERP = 0.2, 0.2


class ConstraintSeat:
    """
    The seat of a joint that is solved for as rows beside the trees; see `seat.Seat`.

    joint: the joint that sits here, for users.
    """

    mimic = None

    def __init__(self, simulation: Simulation, key: str, spec: JointSpec):
        """
        Sit among the constraints of a simulation.

        key: its name among the world's joints: a robot's begins with that of the robot.
        """
        self._simulation = simulation
        self.key = key
        self.place = f'joint {key!r}'
        self.name = spec.name
        self.type = spec.type
        self.frames = spec.constraint_frames
        self._rows = ROWS_OF_TYPE[spec.type]
        self.references = [_reference_of(row, spec) for row in self._rows]
        """What the error of each row is counted from [m, 1]."""
        self._compliance = (
            _ERP if spec.erp is None else spec.erp, 0.0 if spec.cfm is None else spec.cfm)
        self._suspension = spec.suspension
        axes = AXES_OF_TYPE[spec.type] if spec.axes is None else spec.axes
        count = len(axes)
        self.free = FreeAxes(
            self.frames, axes, np.zeros((count, 3)) if spec.vectors is None else spec.vectors)
        self.axis_count = count
        self.coordinates = count, count
        self.first_axis = 0
        """Its first row in the arrays of all constraints' axes."""
        self._values = _values(count)
        self._values.q[:] = self.free.positions(self._values.q)
        self._start = self._values.q.copy()
        self.joint = ConstraintJoint(self)

    @property
    def has_user_axes(self) -> bool:
        """Whether each of its axes acts for itself, as those of an angular motor may do."""
        return self.free.are_users

    # --- its numbers -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Do nothing: what is read is a copy."""

    def positions(self) -> np.ndarray:
        """Return where the links are against each other."""
        self._check_coordinates()
        return self.free.positions(self._values.q)

    def velocities(self) -> np.ndarray:
        """Return how the links move against each other."""
        self._check_coordinates()
        return self.free.velocities()

    def accelerations(self) -> np.ndarray:
        """Return the accelerations, under what acted on average in the last step."""
        self._check_coordinates()
        return self.free.accelerations()

    def efforts(self) -> np.ndarray:
        """Return the view of the applied efforts."""
        self._check_coordinates()
        self._simulation.settle()
        return self._values.u

    def check_movable(self, what: str, place: str) -> None:
        """Raise StateError, as it is for the links to move."""
        raise StateError(
            f'{what} of {place} follows from its links: move those, or let its motor do so')

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Raise StateError."""
        self.check_movable('q', self.place)

    def set_velocities(self, rows: slice, values: np.ndarray | float) -> None:
        """Raise StateError."""
        self.check_movable('dq', self.place)

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Write efforts."""
        self._simulation.settle()
        self._values.u[rows] = values
        self.wake()

    def parameters(self, array: str) -> np.ndarray:
        """Return the rows of a parameter array."""
        self._simulation.settle()
        return getattr(self._values, array)

    def states(self, array: str) -> np.ndarray:
        """Return the rows of an array named as one of State's by velocity."""
        self._simulation.settle()
        efforts = self._values.effort
        if array == 'friction':
            return efforts[:, FRICTION_SHARE]
        if array == 'motor':
            return efforts[:, MOTOR_SHARE]
        if array == 'force':
            return efforts[:, FRICTION_SHARE] + efforts[:, STOP_SHARE]
        return getattr(self._values, array)

    def _check_coordinates(self) -> None:
        if self.type == 'ball':
            raise StateError(
                f'{self.place} is ball and closes a loop, or yields: it has no coordinates. Those '
                'of an angular motor beside it are its angles (World.add_angular_motor)')

    # --- where it is, and what passes ------------------------------------------------------------

    def is_linear(self, number: int) -> bool:
        """Return whether an axis slides; else it turns."""
        return bool(self.free.linear[number])

    def direction(self, number: int) -> np.ndarray:
        """Return the unit vector along which, or about which, an axis moves; world."""
        return self.free.directions()[number]

    def error(self) -> tuple[float, float]:
        """Return by how much it is not closed: way [m], and sine of an angle."""
        (R_A, p_A), (R_B, p_B) = self.frames.first.pose, self.frames.second.pose
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

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 on the second link; see `AnyJoint.reaction`."""
        self._simulation.observed_sites()
        return self._simulation.constraint_wrench(self)

    def wake(self) -> None:
        """Wake both robots, if they were asleep."""
        for frame in (self.frames.first, self.frames.second):
            if frame.link is not None:
                frame.link.slot.robot.wake()
        self._simulation.forget_observations()

    def invalidate(self) -> None:
        """Discard results computed from the parameters."""
        self._simulation.invalidate()

    # --- how it yields ---------------------------------------------------------------------------

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
        self._simulation.reconnect_joints()

    # --- for the simulation ----------------------------------------------------------------------

    def describe(self, limits: JointLimits, dynamics: JointDynamics) -> None:
        """Take over what a description says of its first axis, if it has one of that kind."""
        if not self.axis_count or self.type in ('universal', 'hinge2', 'planar'):
            return
        axis = self.joint.axes[0]
        axis.lower, axis.upper = limits.lower, limits.upper
        axis.effort_limit, axis.velocity_limit = limits.effort, limits.velocity
        axis.damping, axis.friction = dynamics.damping, dynamics.friction
        axis.stiffness, axis.reference = dynamics.stiffness, dynamics.reference

    def restart(self) -> None:
        """Count angles as at the beginning, and let its motors go for where it is."""
        self._values.q[:] = self._start
        driven = self._values.control != BY_EFFORT
        self._values.target[:], self._values.course[:] = 0.0, 0.0
        self._values.target[driven, 0] = self._start[driven]

    def record(self) -> LoopJoint:
        """Return what the engine needs to know, of the robots' present places in its arrays."""
        bodies, numbers = [], []
        for link, rotation, position in (self.frames.first, self.frames.second):
            body = WORLD
            if link is not None:
                body, place = link.slot.body, link.slot.placement
                position = place.position + place.rotation @ position
                rotation = place.rotation @ rotation
            bodies.append(body)
            numbers += [*rotation.ravel(), *position]
        erp, cfm = [self.erp] * len(self._rows), [self.cfm] * len(self._rows)
        if self._suspension is not None:
            # as ODE's ERP and CFM stand for a spring and a damper; manual, 3.8.2
            h = self._simulation.time_step
            stiffness, damping = self._suspension.stiffness, self._suspension.damping
            row = self._rows.index((SLIDE, Z, Z))
            cfm[row] = 1.0 / (h * stiffness + damping)
            erp[row] = h * stiffness * cfm[row]
        return LoopJoint(
            self._rows, (bodies[0], bodies[1]), np.array(numbers), self.references, erp, cfm,
            self.free.pairs, self.free.kinds.axis_vector, self._values)

    def bind(self, loops: Loops, state: State, first: int) -> None:
        """Take new places for the numbers of its axes, from row `first` on, and fill them in."""
        self.first_axis = first
        rows = slice(first, first + self.axis_count)
        places = AxisValues(
            *(getattr(loops, field)[rows] for field in ('passive', 'limits', 'motor', 'stop')),
            *(getattr(state, f'axis_{field}')[rows] for field in AxisValues._fields[4:]))
        for place, values in zip(places, self._values, strict=True):
            place[...] = values
        self._values = places

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
            torque = torque - np.cross(self.frames.second.pose[1] - origin, push)
        yielded = state.loop_wrench[number]
        return push + yielded[3:], torque + yielded[:3]


def _reference_of(row: tuple[int, int, int], spec: JointSpec) -> float:
    """Return what a row's error is counted from."""
    kind, i, j = row
    if kind == DISTANCE:
        return spec.distance
    # the cosine of the angle between the axes of a universal joint and of a hinge-2
    if kind == DOT and i == j and spec.axis2 is not None:
        return float(spec.axis2[Z])
    return 0.0


def _values(count: int) -> AxisValues:
    """Return the values of axes on which nothing acts."""
    return AxisValues(
        passive=np.zeros((count, 5)),
        limits=np.tile([-np.inf, np.inf, np.inf, np.inf], (count, 1)),
        motor=np.tile([0.0, 0.0, np.inf], (count, 1)),
        stop=np.tile([0.0, _STOP_ERP, 0.0], (count, 1)),
        q=np.zeros(count), u=np.zeros(count), control=np.zeros(count, np.int64),
        target=np.zeros((count, 2)), course=np.zeros((count, COURSE_SIZE)),
        mode=np.zeros(count, np.int64), effort=np.zeros((count, 4)))
