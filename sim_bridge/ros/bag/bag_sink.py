"""A sink recording to a bag: each outlet is one topic in the bag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
import time
from typing import Any

from rclpy.qos import QoSProfile

from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.definitions import type_hash, type_name
from sim_bridge.ros.bag.metadata import qos_to_yaml, Topic
from sim_bridge.ros.params.topic_pattern import topic_pattern
from sim_bridge.ros.publish.sinks import Outlet
from sim_bridge.ros.wire.cdr import serialize_cleanly


class BagTime:
    """
    Recording time for messages in a bag; it never decreases.

    Readers order a bag by time. After a clock reset, the recording time therefore continues from
    its last value.
    """

    def __init__(self) -> None:
        """Start at the same time as /clock."""
        self._given_ns = self._offset_ns = 0
        self.now_ns = 1
        """Current time [ns]."""

    def begin(self, time_ns: int) -> None:
        """Set the simulated time [ns] for the next messages."""
        if time_ns < self._given_ns:
            self._offset_ns = self.now_ns
        self._given_ns = time_ns
        self.now_ns = self._offset_ns + time_ns


class Selection:
    """Selection for recorded topics."""

    def __init__(self, included: Sequence[str] = (), excluded: Sequence[str] = ()) -> None:
        """
        Compile the regular expressions in the parameters record_topics and record_exclude.

        included: () for all. Raises InvalidValueError for an invalid regular expression.
        """
        self._included = [topic_pattern('record_topics', each) for each in included]
        self._excluded = [topic_pattern('record_exclude', each) for each in excluded]
        self._found: set[re.Pattern[str]] = set()

    def takes(self, topic: str) -> bool:
        """Return whether a topic is recorded. topic: full name."""
        found = [each for each in (*self._included, *self._excluded) if each.search(topic)]
        self._found.update(found)
        return (not self._included or any(each in found for each in self._included)) and not any(
            each in found for each in self._excluded
        )

    @property
    def idle(self) -> list[str]:
        """Expressions without a matching topic so far, with their parameter names."""
        return [
            f'{name} {each.pattern!r}'
            for name, group in (
                ('record_topics', self._included),
                ('record_exclude', self._excluded),
            )
            for each in group
            if each not in self._found
        ]


class WallTime:
    """Recording times in wall time, as stamped by a subscriber; they never decrease."""

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Start. now_ns: returns the current time since 1970 [ns]."""
        self._now_ns, self._last_ns = now_ns, 0

    def __call__(self, bag_ns: int) -> int:
        """Return the current time [ns], whatever the bag's time is."""
        self._last_ns = max(self._last_ns, self._now_ns())
        return self._last_ns


class BagSink:
    """
    A sink writing to a bag.

    Each message's publish time is the time last set with `begin`, mapped by `BagTime`; replays use
    it. The recording time, used by other readers, is computed from the publish time.
    """

    def __init__(
        self,
        recorder: Recorder,
        resolve: Callable[[str], str] | None = None,
        selection: Selection | None = None,
        log_time: Callable[[int], int] = int,
    ) -> None:
        """
        Record into a recorder's bag.

        resolve: returns a topic's full name; None resolves names like a node without a namespace.
        selection: published topics to record; None for all. log_time: returns a message's
        recording time [ns] from its publish time [ns].
        """
        self.recorder = recorder
        self.names: dict[str, str] = {}
        """Topic names as given to `open`, by full topic name."""
        self._resolve = resolve or absolute
        self.selection = selection or Selection()
        self.log_time = log_time
        self.time = BagTime()
        """Recording time for the next messages."""
        self._channels: dict[tuple[str, str], _Channel] = {}
        self.is_paused = False

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Add a topic for published messages."""
        name = self._resolve(topic)
        if not self.selection.takes(name):
            return _Nowhere(name)
        return self._outlet(_Published, topic, message_type, qos, name)

    def record(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Add a topic for incoming messages; selection and pauses do not apply."""
        return self._outlet(_Channel, topic, message_type, qos, self._resolve(topic))

    def _outlet(
        self, outlet: type[_Channel], topic: str, message_type: type, qos: QoSProfile, name: str
    ) -> _Channel:
        """Return a topic's outlet; a reopened topic continues its sequence numbers."""
        self.names[name] = topic
        kind = type_name(message_type)
        if (name, kind) not in self._channels:
            channel = self.recorder.add_topic(Topic(name, kind, type_hash(kind), qos_to_yaml(qos)))
            self._channels[name, kind] = outlet(self, name, channel)
        return self._channels[name, kind]

    def begin(self, time_ns: int) -> None:
        """Set the simulated time [ns] for the next messages."""
        self.time.begin(time_ns)
        self.is_paused = False

    def pause(self) -> None:
        """Record no published messages until the next step."""
        self.is_paused = True


class _Channel:
    """An outlet to a bag's topic."""

    def __init__(self, sink: BagSink, topic: str, channel: int) -> None:
        self.topic, self._sink, self._time, self._channel = topic, sink, sink.time, channel
        self._write, self._log_time = sink.recorder.write, sink.log_time
        self._count = 0

    def is_wanted(self) -> bool:
        return self._sink.recorder.is_open

    def publish(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        now_ns = self._time.now_ns
        self._write(self._channel, self._count, self._log_time(now_ns), data, now_ns)
        self._count += 1

    def close(self) -> None:
        """Do nothing: the topic stays in the bag."""


class _Published(_Channel):
    """An outlet to a topic with published messages."""

    def publish(self, message: Any) -> None:
        if not self._sink.is_paused:
            super().publish(message)


class _Nowhere:
    """Outlet for a topic that is not recorded."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def is_wanted(self) -> bool:
        return False

    def publish(self, message: Any) -> None:
        """Drop the message."""

    def close(self) -> None:
        """Do nothing."""


def absolute(topic: str, namespace: str = '') -> str:
    """Return a topic's full name for a node in a namespace."""
    if topic.startswith('/'):
        return topic
    return '/'.join(['', *filter(None, namespace.split('/')), topic])
