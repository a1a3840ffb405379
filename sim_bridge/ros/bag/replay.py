"""
Replay of a recording: the same world, the same commands at the same steps, the same bits.

A second simulator is built from the setup in the bag. It gets the recorded inputs step by step.
Every message it publishes, and every state hash, must equal the recorded one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rclpy.qos import QoSProfile

from sim_bridge.description.formats import format_of, URDF
from sim_bridge.description.openplx.bundles import installed_bundles, VARIABLE
from sim_bridge.description.openplx.mapping.records import MappedScene
from sim_bridge.foundation.digest import sha256
from sim_bridge.foundation.errors import (
    brief,
    DamagedBagError,
    InvalidValueError,
    MalformedMessageError,
    ReplayError,
    shortened,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.foundation.names import ByName, counted
from sim_bridge.foundation.validation import one_of
from sim_bridge.foundation.version import __version__
from sim_bridge.robots.joints.motor import CONTROLS
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.bag.bag_sink import absolute, BagTime
from sim_bridge.ros.bag.described_files import portable_description
from sim_bridge.ros.bag.mcap_reader import Message, simulated_time
from sim_bridge.ros.bag.notes import (
    check_shape,
    content_of,
    HASH_SHAPE,
    IMAGE_HASH_SHAPE,
    INPUT_SHAPES,
    SETUP_SHAPE,
)
from sim_bridge.ros.bag.picture_comparison import PictureComparison
from sim_bridge.ros.bag.reader import examine, read_messages
from sim_bridge.ros.bag.recording import FORMAT, IMAGE_HASH, INPUTS, SETUP, Setup, STATE_HASH
from sim_bridge.ros.command.inputs import SENDERS_LEFT
from sim_bridge.ros.command.joint_controls import JointControls, NoNode
from sim_bridge.ros.command.programs import PROGRAM_INPUT
from sim_bridge.ros.command.trajectories import CANCEL, FOLLOW
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sinks import Outlet
from sim_bridge.ros.session.loading import load_world, LoadedRobot, robots_of_scene
from sim_bridge.ros.session.robot_interface import RobotInterface
from sim_bridge.ros.session.simulator import Simulator, SimulatorSnapshot
from sim_bridge.ros.session.spawn_request import add_scene, prepare, SceneSource, SpawnRequest
from sim_bridge.ros.wire.cdr import deserialize, serialize_cleanly
from sim_bridge.simulation.snapshots import HASH_VERSION
from sim_bridge.world.world import World


@dataclass
class Verdict:
    """
    Result of a replay.

    difference: the first difference; '' if there was none. ticks: control steps taken; all of them
    agreed, except the last if there is a difference. messages, hashes: number of matching messages
    and state hashes in the bag. commands: number of applied commands. state_hash: the last
    matching one. damage: damage in the bag, which was compared only up to there, or None. note:
    text about the bag's end if its writer was killed. left_out: parts not compared, and why.
    pictures: number of pictures with matching hashes. unseen: number of those not compared.
    """

    version: str
    difference: str = ''
    ticks: int = 0
    messages: int = 0
    hashes: int = 0
    commands: int = 0
    state_hash: str = ''
    damage: DamagedBagError | None = None
    note: str = ''
    left_out: str = ''
    pictures: int = 0
    unseen: int = 0

    @property
    def is_same(self) -> bool:
        """Whether the replay equals the recording, and the bag is undamaged."""
        return not self.difference and self.damage is None


def replay(
    bag: str | Path,
    progress: Callable[[float], None] = lambda time_s: None,
    watch: Callable[[World, float], None] | None = None,
    *,
    images: bool = False,
) -> Verdict:
    """
    Replay a bag to its end, or to the first difference.

    bag: a folder or an .mcap file. progress: called at intervals with the simulated time [s].
    watch: called at the start and after each control step with the world and the time in the bag
    [s]; the time never decreases. images: whether the pictures whose hashes are in the bag are
    rendered and compared.
    Raises ReplayError if the bag holds no recording, or its world cannot be built again;
    DamagedBagError if it is damaged and nothing in it can be replayed.
    """
    examined = examine(bag)
    try:
        setup, time_of = read_setup(bag)
        player = _Player(setup, progress, watch, images)
        player.verdict.damage, player.verdict.note = examined.damage, examined.note
        try:
            for message in read_messages(bag):
                player.take(message, time_of(message))
            player.finish()
        except _Difference as found:
            player.verdict.difference = str(found)
        except DamagedBagError as err:
            # the missing rest is not a difference
            player.verdict.damage = examined.damage or err
    except SimBridgeError as err:
        # in a damaged bag, the damage may have caused any error
        raise (examined.damage or err) from err
    return player.verdict


class _Difference(Exception):
    """A difference between replay and recording."""


class _Player:
    """Steps a simulator along a bag's messages."""

    def __init__(
        self,
        setup: Setup,
        progress: Callable[[float], None],
        watch: Callable[[World, float], None] | None,
        images: bool,
    ) -> None:
        self._progress, self._watch = progress, watch
        self._pictures = PictureComparison() if images else None
        self._setup = setup
        parameters = _parameters(setup)
        loaded = load_world(parameters)
        _check_descriptions(setup, loaded.robots)
        if setup.bundles is not None:
            for scene in loaded.world.openplx.values():
                _check_read(scene.description, setup.files, setup.bundles)
        self._sink = _Collector()
        self._simulator = Simulator(self._sink, loaded, parameters)
        JointControls(NoNode(), self._simulator.interfaces, parameters)
        self._parameters = parameters
        # the collector also has the messages published before the first step
        self._tick_ns = parameters.tick_ns
        self._snapshots: ByName[SimulatorSnapshot] = ByName('snapshot', 'the recording')
        self._own = {
            absolute(name, setup.namespace): name
            for name in (SETUP, INPUTS, STATE_HASH, IMAGE_HASH)
        }
        self._takers = ByName(
            'command topic',
            'the replay',
            {
                topic.name: topic.take
                for interface in self._simulator.interfaces
                for topic in interface.command_topics
            },
        )
        self._robots = ByName(
            'robot', 'the replay', {each.robot.name: each for each in self._simulator.interfaces}
        )
        self._jumps: dict[str, Callable[..., None]] = {
            'reset': self._simulator.reset,
            'save': self._save,
            'restore': self._restore,
            'move': self._simulator.move,
            'pull': self._simulator.pull,
            'drop': self._simulator.drop,
            'push': self._simulator.push,
            'controllers': self._simulator.use_controllers,
            'publish_state': self._simulator.publish_state,
            'complete_state': self._simulator.complete_state,
            'configure': lambda **changes: self._simulator.configure(changes),
            'functions': self._refuse_functions,
            'force_fields': self._simulator.set_force_fields,
            'change': self._simulator.change,
            'delete': self._delete,
            'spawn': self._spawn,
            'spawn_scene': self._spawn_scene,
        }
        self.verdict = Verdict(setup.version)
        self._has_hashes = setup.hash_version == HASH_VERSION
        if not self._has_hashes:
            self.verdict.left_out = (
                f'state hashes are not compared: the bag, made by version '
                f'{shortened(setup.version)}, has hashes of kind {setup.hash_version}; this '
                f'version, {__version__}, computes kind {HASH_VERSION}, with other values for '
                'equal states. Messages are compared'
            )
        # topics for spawned robots by full name, as in the setup
        self._later: dict[str, str] = {}
        if watch is not None:
            watch(self._simulator.world, 0.0)

    def take(self, message: Message, time_ns: int) -> None:
        """Step to a message's simulated time [ns], then compare or apply it."""
        self._go_to(time_ns)
        if message.topic in self._later:
            # only the messages show which topics of a spawned robot were recorded
            self._setup.topics[message.topic] = self._later.pop(message.topic)
        if message.topic in self._setup.commands:
            self._takers[self._setup.commands[message.topic]](message.data)
            self.verdict.commands += 1
        elif message.topic in self._setup.topics:
            self._compare(message)
        elif self._own.get(message.topic) == INPUTS:
            self._feed(message)
            self.verdict.commands += 1
        elif self._own.get(message.topic) == STATE_HASH and self._has_hashes:
            self._compare_hash(message)
        elif self._own.get(message.topic) == IMAGE_HASH:
            self._compare_pictures(message)

    def finish(self) -> None:
        """Check that the bag contains every published message."""
        for topic, published in self._sink.published.items():
            # the writer may have been killed or closed within the last step
            is_over = bool(published) and published[0][0] < self.verdict.ticks
            if is_over and topic in self._recorded():
                self._differ(f'a message of {topic} is not in the bag', published[0][0])

    def _recorded(self) -> set[str]:
        return set(self._setup.topics.values())

    def _go_to(self, time_ns: int) -> None:
        """Take steps up to a time in the bag [ns]."""
        while self._sink.time.now_ns < time_ns:
            self.verdict.ticks += 1
            self._sink.tick = self.verdict.ticks
            self._simulator.tick()
            if self._pictures is not None:
                self._pictures.look(self._simulator.world)
            if self._watch is not None:
                self._watch(self._simulator.world, 1e-9 * self._sink.time.now_ns)
            if self.verdict.ticks % 1000 == 0:
                self._drop_unrecorded()
                # the next message in the bag is later than this time
                self.finish()
                self._progress(self.verdict.ticks * self._tick_ns * 1e-9)

    def _drop_unrecorded(self) -> None:
        for topic in self._sink.published.keys() - self._recorded():
            self._sink.published[topic].clear()

    def _compare(self, message: Message) -> None:
        name = self._setup.topics[message.topic]
        published = self._sink.published[name]
        if not published:
            self._differ(f'{message.topic} has one message more than the replay published')
        tick, data, kind = published.popleft()
        # descriptions contain other file paths here, and were compared before
        is_description = name.rsplit('/', 1)[-1] == 'robot_description'
        if not is_description and not _are_equal(data, message.data, kind):
            self._differ(f'{message.topic} has a different message', tick)
        self.verdict.messages += 1

    def _compare_hash(self, message: Message) -> None:
        content = content_of(message)
        check_shape(message, content, HASH_SHAPE)
        world = self._simulator.world
        now = world.state_hash()
        if (content['step'], content['hash']) != (world.step_count, now):
            self._differ(
                f'the state hash is now {now[:16]}… after step {world.step_count}; recorded was '
                f'{content["hash"][:16]}… after step {brief(content["step"])}'
            )
        self.verdict.hashes += 1
        self.verdict.state_hash = now

    def _compare_pictures(self, message: Message) -> None:
        content = content_of(message)
        check_shape(message, content, IMAGE_HASH_SHAPE)
        if self._pictures is None:
            self.verdict.unseen += 1
            return
        difference = self._pictures.difference(**content)
        if difference:
            self._differ(difference)
        self.verdict.pictures += 1

    def _feed(self, message: Message) -> None:
        for kind, values in content_of(message).items():
            if kind not in INPUT_SHAPES:
                raise ReplayError(
                    f'after step {self.verdict.ticks} the bag holds the input {brief(kind)}, made '
                    f'by version {shortened(self._setup.version)}; this version, {__version__}, '
                    f'knows {", ".join(INPUT_SHAPES)}'
                )
            check_shape(message, values, INPUT_SHAPES[kind], kind)
            if kind == 'control':
                commands = self._robots[values.pop('robot')].commands
                if values['axis'] not in commands.axes:
                    raise UnknownNameError('axis', values['axis'], commands.axes, 'the replay')
                one_of('control', values['control'], CONTROLS, f'axis {values["axis"]!r}')
                commands.queue.set_control(**values)
            elif kind == SENDERS_LEFT:
                self._robots[values['robot']].commands.lose_senders()
            elif kind == PROGRAM_INPUT:
                self._robots[values['robot']].feed(values['controller'], values)
            elif kind in (FOLLOW, CANCEL):
                robot = values.pop('robot')
                self._robots[robot].trajectories.feed(kind, values)
            else:
                self._jumps[kind](**values)

    def _spawn_scene(
        self,
        name: str,
        source: str,
        model: str,
        position: list[float],
        orientation: list[float],
        namespace: str,
        namespaces: list[str],
        files: dict[str, str],
        bundles: str,
    ) -> None:
        check_files(files)
        check_bundles(bundles)
        where = SceneSource(source, model)
        read = where.read()
        _check_read(read, files, bundles)
        pose = position, orientation
        scene = add_scene(self._simulator.world, read, name, pose)
        robots = robots_of_scene(scene, namespace)
        if len(robots) != len(namespaces):
            raise ReplayError(
                f'scene {name!r} has {counted(len(robots), "robot")} with topics now, and '
                f'{len(namespaces)} when it was recorded'
            )
        loaded = [
            replace(robot, namespace=own) for robot, own in zip(robots, namespaces, strict=True)
        ]
        self._open(lambda: self._simulator.add_scene(scene, where, pose, loaded))

    def _open(self, add: Callable[[], list[RobotInterface]]) -> None:
        """Open the topics for added robots; compare their messages and apply their commands."""
        before = set(self._sink.published)
        # a robot whose topics could not be opened was deleted by the following input
        with contextlib.suppress(InvalidValueError, UnknownNameError):
            interfaces = add()
            for name in set(self._sink.published) - before:
                self._later[absolute(name, self._setup.namespace)] = name
            for interface in interfaces:
                self._know(interface)

    def _spawn(self, name: str, made: dict[str, Any] | None) -> None:
        if made is None:
            raise ReplayError(
                f'after step {self.verdict.ticks} {name!r} was added by a program in a way not '
                'stored in the bag: the replay ends there. Spawn it, or put it into the world '
                'from the start'
            )
        check_files(made['files'])
        simulator = self._simulator
        world = simulator.world
        pattern = prepare(
            SpawnRequest(made['description'], name),
            self._parameters,
            [geometry.shape for robot in world.robots.values() for geometry in robot.geometries],
        )
        robot = world.add_copy(cast(Robot, pattern), name, made['position'], made['orientation'])
        namespace = made['namespace']
        loaded = None if namespace is None else LoadedRobot(robot, namespace)

        def add() -> list[RobotInterface]:
            interface = simulator.add(robot, loaded)
            return [] if interface is None else [interface]

        self._open(add)

    def _refuse_functions(self, names: list[str]) -> None:
        raise ReplayError(
            f'after step {self.verdict.ticks} Python functions not stored in the bag act on the '
            f'world: {shortened(", ".join(names))}. The replay ends there'
        )

    def _know(self, interface: RobotInterface) -> None:
        """Accept commands for a spawned robot."""
        self._robots[interface.robot.name] = interface
        for topic in interface.command_topics:
            self._takers[topic.name] = topic.take
            self._setup.commands[absolute(topic.name, self._setup.namespace)] = topic.name

    def _delete(self, name: str) -> None:
        self._simulator.remove(name)
        self._robots.pop(name, None)

    def _save(self) -> None:
        snapshot = self._simulator.save()
        self._snapshots[str(snapshot.number)] = snapshot

    def _restore(self, number: int, clock: bool) -> None:
        self._simulator.restore(self._snapshots[str(number)], clock)

    def _differ(self, difference: str, tick: int | None = None) -> None:
        tick = self.verdict.ticks if tick is None else tick
        time_s = tick * self._tick_ns * 1e-9
        raise _Difference(f'control step {tick} ({time_s:.9g} s): {difference}')


class _Collector:
    """A sink storing published messages until they are compared."""

    def __init__(self) -> None:
        self.tick = 0
        self.time = BagTime()
        self.published: dict[str, deque[tuple[int, bytes, type]]] = defaultdict(deque)
        """Each message's control step, content and type, by topic."""

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        return _Queue(self, topic, message_type)

    def begin(self, time_ns: int) -> None:
        """Set the time like the bag."""
        self.time.begin(time_ns)

    def pause(self) -> None:
        """Do nothing: a replay never pauses."""


class _Queue:
    """An outlet of `_Collector`."""

    def __init__(self, collector: _Collector, topic: str, message_type: type) -> None:
        self.topic, self._collector, self._type = topic, collector, message_type
        self._append = collector.published[topic].append

    def is_wanted(self) -> bool:
        return True

    def publish(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        self._append((self._collector.tick, data, self._type))

    def close(self) -> None:
        """Do nothing: published messages must still be compared."""


def _are_equal(one: bytes, other: bytes, kind: type) -> bool:
    """Return whether two serialized messages of one type are equal, apart from padding."""
    if one == other:
        return True
    if len(one) != len(other):
        return False
    try:
        first, second = (deserialize(data, kind) for data in (one, other))
    except MalformedMessageError:
        return False
    # NaN differs from itself, but its text is equal
    return first == second or repr(first) == repr(second)


def read_setup(bag: str | Path) -> tuple[Setup, Callable[[Message], int]]:
    """Return a recording's setup, and a function for its messages' simulated times."""
    for message in read_messages(bag):
        if message.topic.endswith(f'/{SETUP}'):
            content = content_of(message)
            if content.get('format') != FORMAT:
                raise ReplayError(
                    f'bag {str(bag)!r} has format {brief(content.get("format"))}, made by '
                    f'sim_bridge {brief(content.get("version"))}; this version, {__version__}, '
                    f'reads {FORMAT}'
                )
            time_of = simulated_time(message)
            if time_of is None:
                raise ReplayError(
                    f'bag {str(bag)!r} has its {SETUP} at {message.publish_ns} ns, expected 1: '
                    'another tool has replaced the publish times, which are needed for replays '
                    'of bags with record_epoch wall'
                )
            check_shape(message, content, SETUP_SHAPE)
            return Setup(**content), time_of
    raise ReplayError(
        f'bag {str(bag)!r} contains no recording of a simulator: it has no topic …/{SETUP}. '
        'Record by `sim_bridge record`, or with the parameter `record`'
    )


def _parameters(setup: Setup) -> SimulatorParameters:
    """Return the replay's parameters; raises ReplayError for changed files."""
    check_files(setup.files)
    check_bundles(setup.bundles or '')
    # recorded commands arrive when they took effect: lockstep has no source to wait for
    parameters = checked(SimulatorParameters, {**setup.parameters, 'lockstep': []})
    is_own = parameters.robot or parameters.robot_description or not parameters.world
    # files in other formats are read again; `check_files` has checked them
    if is_own and format_of(parameters.robot or parameters.robot_description) is URDF:
        # the robot from the parameter `robot` comes after the robots of a world; bodies with
        # sensors that stand in the world come later, and have no URDF
        last = next(filter(None, reversed(setup.descriptions.values())), '')
        return replace(parameters, robot='', robot_description=last)
    return parameters


def check_files(files: Mapping[str, str]) -> None:
    changed = [path for path, known in files.items() if sha256(Path(path)) != known]
    if changed:
        raise ReplayError(
            'these files were changed or removed since the recording: '
            f'{shortened(", ".join(changed))}'
        )


def check_bundles(recorded: str) -> None:
    """Raise ReplayError if OpenPLX bundles were read, and other bundles are installed now."""
    installed = installed_bundles()
    version = '' if installed is None else installed.version
    if recorded not in ('', version):
        raise ReplayError(
            f'the bag was recorded with the OpenPLX bundles {shortened(recorded)}; installed '
            f'{f"are {version}" if version else "are none"}'
        )


def _check_read(scene: MappedScene, files: Mapping[str, str], bundles: str) -> None:
    """Raise ReplayError if a scene is read from other files than in the recording."""
    others = [path for path in scene.files if path not in files]
    if scene.bundles not in ('', bundles):
        others.append(f'the installed OpenPLX bundles {scene.bundles}')
    if others:
        raise ReplayError(
            f'scene {scene.name!r} is now read from files not used in the recording (see '
            f'{VARIABLE}): {shortened(", ".join(others))}'
        )


def _check_descriptions(setup: Setup, robots: Any) -> None:
    found = {each.robot.name: portable_description(each.robot.description) for each in robots}
    if found != setup.descriptions:
        different = [
            name
            for name in {**found, **setup.descriptions}
            if found.get(name) != setup.descriptions.get(name)
        ]
        raise ReplayError(
            f'the description of {shortened(", ".join(map(repr, different)))} has changed since '
            'the recording'
        )
