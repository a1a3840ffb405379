"""What belongs to a part of a node: its publishers, subscriptions, services and timers."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from rclpy.node import Node

# how each kind is listed by a node, and destroyed
_KINDS = (
    ('subscriptions', 'destroy_subscription'),
    ('polled_subscriptions', 'destroy_subscription'),
    ('services', 'destroy_service'),
    ('timers', 'destroy_timer'),
    ('clients', 'destroy_client'),
    ('publishers', 'destroy_publisher'),
)


class NodeEntities:
    """
    Whatever a node got while `collecting`, to be destroyed together.

    A part of the node that comes and goes need not keep a list of what it made, nor whoever adds
    a topic to it later.
    """

    def __init__(self, node: Node) -> None:
        """Begin without any."""
        self._node = node
        self._found: dict[str, list[Any]] = {listing: [] for listing, _ in _KINDS}
        self._actions: list[Any] = []

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Take in what is created meanwhile, on the executor's thread or before it spins."""
        before = {listing: list(getattr(self._node, listing)) for listing, _ in _KINDS}
        waitables = list(self._node.waitables)
        try:
            yield
        finally:
            for listing, known in before.items():
                self._found[listing] += [
                    entity for entity in getattr(self._node, listing)
                    if not any(entity is one for one in known)]
            # those of publishers and subscriptions go with these
            self._actions += [
                waitable for waitable in self._node.waitables
                if hasattr(waitable, 'action_type') and waitable not in waitables]

    def destroy(self) -> None:
        """Destroy all of them, on the executor's thread or after it has spun."""
        for action in self._actions:
            action.destroy()
        for listing, destroy in _KINDS:
            for entity in self._found[listing]:
                getattr(self._node, destroy)(entity)
        self.__init__(self._node)
