"""A robot's command topics, and the readers for their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import functools
from typing import TYPE_CHECKING

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.logging import get_logger
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from sim_bridge.foundation.errors import (
    InvalidValueError,
    MalformedMessageError,
    SimBridgeError,
    StateError,
)
from sim_bridge.ros.command.drives import from_stamped, from_twist
from sim_bridge.ros.command.inputs import Message
from sim_bridge.ros.command.programs import Topic
from sim_bridge.ros.command.trajectories import speed_message, SPEED_TOPIC
from sim_bridge.ros.command.trajectory_query import serve_query
from sim_bridge.ros.process.throttle import once_in
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.joint_state_reader import JointStateReader
from sim_bridge.ros.wire.qos import (
    COMMAND_QOS,
    for_one_topic,
    LATCHED_QOS,
    most_command_bytes,
    optional_messages,
    overridable,
    POLLED_QOS,
    TRAJECTORY_BYTES,
)

if TYPE_CHECKING:
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.drives import CommandedDrive
    from sim_bridge.ros.command.hardware import TopicBasedHardware
    from sim_bridge.ros.command.lockstep import LockstepPolicy
    from sim_bridge.ros.command.programs import Monitored, Program
    from sim_bridge.ros.command.signals import CommandedSignal
    from sim_bridge.ros.command.trajectories import Trajectories
    from sim_bridge.ros.process.polling import Poll, PollingMixin
    from sim_bridge.ros.wire.joint_state_reader import JointValues

# Poll period for topics without known publishers: each poll costs as much as three steps with an
# arm.
_UNLIKELY_NS = 10_000_000

# topic whose messages name the answered joint_states by their stamp
STAMPED_TOPIC = 'joint_commands'
# efforts for all joints; a controller of a robot's file may have this topic
EFFORTS_TOPIC = 'effort_controller/commands'


@dataclass(frozen=True)
class CommandTopic:
    """
    A command topic; only the graph knows its full name.

    is_lasting: whether its commands last until a timeout, or until its publishers leave.
    is_latched: whether a publisher's last message before the start counts too.
    """

    name: str
    message_type: type
    take: Callable[[bytes], None]
    is_lasting: bool = False
    is_latched: bool = False


# called with a command's bytes, and the input to record
Take = Callable[[bytes, Message], None]


class CommandInbox:
    """
    Reads a robot's command messages, and passes them to its commands and trajectories.

    Messages come from the graph (`listen`), or in serialized form from other sources through
    `topics`.
    """

    def __init__(
        self,
        prefix: str,
        commands: RobotCommands,
        trajectories: Trajectories,
        hardware: TopicBasedHardware,
        drives: Sequence[CommandedDrive],
        lockstep: LockstepPolicy,
        is_stamped: bool = False,
        signals: Sequence[CommandedSignal | Topic] = (),
        programs: Sequence[Program] = (),
    ) -> None:
        """
        Prepare to take messages.

        prefix: for the topics, '' or ending with a slash. drives: the first one takes `cmd_vel`,
        and with it those that move the base without wheels.
        lockstep: sources awaited before a step. is_stamped: whether drives without their own
        setting take TwistStamped rather than Twist. signals: scene and plugin inputs, with
        full topic names. programs: controllers with their own topics and actions.
        """
        self._prefix, self._commands, self._trajectories = prefix, commands, trajectories
        self._hardware, self._lockstep = hardware, lockstep
        self._reader, self._hardware_reader = JointStateReader(), JointStateReader()
        self._stamp_reader = JointStateReader()
        self._logger = get_logger('sim_bridge')
        self.topics: list[CommandTopic] = []
        """All command topics."""
        self._polls: list[Poll] = []
        # polls of topics with known publishers
        self._likely: list[Poll] = []
        # polls of commands in force until a timeout
        self._lasting: list[Poll] = []
        # whether any of those was taken since their publishers were last found gone
        self._is_commanded = False
        self._polled_ns = 0
        self._programs = programs
        self.actions: list[Monitored] = []
        """Action servers, which report the progress of goals to clients."""
        self._accept(STAMPED_TOPIC, JointState, self._take_joint_state, is_lasting=True)
        own = {topic.name for program in programs for topic in program.topics}
        if EFFORTS_TOPIC not in own:
            self._accept(EFFORTS_TOPIC, Float64MultiArray, self._take_array, is_lasting=True)
        self._accept_twists(drives, is_stamped)
        if hardware.commands_topic:
            self._accept(
                hardware.commands_topic, JointState, self._take_from_hardware, is_lasting=True
            )
        for controller in trajectories.controllers:
            self._accept(
                controller.topic('joint_trajectory'),
                JointTrajectory,
                functools.partial(trajectories.take_message, controller),
            )
            if controller.speed is not None and speed_message() is not None:
                self._accept(
                    controller.topic(SPEED_TOPIC),
                    speed_message(),
                    functools.partial(trajectories.take_speed, controller),
                    is_latched=True,
                )
        for each in signals:
            name = each.name if isinstance(each, Topic) else each.topic
            self._accept(name, each.message_type, each.take, '')
        for program in programs:
            for topic in program.topics:
                self._accept(topic.name, topic.message_type, topic.take)

    def poll(self, until_ns: int) -> None:
        """
        Take the commands received; on the physics thread.

        until_ns: time.monotonic_ns() after which only a few messages per topic are taken. When the
        last publisher of joint commands has left, the timeout policy applies.
        """
        self._polled_ns = until_ns
        for poll in self._polls:
            poll(until_ns)
        # checked after taking messages, so a publisher with a new message does not count as gone
        if self._is_commanded and not any(poll.has_senders() for poll in self._lasting):
            self._is_commanded = False
            self._commands.lose_senders()

    def poll_likely(self, until_ns: int) -> None:
        """Like `poll`, but check topics without known publishers only at intervals."""
        if until_ns - self._polled_ns > _UNLIKELY_NS:
            self.poll(until_ns)
            return
        for poll in self._likely:
            poll(until_ns)

    def refresh(self) -> None:
        """Check which command topics have publishers."""
        self._likely = [poll for poll in self._polls if poll.has_senders()]

    def listen(self, node: PollingMixin) -> None:
        """Take commands from the graph from now on."""
        self._logger = self._trajectories.logger = node.get_logger()
        for topic in self.topics:
            # Answers must wake a waiting lockstep, and a long trajectory takes long to read. Both
            # are therefore taken by the executor.
            if not self._lockstep.sources and topic.message_type is not JointTrajectory:
                # drives and controllers have their own timeout, or none
                take = (
                    functools.partial(self._take_lasting, topic)
                    if topic.is_lasting
                    else topic.take
                )
                poll = node.create_poll(topic.message_type, topic.name, take, POLLED_QOS)
                self._polls.append(poll)
                if topic.is_lasting:
                    self._lasting.append(poll)
                if topic.is_latched:
                    # a transient local subscription does not match volatile publishers
                    kept = node.create_poll(
                        topic.message_type, topic.name, take, LATCHED_QOS, is_overridable=False
                    )
                    self._polls.append(kept)
                continue
            node.create_subscription(
                topic.message_type,
                topic.name,
                topic.take,
                for_one_topic(COMMAND_QOS),
                qos_overriding_options=overridable(),
                raw=True,
            )
        actions = optional_messages('control_msgs', 'action')
        if actions is not None:
            # imported here, since it loads all of rclpy's actions
            from sim_bridge.ros.command.follow_joint_trajectory import FollowJointTrajectory

            for controller in self._trajectories.controllers:
                name = self._full(controller.topic('follow_joint_trajectory'))
                self.actions.append(
                    FollowJointTrajectory(
                        node, actions.FollowJointTrajectory, name, self._trajectories, controller
                    )
                )
        for program in self._programs:
            self.actions += program.serve(node, self._full)
        query = getattr(optional_messages('control_msgs', 'srv'), 'QueryTrajectoryState', None)
        if query is not None:
            for controller in self._trajectories.controllers:
                name = self._full(controller.topic('query_state'))
                serve_query(node, query, name, self._trajectories, controller)

    def _take_lasting(self, topic: CommandTopic, data: bytes) -> None:
        """Take a command, and note it: its publisher may be gone by the next poll."""
        self._is_commanded = True
        topic.take(data)

    def end_goals(self) -> bool:
        """Report ended goals to their clients at once; return whether there were any."""
        ended = [action.monitor() for action in self.actions]
        return any(ended)

    def ask(self, time_ns: int) -> None:
        """Expect lockstep answers to the state with this stamp [ns], before it is published."""
        self._lockstep.ask(f'{self._prefix}{STAMPED_TOPIC}', time_ns)

    def _accept(
        self,
        name: str,
        message_type: type,
        take: Take,
        prefix: str | None = None,
        is_lasting: bool = False,
        is_latched: bool = False,
    ) -> None:
        """
        Take commands on a topic; log and count invalid ones.

        prefix: topic name prefix. is_lasting, is_latched: see `CommandTopic`.
        """
        full_name = self._full(name, prefix)
        most = (
            TRAJECTORY_BYTES
            if message_type is JointTrajectory
            else (most_command_bytes(len(self._commands.names)))
        )

        def attempt(data: bytes) -> None:
            try:
                take(data, Message(full_name, data))
            except SimBridgeError as err:
                # commands count their own errors, except for unreadable messages
                self._commands.counts.rejected += isinstance(err, MalformedMessageError)
                self._complain(name, err)

        def receive(data: bytes) -> None:
            if len(data) > most:
                self._refuse(
                    name,
                    InvalidValueError('size of the message', len(data), f'at most {most} bytes'),
                )
            elif self._lockstep.sources:
                self._hold_back(name, full_name, data, attempt)
            else:
                attempt(data)

        self.topics.append(CommandTopic(full_name, message_type, receive, is_lasting, is_latched))

    def _full(self, name: str, prefix: str | None = None) -> str:
        """Return a topic's name with the robot's prefix, or another one."""
        prefix = self._prefix if prefix is None else prefix
        return name if name.startswith('/') else prefix + name

    def _hold_back(
        self, name: str, full_name: str, data: bytes, attempt: Callable[[bytes], None]
    ) -> None:
        """Pass a command to the lockstep; it must name the state it answers."""
        try:
            if name != STAMPED_TOPIC:
                raise StateError(
                    f'commands on {full_name} have no stamp that names the state they answer, as '
                    f'required in lockstep. Send them on {self._prefix}{STAMPED_TOPIC}'
                )
            command = self._stamp_reader.read(data)
            self._lockstep.offer(
                full_name, command.frame_id, command.time_ns, lambda: attempt(data)
            )
        except SimBridgeError as err:
            self._refuse(name, err)

    def _take_joint_state(self, data: bytes, source: Message) -> None:
        if self._commands.queue.accept_repeat(data, source):
            return
        command = self._reader.read(data)
        if self._hardware.is_from(command):
            self._take_parts(command, source)
            return
        self._commands.queue.accept_named(
            command.names,
            command.position,
            command.velocity,
            command.effort,
            command.time_ns,
            source,
        )
        self._commands.queue.learn(data, self._reader, command.names)

    def _take_from_hardware(self, data: bytes, source: Message) -> None:
        self._take_parts(self._hardware_reader.read(data), source)

    def _take_parts(self, command: JointValues, source: Message) -> None:
        """Take the commanded parts of a message from topic-based hardware, if there are any."""
        if parts := self._hardware.parts(command):
            self._commands.queue.accept_fitting(parts, command.time_ns, source)

    def _take_array(self, data: bytes, source: Message) -> None:
        self._commands.queue.accept_ordered(deserialize(data, Float64MultiArray).data, source)

    def _accept_twists(self, drives: Sequence[CommandedDrive], is_stamped: bool) -> None:
        """
        Take twists for drives, each on the topics below its name and in its file.

        Drives with one topic share its commands: Gazebo moves a base while a
        controller turns the wheels. The wheels' drive sets the message type.
        """
        in_order = sorted(drives, key=lambda each: each.drive.is_lasting)
        references = [each.drive.description.reference_topic for each in in_order]
        taken = {self._full(name).lstrip('/') for name in references if name}
        shared: dict[str, tuple[str, list[CommandedDrive]]] = {}
        for number, drive in enumerate(in_order):
            own = drive.drive.description
            names = [] if number and not drive.drive.is_lasting else ['cmd_vel']
            names += [own.command_topic] if own.command_topic else []
            for name in dict.fromkeys([*names, f'{drive.name}/cmd_vel']):
                full = self._full(name).lstrip('/')
                # a reference renamed to cmd_vel takes its place
                if full not in taken:
                    sharing = shared.setdefault(full, (name, []))[1]
                    sharing += [] if drive in sharing else [drive]
        for name, sharing in shared.values():
            own_type = sharing[0].drive.description.is_stamped
            self._accept_twist(name, is_stamped if own_type is None else own_type, sharing)
        for drive, reference in zip(in_order, references, strict=True):
            if reference:
                self._accept_twist(reference, True, [drive])

    def _accept_twist(self, name: str, is_stamped: bool, drives: Sequence[CommandedDrive]) -> None:
        """Take twists on a topic for one drive or several."""
        first, *others = drives
        kind, read = (TwistStamped, from_stamped) if is_stamped else (Twist, from_twist)

        def take(data: bytes, source: Message) -> None:
            twist, stamp_ns = read(deserialize(data, kind))
            first.take(twist, stamp_ns, source, others)

        self._accept(name, kind, take)

    def _refuse(self, topic: str, err: Exception) -> None:
        self._commands.counts.rejected += 1
        self._complain(topic, err)

    def _complain(self, topic: str, err: Exception) -> None:
        count, self._commands.queue.refusal = self._commands.counts.rejected, f'{topic}: {err}'
        self._logger.warning(
            f'command on {topic} rejected ({count} so far): {err}', **once_in(1.0)
        )


def check_distinct(topic_names: Iterable[str]) -> None:
    """Raise InvalidValueError if two robots would take commands on one topic."""
    seen: set[str] = set()
    for name in topic_names:
        if name in seen:
            raise InvalidValueError(
                'command topic',
                name,
                'a separate topic for each robot; in ros2_control set '
                'joint_commands_topic and joint_states_topic of each hardware',
            )
        seen.add(name)
