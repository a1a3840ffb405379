"""What all joint controllers share: which joints, which reference, when to answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import sim_bridge as sb
from sim_bridge.control.reference import Reference
from sim_bridge.foundation.errors import (
    InvalidValueError,
    MalformedMessageError,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.ros.params.parameter_table import declare, parameter
from sim_bridge.ros.params.parameters import FIXED_BASE
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.throttle import once_in
from sim_bridge.ros.wire import topics
from sim_bridge.ros.wire.joint_state_reader import JointStateReader, JointValues
from sim_bridge.ros.wire.messages import EffortCommandMessage, pack_stamp

# A joint that is farther than this [rad or m] from where its velocity took it has been put there:
# by a reset.
_JUMP = 0.05


@dataclass(frozen=True)
class ControllerParameters:
    """What every controller can be told; lists have one value for all joints, or one for each."""

    joints: tuple[str, ...] = parameter(
        (), "Joints to control, in order; [''] for all except mimic joints, in URDF order"
    )
    base: str = parameter('auto', 'Root link, as in the simulator', choices=tuple(FIXED_BASE))
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81), 'Gravity, as in the simulator', unit='m/s^2', sizes=(3,)
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
        'Longest simulated time between two joint states; after a longer gap the controller '
        'starts anew from the present pose',
        unit='s',
        low=0.0,
        above=True,
    )


@dataclass
class Motion:
    """
    One instant, over the controlled joints.

    q, dq: measured. reference_q, reference_dq, reference_ddq: wanted. (n,) each [rad or m, and per
    s].
    """

    q: np.ndarray
    dq: np.ndarray
    reference_q: np.ndarray
    reference_dq: np.ndarray
    reference_ddq: np.ndarray


@dataclass
class Model:
    """
    The robot as its description has it, in a world of its own that is never stepped.

    indices: the controlled joints among `robot.joint_names`. effort_limits: theirs, (n,).
    """

    world: sb.World
    robot: sb.Robot
    joints: list[str]
    indices: np.ndarray = field(init=False)
    effort_limits: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Find the joints. Raises UnknownNameError."""
        names = list(self.robot.joint_names)
        for name in self.joints:
            if name not in names:
                raise UnknownNameError('joint', name, names, "parameter 'joints'")
        self.indices = np.array([names.index(name) for name in self.joints], dtype=int)
        self.effort_limits = self.robot.effort_limits[self.indices]


class JointController:
    """
    Answers every joint state with efforts, and nothing else: without states there are no commands.

    Waits for robot_description and joint_states. A state that does not follow from the one before
    it, after a gap, a reset or a step back in time, starts the reference anew from where the robot
    is. Subclasses say what to do about a `Motion` in `efforts`.
    """

    parameter_table: type[ControllerParameters] = ControllerParameters

    def __init__(self, node: Node) -> None:
        """Declare the parameters and wait for a robot. Raises InvalidValueError."""
        self.node = node
        self.parameters = declare(node, self.parameter_table)
        self.model: Model | None = None
        self._reference: Reference | None = None
        self._reference_start_ns = 0
        self._latest: tuple[int, np.ndarray, np.ndarray] | None = None
        self._state_names: list[str] = []
        self._state_indices = np.zeros(0, dtype=int)
        self._reader = JointStateReader()
        self._command: EffortCommandMessage | None = None
        self._commands = node.create_publisher(JointState, 'joint_commands', topics.COMMAND_QOS)
        # only the newest state is worth an answer
        node.create_subscription(
            JointState, 'joint_states', self._answer, QoSProfile(depth=1), raw=True
        )
        node.create_subscription(
            String, 'robot_description', self._take_description, topics.LATCHED_QOS
        )

    def close(self) -> None:
        """Nothing to end: a controller does nothing between two states."""

    def set_up(self) -> None:
        """Prepare for `self.model`, which is new. Raises a SimBridgeError if it is of no use."""

    def efforts(self, motion: Motion) -> np.ndarray:
        """Return the effort of every controlled joint (n,) [N m or N]."""
        raise NotImplementedError

    def per_joint(self, name: str) -> np.ndarray:
        """Return a list parameter, value for every controlled joint. Raises InvalidValueError."""
        values = getattr(self.parameters, name)
        n = len(self.model.joints)
        if len(values) not in (1, n):
            expected = f'1 value or {n}, one for each of {", ".join(self.model.joints)}'
            raise InvalidValueError(f'parameter {name!r}', values, expected)
        return np.broadcast_to(np.array(values), (n,))

    def _take_description(self, message: String) -> None:
        try:
            world = sb.World(gravity=self.parameters.gravity)
            fixed_base = FIXED_BASE[self.parameters.base]
            robot = world.load_urdf(message.data, fixed_base=fixed_base, collisions='none')
            joints = self.parameters.joints or [
                name for name in robot.joint_names if robot.joint(name).mimic is None
            ]
            world.warm_up()
            self.model = Model(world, robot, list(joints))
            self._check_lists()
            self.set_up()
        except SimBridgeError as err:
            self.model = None
            self.node.get_logger().error(f'cannot control this robot: {err}')
            return
        self._reference = self._latest = None
        self._state_names = []
        self._command = EffortCommandMessage(self.model.joints)
        realtime.settle_process()
        self.node.get_logger().info(
            f'ready to control {robot.name!r}: {", ".join(self.model.joints)}'
        )

    def _check_lists(self) -> None:
        for name in ('amplitude', 'frequency'):
            self.per_joint(name)
        if self.parameters.positions:
            center, amplitude = self.per_joint('positions'), np.abs(self.per_joint('amplitude'))
            robot, indices = self.model.robot, self.model.indices
            limits = zip(robot.lower[indices], robot.upper[indices], strict=True)
            reaches = zip(center - amplitude, center + amplitude, strict=True)
            for name, (lower, upper), (lowest, highest) in zip(
                self.model.joints, limits, reaches, strict=True
            ):
                if lowest < lower or highest > upper:
                    reach = f'{lowest:g} to {highest:g}'
                    expected = f'within the joint limits, {lower:g} to {upper:g}'
                    raise InvalidValueError(
                        'positions -/+ amplitude', reach, expected, f'joint {name!r}'
                    )

    def _answer(self, data: bytes) -> None:
        if self.model is None:
            self.node.get_logger().info('waiting for robot_description', **once_in(5.0))
            return
        try:
            state = self._reader.read(data)
        except MalformedMessageError as err:
            self.node.get_logger().error(f'joint_states: {err}', **once_in(5.0))
            return
        measured = self._measure(state)
        if measured is None:
            return
        time_ns, q, dq = measured
        if self._reference is None or not self._follows(*measured):
            self._begin(time_ns, q)
        self._latest = measured
        elapsed = (time_ns - self._reference_start_ns) * 1e-9
        motion = Motion(q, dq, *self._reference.at(elapsed))
        limits = self.model.effort_limits
        np.clip(self.efforts(motion), -limits, limits, out=self._command.effort)
        self._commands.publish(self._command.stamped(pack_stamp(time_ns)))

    def _measure(self, state: JointValues) -> tuple[int, np.ndarray, np.ndarray] | None:
        """Return time [ns], positions and velocities of controlled joints; None if some lack."""
        if state.names != self._state_names:
            places = {name: index for index, name in enumerate(state.names)}
            missing = [name for name in self.model.joints if name not in places]
            if missing:
                self.node.get_logger().error(
                    f'joint_states lacks {", ".join(missing)}', **once_in(5.0)
                )
                return None
            self._state_indices = np.array([places[name] for name in self.model.joints], dtype=int)
            self._state_names = state.names
        q, dq = state.position, state.velocity
        if len(q) != len(state.names) or len(dq) != len(state.names):
            self.node.get_logger().error(
                f'joint_states has {len(state.names)} names, {len(q)} positions and '
                f'{len(dq)} velocities',
                **once_in(5.0),
            )
            return None
        return state.time_ns, q[self._state_indices], dq[self._state_indices]

    def _follows(self, time_ns: int, q: np.ndarray, dq: np.ndarray) -> bool:
        """Return whether a state is the continuation of the one before it."""
        then_ns, then_q, then_dq = self._latest
        gap = (time_ns - then_ns) * 1e-9
        moved = q - then_q - 0.5 * gap * (then_dq + dq)
        return 0.0 <= gap <= self.parameters.max_state_gap and bool((np.abs(moved) < _JUMP).all())

    def _begin(self, time_ns: int, q: np.ndarray) -> None:
        center = self.per_joint('positions') if self.parameters.positions else q
        self._reference = Reference(
            q,
            center,
            self.per_joint('amplitude'),
            self.per_joint('frequency'),
            self.parameters.ramp_time,
        )
        self._reference_start_ns = time_ns
