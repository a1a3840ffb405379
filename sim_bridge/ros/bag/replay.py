"""
Replaying a recording: the same world, the same commands at the same steps, the same bits.

A second simulator is built from the setup in the bag. It gets the recorded inputs step by step.
Every message that it publishes, and every state hash, must equal the recorded one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
import contextlib
from dataclasses import dataclass, fields
import importlib
import json
from pathlib import Path
from typing import Any

from rclpy.qos import QoSProfile
from std_msgs.msg import String

from sim_bridge.description.resources import OPENPLX_SUFFIX
from sim_bridge.foundation.errors import (
    brief,
    DamagedBagError,
    InvalidValueError,
    MalformedMessageError,
    ReplayError,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.foundation.version import __version__
from sim_bridge.ros.bag.bag_sink import absolute, BagTime
from sim_bridge.ros.bag.mcap_reader import Message, simulated_time
from sim_bridge.ros.bag.reader import examine, read_messages
from sim_bridge.ros.bag.recording import (
    FORMAT,
    INPUTS,
    portable_description,
    SETUP,
    Setup,
    sha256,
    STATE_HASH,
)
from sim_bridge.ros.command.joint_controls import JointControls, NoNode
from sim_bridge.ros.command.trajectories import CANCEL, FOLLOW
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sinks import Outlet
from sim_bridge.ros.session.loading import load_world, LoadedRobot
from sim_bridge.ros.session.robot_interface import RobotInterface
from sim_bridge.ros.session.simulator import Simulator, SimulatorSnapshot
from sim_bridge.ros.session.spawn_request import prepare, SpawnRequest
from sim_bridge.ros.wire.cdr import deserialize, serialize_cleanly


@dataclass
class Verdict:
    """
    The result of a replay.

    difference: the first difference; '' if there was none. ticks: control steps taken; all of them
    agreed, except the last if there is a difference. messages, hashes: number of the bag's
    messages and state hashes that agreed. commands: number of commands applied. state_hash: the
    last that agreed. damage: of the bag, of which only the part before it was compared, or None.
    note: how the bag ends if its writer was killed.
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

    @property
    def is_same(self) -> bool:
        """Whether the replay equals the recording, and this is whole."""
        return not self.difference and self.damage is None


def replay(bag: Path, progress: Callable[[float], None] = lambda time_s: None) -> Verdict:
    """
    Replay a bag to its end, or to the first difference.

    bag: a folder or an .mcap file. progress: called at intervals with the simulated time [s].
    Raises ReplayError if the bag holds no recording, or its world cannot be built again;
    DamagedBagError if it is damaged and nothing of it can be replayed.
    """
    examined = examine(bag)
    try:
        setup, time_of = _read_setup(bag)
        player = _Player(setup, progress)
        player.verdict.damage, player.verdict.note = examined.damage, examined.note
        try:
            for message in read_messages(bag):
                player.take(message, time_of(message))
            player.finish()
        except _Difference as found:
            player.verdict.difference = str(found)
        except DamagedBagError as err:
            # what follows is missing, which is no difference
            player.verdict.damage = examined.damage or err
    except SimBridgeError as err:
        # of what is damaged anything may be wrong
        raise (examined.damage or err) from err
    return player.verdict


class _Difference(Exception):
    """The replay differs from the recording."""


class _Player:
    """Steps a simulator along the messages of a bag."""

    def __init__(self, setup: Setup, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._setup = setup
        parameters = _parameters(setup)
        loaded = load_world(parameters)
        _check_descriptions(setup, loaded.robots)
        self._sink = _Collector()
        self._simulator = Simulator(self._sink, loaded, parameters)
        JointControls(NoNode(), self._simulator.interfaces, parameters)
        self._parameters = parameters
        # all that is published before the first step, and all that is taken
        self._tick_ns = parameters.tick_ns
        self._snapshots: dict[int, SimulatorSnapshot] = {}
        self._own = {
            absolute(name, setup.namespace): name for name in (SETUP, INPUTS, STATE_HASH)}
        self._takers = {
            topic.name: topic.take
            for interface in self._simulator.interfaces for topic in interface.command_topics}
        self._robots = {each.robot.name: each for each in self._simulator.interfaces}
        self._jumps: dict[str, Callable[..., None]] = {
            'reset': self._simulator.reset,
            'save': self._save,
            'restore': self._restore,
            'move': self._simulator.move,
            'publish_state': self._simulator.publish_state,
            'delete': self._delete,
            'spawn': self._spawn,
        }
        self.verdict = Verdict(setup.version)
        # topics of spawned robots by full name, as in the setup
        self._later: dict[str, str] = {}

    def take(self, message: Message, time_ns: int) -> None:
        """Step to the simulated time of a message [ns], then compare or apply it."""
        self._go_to(time_ns)
        if message.topic in self._later:
            # the bag does not tell which topics of a spawned robot it holds, but by holding them
            self._setup.topics[message.topic] = self._later.pop(message.topic)
        if message.topic in self._setup.commands:
            self._takers[self._setup.commands[message.topic]](message.data)
            self.verdict.commands += 1
        elif message.topic in self._setup.topics:
            self._compare(message)
        elif self._own.get(message.topic) == INPUTS:
            self._feed(_content(message))
            self.verdict.commands += 1
        elif self._own.get(message.topic) == STATE_HASH:
            self._compare_hash(_content(message))

    def finish(self) -> None:
        """Check that the bag contains every message that was published."""
        for topic, published in self._sink.published.items():
            # the writer may have been killed within a step, or have ended before its last
            is_over = bool(published) and published[0][0] < self.verdict.ticks
            if is_over and topic in self._recorded():
                self._differ(f'a message of {topic} is not in the bag')

    def _recorded(self) -> set[str]:
        return set(self._setup.topics.values())

    def _go_to(self, time_ns: int) -> None:
        """Take steps up to a time in the bag [ns]."""
        while self._sink.time.now_ns < time_ns:
            self.verdict.ticks += 1
            self._sink.tick = self.verdict.ticks
            self._simulator.tick()
            if self.verdict.ticks % 1000 == 0:
                self._drop_unrecorded()
                self._progress(self.verdict.ticks * self._tick_ns * 1e-9)

    def _drop_unrecorded(self) -> None:
        for topic in self._sink.published.keys() - self._recorded():
            self._sink.published[topic].clear()

    def _compare(self, message: Message) -> None:
        name = self._setup.topics[message.topic]
        published = self._sink.published[name]
        if not published:
            self._differ(f'{message.topic} has a message more than was published now')
        tick, data = published.popleft()
        # descriptions name files differently here, and were compared before
        is_told = name.rsplit('/', 1)[-1] == 'robot_description'
        if not is_told and not _are_equal(data, message.data, message.type_name):
            self._differ(f'{message.topic} has another message', tick)
        self.verdict.messages += 1

    def _compare_hash(self, content: dict[str, Any]) -> None:
        world = self._simulator.world
        now = world.state_hash()
        if (content['step'], content['hash']) != (world.step_count, now):
            self._differ(
                f'the state hash is {now[:16]}… now, and {content["hash"][:16]}… was recorded')
        self.verdict.hashes += 1
        self.verdict.state_hash = now

    def _feed(self, content: dict[str, Any]) -> None:
        for kind, values in content.items():
            if kind == 'control':
                robot = values.pop('robot')
                self._robots[robot].commands.set_control(**values)
            elif kind in (FOLLOW, CANCEL):
                robot = values.pop('robot')
                self._robots[robot].trajectories.feed(kind, values)
            elif kind in self._jumps:
                self._jumps[kind](**values)
            else:
                raise ReplayError(
                    f'after step {self.verdict.ticks} the bag holds {kind!r}, made by version '
                    f'{self._setup.version}; this one, {__version__}, knows control, {FOLLOW}, '
                    f'{CANCEL}, {", ".join(self._jumps)}')

    def _spawn(self, name: str, made: dict[str, Any] | None) -> None:
        if made is None:
            raise ReplayError(
                f'after step {self.verdict.ticks} {name!r} was added by a program, and the bag '
                'does not hold how: replays end there. Spawn it, or put it into the world from '
                'the start')
        _check_files(made['files'])
        simulator, before = self._simulator, set(self._sink.published)
        world = simulator.world
        pattern = prepare(
            SpawnRequest(made['description'], name), self._parameters,
            [geometry.shape for robot in world.robots.values() for geometry in robot.geometries])
        robot = world.add_copy(pattern, name, made['position'], made['orientation'])
        namespace = made['namespace']
        loaded = None if namespace is None else LoadedRobot(robot, namespace)
        # one that could not have the topics it wanted was deleted, which comes next
        with contextlib.suppress(InvalidValueError, UnknownNameError):
            interface = simulator.add(robot, loaded)
            if interface is not None:
                self._know(interface, set(self._sink.published) - before)

    def _know(self, interface: RobotInterface, published: set[str]) -> None:
        """Compare and command a spawned robot, by the topics that it opened."""
        self._robots[interface.robot.name] = interface
        for name in published:
            self._later[absolute(name, self._setup.namespace)] = name
        for topic in interface.command_topics:
            self._takers[topic.name] = topic.take
            self._setup.commands[absolute(topic.name, self._setup.namespace)] = topic.name

    def _delete(self, name: str) -> None:
        self._simulator.remove(name)
        self._robots.pop(name, None)

    def _save(self) -> None:
        snapshot = self._simulator.save()
        self._snapshots[snapshot.number] = snapshot

    def _restore(self, number: int, clock: bool) -> None:
        self._simulator.restore(self._snapshots[number], clock)

    def _differ(self, what: str, tick: int | None = None) -> None:
        tick = self.verdict.ticks if tick is None else tick
        time_s = tick * self._tick_ns * 1e-9
        raise _Difference(f'control step {tick} ({time_s:.9g} s): {what}')


class _Collector:
    """A sink that keeps published messages until they are compared."""

    def __init__(self) -> None:
        self.tick = 0
        self.time = BagTime()
        self.published: dict[str, deque[tuple[int, bytes]]] = defaultdict(deque)

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        return _Queue(self, topic)

    def begin(self, time_ns: int) -> None:
        """Set the time as the bag does."""
        self.time.begin(time_ns)

    def pause(self) -> None:
        """Do nothing: a replay never pauses."""


class _Queue:
    """An outlet of `_Collector`."""

    def __init__(self, collector: _Collector, topic: str) -> None:
        self.topic, self._collector = topic, collector
        self._append = collector.published[topic].append

    def is_wanted(self) -> bool:
        return True

    def publish(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        self._append((self._collector.tick, data))

    def close(self) -> None:
        """Do nothing: published messages must still be compared."""


def _are_equal(one: bytes, other: bytes, type_name: str) -> bool:
    """Return whether two serialized messages are equal, apart from padding."""
    if one == other:
        return True
    if len(one) != len(other):
        return False
    package, _, name = type_name.split('/')
    kind = getattr(importlib.import_module(f'{package}.msg'), name)
    try:
        first, second = (deserialize(data, kind) for data in (one, other))
    except MalformedMessageError:
        return False
    # NaN equals nothing, not even itself, but looks like itself
    return first == second or repr(first) == repr(second)


def _read_setup(bag: Path) -> tuple[Setup, Callable[[Message], int]]:
    """Return how a recording was set up, and what gives the simulated time of its messages."""
    for message in read_messages(bag):
        if message.topic.endswith(f'/{SETUP}'):
            content = _content(message)
            if content.get('format') != FORMAT:
                raise ReplayError(
                    f'bag {str(bag)!r} is of format {content.get("format")!r}, made by sim_bridge '
                    f'{content.get("version")}; this version, {__version__}, reads {FORMAT}')
            time_of = simulated_time(message)
            if time_of is None:
                raise ReplayError(
                    f'bag {str(bag)!r} has its {SETUP} at {message.publish_ns} ns, expected 1: '
                    'another tool has replaced the times of publishing, by which a replay goes '
                    'where record_epoch was wall')
            known = {field.name for field in fields(Setup)}
            if content.keys() != known:
                raise _unusable(message, f'it has {brief(list(content))}, expected {brief(known)}')
            return Setup(**content), time_of
    raise ReplayError(
        f'bag {str(bag)!r} holds no recording of a simulator: it has no topic …/{SETUP}. Record '
        'by `sim_bridge record`, or with the parameter `record`')


def _parameters(setup: Setup) -> SimulatorParameters:
    """Return the parameters of the replay; raises ReplayError for files that have changed."""
    _check_files(setup.files)
    # commands come when they took effect: there is nobody to wait for
    values = {**setup.parameters, 'lockstep': []}
    is_own = values['robot'] or values['robot_description'] or not values['world']
    # an OpenPLX file is read again: it is among the files
    if is_own and not values['robot'].endswith(OPENPLX_SUFFIX):
        # the robot beside those of a world comes last
        *_, values['robot_description'] = setup.descriptions.values()
        values['robot'] = ''
    return checked(SimulatorParameters, values)


def _check_files(files: Mapping[str, str]) -> None:
    changed = [path for path, known in files.items() if sha256(Path(path)) != known]
    if changed:
        raise ReplayError(
            'these files are not what they were when the bag was recorded, or are gone: '
            f'{", ".join(changed)}')


def _check_descriptions(setup: Setup, robots: Any) -> None:
    found = {each.robot.name: portable_description(each.robot.description) for each in robots}
    if found != setup.descriptions:
        different = [
            name for name in {**found, **setup.descriptions}
            if found.get(name) != setup.descriptions.get(name)]
        raise ReplayError(
            f'the description of {", ".join(map(repr, different))} is not what it was when the '
            'bag was recorded')


def _content(message: Message) -> dict[str, Any]:
    try:
        content = json.loads(deserialize(message.data, String).data)
    except (MalformedMessageError, ValueError) as err:
        raise _unusable(message, brief(err)) from err
    if not isinstance(content, dict):
        raise _unusable(message, f'it holds {brief(content)}, expected an object of JSON')
    return content


def _unusable(message: Message, reason: str) -> ReplayError:
    return ReplayError(
        f'the message of {message.topic} recorded at {message.time_ns} ns cannot be replayed: '
        f'{reason}')
