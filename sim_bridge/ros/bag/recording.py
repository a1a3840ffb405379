"""
Bag contents besides published messages: setup, inputs, state hashes and events.

They are topics of type std_msgs/String with JSON text. Unlike attachments, topics survive every
tool that copies, cuts or converts bags. An input is recorded between the messages of the previous
step and the messages of the step in which it took effect, with the time of the previous step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
import json
import math
from pathlib import Path
from typing import Any

from std_msgs.msg import String

from sim_bridge.description.force_fields import name_of
from sim_bridge.foundation.errors import shortened
from sim_bridge.foundation.validation import GivenPose
from sim_bridge.foundation.version import __version__
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.bag.bag_files import Layout
from sim_bridge.ros.bag.bag_sink import BagSink, Selection
from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.compression import NONE
from sim_bridge.ros.bag.described_files import (
    checksums,
    files_of,
    fingerprints,
    located,
    own_file,
    portable_description,
)
from sim_bridge.ros.command.inputs import ControlChange, Input, InputNote
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sinks import Outlet
from sim_bridge.ros.session.journal import Journal, JournalStatus
from sim_bridge.ros.session.loading import LoadedRobot, LoadedWorld
from sim_bridge.ros.session.robot_interface import RobotInterface
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.session.spawn_request import SceneSource
from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.qos import COMMAND_QOS, LATCHED_QOS
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sensors.picture_hashes import SampledHashes
from sim_bridge.simulation.snapshots import HASH_VERSION
from sim_bridge.world.openplx import OpenPlxScene
from sim_bridge.world.world import World

SETUP, INPUTS, STATE_HASH = 'sim_bridge/setup', 'sim_bridge/inputs', 'sim_bridge/state_hash'
EVENTS = 'sim_bridge/events'
IMAGE_HASH = 'sim_bridge/image_hash'
REFUSED, MISSED = 'refused', 'missed'
# interval for recording events
_EVENTS_NS = 20_000_000
FORMAT = 1


@dataclass(frozen=True)
class Setup:
    """
    Setup for a recorded simulation: content on the topic `SETUP`.

    parameters: all node parameters. namespace: of the node. descriptions: URDF of each robot with
    topics, by name, as returned by `portable_description`. files: SHA-256, by path, of the other
    files used to build the world. topics: name at opening, by full name, of each published topic.
    commands: the same for command topics. bundles: version of the installed OpenPLX bundles, '' if
    none were read; None: unknown, in an older bag. hash_version: `HASH_VERSION` of the state
    hashes; 1 for older bags, which do not contain it.
    """

    format: int
    version: str
    namespace: str
    parameters: dict[str, Any]
    descriptions: dict[str, str]
    files: dict[str, str]
    topics: dict[str, str]
    commands: dict[str, str]
    bundles: str | None = None
    hash_version: int = 1


def recorder_of(parameters: SimulatorParameters, folder: Path, **options: Any) -> Recorder:
    """Create the bag selected by parameters. Options and errors: see `Recorder`."""
    return Recorder(
        folder,
        Layout(
            NONE if parameters.record_compression == 'none' else parameters.record_compression,
            parameters.record_split_size or math.inf,
            round(parameters.record_split_duration * 1e9) or math.inf,
        ),
        **options,
    )


def sink_of(
    parameters: SimulatorParameters,
    recorder: Recorder,
    resolve: Callable[[str], str],
    wall_time: Callable[[int], int],
) -> BagSink:
    """
    Return the sink selected by parameters.

    resolve: returns a topic's full name. wall_time: returns a message's recording time since 1970
    from its time in the bag, both [ns]. Raises InvalidValueError.
    """
    return BagSink(
        recorder,
        resolve,
        Selection(parameters.record_topics, parameters.record_exclude),
        wall_time if parameters.record_epoch == 'wall' else int,
    )


class Recording(Journal):
    """Records a simulator's inputs, and its state hash at intervals, until `close`."""

    def __init__(
        self,
        sink: BagSink,
        simulator: Simulator,
        loaded: LoadedWorld,
        parameters: SimulatorParameters,
        namespace: str = '',
    ) -> None:
        """
        Start before the first step, and become the simulator's journal.

        sink: also receives the simulator's messages. namespace: of the node.
        """
        self.recorder = sink.recorder
        self._sink, self._simulator = sink, simulator
        self._period = max(1, round(parameters.record_hash_period * 1e9 / parameters.tick_ns))
        self._ticks_left = self._period
        self._events_period = max(1, _EVENTS_NS // parameters.tick_ns)
        self._ticks_to_events = self._events_period
        self._refused: dict[str, int] = {}
        self._missed, self._missed_deadlines = 0, _none
        self._functions: list[str] = []
        self._sampled_hashes = SampledHashes()
        self._has_images = parameters.record_images
        published = dict(sink.names)
        self._setup, self._inputs, self._hashes, self._events = (
            sink.record(topic, String, qos)
            for topic, qos in (
                (SETUP, LATCHED_QOS),
                (INPUTS, COMMAND_QOS),
                (STATE_HASH, COMMAND_QOS),
                (EVENTS, COMMAND_QOS),
            )
        )
        self._image_hashes = (
            sink.record(IMAGE_HASH, String, COMMAND_QOS) if self._has_images else None
        )
        self._command_outlets: dict[str, Outlet] = {}
        commands: dict[str, str] = {}
        for interface in simulator.interfaces:
            commands |= self._open_commands(interface)
        self._publish(
            self._setup,
            asdict(
                Setup(
                    FORMAT,
                    __version__,
                    namespace,
                    located(parameters),
                    {
                        each.robot.name: portable_description(each.robot.description)
                        for each in loaded.robots
                    },
                    fingerprints(loaded, parameters),
                    published,
                    commands,
                    next(
                        (
                            scene.description.bundles
                            for scene in loaded.world.openplx.values()
                            if scene.description.bundles
                        ),
                        '',
                    ),
                    HASH_VERSION,
                )
            ),
        )
        self._record_hash()
        simulator.journal = self

    def add_interface(self, interface: RobotInterface) -> None:
        """Record a robot's commands from now on."""
        self._open_commands(interface)

    def _open_commands(self, interface: RobotInterface) -> dict[str, str]:
        """Record a robot's commands; return the names of its command topics by full name."""
        commands = {}
        for topic in interface.command_topics:
            outlet = self._sink.record(topic.name, topic.message_type, COMMAND_QOS)
            self._command_outlets[topic.name] = outlet
            commands[outlet.topic] = topic.name
        self._listen_to(interface)
        return commands

    def note(self, kind: str, **values: Any) -> None:
        """Record a change of the simulation between two steps, after all earlier inputs."""
        self.flush()
        self._write_note(kind, values)

    def _write_note(self, kind: str, values: dict[str, Any]) -> None:
        self._publish(self._inputs, {kind: values})

    def note_spawn(
        self, robot: Robot, loaded: LoadedRobot | None, position: Any, orientation: Any
    ) -> None:
        """Record an added robot or object, with all data needed to add it again."""
        self.note(
            'spawn',
            name=robot.name,
            made=None
            if position is None
            else {
                'description': own_file(robot.description)
                or portable_description(robot.description),
                'namespace': None if loaded is None else loaded.namespace,
                'position': [float(each) for each in position],
                'orientation': [float(each) for each in orientation],
                'files': checksums(files_of(robot)),
            },
        )

    def note_scene(
        self,
        scene: OpenPlxScene,
        source: SceneSource,
        pose: GivenPose,
        loaded: Sequence[LoadedRobot],
    ) -> None:
        """Record an added OpenPLX scene, with all data needed to add it again."""
        position, orientation = pose
        self.note(
            'spawn_scene',
            name=scene.name,
            source=source.text,
            model=source.model,
            position=position,
            orientation=orientation,
            namespace=loaded[0].scene_namespace if loaded else '',
            namespaces=[each.namespace for each in loaded],
            files=dict(scene.description.files),
            bundles=scene.description.bundles,
        )

    def note_functions(self, functions: Sequence[tuple[str, object]]) -> None:
        """Record the active Python functions, once for each set of them."""
        names = [f'{place}: {name_of(function)}' for place, function in functions]
        if names != self._functions:
            self._functions = names
            self.note('functions', names=names)

    def watch_deadlines(self, missed: Callable[[], int]) -> None:
        """Record missed deadlines. missed: returns their number so far."""
        self._missed_deadlines = missed

    def flush(self) -> None:
        """Record the inputs since the last step, while no step is taken."""
        for interface in self._simulator.interfaces:
            interface.commands.queue.flush()

    def statuses(self) -> list[JournalStatus]:
        """Return the recording progress."""
        made = self.recorder
        return [
            JournalStatus(
                made.folder, made.error, made.message_count, made.byte_count, made.queued_bytes
            )
        ]

    def end_tick(self) -> None:
        """Record events, hashes of pictures, and the state hash if it is due."""
        if self._image_hashes is not None:
            self._record_image_hashes(self._image_hashes)
        self._ticks_to_events -= 1
        if not self._ticks_to_events:
            self._record_events()
        self._ticks_left -= 1
        if not self._ticks_left:
            self._record_hash()

    def close(self) -> None:
        """Record the last state hash and end the bag; no step may be in progress."""
        self.flush()
        self._record_events()
        if self._ticks_left != self._period:
            self._record_hash()
        self.recorder.close()

    def _listen_to(self, interface: RobotInterface) -> None:
        def record(inputs: list[Input]) -> None:
            for each in inputs:
                if isinstance(each, ControlChange):
                    self._write_note('control', {'robot': interface.robot.name, **each._asdict()})
                elif isinstance(each, InputNote):
                    self._write_note(each.kind, each.values)
                else:
                    self._command_outlets[each.topic].publish(bytes(each.data))

        interface.commands.queue.record_to(record)

    def _record_events(self) -> None:
        """Record refused commands and missed deadlines, if there are any."""
        self._ticks_to_events = self._events_period
        for interface in self._simulator.interfaces:
            name, commands = interface.robot.name, interface.commands
            total = commands.counts.rejected
            # a respawned robot's count starts at zero
            count = total - min(self._refused.get(name, 0), total)
            self._refused[name] = total
            if count:
                self._publish(
                    self._events,
                    {
                        REFUSED: {
                            'robot': name,
                            'count': count,
                            'reason': shortened(commands.queue.refusal),
                        }
                    },
                )
        missed = self._missed_deadlines()
        if missed != self._missed:
            self._publish(self._events, {MISSED: {'count': missed - self._missed}})
            self._missed = missed

    def _record_image_hashes(self, outlet: Outlet) -> None:
        """Record the hashes of new pictures; without camera process, render them here."""
        feed = self._simulator.cameras
        found = (
            self._sampled_hashes.take(cameras_of(self._simulator.world))
            if feed is None
            else feed.take_hashes()
        )
        for camera, step, hashes in found:
            self._publish(outlet, {'camera': camera, 'step': step, 'hashes': hashes})

    def _record_hash(self) -> None:
        self._ticks_left = self._period
        world = self._simulator.world
        self._publish(self._hashes, {'step': world.step_count, 'hash': world.state_hash()})

    def _publish(self, outlet: Any, content: dict[str, Any]) -> None:
        outlet.publish(serialize_cleanly(String(data=json.dumps(content))))


def cameras_of(world: World) -> dict[str, CameraSensor]:
    """Return a world's cameras by robot and name."""
    return {
        f'{robot.name}/{device.name}': device
        for robot in world.robots.values()
        for device in robot.devices(CameraSensor)
    }


def _none() -> int:
    return 0
