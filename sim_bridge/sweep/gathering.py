"""Memory sink for published messages, used by measures and controllers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TYPE_CHECKING

from sim_bridge.ros.bag.bag_sink import absolute
from sim_bridge.ros.bag.definitions import type_name
from sim_bridge.ros.bag.expressions import Reference, Series
from sim_bridge.ros.bag.fields import Gathering, is_meant
from sim_bridge.ros.bag.mcap_reader import Message
from sim_bridge.ros.wire.cdr import serialize_cleanly

if TYPE_CHECKING:
    from rclpy.qos import QoSProfile

    from sim_bridge.ros.publish.sinks import Outlet


class MemorySink:
    """
    Memory sink for messages on some topics.

    Messages on other topics are not computed, unless another sink wants them.
    """

    def __init__(self, references: Collection[Reference], place: str) -> None:
        """Keep the topics in references; place: message origin, for errors."""
        self._references, self._place = list(references), place
        self._kept: list[_Kept] = []
        self._opened: dict[str, str] = {}
        self._listeners: dict[str, Callable[[bytes], None]] = {}
        self.time_ns = 1
        self.is_paused = False

    def listen(self, topic: str, take: Callable[[bytes], None]) -> None:
        """Pass a topic's messages, by its full name, to `take`; call this before `open`."""
        self._listeners[topic] = take

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Return a topic's outlet."""
        name = absolute(topic)
        kind = self._opened[name] = type_name(message_type)
        is_measured = any(is_meant(name, each.topic) for each in self._references)
        outlet = _Kept(self, name, kind, is_measured, self._listeners.get(name))
        if is_measured:
            self._kept.append(outlet)
        return outlet

    def begin(self, time_ns: int) -> None:
        """Set the time of the following messages [ns]."""
        self.time_ns = time_ns
        self.is_paused = False

    def pause(self) -> None:
        """Keep no messages until the next step begins, like a bag; listeners still get them."""
        self.is_paused = True

    def series(self, references: Collection[Reference] | None = None) -> dict[Reference, Series]:
        """Return the referenced values, all if None; raises as `Gathering.series`."""
        gathering = Gathering(
            self._references if references is None else list(references), self._place
        )
        # also announce topics without messages
        for name in self._opened:
            gathering.know(name)
        for each in self._kept:
            for time_ns, data in each.messages:
                gathering.take(
                    Message(each.topic, each.kind, time_ns, time_ns, data), time_ns * 1e-9
                )
        return gathering.series()


class _Kept:
    """Outlet into memory."""

    def __init__(
        self,
        sink: MemorySink,
        topic: str,
        kind: str,
        is_measured: bool,
        listener: Callable[[bytes], None] | None,
    ) -> None:
        self.topic, self.kind = topic, kind
        self.messages: list[tuple[int, bytes]] = []
        self._sink, self._is_measured, self._listener = sink, is_measured, listener

    def is_wanted(self) -> bool:
        return self._is_measured or self._listener is not None

    def publish(self, message: Any) -> None:
        if not self._is_measured and self._listener is None:
            return
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        if self._is_measured and not self._sink.is_paused:
            self.messages.append((self._sink.time_ns, data))
        if self._listener is not None:
            self._listener(data)

    def close(self) -> None:
        """Do nothing: the messages stay."""
