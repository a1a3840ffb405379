"""Published topics: one `Stream` per topic, and the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from rosgraph_msgs.msg import Clock

from sim_bridge.ros.publish.sinks import Sink
from sim_bridge.ros.wire.messages import ClockMessage, PreparedMessage
from sim_bridge.ros.wire.qos import stream_qos

# longest period [ns]; that of the smallest rates would be infinite
_LONGEST_NS = 2.0**63


class Rate:
    """A message rate, counted in integers to avoid drift."""

    def __init__(self, rate_hz: float) -> None:
        """
        Set the rate.

        rate_hz: in simulated time [Hz]; 0, or a rate above the step rate, for every step.
        """
        self.period_ns = max(1, round(min(1e9 / rate_hz, _LONGEST_NS))) if rate_hz else 1
        """Time between two messages [ns]."""
        self._latest = 0

    def is_due(self, time_ns: int) -> bool:
        """Return whether a period has begun by this time [ns] since the last call."""
        period = time_ns // self.period_ns
        is_due = period != self._latest
        self._latest = period
        return is_due

    def restart(self, time_ns: int) -> None:
        """Continue from this time [ns], which may be earlier."""
        self._latest = self.period_of(time_ns)

    def period_of(self, time_ns: int) -> int:
        """Return the period number at a time [ns]."""
        return time_ns // self.period_ns


class Copy(NamedTuple):
    """
    A number block in a message, and its source array.

    added: array added to the copied numbers; None for none. offset: subtracted from each source
    value. sign: multiplier after the offset.
    """

    target: np.ndarray
    source: np.ndarray
    added: np.ndarray | None = None
    offset: float = 0.0
    sign: float = 1.0


class Stampable(Protocol):
    """A message updated in place and published with a stamp."""

    def stamped(self, stamp: bytes) -> Any:
        """Return the present message with this stamp, serialized or as a message object."""


class Stream:
    """
    One published topic.

    The message is filled only while the topic has subscribers. A query for subscribers costs as
    much as filling, so `refresh` asks the middleware at intervals, not for every message.

    published: messages sent so far.
    """

    def __init__(
        self,
        sink: Sink,
        topic: str,
        message_type: type,
        message: Stampable,
        fill: Callable[[], None] | None = None,
        *,
        copies: Callable[[], Sequence[Copy]] = tuple,
        rate_hz: float,
        is_reliable: bool = True,
    ) -> None:
        """
        Open the topic.

        message: published message. fill: updates the message. copies: returns the blocks to be
        copied; an `Outbox` copies them for many streams at once. rate_hz: publishing rate [Hz]; it
        determines the queue depth for slow subscribers. is_reliable: whether lost messages are
        sent again.
        """
        self._outlet = sink.open(topic, message_type, stream_qos(rate_hz, is_reliable))
        self.message_type = message_type
        self.message, self._fill, self.copies = message, fill, copies
        self.is_wanted = False
        self.published = 0
        self._stamp = b''
        self.refresh()

    def supply(self, message: Stampable, fill: Callable[[], None] | None) -> None:
        """Publish another message with the same type from now on."""
        self.message, self._fill = message, fill

    @property
    def topic(self) -> str:
        """Full topic name."""
        return self._outlet.topic

    def refresh(self) -> None:
        """Ask whether the topic has subscribers."""
        self.is_wanted = self._outlet.is_wanted()

    def send(self, message: Any) -> None:
        """Publish an extra message between the readings."""
        self._outlet.publish(message)

    def publish(self, stamp: bytes) -> None:
        """Publish the present readings with this stamp (see `messages.pack_stamp`)."""
        if self.is_wanted:
            for target, source, added, offset, sign in self.copies():
                target[:] = sign * (source - offset)
                if added is not None:
                    target += added
            if self._fill is not None:
                self._fill()
            self.published += 1
            self._outlet.publish(self.message.stamped(stamp))
        self._stamp = stamp

    def is_current(self, stamp: bytes) -> bool:
        """Return whether the latest readings were published with this stamp."""
        return self._stamp == stamp

    def catch_up(self, stamp: bytes) -> None:
        """Publish the present readings with this stamp, unless the latest message has it."""
        if not self.is_current(stamp):
            self.publish(stamp)


class PreparedStream(Stream):
    """A topic whose numbers and stamp come from an `Outbox`."""

    message: PreparedMessage

    def send_filled(self) -> None:
        """Publish the message; its numbers and its stamp are up to date."""
        if self._fill is not None:
            self._fill()
        self.published += 1
        self._outlet.publish(self.message.content())

    def is_current(self, stamp: bytes) -> bool:
        """Return whether the latest readings were published with this stamp."""
        return self._stamp == stamp or self.message.stamp_word.tobytes() == stamp


def clock_stream(sink: Sink, rate_hz: float) -> Stream:
    """Return the /clock stream."""
    return Stream(sink, '/clock', Clock, ClockMessage(), rate_hz=rate_hz)
