"""A sink that records to a bag: each outlet is one topic of the bag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
import time
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


class Selection:
    """Which topics are recorded."""

    def __init__(self, included: Sequence[str] = (), excluded: Sequence[str] = ()) -> None:
        """
        Compile the regular expressions of the parameters record_topics and record_exclude.

        included: () for all. Raises InvalidValueError for what is no regular expression.
        """
        self._included = [_compiled('record_topics', each) for each in included]
        self._excluded = [_compiled('record_exclude', each) for each in excluded]
        self._found: set[re.Pattern[str]] = set()

    def takes(self, topic: str) -> bool:
        """Return whether a topic is recorded, by its full name."""
        found = [each for each in (*self._included, *self._excluded) if each.search(topic)]
        self._found.update(found)
        return (not self._included or any(each in found for each in self._included)) and not any(
            each in found for each in self._excluded
        )

    @property
    def idle(self) -> list[str]:
        """The expressions that no topic matched so far, with the names of their parameters."""
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
    """Recording times of messages as a subscriber stamps them, which never decrease."""

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Begin; now_ns: returns the present time since 1970 [ns]."""
        self._now_ns, self._last_ns = now_ns, 0

    def __call__(self, bag_ns: int) -> int:
        """Return the present time [ns], whatever the bag's is."""
        self._last_ns = max(self._last_ns, self._now_ns())
        return self._last_ns


class BagSink:
    """
    A sink that writes to a bag.

    The publish time of each message is the time that was last set with `begin`, mapped by
    `BagTime`; a replay goes by it. The recording time, by which other readers go, follows from it.
    """

    def __init__(
        self,
        recorder: Recorder,
        resolve: Callable[[str], str] | None = None,
        selection: Selection | None = None,
        log_time: Callable[[int], int] = int,
    ) -> None:
        """
        Record into the bag of a recorder.

        resolve: returns the full name of a topic; None resolves names as a node without a
        namespace does. selection: which published topics are recorded; None for all. log_time:
        returns the recording time [ns] of a message by its publish time [ns].
        """
        self.recorder = recorder
        self.names: dict[str, str] = {}
        """By full name the one that each topic was opened with."""
        self._resolve = resolve or absolute
        self.selection = selection or Selection()
        self.log_time = log_time
        self.time = BagTime()
        """Under which messages are recorded."""
        self._channels: dict[tuple[str, str], _Channel] = {}
        self.is_paused = False

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Add a topic for published messages."""
        name = self._resolve(topic)
        if not self.selection.takes(name):
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


def _compiled(parameter: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as err:
        expected = f'regular expressions; in this one, {err}'
        raise InvalidValueError(f'parameter {parameter!r}', expression, expected) from err
