"""Publishers, subscriptions, services and timers of one part of a node, destroyed together."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any, TYPE_CHECKING

from sim_bridge.ros.process.rclpy_compat import (
    action_servers,
    forget_destroyed,
    silence,
    undeclare_read_only,
)

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.process.polling import PollingMixin

# node attribute listing the entities, method destroying them, name in qos_overrides
_KINDS = (
    ('subscriptions', 'destroy_subscription', 'subscription'),
    ('polled_subscriptions', 'destroy_subscription', 'subscription'),
    ('services', 'destroy_service', None),
    ('timers', 'destroy_timer', None),
    ('clients', 'destroy_client', None),
    ('publishers', 'destroy_publisher', 'publisher'),
)


class EntityScope:
    """
    Entities created by a node within `collecting`, destroyed together.

    The creating code therefore needs no list of them.
    """

    def __init__(self, node: PollingMixin) -> None:
        """Start with no entities."""
        self._node = node
        self._found: dict[str, list[Any]] = {listing: [] for listing, *_ in _KINDS}
        self._actions: list[Any] = []

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect entities created in the block; on the executor's thread or before it spins."""
        before = {listing: list(getattr(self._node, listing)) for listing in self._found}
        servers = action_servers(self._node)
        try:
            yield
        finally:
            for listing, known in before.items():
                self._found[listing] += [
                    entity
                    for entity in getattr(self._node, listing)
                    if not any(entity is one for one in known)
                ]
            self._actions += [
                server for server in action_servers(self._node) if server not in servers
            ]

    def destroy(self) -> None:
        """Destroy all entities, on the executor's thread or after it has stopped."""
        actions, self._actions = self._actions, []
        # an inner scope may have destroyed some of them
        for action in action_servers(self._node):
            if action in actions:
                action.destroy()
        for listing, destroy, role in _KINDS:
            found, self._found[listing] = self._found[listing], []
            # the creating code may have destroyed some of them
            for entity in list(getattr(self._node, listing)):
                if any(entity is one for one in found):
                    silence(entity)
                    if role is not None:
                        undeclare_overrides(self._node, entity.topic_name, role)
                    getattr(self._node, destroy)(entity)
        forget_destroyed(self._node)


def undeclare_overrides(node: Node, topic: str, role: str) -> None:
    """
    Undeclare the qos_overrides parameters of a removed topic.

    topic: full name. role: 'publisher' or 'subscription'. rclpy never undeclares them, and would
    use the old values for the next topic with the same name. Overrides passed to the node stay in
    force.
    """
    block = f'qos_overrides.{topic}.{role}'
    for policy in node.get_parameters_by_prefix(block):
        undeclare_read_only(node, f'{block}.{policy}')
