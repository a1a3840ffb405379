"""State topics of declared controllers, if control_msgs is installed."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from sim_bridge.ros.command.programs import StateTopic
from sim_bridge.ros.publish.streams import Rate, Stream
from sim_bridge.ros.wire.messages import unpack_stamp
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.foundation.arrays import FloatArray
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.controllers import TrajectoryController
    from sim_bridge.ros.command.programs import Program
    from sim_bridge.ros.command.trajectories import Trajectories
    from sim_bridge.ros.publish.sinks import Sink

_CONTROL_RATE = 100.0  # ros2_control's default update_rate [Hz]


class TrajectoryState:
    """State of one controller: desired and measured motion, their difference, and commands."""

    def __init__(
        self,
        message_type: Any,
        robot: Robot,
        trajectories: Trajectories,
        controller: TrajectoryController,
    ) -> None:
        """Prepare; message_type: control_msgs.msg.JointTrajectoryControllerState."""
        self._type, self._robot = message_type, robot
        self._trajectories, self._controller = trajectories, controller
        names = list(robot.joint_names)
        self._columns = np.array([names.index(joint) for joint in controller.joints])

    def stamped(self, stamp: bytes) -> Any:
        """Return the message with a stamp."""
        robot, columns = self._robot, self._columns
        wanted = self._trajectories.desired(self._controller)
        actual = np.array([robot.q[columns], robot.dq[columns], robot.ddq[columns]])
        message = self._type(joint_names=list(self._controller.joints))
        message.header.stamp = unpack_stamp(stamp)
        message.reference, message.feedback, message.error = (
            _point(values) for values in (wanted, actual, wanted - actual)
        )
        message.output = self._output(wanted)
        message.speed_scaling_factor = self._trajectories.speed(self._controller)
        return message

    def _output(self, wanted: FloatArray) -> JointTrajectoryPoint:
        """Return the commanded quantities."""
        quantities = self._controller.quantities or ('position',)
        point = JointTrajectoryPoint()
        if 'position' in quantities:
            point.positions = wanted[0].tolist()
        if 'velocity' in quantities:
            point.velocities = wanted[1].tolist()
        if 'effort' in quantities:
            point.effort = self._robot.u[self._columns].tolist()
        return point


def trajectory_states(
    sink: Sink, prefix: str, robot: Robot, trajectories: Trajectories
) -> list[tuple[Stream, Rate]]:
    """Return the state topics of the controllers from files. prefix: before relative names."""
    messages = optional_messages('control_msgs')
    kind = getattr(messages, 'JointTrajectoryControllerState', None)
    if kind is None:
        return []
    return [
        _timed(
            sink,
            prefix,
            StateTopic(
                controller.topic('controller_state'),
                kind,
                TrajectoryState(kind, robot, trajectories, controller),
            ),
            controller.state_rate,
        )
        for controller in trajectories.controllers
        if controller.quantities
    ]


def program_states(
    sink: Sink, prefix: str, programs: Sequence[Program]
) -> list[tuple[Stream, Rate]]:
    """Return the state topics of the other controllers. prefix: before relative names."""
    return [
        _timed(sink, prefix, topic, program.declared.manager.update_rate)
        for program in programs
        for topic in program.state_topics
    ]


def _timed(sink: Sink, prefix: str, topic: StateTopic, rate: float) -> tuple[Stream, Rate]:
    """Return a topic and its schedule. rate: [Hz], 0 for the default."""
    name = topic.name if topic.name.startswith('/') else prefix + topic.name
    rate = rate or _CONTROL_RATE
    return Stream(sink, name, topic.message_type, topic.message, rate_hz=rate), Rate(rate)


def _point(values: FloatArray) -> JointTrajectoryPoint:
    positions, velocities, accelerations = values.tolist()
    return JointTrajectoryPoint(
        positions=positions, velocities=velocities, accelerations=accelerations
    )
