"""
Message destinations.

Other modules (`streams`, `world_interface`) choose the messages for a step. A sink takes them: the
ROS graph (`GraphSink`), a bag (`bag.bag_sink`), or both (`Tee`).
"""

from __future__ import annotations

from typing import Any, Protocol, TYPE_CHECKING

from rclpy.exceptions import InvalidTopicNameException

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.process.entity_scope import undeclare_overrides
from sim_bridge.ros.process.rclpy_compat import raw_publish_of
from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.qos import at_pace, is_latched, overridable

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.qos import QoSProfile
    from rclpy.qos_overriding_options import QoSOverridingOptions


class Outlet(Protocol):
    """Takes the messages on one topic; `topic` is its full name."""

    topic: str

    def is_wanted(self) -> bool:
        """Return whether any receiver wants a message."""

    def publish(self, message: Any) -> None:
        """Publish a message: serialized bytes, or an object owned by the caller."""

    def close(self) -> None:
        """Accept no more messages; published messages are not affected."""


class Sink(Protocol):
    """Creates outlets."""

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Return the outlet for a topic; a name without a leading slash is relative."""

    def begin(self, time_ns: int) -> None:
        """Set the simulated time [ns] for the following messages."""

    def pause(self) -> None:
        """Mark the following messages as repetitions, until `begin`."""


def create_publisher(
    node: Node,
    message_type: type,
    topic: str,
    qos: QoSProfile,
    overriding: QoSOverridingOptions | None = None,
) -> Publisher:
    """
    Return a new publisher on a node; `overriding` writes the user's overrides into the profile.

    Raises InvalidValueError for a name refused by the middleware.
    """
    try:
        return node.create_publisher(message_type, topic, qos, qos_overriding_options=overriding)
    except InvalidTopicNameException as err:
        raise InvalidValueError(
            'name of topic',
            topic,
            f'at most 247 characters, namespace included ({str(err).splitlines()[0]})',
        ) from None


class GraphSink:
    """The ROS graph: every outlet is a publisher on a node."""

    def __init__(self, node: Node, real_time_factor: float = 1.0) -> None:
        """Publish as this node; real_time_factor: target simulation speed."""
        self._node, self._real_time_factor = node, real_time_factor

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """
        Create a publisher. The user may override its QoS unless the topic is latched.

        Raises InvalidValueError for a name refused by the middleware.
        """
        overriding = None
        if not is_latched(qos):
            qos = at_pace(qos, self._real_time_factor)
            overriding = overridable()
        return _Publisher(
            self._node, create_publisher(self._node, message_type, topic, qos, overriding)
        )

    def begin(self, time_ns: int) -> None:
        """Do nothing: the graph knows no steps."""

    def pause(self) -> None:
        """Do nothing: new subscribers need the repeated messages."""


class _Publisher:
    """An outlet to the graph."""

    def __init__(self, node: Node, publisher: Any) -> None:
        self.topic: str = publisher.topic_name
        self._publish_bytes = raw_publish_of(publisher)
        self._count = publisher.get_subscription_count
        self._node, self._publisher = node, publisher

    def is_wanted(self) -> bool:
        return bool(self._count() > 0)

    def publish(self, message: Any) -> None:
        if isinstance(message, bytes):
            self._publish_bytes(message)
        else:
            self._publisher.publish(message)

    def close(self) -> None:
        undeclare_overrides(self._node, self.topic, 'publisher')
        self._node.destroy_publisher(self._publisher)


class ClosingSink:
    """A sink whose outlets are closed together."""

    def __init__(self, sink: Sink) -> None:
        """Open the outlets on another sink."""
        self._sink = sink
        self._outlets: list[Outlet] = []

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Return an outlet on the other sink."""
        outlet = self._sink.open(topic, message_type, qos)
        self._outlets.append(outlet)
        return outlet

    def begin(self, time_ns: int) -> None:
        """Call `begin` on the other sink."""
        self._sink.begin(time_ns)

    def pause(self) -> None:
        """Call `pause` on the other sink."""
        self._sink.pause()

    def close(self) -> None:
        """Close all outlets."""
        for outlet in self._outlets:
            outlet.close()
        self._outlets.clear()


class Tee:
    """Two sinks with the same bytes, such as the graph and a bag."""

    def __init__(self, first: Sink, second: Sink) -> None:
        """Send to both sinks. Topics have the full names from the first sink."""
        self._first, self._second = first, second

    def open(self, topic: str, message_type: type, qos: QoSProfile) -> Outlet:
        """Open the topic in both sinks."""
        return _Both(
            *(each.open(topic, message_type, qos) for each in (self._first, self._second))
        )

    def begin(self, time_ns: int) -> None:
        """Call `begin` on both sinks."""
        self._first.begin(time_ns)
        self._second.begin(time_ns)

    def pause(self) -> None:
        """Call `pause` on both sinks."""
        self._first.pause()
        self._second.pause()


class _Both:
    """An outlet with two others behind it."""

    def __init__(self, first: Outlet, second: Outlet) -> None:
        self.topic = first.topic
        self._first, self._second = first, second

    def is_wanted(self) -> bool:
        return self._second.is_wanted() or self._first.is_wanted()

    def publish(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else serialize_cleanly(message)
        self._first.publish(data)
        self._second.publish(data)

    def close(self) -> None:
        self._first.close()
        self._second.close()
