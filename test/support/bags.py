"""Helpers for bag tests: reading with `rosbags`, independent of our code."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import Reader

from sim_bridge.ros.bag.offline import OfflineRun
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters


class Recorded(NamedTuple):
    """A message in a bag. time_ns: its recording time."""

    topic: str
    time_ns: int
    data: bytes


def read_bag(bag: Path) -> list[Recorded]:
    """Return a bag's messages in `rosbags`' order."""
    with Reader(bag) as reader:
        return [Recorded(c.topic, time_ns, bytes(data)) for c, time_ns, data in reader.messages()]


def messages_on(recorded: list[Recorded], topic: str, kind: type) -> list:
    """Return a topic's messages as ROS objects."""
    return [deserialize_message(each.data, kind) for each in recorded if each.topic == topic]


def start_recording(
    bag: Path, namespace: str = '', commands: Path | None = None, **parameters: object
) -> OfflineRun:
    """Start a recording without a ROS graph."""
    values = {'robot': 'double_pendulum', 'record': str(bag), **parameters}
    return OfflineRun(checked(SimulatorParameters, values), namespace, commands)


def no_progress(time_s: float) -> None:
    """Ignore a run's progress."""
