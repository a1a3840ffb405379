"""Warnings of other nodes that do what this one does: publish /clock, have its name, its links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rclpy.clock import Clock, ClockType

if TYPE_CHECKING:
    from rclpy.node import Node

# how often the graph is looked at [s]; others are discovered within a second
_PERIOD_S = 1.0

_REMEDY = 'Set another ROS_DOMAIN_ID for one of them, or end it'


class Neighbours:
    """
    Looks for other nodes on the graph that contradict this one, and warns of each once.

    One that goes and comes again is warned of again.
    """

    def __init__(self, node: Node, publishes_links: bool) -> None:
        """Begin to look; publishes_links: whether this node publishes all links on /tf."""
        self._node, self._publishes_links = node, publishes_links
        self._known: set[str] = set()
        # this node is the source of ROS time, and must not depend on it
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_PERIOD_S, self.look, clock=steady)

    def look(self) -> None:
        """Warn of what has come since the last look."""
        found = list(self._contradictions())
        for text in found:
            if text not in self._known:
                self._node.get_logger().warning(text)
        self._known = set(found)

    def _contradictions(self) -> Iterator[str]:
        own = self._node.get_fully_qualified_name()
        names = [_full(*name) for name in self._node.get_node_names_and_namespaces()]
        if names.count(own) > 1:
            yield (
                f'another node has the name {own}: its parameters, services and topics are '
                f'the same. {_REMEDY}, or start it in another namespace'
            )
        clocks = self._publishers('/clock')
        if own in clocks:
            clocks.remove(own)
        if clocks:
            yield (
                f'/clock is also published by {", ".join(clocks)}: simulated time jumps to and '
                f'fro. {_REMEDY}'
            )
        links = [name for name in self._publishers('/tf') if 'robot_state_publisher' in name]
        if self._publishes_links and links:
            yield (
                f'/tf has the links twice: from this node and from {", ".join(links)}. Set '
                'publish_link_tf to false'
            )

    def _publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish on a topic, sorted."""
        return sorted(
            _full(info.node_name, info.node_namespace)
            for info in self._node.get_publishers_info_by_topic(topic)
        )


def _full(name: str, namespace: str) -> str:
    return f'{namespace.rstrip("/")}/{name}'
