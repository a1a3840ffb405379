"""Observation of a simulator on the ROS graph: when it starts and how fast it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from sim_bridge.ros.process import realtime
from sim_bridge.ros.wire.statuses import WAITING

# Only the latest message of a topic is kept, and taken occasionally: watching 1000 messages per
# second costs almost nothing, because DDS numbers and time-stamps each message.
_LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

# topics of every node, unrelated to the simulation
_HOUSEKEEPING = ('/rosout', '/parameter_events')


@dataclass
class Progress:
    """Known state of the simulator."""

    robots: tuple[str, ...] = ()
    is_commanded: bool = False  # whether a command has arrived, on any topic
    is_jointless: bool = False  # whether joint_states have no joints: no command is expected
    time_s: float | None = None  # simulated time; None before the first message
    rate_hz: float | None = None  # joint_states in real time, over at least the last half second
    condition: str = ''  # the node's condition in one or two words: 'running', 'paused' …
    compiling: str = ''  # the node's message about kernels being compiled, if any
    pacing: dict[str, str] = field(default_factory=dict)  # the node's pacing figures
    rates: dict[str, str] = field(default_factory=dict)  # by topic: [Hz] or no listener
    warnings: tuple[str, ...] = ()  # current warnings of the node
    topic_count: int = 0
    publisher_count: int = 0  # publishers of joint_states: more than one means another simulator


class Watch:
    """
    Follows the simulator node of one namespace through topics alone.

    The first message on `joint_states` proves that messages pass between processes; a log line
    could not prove that. A paused simulator sends none, so `/clock` counts, too. Use it as a
    context.
    """

    def __init__(self, namespace: str, robot: str = '') -> None:
        """
        Begin to listen.

        namespace: the simulator node's; '' or '/' for none. robot: namespace within it of the
        robot whose joint_states are watched.
        """
        self.progress = Progress()
        self.namespace = '/' + namespace.strip('/')
        self._node_name = f'{self.namespace.rstrip("/")}/sim_bridge'
        self._first_in_stretch: dict[str, int] | None = None
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        with realtime.undisturbed():
            self._node = Node(
                'sim_bridge_run',
                namespace=self.namespace,
                context=self._context,
                enable_rosout=False,
                start_parameter_services=False,
            )
        topic = '/'.join(filter(None, (robot, 'joint_states')))
        self.joint_states = self._node.resolve_topic_name(topic)
        self.object_states = self._node.resolve_topic_name('object_states')
        self._node.create_subscription(
            JointState,
            self.joint_states,
            # rclpy's annotation lacks callbacks that also take the message info
            self._on_joint_states,  # type: ignore[arg-type]
            _LATEST,
        )
        commands = '/'.join(filter(None, (robot, 'joint_commands')))
        self._node.create_subscription(JointState, commands, self._on_command, _LATEST)
        self._node.create_subscription(Clock, '/clock', self._on_clock, _LATEST)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def __enter__(self) -> Watch:
        """Return the watch."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def look(self) -> Progress:
        """Process the messages received so far, without waiting; return the known state."""
        for _ in self._node.subscriptions:
            self._executor.spin_once(timeout_sec=0.0)
        self.progress.topic_count = self._count_topics()
        self.progress.publisher_count = self._node.count_publishers(self.joint_states)
        return self.progress

    def begin_anew(self) -> Progress:
        """Discard the known state; return a new one."""
        self.progress, self._first_in_stretch = Progress(), None
        return self.progress

    def _on_command(self, message: JointState) -> None:
        self.progress.is_commanded = True

    def _on_clock(self, message: Clock) -> None:
        self.progress.time_s = message.clock.sec + message.clock.nanosec * 1e-9

    def _on_joint_states(self, message: JointState, info: dict[str, int]) -> None:
        stamp = message.header.stamp
        self.progress.time_s = stamp.sec + stamp.nanosec * 1e-9
        self.progress.is_jointless = not message.name
        if info['publication_sequence_number'] is None:
            return  # not every RMW numbers messages
        first = self._first_in_stretch or info
        elapsed_s = (info['source_timestamp'] - first['source_timestamp']) * 1e-9
        if elapsed_s >= 0.5:
            count = info['publication_sequence_number'] - first['publication_sequence_number']
            self.progress.rate_hz = count / elapsed_s
            first = info
        self._first_in_stretch = first

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        name = self._node_name.lstrip('/')
        for status in message.status:
            if status.name == f'{name}: pacing':
                self.progress.condition = status.message
                self.progress.pacing = {item.key: item.value for item in status.values}
            elif status.name == f'{name}: topics':
                self.progress.rates = {item.key: item.value for item in status.values}
            elif status.name == f'{name}: kernels':
                self.progress.compiling = status.message
        own = [each for each in message.status if each.name.startswith(f'{name}: ')]
        if own:
            self.progress.warnings = tuple(
                f'{each.name.removeprefix(f"{name}: ")}: {each.message}'
                for each in own
                if each.level > DiagnosticStatus.OK
            )
        prefix = f'{name}: commands of '
        robots = [s.name.removeprefix(prefix) for s in message.status if s.name.startswith(prefix)]
        # covers twists and trajectories
        self.progress.is_commanded |= any(
            s.message != WAITING for s in message.status if s.name.startswith(prefix)
        )
        self.progress.robots = tuple(robots) or self.progress.robots

    def _count_topics(self) -> int:
        name, namespace = 'sim_bridge', self.namespace
        try:
            topics = self._node.get_publisher_names_and_types_by_node(name, namespace)
        except NodeNameNonExistentError:
            return 0
        return sum(topic not in _HOUSEKEEPING for topic, _ in topics)
