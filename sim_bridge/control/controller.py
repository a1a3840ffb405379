"""Base of joint controllers: a node answering each joint state with a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sim_bridge.control.joint_loop import ControlledRobot, JointLoop, Law, Parameters
from sim_bridge.foundation.errors import MalformedMessageError, SimBridgeError, StateError
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.process.throttle import once_in
from sim_bridge.ros.wire.qos import COMMAND_QOS, LATCHED_QOS


class JointController(Generic[Parameters]):
    """
    Answers every joint state with the command from `JointLoop`, and sends no other commands.

    It waits for robot_description and joint_states.
    """

    def __init__(
        self,
        node: GuardedMixin,
        table: type[Parameters],
        make_law: Callable[[ControlledRobot, Parameters], Law],
    ) -> None:
        """
        Declare the parameters in `table` and wait for a robot.

        make_law: makes the control law for a robot; raises a SimBridgeError if it cannot control
        the robot. Raises InvalidValueError for parameters out of range.
        """
        self._node = node
        self._loop = JointLoop(declare(node, table), make_law)
        self._commands = node.create_publisher(JointState, 'joint_commands', COMMAND_QOS)
        # only the newest state is answered
        node.create_subscription(
            JointState, 'joint_states', self._answer, QoSProfile(depth=1), raw=True
        )
        node.create_subscription(String, 'robot_description', self._take_description, LATCHED_QOS)

    def close(self) -> None:
        """Do nothing: a controller has no threads."""

    def _take_description(self, message: String) -> None:
        try:
            controlled = self._loop.control(message.data)
        except SimBridgeError as err:
            self._node.get_logger().error(f'cannot control this robot: {err}')
            return
        realtime.settle_process()
        told, joints = controlled.robot.name, ', '.join(controlled.joints)
        self._node.get_logger().info(
            f'ready to control {told!r}: {joints}'
            if joints
            else f'{told!r} has no joint to control'
        )

    def _answer(self, data: bytes) -> None:
        if self._loop.controlled is None:
            self._node.get_logger().info('waiting for robot_description', **once_in(5.0))
            return
        try:
            command = self._loop.answer(data)
        except MalformedMessageError as err:
            self._node.get_logger().error(f'joint_states: {err}', **once_in(5.0))
        except StateError as err:
            self._node.get_logger().error(str(err), **once_in(5.0))
        else:
            if command is not None:
                self._commands.publish(command)
