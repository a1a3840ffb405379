"""What the tests of bags share: reading them with `rosbags`, which shares no line with ours."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import Reader

from sim_bridge.ros.bag.offline import OfflineRun
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters


class Recorded(NamedTuple):
    """A message in a bag. time_ns: that it was recorded under."""

    topic: str
    time_ns: int
    data: bytes


def read_bag(bag: Path) -> list[Recorded]:
    """Return all messages of a bag in the order of `rosbags`."""
    with Reader(bag) as reader:
        return [Recorded(c.topic, time_ns, bytes(data)) for c, time_ns, data in reader.messages()]


def messages_on(recorded: list[Recorded], topic: str, kind: type) -> list:
    """Return the messages of a topic as objects of ROS."""
    return [deserialize_message(each.data, kind) for each in recorded if each.topic == topic]


def start_recording(
    bag: Path, namespace: str = '', commands: Path | None = None, **parameters: object
) -> OfflineRun:
    """Begin a run without a graph."""
    values = {'robot': 'double_pendulum', 'record': str(bag), **parameters}
    return OfflineRun(checked(SimulatorParameters, values), namespace, commands)


def no_progress(time_s: float) -> None:
    """Take no note of how far a run is."""
