"""A sink that records to a bag: each outlet is one topic of the bag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
from typing import Any

from rclpy.qos import QoSProfile

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.definitions import type_hash, type_name
from sim_bridge.ros.bag.metadata import qos_to_yaml, Topic
from sim_bridge.ros.publish.sinks import Outlet
from sim_bridge.ros.wire.cdr import serialize_cleanly


class BagTime:
    """
    The recording time of messages in a bag, which never decreases.

    Readers order a bag by time. After a reset of the clock, the recording time therefore continues
    from its last value.
    """

    def __init__(self) -> None:
        """Start at the same time as /clock."""
        self._given_ns = self._offset_ns = 0
        self.now_ns = 1
        """Present time [ns]."""

    def begin(self, time_ns: int) -> None:
        """Set the simulated time [ns] of the next messages."""
        if time_ns < self._given_ns:
            self._offset_ns = self.now_ns
        self._given_ns = time_ns
        self.now_ns = self._offset_ns + time_ns


class BagSink:
    """
    A sink that writes to a bag.

    Each message is recorded under the time that was last set with `begin`, mapped by `BagTime`.
    """

    def __init__(
        self, recorder: Recorder, resolve: Callable[[str], str] | None = None,
        selection: Sequence[str] = (),
    ) -> None:
        """
        Record into the bag of a recorder.

        resolve: returns the full name of a topic; None resolves names as a node without a
        namespace does. selection: regular expressions; a topic is recorded if its full name
        matches one of them; () for all topics. Raises InvalidValueError for an invalid regular
        expression.
        """
        self.recorder = recorder
        self.names: dict[str, str] = {}
        """By full name the one that each topic was opened with."""
        self._resolve = resolve or absolute
        self._selection = [_compiled(expression) for expression in selection]
        self.time = BagTime()
        """Under which messages are recorded."""
        self._channels: dict[tuple[str, str], _Channel] = {}
        self.is_paused = False

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Add a topic for published messages."""
        name = self._resolve(topic)
        if self._selection and not any(each.search(name) for each in self._selection):
            return _Nowhere(name)
        return self._outlet(_Published, topic, message_type, qos, name)

    def record(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Add a topic for incoming messages, which ignores the selection and pauses."""
        return self._outlet(_Channel, topic, message_type, qos, self._resolve(topic))

    def _outlet(
        self, outlet: type[_Channel], topic: str, message_type: type, qos: QoSProfile, name: str
    ) -> _Channel:
        """Return the outlet of a topic; a reopened topic continues where it was closed."""
        self.names[name] = topic
        kind = type_name(message_type)
        if (name, kind) not in self._channels:
            channel = self.recorder.add_topic(Topic(name, kind, type_hash(kind), qos_to_yaml(qos)))
            self._channels[name, kind] = outlet(self, name, channel)
        return self._channels[name, kind]

    def begin(self, time_ns: int) -> None:
        """Set the simulated time [ns] of the next messages."""
        self.time.begin(time_ns)
        self.is_paused = False

    def pause(self) -> None:
        """Record no published messages until the next step begins."""
        self.is_paused = True


class _Channel:
    """An outlet to a topic of a bag."""

    def __init__(self, sink: BagSink, topic: str, channel: int) -> None:
        self.topic, self._sink, self._time, self._channel = topic, sink, sink.time, channel
        self._write = sink.recorder.write
        self._count = 0

    def is_wanted(self) -> bool:
        return self._sink.recorder.is_open

    def publish(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        self._write(self._channel, self._count, self._time.now_ns, data)
        self._count += 1

    def close(self) -> None:
        """Do nothing: the topic stays in the bag."""


class _Published(_Channel):
    """An outlet to a topic of published messages."""

    def publish(self, message: Any) -> None:
        if not self._sink.is_paused:
            super().publish(message)


class _Nowhere:
    """The outlet of a topic that is not recorded."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def is_wanted(self) -> bool:
        return False

    def publish(self, message: Any) -> None:
        """Drop the message."""

    def close(self) -> None:
        """Do nothing."""


def absolute(topic: str, namespace: str = '') -> str:
    """Return the full name of a topic that a node in a namespace uses."""
    if topic.startswith('/'):
        return topic
    return '/'.join(['', *filter(None, namespace.split('/')), topic])


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as err:
        expected = f'regular expressions; in this one, {err}'
        raise InvalidValueError("parameter 'record_topics'", expression, expected) from err
