"""Loop of a joint controller: reference and law, answering joint states without a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

import sim_bridge as sb
from sim_bridge.control.reference import per_joint, Reference
from sim_bridge.description import load_description
from sim_bridge.description.gravity import GREATEST_GRAVITY
from sim_bridge.description.mechanism.base import BASES
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.wire.joint_state_reader import JointStateReader, JointValues
from sim_bridge.ros.wire.messages import EffortCommandMessage, pack_stamp

# a joint that moved this much more than its velocities explain was moved by a reset
_JUMP = 0.05  # rad or m


@dataclass(frozen=True)
class ControllerParameters:
    """Parameters of every controller; lists have one value for all joints, or one for each."""

    joints: tuple[str, ...] = parameter(
        (), "Joints to control, in order; [''] for all except mimic joints, in URDF order"
    )
    base: str = parameter('auto', 'Root link, as in the simulator', choices=BASES)
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        'Gravity, as in the simulator',
        unit='m/s^2',
        low=-GREATEST_GRAVITY,
        high=GREATEST_GRAVITY,
        sizes=(3,),
    )
    positions: tuple[float, ...] = parameter(
        (),
        'Pose to hold, or centre of the sinusoid; empty for the pose at the start',
        unit='rad or m',
    )
    amplitude: tuple[float, ...] = parameter(
        (0.0,), 'Amplitude of the sinusoid; 0 holds the pose', unit='rad or m'
    )
    frequency: tuple[float, ...] = parameter(
        (0.5,), 'Frequency of the sinusoid', unit='Hz', low=0.0
    )
    ramp_time: float = parameter(
        2.0, 'Time to reach the pose and the full amplitude', unit='s', low=0.0, above=True
    )
    max_state_gap: float = parameter(
        0.1,
        'Longest simulated time between two joint states; after a longer gap the reference '
        'leads from the present pose back to the pose to hold',
        unit='s',
        low=0.0,
        above=True,
    )


@dataclass
class Motion:
    """
    Motion of the controlled joints at one time.

    q, dq: measured. reference_q, reference_dq, reference_ddq: desired. (n,) each [rad or m, and
    per s, s²].
    """

    q: np.ndarray
    dq: np.ndarray
    reference_q: np.ndarray
    reference_dq: np.ndarray
    reference_ddq: np.ndarray


@dataclass
class ControlledRobot:
    """
    Robot from its description, in a separate world without steps.

    joints: controlled joints. indices: their indices in `robot.joint_names`. effort_limits,
    lower_effort_limits: their effort limits, (n,) [N m or N].
    """

    world: sb.World
    robot: sb.Robot
    joints: list[str]
    indices: np.ndarray = field(init=False)
    effort_limits: np.ndarray = field(init=False)
    lower_effort_limits: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Find the joints. Raises UnknownNameError."""
        names = list(self.robot.joint_names)
        for name in self.joints:
            if name not in names:
                raise UnknownNameError('joint', name, names, "parameter 'joints'")
        self.indices = np.array([names.index(name) for name in self.joints], dtype=int)
        self.effort_limits = self.robot.effort_limits[self.indices]
        self.lower_effort_limits = self.robot.lower_effort_limits[self.indices]


class Law(Protocol):
    """Control law for the joints of one robot."""

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort for every controlled joint (n,) [N m or N]."""


Parameters = TypeVar('Parameters', bound=ControllerParameters)


_Instant = tuple[int, np.ndarray, np.ndarray]  # time [ns], positions, velocities


@dataclass
class _Loop:
    """
    Control state for one robot.

    center: pose to hold, (n,). latest: time [ns], positions and velocities from the previous joint
    state. state_indices: indices of the controlled joints in states with names `state_names`.
    """

    controlled: ControlledRobot
    law: Law
    command: EffortCommandMessage
    center: np.ndarray | None = None
    reference: Reference | None = None
    reference_start_ns: int = 0
    latest: _Instant | None = None
    state_names: list[str] = field(default_factory=list)
    state_indices: np.ndarray = field(default_factory=lambda: np.zeros(0, int))


class JointLoop(Generic[Parameters]):
    """
    Answers every joint state with a control law's efforts.

    A state that does not continue the previous one (after a gap, a reset or a step back in time)
    restarts the reference from the robot's present pose. If the initial pose is to be held, it is
    taken from the first state, and again after a reset or a step back in time.
    """

    def __init__(
        self, parameters: Parameters, make_law: Callable[[ControlledRobot, Parameters], Law]
    ) -> None:
        """
        Prepare, without a robot.

        make_law: makes the control law for a robot; raises a SimBridgeError if it cannot control
        the robot.
        """
        self._parameters, self._make_law = parameters, make_law
        self._loop: _Loop | None = None
        self._reader = JointStateReader()

    @property
    def controlled(self) -> ControlledRobot | None:
        """The controlled robot; None before `control`, and after a failed `control`."""
        return None if self._loop is None else self._loop.controlled

    def control(self, description: str) -> ControlledRobot:
        """Control the robot in a URDF text; raises a SimBridgeError if this is impossible."""
        self._loop = None
        world = sb.World(gravity=self._parameters.gravity)
        read = load_description(description)
        robot = world.add_robot(read, base=self._parameters.base, collisions='none')
        joints = self._parameters.joints or robot.actuated_joints
        world.warm_up()
        controlled = ControlledRobot(world, robot, list(joints))
        self._check_lists(controlled)
        law = self._make_law(controlled, self._parameters)
        self._loop = _Loop(controlled, law, EffortCommandMessage(controlled.joints))
        return controlled

    def answer(self, data: bytes) -> bytes | None:
        """
        Return the command answering a serialized joint state; None if there is none.

        Raises MalformedMessageError, and StateError for a state without some joints or values.
        """
        loop = self._loop
        if loop is None or not loop.controlled.joints:
            # a robot without joints is, for instance, a tracked vehicle
            return None
        measured = self._measure(loop, self._reader.read(data))
        time_ns, q, dq = measured
        reference = loop.reference
        is_moved = loop.latest is None or _was_put(loop.latest, measured)
        if reference is None or is_moved or self._is_late(loop.latest, measured):
            if loop.center is None or is_moved:
                loop.center = self._center(loop.controlled, q)
            reference = loop.reference = self._new_reference(loop.controlled, q, loop.center)
            loop.reference_start_ns = time_ns
        loop.latest = measured
        elapsed = (time_ns - loop.reference_start_ns) * 1e-9
        motion = Motion(q, dq, *reference.at(elapsed))
        least, most = loop.controlled.lower_effort_limits, loop.controlled.effort_limits
        np.clip(loop.law.efforts(motion), least, most, out=loop.command.effort)
        return loop.command.stamped(pack_stamp(time_ns))

    def _check_lists(self, controlled: ControlledRobot) -> None:
        parameters, joints = self._parameters, controlled.joints
        amplitude = np.abs(per_joint('amplitude', parameters.amplitude, joints))
        per_joint('frequency', parameters.frequency, joints)
        if not parameters.positions:
            return
        center = per_joint('positions', parameters.positions, joints)
        robot, indices = controlled.robot, controlled.indices
        lower, upper = robot.lower[indices], robot.upper[indices]
        lowest, highest = center - amplitude, center + amplitude
        outside = np.flatnonzero((lowest < lower) | (highest > upper))
        if outside.size:
            k = outside[0]
            reach = f'{lowest[k]:g} to {highest[k]:g}'
            expected = f'within the joint limits, {lower[k]:g} to {upper[k]:g}'
            raise InvalidValueError(
                'positions -/+ amplitude', reach, expected, f'joint {joints[k]!r}'
            )

    def _measure(self, loop: _Loop, state: JointValues) -> _Instant:
        """Return time [ns], joint positions and velocities."""
        if state.names != loop.state_names:
            places = {name: index for index, name in enumerate(state.names)}
            missing = [name for name in loop.controlled.joints if name not in places]
            if missing:
                raise StateError(f'joint_states lacks {", ".join(missing)}')
            found = [places[name] for name in loop.controlled.joints]
            loop.state_indices = np.array(found, dtype=int)
            loop.state_names = state.names
        q, dq = state.position, state.velocity
        if len(q) != len(state.names) or len(dq) != len(state.names):
            raise StateError(
                f'joint_states has {len(state.names)} names, {len(q)} positions and '
                f'{len(dq)} velocities'
            )
        return state.time_ns, q[loop.state_indices], dq[loop.state_indices]

    def _is_late(self, latest: _Instant | None, measured: _Instant) -> bool:
        """Return whether states have been missing for too long."""
        return latest is not None and (
            (measured[0] - latest[0]) * 1e-9 > self._parameters.max_state_gap
        )

    def _center(self, controlled: ControlledRobot, q: np.ndarray) -> np.ndarray:
        """Return the pose to hold for a robot starting from positions `q`."""
        positions = self._parameters.positions
        return per_joint('positions', positions, controlled.joints) if positions else q.copy()

    def _new_reference(
        self, controlled: ControlledRobot, q: np.ndarray, center: np.ndarray
    ) -> Reference:
        """Return a reference from positions `q` to the pose to hold."""
        parameters, joints = self._parameters, controlled.joints
        return Reference(
            q,
            center,
            per_joint('amplitude', parameters.amplitude, joints),
            per_joint('frequency', parameters.frequency, joints),
            parameters.ramp_time,
        )


def _was_put(latest: _Instant, measured: _Instant) -> bool:
    """Return whether a reset moved a robot between two states, or time has gone back."""
    (then_ns, then_q, then_dq), (time_ns, q, dq) = latest, measured
    gap = (time_ns - then_ns) * 1e-9
    moved = np.abs(q - then_q - 0.5 * gap * (then_dq + dq))
    # no less than the velocities: large forces may double or reverse them within the gap
    reach = _JUMP + gap * np.maximum(np.abs(then_dq), np.abs(dq))
    return gap < 0.0 or bool((moved > reach).any())
