"""Node that commands joint and crawler velocities: constant, sinusoidal, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import sys

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from sim_bridge.control.reference import per_joint, Reference
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process, realtime
from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.wire.joint_state_reader import JointStateReader, JointValues
from sim_bridge.ros.wire.messages import pack_stamp, VelocityCommandMessage
from sim_bridge.ros.wire.qos import COMMAND_QOS


@dataclass(frozen=True)
class VelocityParameters:
    """Parameters of the velocity controller; lists have one value, or one for each joint."""

    joints: tuple[str, ...] = parameter(
        (), "Crawlers, and joints with control mode 'velocity', to drive"
    )
    velocities: tuple[float, ...] = parameter(
        (0.0,), 'Velocities, reached after ramp_time', unit='rad/s or m/s'
    )
    amplitude: tuple[float, ...] = parameter(
        (0.0,), 'Amplitude of sinusoids about the positions at the start', unit='rad or m'
    )
    frequency: tuple[float, ...] = parameter(
        (0.5,), 'Frequency of the sinusoids', unit='Hz', low=0.0
    )
    position_gain: float = parameter(
        5.0,
        'Gain of the position error for joints following a sinusoid without constant velocity',
        unit='1/s',
        low=0.0,
    )
    ramp_time: float = parameter(
        2.0, 'Time to reach the velocities and the full amplitude', unit='s', low=0.0, above=True
    )


class VelocityLoop:
    """Answers every joint state with velocities computed from positions and time."""

    def __init__(self, parameters: VelocityParameters) -> None:
        """Begin with the first state. Raises InvalidValueError."""
        self.joints = joints = list(parameters.joints)
        if not joints:
            raise InvalidValueError("parameter 'joints'", joints, 'at least one joint or crawler')
        self._ramp_time = parameters.ramp_time
        self._velocities = per_joint('velocities', parameters.velocities, joints)
        amplitude = per_joint('amplitude', parameters.amplitude, joints)
        frequency = per_joint('frequency', parameters.frequency, joints)
        none = np.zeros(len(joints))
        self._sway = Reference(none, none, amplitude, frequency, parameters.ramp_time)
        swings = (amplitude != 0.0) & (self._velocities == 0.0)
        self._gains = parameters.position_gain * swings
        self._command = VelocityCommandMessage(joints)
        self._state_names: list[str] = []
        self._places = np.full(len(joints), -1)
        self._start = none
        self._reader = JointStateReader()
        self._start_ns: int | None = None
        self._latest_ns = 0

    def control(self, description: str) -> None:
        """Do nothing: velocities need no description."""

    def answer(self, data: bytes) -> bytes:
        """Return the command answering a joint state; raises MalformedMessageError."""
        state = self._reader.read(data)
        now, positions = state.time_ns, self._positions(state)
        if self._start_ns is None or now < self._latest_ns:
            self._start_ns, self._start = now, positions
        self._latest_ns = now
        elapsed = (now - self._start_ns) * 1e-9
        share = min(elapsed / self._ramp_time, 1.0)
        sway, d_sway, _ = self._sway.at(elapsed)
        behind = np.nan_to_num(self._start + sway - positions)
        self._command.velocity[:] = share * self._velocities + d_sway + self._gains * behind
        return self._command.stamped(pack_stamp(now))

    def _positions(self, state: JointValues) -> np.ndarray:
        """Return the joint positions (n,) [rad or m], NaN for joints missing in the state."""
        if state.names != self._state_names:
            self._state_names = state.names
            places = {name: place for place, name in enumerate(state.names)}
            self._places = np.array([places.get(name, -1) for name in self.joints])
        if len(state.position) != len(state.names):
            return np.full(len(self._places), np.nan)
        positions: np.ndarray = np.append(state.position, np.nan)[self._places]
        return positions


class VelocityController:
    """
    Answers every joint state with velocities, and sends no other commands.

    The motors keep the joints at their velocities. While the controller is late, its joints keep
    their last velocity; joints following a sinusoid are then led back to it.
    """

    def __init__(self, node: GuardedMixin) -> None:
        """Declare the parameters and wait for joint states. Raises InvalidValueError."""
        self._loop = VelocityLoop(declare(node, VelocityParameters))
        self._commands = node.create_publisher(JointState, 'joint_commands', COMMAND_QOS)
        # only the newest state is answered
        node.create_subscription(
            JointState, 'joint_states', self._answer, QoSProfile(depth=1), raw=True
        )
        realtime.settle_process()
        node.get_logger().info(f'ready to drive {", ".join(self._loop.joints)}')

    def close(self) -> None:
        """Do nothing: a controller has no threads."""

    def _answer(self, data: bytes) -> None:
        self._commands.publish(self._loop.answer(data))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the process exit code."""
    return process.run('velocity_controller', VelocityController, args)


if __name__ == '__main__':
    sys.exit(main())
