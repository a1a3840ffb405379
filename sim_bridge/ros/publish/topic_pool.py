"""Topics that stay open while their messages are rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_bridge.ros.publish.sinks import Outlet, Sink
from sim_bridge.ros.publish.streams import Stampable, Stream
from sim_bridge.ros.wire.qos import LATCHED_QOS


class TopicPool:
    """
    Outlets by topic, opened at first use.

    Subscribers stay matched when robots are added or removed, although the message sizes change.
    """

    def __init__(self, sink: Sink) -> None:
        """Start with no outlets."""
        self._sink = sink
        self._streams: dict[str, Stream] = {}
        self._latched: dict[str, Outlet] = {}

    def stream(
        self,
        topic: str,
        message_type: type,
        message: Stampable,
        fill: Callable[[], None] | None = None,
        *,
        rate_hz: float,
    ) -> Stream:
        """Return a topic's stream, with this message from now on; arguments: as in `Stream`."""
        stream = self._streams.get(topic)
        if stream is None:
            stream = Stream(self._sink, topic, message_type, message, fill, rate_hz=rate_hz)
            self._streams[topic] = stream
        else:
            stream.supply(message, fill)
        return stream

    def streams_of(self, message_type: type) -> list[Stream]:
        """Return the streams with a message type."""
        return [stream for stream in self._streams.values() if stream.message_type is message_type]

    def has_latched(self, topic: str) -> bool:
        """Return whether a message was latched on a topic."""
        return topic in self._latched

    def latch(self, topic: str, message_type: type, message: Any) -> None:
        """Publish a latched message; later subscribers receive it too."""
        if topic not in self._latched:
            self._latched[topic] = self._sink.open(topic, message_type, LATCHED_QOS)
        self._latched[topic].publish(message)
