"""Streams for a robot's sensors, from the rows in `sensor_topics`."""

from __future__ import annotations

from collections.abc import Sequence
import functools
from typing import NamedTuple

import sim_bridge as sb
from sim_bridge.description.controller_settings import SensorBroadcasterSettings
from sim_bridge.description.sensor_kinds import KINDS
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sensor_topics import SensorTopic, TOPICS
from sim_bridge.ros.publish.sinks import Sink
from sim_bridge.ros.publish.streams import Copy, PreparedStream
from sim_bridge.ros.wire.qos import topic_name
from sim_bridge.sensors.devices import Device


class SensorStreams(NamedTuple):
    """All streams for one device, published after each sample."""

    device: Device
    streams: tuple[PreparedStream, ...]


class Broadcaster(NamedTuple):
    """Sensor broadcaster of a controller file. root: before its topic names."""

    root: str
    settings: SensorBroadcasterSettings


def sensor_streams(
    sink: Sink, prefix: str, frame_prefix: str, robot: sb.Robot, parameters: SimulatorParameters
) -> list[SensorStreams]:
    """
    Return the streams for all sensors on a robot, kind by kind.

    prefix: before topics. frame_prefix: before frame names in messages. parameters: select topics
    and their QoS. Raises InvalidValueError if two sensors would publish on one topic.
    """
    broadcasters = _broadcasters(robot)
    of_kind: dict[str, list[Device]] = {word: [] for word in KINDS}
    for device in robot.devices():
        of_kind[device.kind.word].append(device)
    found = [
        _streams(sink, prefix, frame_prefix, device, parameters, broadcasters)
        for devices in of_kind.values()
        for device in devices
    ]
    _check_distinct(found)
    return found


def _broadcasters(robot: sb.Robot) -> list[Broadcaster]:
    """Return the sensor broadcasters of a robot's controller files."""
    return [
        Broadcaster(manager.topic(f'{each.name}/'), each.settings)
        for manager in robot.description.controller_managers
        for each in manager.controllers
        if isinstance(each.settings, SensorBroadcasterSettings)
    ]


def _streams(
    sink: Sink,
    prefix: str,
    frame_prefix: str,
    device: Device,
    parameters: SimulatorParameters,
    broadcasters: Sequence[Broadcaster] = (),
) -> SensorStreams:
    streams = []
    wanted = [topic for topic in TOPICS[device.kind.word] if topic.is_wanted(device, parameters)]
    for index, topic in enumerate(wanted):
        # the description may rename the main topic, the first
        name = topic.given_name(device, index == 0) or f'{topic_name(device.name)}/{topic.suffix}'
        name = name if name.startswith('/') else prefix + name
        streams.append(_stream(sink, name, frame_prefix, device, topic, parameters))
        if parameters.publish_truth or device.description.truth:
            twin = f'{name}/truth'
            streams.append(
                _stream(sink, twin, frame_prefix, device, topic, parameters, is_truth=True)
            )
    for each in broadcasters:
        if each.settings.sensor == device.name:
            main = TOPICS[device.kind.word][0]
            name = each.root + (main.broadcast or main.suffix)
            name = name if name.startswith('/') else prefix + name
            frame_id = each.settings.frame_id
            streams.append(
                _stream(sink, name, frame_prefix, device, main, parameters, frame_id=frame_id)
            )
    return SensorStreams(device, tuple(streams))


def _stream(
    sink: Sink,
    name: str,
    frame_prefix: str,
    device: Device,
    topic: SensorTopic,
    parameters: SimulatorParameters,
    *,
    is_truth: bool = False,
    frame_id: str = '',
) -> PreparedStream:
    message, blocks = topic.message(device, frame_prefix, is_truth=is_truth, frame_id=frame_id)
    copies = [Copy(target, source) for target, source in blocks]
    return PreparedStream(
        sink,
        name,
        topic.message_type,
        message,
        copies=functools.partial(_same, copies),
        rate_hz=device.update_rate,
        is_reliable=parameters.sensor_qos == 'reliable',
    )


def _same(copies: Sequence[Copy]) -> Sequence[Copy]:
    """Return the blocks; their addresses never change."""
    return copies


def _check_distinct(found: list[SensorStreams]) -> None:
    owners: dict[str, str] = {}
    for sensor in found:
        name = sensor.device.name
        for stream in sensor.streams:
            if stream.topic in owners:
                expected = f'a topic of its own; sensor {owners[stream.topic]!r} publishes there'
                raise InvalidValueError(f'topic of sensor {name!r}', stream.topic, expected)
            owners[stream.topic] = name
