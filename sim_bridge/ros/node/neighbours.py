"""Warnings about conflicting nodes: same name, second /clock publisher, links published twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rclpy.clock import Clock, ClockType

if TYPE_CHECKING:
    from rclpy.node import Node

# period of graph queries [s]; other nodes are discovered within a second
_PERIOD_S = 1.0

_REMEDY = 'Set another ROS_DOMAIN_ID for one of them, or end it'


class Neighbours:
    """
    Searches the graph for nodes in conflict with this one, and warns once about each.

    A node that leaves and returns causes another warning.
    """

    def __init__(self, node: Node, publishes_links: bool) -> None:
        """Start searching. publishes_links: whether this node publishes all links on /tf."""
        self._node, self._publishes_links = node, publishes_links
        self._known: set[str] = set()
        # this node is the source of ROS time, so its timer must not depend on ROS time
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_PERIOD_S, self.look, clock=steady)

    def look(self) -> None:
        """Warn about conflicts found since the last query."""
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
        """Return the sorted full names of all nodes publishing on a topic."""
        return sorted(
            _full(info.node_name, info.node_namespace)
            for info in self._node.get_publishers_info_by_topic(topic)
        )


def _full(name: str, namespace: str) -> str:
    return f'{namespace.rstrip("/")}/{name}'
