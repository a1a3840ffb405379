"""One robot on the graph: the topics it publishes and the commands it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import Twist
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from sim_bridge.errors import SimBridgeError
from sim_bridge.ros import topics
from sim_bridge.ros.commands import RobotCommands
from sim_bridge.ros.joint_state_reader import JointStateReader
from sim_bridge.ros.loading import commandable_joints
from sim_bridge.ros.publishers import joint_state_stream, Rate, sensor_streams
from sim_bridge.ros.tracked_drive import TrackedDrive

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.loading import LoadedRobot
    from sim_bridge.ros.parameters import SimulatorParameters


class RobotInterface:
    """Publishes a robot's state after every control step; hands it commands before the next."""

    def __init__(
        self, node: Node, loaded: LoadedRobot, parameters: SimulatorParameters
    ) -> None:
        """
        Create all topics of the robot, within its namespace in that of the node.

        Raises UnknownNameError for a joint that it does not have.
        """
        self.robot = robot = loaded.robot
        self._node, self._world = node, robot.world
        self.prefix = prefix = loaded.prefix
        self.commands = RobotCommands(
            robot,
            loaded.joints or commandable_joints(robot),
            timeout_ns=round(parameters.command_timeout * 1e9),
            timeout_policy=parameters.command_timeout_policy,
            hold_until_first=parameters.hold_until_first_command,
        )
        self._joint_state_rate = Rate(parameters.joint_state_rate)
        self._joint_states = joint_state_stream(node, prefix, robot)
        self._sensors = sensor_streams(node, prefix, robot, parameters.publish_truth)
        if parameters.publish_robot_description:
            latched = node.create_publisher(
                String, f'{prefix}robot_description', topics.LATCHED_QOS
            )
            latched.publish(String(data=robot.description.xml))
        self._reader = JointStateReader()
        self._subscribe(f'{prefix}joint_commands', JointState, self._take_joint_state, raw=True)
        self._subscribe(f'{prefix}effort_controller/commands', Float64MultiArray, self._take_array)
        self._drive = TrackedDrive(robot)
        if self._drive.is_possible:
            self._subscribe(f'{prefix}cmd_vel', Twist, self._take_twist)
        self.restart()

    @property
    def topics(self) -> list[str]:
        """Names of all topics that readings are published on."""
        streams = [self._joint_states, *(s for sensor in self._sensors for s in sensor.streams)]
        return [stream.topic for stream in streams]

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        self._joint_states.refresh()
        for sensor in self._sensors:
            for stream in sensor.streams:
                stream.refresh()

    def publish(self, time_ns: int, stamp: bytes) -> None:
        """Publish what is due at this simulated time [ns], which `stamp` holds packed."""
        if self._joint_state_rate.is_due(time_ns):
            self._joint_states.publish(stamp)
        step, time_step_ns = self._world.step_count, self._world.time_step_ns
        for sensor in self._sensors:
            sensor.publish(step, time_step_ns, stamp)

    def restart(self) -> None:
        """Begin anew with the robot as the world has reset it: no command yet."""
        self.commands.restart()
        self._joint_state_rate.restart(self._world.step_count * self._world.time_step_ns)
        for sensor in self._sensors:
            sensor.restart()

    def _subscribe(
        self, topic: str, message_type: type, callback: Callable[[Any], None], raw: bool = False
    ) -> None:
        self._node.create_subscription(
            message_type,
            topic,
            callback,
            topics.COMMAND_QOS,
            qos_overriding_options=topics.overridable(),
            raw=raw,
        )

    def _take_joint_state(self, data: bytes) -> None:
        command = self._reader.read(data)
        try:
            self.commands.accept_named(
                command.names, command.position, command.velocity, command.effort)
        except SimBridgeError as err:
            self._complain('joint_commands', err)

    def _take_array(self, message: Float64MultiArray) -> None:
        try:
            self.commands.accept_ordered(message.data)
        except SimBridgeError as err:
            self._complain('effort_controller/commands', err)

    def _take_twist(self, message: Twist) -> None:
        linear, angular = message.linear, message.angular
        speeds = self._drive.speeds(linear.x, linear.y, angular.z)
        try:
            self.commands.accept_named(self._drive.names, velocity=speeds)
        except SimBridgeError as err:
            self._complain('cmd_vel', err)

    def _complain(self, topic: str, err: Exception) -> None:
        count = self.commands.counts.rejected
        self._node.get_logger().warning(
            f'command on {topic} rejected ({count} so far): {err}', throttle_duration_sec=1.0
        )
