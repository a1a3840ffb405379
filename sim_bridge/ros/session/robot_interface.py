"""One robot on the graph: the topics it publishes and the commands it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import functools
from typing import NamedTuple, TYPE_CHECKING

from geometry_msgs.msg import Twist
from rclpy.logging import get_logger
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from sim_bridge.foundation.errors import (
    InvalidValueError,
    MalformedMessageError,
    SimBridgeError,
    StateError,
)
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.command.controllers import controllers_of
from sim_bridge.ros.command.hardware import hardware_of, TopicBasedHardware
from sim_bridge.ros.command.inputs import Message
from sim_bridge.ros.command.tracked_drive import TrackedDrive
from sim_bridge.ros.command.trajectories import Trajectories
from sim_bridge.ros.process.throttle import once_in
from sim_bridge.ros.publish.axes import actuated_joints
from sim_bridge.ros.publish.joint_states import JointStates
from sim_bridge.ros.publish.odometry import odometry_stream
from sim_bridge.ros.publish.outbox import outboxes, Timed
from sim_bridge.ros.publish.publishers import Rate, sensor_streams
from sim_bridge.ros.wire import topics
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.joint_state_reader import JointStateReader

if TYPE_CHECKING:
    import numpy as np

    from sim_bridge.ros.command.commands import SavedCommands
    from sim_bridge.ros.command.follow_joint_trajectory import FollowJointTrajectory
    from sim_bridge.ros.command.lockstep import LockstepPolicy
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.polling import Poll, PollingMixin
    from sim_bridge.ros.publish.publishers import Stream
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.ros.session.loading import LoadedRobot


# How often topics are looked at on which nobody was known to publish a moment ago: each look costs
# as much as three steps of an arm.
_UNLIKELY_NS = 10_000_000

# the one whose messages say which joint_states they answer
STAMPED_TOPIC = 'joint_commands'


@dataclass(frozen=True)
class CommandTopic:
    """A topic that commands come on: its full name is known to the graph only."""

    name: str
    message_type: type
    take: Callable[[bytes], None]


# gets a command's bytes, and what to record of it
Take = Callable[[bytes, Message], None]


class SavedInterface(NamedTuple):
    """Where a robot stands with its commands, and how far its crawlers have run [m]."""

    commands: SavedCommands
    run: np.ndarray


class RobotInterface:
    """
    Publishes a robot's state after every control step; hands it commands before the next.

    `command_topics` are those it takes commands on, which come from the graph (`listen`), or from
    wherever serialized messages are had.
    """

    def __init__(
        self, sink: Sink, loaded: LoadedRobot, parameters: SimulatorParameters,
        all_joints: Sequence[str], lockstep: LockstepPolicy, now: Callable[[], int],
    ) -> None:
        """
        Open all topics of the robot, within its namespace.

        all_joints: of all robots, which parameters may name. lockstep: who is waited for before a
        step. now: gives the simulated time [ns].
        Raises UnknownNameError for a joint that it does not have.
        """
        self.robot = robot = loaded.robot
        self._world, self._now = robot.world, now
        self._lockstep = lockstep
        self.namespace, self.prefix = loaded.namespace, loaded.prefix
        prefix = loaded.prefix
        self._hardware = hardware_of(robot, prefix)
        self.commands = RobotCommands(
            robot,
            loaded.joints or actuated_joints(robot),
            timeout_ns=round(parameters.command_timeout * 1e9),
            timeout_policy=parameters.command_timeout_policy,
            hold_until_first=parameters.hold_until_first_command,
            parameter_prefix=prefix.replace('/', '.'),
            period_ns=round(1e9 / parameters.command_rate) if parameters.command_rate else 0,
        )
        state_topic = self._hardware.states_topic if self._hardware is not None else ''
        self._joint_states = JointStates(
            sink, prefix, robot, parameters.joint_state_rate or parameters.rate, state_topic)
        frame_prefix = parameters.frame_prefix + prefix
        self._sensors = sensor_streams(
            sink, prefix, frame_prefix, robot, parameters.publish_truth)
        self._odometry = odometry_stream(sink, prefix, frame_prefix, robot, parameters)
        odometry_rate = Rate(parameters.odom_rate)
        self._outboxes = outboxes([
            *(Timed(stream, self._joint_states.rate) for stream in self._joint_states.streams),
            *([Timed(self._odometry, odometry_rate)] if self._odometry is not None else []),
            *(Timed(stream, sensor.device)
              for sensor in self._sensors for stream in sensor.streams)],
            robot.world.time_step_ns)
        # what messages are filled from
        self._layout = robot.world.layout
        if parameters.publish_robot_description:
            latched = sink.open(f'{prefix}robot_description', String, topics.LATCHED_QOS)
            latched.publish(String(data=robot.description.xml))
        self._reader, self._hardware_reader = JointStateReader(), JointStateReader()
        self._stamp_reader = JointStateReader()
        self._logger = get_logger('sim_bridge')
        self.command_topics: list[CommandTopic] = []
        self._polls: list[Poll] = []
        # those on whose topics somebody publishes, as far as is known
        self._likely: list[Poll] = []
        self._polled_ns = 0
        self._actions: list[FollowJointTrajectory] = []
        self._accept(STAMPED_TOPIC, JointState, self._take_joint_state)
        self._accept('effort_controller/commands', Float64MultiArray, self._take_array)
        self._drive = TrackedDrive(robot, parameters.track_separation_multiplier)
        if self._drive.is_possible:
            self._accept('cmd_vel', Twist, self._take_twist)
        if self._hardware is not None and self._hardware.commands_topic:
            self._accept(
                self._hardware.commands_topic, JointState,
                functools.partial(self._take_from_hardware, self._hardware))
        joints = self.commands.joint_names
        self.trajectories = Trajectories(robot, self.commands, controllers_of(
            parameters.trajectory_controllers, joints, all_joints), now)
        for controller in self.trajectories.controllers:
            self._accept(
                f'{controller.name}/joint_trajectory', JointTrajectory,
                functools.partial(self.trajectories.take_message, controller))
        self.restart()

    @property
    def topics(self) -> list[str]:
        """Names of all topics that readings are published on."""
        return [stream.topic for stream in self._streams()]

    def poll(self, until_ns: int) -> None:
        """
        Take in the commands that have come; on the physics thread.

        until_ns: time.monotonic_ns() from which on a few of each topic are enough.
        """
        self._polled_ns = until_ns
        for poll in self._polls:
            poll(until_ns)

    def poll_likely(self, until_ns: int) -> None:
        """As `poll`, but look at topics on which nobody was known to publish now and then only."""
        if until_ns - self._polled_ns > _UNLIKELY_NS:
            self.poll(until_ns)
            return
        for poll in self._likely:
            poll(until_ns)

    def refresh(self) -> None:
        """Look which topics somebody subscribes to, and on which somebody sends commands."""
        for stream in self._streams():
            stream.refresh()
        for outbox in self._outboxes:
            outbox.refresh()
        self._likely = [poll for poll in self._polls if poll.has_senders()]

    def publish(self, time_ns: int) -> None:
        """Publish what is due at this simulated time [ns]."""
        if self._joint_states.has_crawlers:
            self._joint_states.advance(time_ns)
        if self._lockstep.sources and self._joint_states.rate.is_due(time_ns):
            self._ask(time_ns)
        world = self._world
        if world.layout != self._layout:
            self._relocate()
        for outbox in self._outboxes:
            outbox.publish(time_ns, world.step_count)

    def publish_state(self, time_ns: int, stamp: bytes) -> None:
        """Publish the state, due or not, to be answered in lockstep; nothing of sensors."""
        self._ask(time_ns)
        self._joint_states.publish(stamp)

    def restart(self) -> None:
        """Begin anew with the robot as the world has reset it: no command yet."""
        self.commands.restart()
        self.trajectories.restart()
        self._joint_states.restart(self._now())
        self._restart_rates()

    def resume(self) -> None:
        """Go on from another time."""
        self._joint_states.resume(self._now())
        self._restart_rates()

    def save(self) -> SavedInterface:
        """Return what `restore` goes back to."""
        return SavedInterface(self.commands.save(self._now()), self._joint_states.save())

    def restore(self, saved: SavedInterface) -> None:
        """Go on as when `save` was called, with the robot as it was then."""
        self.commands.restore(saved.commands, self._now())
        self.trajectories.restart()
        self._joint_states.restore(saved.run)

    def locate(self) -> None:
        """Take note that other robots have come or gone."""
        self._joint_states.locate()
        self._relocate()

    def retire(self, words: str) -> bool:
        """
        End what is under way, before the robot leaves the world; on the executor's thread.

        Clients of its goals are told at once, and why: there will be nobody to ask. Tells whether
        there were any.
        """
        self.commands.restart(words)
        self.trajectories.restart()
        ended = [action.monitor() for action in self._actions]
        return any(ended)

    def listen(self, node: PollingMixin) -> None:
        """Take commands from the graph from now on."""
        self._logger = self.trajectories.logger = node.get_logger()
        for topic in self.command_topics:
            # who waits for answers is to be woken by them; a long trajectory takes long to read
            if not self._lockstep.sources and topic.message_type is not JointTrajectory:
                self._polls.append(node.create_poll(
                    topic.message_type, topic.name, topic.take, topics.POLLED_QOS))
                continue
            node.create_subscription(
                topic.message_type,
                topic.name,
                topic.take,
                topics.for_one_topic(topics.COMMAND_QOS),
                qos_overriding_options=topics.overridable(),
                raw=True,
            )
        actions = topics.optional_messages('control_msgs', 'action')
        if actions is not None:
            # imported here, since it brings all of rclpy's actions along
            from sim_bridge.ros.command.follow_joint_trajectory import FollowJointTrajectory

            for controller in self.trajectories.controllers:
                name = f'{self.prefix}{controller.name}/follow_joint_trajectory'
                self._actions.append(FollowJointTrajectory(
                    node, actions.FollowJointTrajectory, name, self.trajectories, controller))

    def _ask(self, time_ns: int) -> None:
        # before the message leaves, since its answer may be here before `publish` returns
        self._lockstep.ask(f'{self.prefix}{STAMPED_TOPIC}', time_ns)

    def _relocate(self) -> None:
        """Take note that the world's arrays are others."""
        self._world.simulation.settle()
        self._layout = self._world.layout
        for outbox in self._outboxes:
            outbox.relocate()

    def _restart_rates(self) -> None:
        now = self._now()
        self._joint_states.rate.restart(now)
        for outbox in self._outboxes:
            outbox.restart(now)

    def _streams(self) -> list[Stream]:
        return [
            *self._joint_states.streams,
            *([self._odometry] if self._odometry is not None else []),
            *(stream for sensor in self._sensors for stream in sensor.streams)]

    def _accept(self, name: str, message_type: type, take: Take) -> None:
        """Take commands on a topic; what makes no sense is complained of and counted."""
        full_name = name if name.startswith('/') else self.prefix + name
        most = topics.TRAJECTORY_BYTES if message_type is JointTrajectory else (
            topics.most_command_bytes(len(self.commands.names)))

        def attempt(data: bytes) -> None:
            try:
                take(data, Message(full_name, data))
            except SimBridgeError as err:
                # of what could be read, the commands themselves keep count
                self.commands.counts.rejected += isinstance(err, MalformedMessageError)
                self._complain(name, err)

        def receive(data: bytes) -> None:
            if len(data) > most:
                self._refuse(name, InvalidValueError(
                    'size of the message', len(data), f'at most {most} bytes'))
            elif self._lockstep.sources:
                self._hold_back(name, data, attempt)
            else:
                attempt(data)

        self.command_topics.append(CommandTopic(full_name, message_type, receive))

    def _hold_back(self, name: str, data: bytes, attempt: Callable[[bytes], None]) -> None:
        """Hand a command to the lockstep, which takes only what says which state it answers."""
        try:
            if name != STAMPED_TOPIC:
                raise StateError(
                    f'commands on {self.prefix}{name} have no stamp to tell which state they '
                    f'answer, as lockstep asks for. Send them on {self.prefix}{STAMPED_TOPIC}')
            command = self._stamp_reader.read(data)
            self._lockstep.offer(
                self.prefix + name, command.frame_id, command.time_ns, lambda: attempt(data))
        except SimBridgeError as err:
            self._refuse(name, err)

    def _take_joint_state(self, data: bytes, source: Message) -> None:
        if self.commands.accept_repeat(data, source):
            return
        command = self._reader.read(data)
        if self._hardware is not None and self._hardware.is_from(command):
            self.commands.accept_fitting(
                self._hardware.parts(command), command.time_ns, source)
            return
        self.commands.accept_named(
            command.names, command.position, command.velocity, command.effort, command.time_ns,
            source)
        self.commands.learn(data, self._reader, command.names)

    def _take_from_hardware(
        self, hardware: TopicBasedHardware, data: bytes, source: Message
    ) -> None:
        command = self._hardware_reader.read(data)
        self.commands.accept_fitting(hardware.parts(command), command.time_ns, source)

    def _take_array(self, data: bytes, source: Message) -> None:
        self.commands.accept_ordered(deserialize(data, Float64MultiArray).data, source)

    def _take_twist(self, data: bytes, source: Message) -> None:
        twist = deserialize(data, Twist)
        linear, angular = twist.linear, twist.angular
        speeds = self._drive.speeds(linear.x, linear.y, angular.z)
        self.commands.accept_named(self._drive.names, velocity=speeds, source=source)

    def _refuse(self, topic: str, err: Exception) -> None:
        self.commands.counts.rejected += 1
        self._complain(topic, err)

    def _complain(self, topic: str, err: Exception) -> None:
        count = self.commands.counts.rejected
        self._logger.warning(
            f'command on {topic} rejected ({count} so far): {err}', **once_in(1.0))


def check_distinct(topic_names: Iterable[str]) -> None:
    """Raise InvalidValueError where two robots would take commands on one topic."""
    seen: set[str] = set()
    for name in topic_names:
        if name in seen:
            raise InvalidValueError(
                'command topic', name, 'one of its own for each robot; in ros2_control set '
                'joint_commands_topic and joint_states_topic of each hardware')
        seen.add(name)
