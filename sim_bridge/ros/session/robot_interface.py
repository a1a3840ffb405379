"""One robot on the graph: its published topics and its command topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TYPE_CHECKING

from std_msgs.msg import String

from sim_bridge.description.urdf.write import published_urdf
from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.ros.command.batteries import Batteries
from sim_bridge.ros.command.command_inbox import CommandInbox
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.command.controller_reports import program_states, trajectory_states
from sim_bridge.ros.command.controller_states import (
    ControllerStates,
    declared_controllers,
    joint_state_topics,
    set_controls,
)
from sim_bridge.ros.command.controllers import check_not_driven, controllers_of
from sim_bridge.ros.command.drives import commanded_drives, drives_of, Followings
from sim_bridge.ros.command.hardware import hardware_of
from sim_bridge.ros.command.plugin_inputs import PluginInputs
from sim_bridge.ros.command.program_kinds import programs_of
from sim_bridge.ros.command.programs import Context
from sim_bridge.ros.command.signals import commanded_signals
from sim_bridge.ros.command.trajectories import Trajectories
from sim_bridge.ros.publish.drawn_meshes import mesh_folder
from sim_bridge.ros.publish.joint_states import JointStates
from sim_bridge.ros.publish.odometry import odometry_stream, wheel_odometry_streams
from sim_bridge.ros.publish.outbox import outboxes, Timed
from sim_bridge.ros.publish.sensor_streams import sensor_streams
from sim_bridge.ros.publish.signals import output_streams
from sim_bridge.ros.publish.streams import Rate
from sim_bridge.ros.wire.messages import pack_stamp
from sim_bridge.ros.wire.qos import LATCHED_QOS

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.ros.command.command_inbox import CommandTopic
    from sim_bridge.ros.command.drives import CommandedDrive
    from sim_bridge.ros.command.inputs import Following
    from sim_bridge.ros.command.lockstep import LockstepPolicy
    from sim_bridge.ros.command.plugin_parts import Schedule
    from sim_bridge.ros.command.programs import Program
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.ros.publish.streams import Stream
    from sim_bridge.ros.session.loading import LoadedRobot


class Stateful(Protocol):
    """State that changes during a simulation, and is restored with it."""

    def save(self, time_ns: int) -> Any:
        """Return the state for `restore`. time_ns: simulated time [ns]."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Return to a saved state. time_ns: current time [ns], may differ from `save`."""

    def restart(self, time_ns: int, reason: str) -> None:
        """Start again at this time [ns]. reason: told to clients of ended commands or goals."""


# saved states of an interface's Stateful parts
SavedInterface = tuple[Any, ...]

_RESET = 'the simulation was reset'


class RobotInterface:
    """
    Publishes a robot's state after every control step; `inbox` takes commands before the next one.

    commands, trajectories: robot inputs. namespace, prefix: for its topics; the prefix ends
    with a slash. frame_prefix: prefix for its frames.
    """

    def __init__(
        self,
        sink: Sink,
        loaded: LoadedRobot,
        parameters: SimulatorParameters,
        all_joints: Sequence[str],
        lockstep: LockstepPolicy,
        now: Callable[[], int],
    ) -> None:
        """
        Open all topics for the robot, within its namespace.

        all_joints: joint names of all robots, allowed in parameters. lockstep: sources awaited
        before a step. now: returns the simulated time [ns]. Raises UnknownNameError for a joint
        missing in the robot.
        """
        self.robot = robot = loaded.robot
        self._world, self._now = robot.world, now
        self._answers_expected = bool(lockstep.sources)
        self.namespace, self.prefix = loaded.namespace, loaded.prefix
        prefix = loaded.prefix
        hardware = hardware_of(robot, prefix)
        # drives and controllers set their joints' control modes before commands read them
        drives = drives_of(robot, parameters, all_joints)
        driven = {joint: drive.name for drive in drives for joint in drive.description.joints}
        declared = [
            each
            for each in declared_controllers(robot.description)
            if each.name in driven.values() or driven.keys().isdisjoint(each.joints)
        ]
        self.states = ControllerStates(declared, robot.name, parameters.start_controllers)
        """Active and inactive controllers of the robot's files."""
        set_controls(robot, self.states.controls())
        self.commands = RobotCommands(
            robot,
            loaded.joints or robot.actuated_joints,
            timeout_ns=round(parameters.command_timeout * 1e9),
            timeout_policy=parameters.command_timeout_policy,
            hold_until_first=parameters.hold_until_first_command,
            parameter_prefix=prefix.replace('/', '.'),
            period_ns=round(1e9 / parameters.command_rate) if parameters.command_rate else 0,
        )
        self._joint_states = JointStates(
            sink,
            prefix,
            robot,
            parameters.joint_state_rate or parameters.rate,
            hardware.states_topic,
            joint_state_topics(declared),
        )
        self.frame_prefix = frame_prefix = parameters.frame_prefix + prefix
        self._sensors = sensor_streams(sink, prefix, frame_prefix, robot, parameters)
        self._odometry = odometry_stream(sink, prefix, frame_prefix, robot, parameters, drives)
        self._reckoned = [
            timed
            for drive in drives
            for timed in wheel_odometry_streams(sink, prefix, frame_prefix, drive, parameters)
        ]
        scene, scene_prefix = loaded.scene, loaded.scene_prefix
        self.signals_namespace = None if scene is None else loaded.scene_namespace
        """Topic prefix of the scene's signals; None if it carries none."""
        self._outputs = (
            []
            if scene is None
            else output_streams(
                sink, scene_prefix, scene, parameters.joint_state_rate or parameters.rate
            )
        )
        odometry_rate = Rate(parameters.odom_rate)
        self._outboxes = outboxes(
            [
                *(Timed(stream, self._joint_states.rate) for stream in self._joint_states.streams),
                *([Timed(self._odometry, odometry_rate)] if self._odometry is not None else []),
                *self._reckoned,
                *(Timed(stream, self._joint_states.rate) for stream in self._outputs),
                *(
                    Timed(stream, sensor.device)
                    for sensor in self._sensors
                    for stream in sensor.streams
                ),
            ],
            robot.world.time_step_ns,
        )
        self._simulation = robot.simulation
        # array layout used by the messages
        self._layout = robot.world.layout
        urdf = _urdf_of(robot) if parameters.publish_robot_description else ''
        if urdf:
            latched = sink.open(f'{prefix}robot_description', String, LATCHED_QOS)
            latched.publish(String(data=urdf))
        joints = [name for name in self.commands.joint_names if name not in driven]
        check_not_driven(parameters.trajectory_controllers, driven)
        self.trajectories = Trajectories(
            robot,
            self.commands,
            controllers_of(parameters.trajectory_controllers, joints, all_joints, declared),
            now,
            self.states,
        )
        self.programs = programs_of(
            Context(robot, self.commands, self.states, now, parameters.tick_ns * 1e-9)
        )
        """Controllers of the robot's files, except trajectory controllers and drives."""
        self._reports: list[tuple[Stream, Schedule]] = [
            *trajectory_states(sink, prefix, robot, self.trajectories),
            *program_states(sink, prefix, self.programs),
        ]
        self.plugins = PluginInputs(robot, self.commands, prefix)
        """Inputs from Gazebo's plugins."""
        self.batteries = Batteries(robot, self.commands, prefix, parameters.tick_ns * 1e-9)
        """The robot's batteries."""
        self._reports += [*self.plugins.streams(sink), *self.batteries.streams(sink)]
        self.drives = commanded_drives(robot, self.commands, drives, parameters, self.states)
        """The robot's drives, commanded by twists."""
        others: list[Following] = [
            *self.drives,
            *(each.targets for each in self.programs),
            *self.plugins.targets,
        ]
        if others:
            self.commands.following = Followings(self.commands.following, *others)
        self.inbox = CommandInbox(
            prefix,
            self.commands,
            self.trajectories,
            hardware,
            self.drives,
            lockstep,
            parameters.cmd_vel_stamped,
            [
                *([] if scene is None else commanded_signals(scene_prefix, scene, self.commands)),
                *self.plugins.topics,
                *self.batteries.topics,
            ],
            self.programs,
        )
        # names of the controllers that command their joints
        self._in_use = set(self.states.active())
        # whether they hold their joints, which are locked until the first command
        self._is_begun = False
        self._stateful: tuple[Stateful, ...] = (
            self.states,
            self.commands,
            self.trajectories,
            *self.programs,
            self.plugins,
            self.batteries,
            self._joint_states,
        )
        self.restart()

    @property
    def command_topics(self) -> list[CommandTopic]:
        """Command topics."""
        return self.inbox.topics

    @property
    def topics(self) -> list[str]:
        """Names of the topics with readings."""
        return [stream.topic for stream in self.streams]

    @property
    def streams(self) -> list[Stream]:
        """Streams publishing readings."""
        return [
            *self._joint_states.streams,
            *([self._odometry] if self._odometry is not None else []),
            *(stream for stream, _ in self._reckoned),
            *self._outputs,
            *(stream for stream, _ in self._reports),
            *(stream for sensor in self._sensors for stream in sensor.streams),
        ]

    def _begin_controllers(self) -> None:
        """Let active controllers hold their joints once other commands have unlocked the robot."""
        if self.commands.is_timed_out and self._is_begun and self.robot.hold:
            self._is_begun = False
        if not self._is_begun and not self.robot.hold:
            self._is_begun = True
            self.trajectories.begin()
            for program in self.programs:
                program.begin()

    def use_controllers(self) -> None:
        """Let the active controllers command their joints; on the physics thread."""
        active = set(self.states.active())
        started, ended = active - self._in_use, self._in_use - active
        self._in_use = active
        commanding: list[Program | CommandedDrive] = [*self.programs, *self.drives]
        for each in commanding:
            if each.name in ended:
                each.end()
        self.trajectories.release(ended)
        self.commands.set_controls(self.states.controls())
        self.trajectories.serve()
        if not self.robot.hold:
            self.trajectories.begin()
            for program in self.programs:
                if program.name in started:
                    program.begin()

    def feed(self, controller: str, values: Mapping[str, Any]) -> None:
        """Pass an input recorded in another run to a controller; raises UnknownNameError."""
        programs = {each.declared.name: each for each in self.programs}
        if controller not in programs:
            raise UnknownNameError('controller', controller, programs, 'the replay')
        programs[controller].feed(values)

    def refresh(self) -> None:
        """Check for subscribers on topics, and for publishers on command topics."""
        for stream in self.streams:
            stream.refresh()
        for outbox in self._outboxes:
            outbox.refresh()
        self.inbox.refresh()

    def command(self, time_ns: int) -> None:
        """Apply commands to the control step starting at this simulated time [ns]."""
        self.commands.apply(time_ns)
        if self._in_use:
            self._begin_controllers()
        for drive in self.drives:
            drive.advance(time_ns)
        for program in self.programs:
            program.advance(time_ns)
        self.plugins.advance()
        self.batteries.advance()

    def publish(self, time_ns: int) -> None:
        """Publish messages due at this simulated time [ns]."""
        for drive in self.drives:
            drive.observe()
        if self._joint_states.has_crawlers:
            self._joint_states.advance(time_ns)
        if self._answers_expected and self._joint_states.rate.is_due(time_ns):
            # before publishing: the answer may arrive before `publish` returns
            self.inbox.ask(time_ns)
        # attributes instead of the world's properties: this runs in each tick
        simulation = self._simulation
        if simulation.cache.layout != self._layout:
            self._relocate()
        for outbox in self._outboxes:
            outbox.publish(time_ns, simulation.run.step_count)
        for stream, rate in self._reports:
            if stream.is_wanted and rate.is_due(time_ns):
                stream.publish(pack_stamp(time_ns))

    @property
    def _controlled(self) -> list[Stream]:
        """Streams for controllers: joint states, and the scene's outputs."""
        return [*self._joint_states.streams, *self._outputs]

    @property
    def _of_state(self) -> list[Stream]:
        """Streams for the state; sensors measure in steps only."""
        odometry = [] if self._odometry is None else [self._odometry]
        return [*self._controlled, *odometry, *(stream for stream, _ in self._reckoned)]

    def show_state(self, time_ns: int, stamp: bytes) -> None:
        """Publish the controllers' part of the state again, for lockstep answers."""
        self.inbox.ask(time_ns)
        for stream in self._controlled:
            stream.publish(stamp)

    def publish_state(self, time_ns: int, stamp: bytes) -> None:
        """Publish the state, due or not, and ask for lockstep answers."""
        self.inbox.ask(time_ns)
        for stream in self._of_state:
            stream.publish(stamp)

    def complete_state(self, stamp: bytes) -> None:
        """Publish the parts of the state without a message with this stamp."""
        for stream in self._of_state:
            stream.catch_up(stamp)

    def restart(self) -> None:
        """Start again without commands, after the world has reset the robot."""
        self._is_begun = False
        for part in self._stateful:
            part.restart(self._now(), _RESET)
        self._restart_rates()

    def resume(self) -> None:
        """Continue from another time."""
        self._joint_states.resume(self._now())
        self._restart_rates()

    def save(self) -> SavedInterface:
        """Return the state for `restore`."""
        return tuple(part.save(self._now()) for part in self._stateful)

    def prepare(self, saved: SavedInterface) -> None:
        """Add and remove joints as in a saved state, before the world is restored."""
        self.plugins.prepare(saved[self._stateful.index(self.plugins)])

    def restore(self, saved: SavedInterface) -> None:
        """Return to a saved state; the robot is restored already."""
        for part, state in zip(self._stateful, saved, strict=True):
            part.restore(state, self._now())
        self._in_use, self._is_begun = set(self.states.active()), not self.robot.hold
        self.trajectories.serve()

    def locate(self) -> None:
        """Find the robot in the world's arrays again, after other robots were added or removed."""
        self._joint_states.locate()
        for stream in self._outputs:
            stream.locate()
        self._relocate()

    def retire(self, reason: str) -> bool:
        """
        End commands and goals before the robot leaves the world; on the executor's thread.

        Goal clients get the reason at once, since they cannot ask later. Returns whether there
        were any goals.
        """
        parts: list[Stateful] = [self.commands, self.trajectories, *self.programs]
        for part in parts:
            part.restart(self._now(), reason)
        return self.inbox.end_goals()

    def _relocate(self) -> None:
        """Fill messages from the world's current arrays."""
        self._world.simulation.cache.settle()
        self._layout = self._world.layout
        for outbox in self._outboxes:
            outbox.relocate()

    def _restart_rates(self) -> None:
        now = self._now()
        self._joint_states.rate.restart(now)
        for _, rate in self._reports:
            rate.restart(now)
        for outbox in self._outboxes:
            outbox.restart(now)


def _urdf_of(robot: sb.Robot) -> str:
    """Return a robot's URDF: the text read, or a URDF generated from other file types."""
    for scene in robot.world.openplx.values():
        urdf: str = scene.urdf(robot.name, mesh_folder())
        if urdf:
            return urdf
    return published_urdf(robot.description, mesh_folder())
