"""
Subscriptions with messages taken on demand, not on arrival.

For each message, an executor wakes up, takes the interpreter lock from its holder, and returns it.
This takes longer than reading a command. The physics thread therefore takes commands itself, right
before the step using them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import time
from typing import Any, Protocol, TYPE_CHECKING

from rclpy.node import Node

from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.process.rclpy_compat import publisher_count_of, raw_take_of
from sim_bridge.ros.wire.qos import for_one_topic, overridable

if TYPE_CHECKING:
    from rclpy.qos import QoSProfile
    from rclpy.subscription import Subscription


class Poll(Protocol):
    """Passes the messages received on a topic to a callback."""

    def __call__(self, until_ns: int) -> None:
        """Take a few messages, and more until this time [ns] of `time.monotonic_ns`."""

    def has_senders(self) -> bool:
        """Return whether the topic has a known publisher."""


# Messages taken even after `until_ns`. With one, messages arriving at the poll rate would
# pile up whenever polls become rarer, and be old when they act; with eight, a flood takes four
# steps of ten.
_AT_ONCE = 3


class PollingMixin(GuardedMixin):
    """
    Lets a node have subscriptions not served by any executor.

    `subscriptions` contains all others, which executors serve.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Create the node."""
        self._polled: list[Subscription] = []
        super().__init__(*args, **options)

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Subscriptions served by an executor."""
        return (each for each in super().subscriptions if each not in self._polled)

    @property
    def polled_subscriptions(self) -> Iterator[Subscription]:
        """Subscriptions not served by any executor."""
        return iter(self._polled)

    def create_poll(
        self,
        message_type: type,
        topic: str,
        callback: Callable[[bytes], None],
        qos: QoSProfile,
        is_overridable: bool = True,
    ) -> Poll:
        """
        Subscribe; return a function passing each received serialized message to a callback.

        qos: one call takes at most as many messages as its depth. is_overridable: whether the user
        may override the profile; True for one subscription per topic only. Call this on the
        executor's thread or before it spins; the returned function may be called on any other
        thread.
        """
        callback = self.faults.guard(f'callback of topic {topic!r}', callback)
        least, qos = qos.depth, for_one_topic(qos)
        subscription = self.create_subscription(
            message_type,
            topic,
            callback,
            qos,
            raw=True,
            qos_overriding_options=overridable() if is_overridable else None,
        )
        # the executor is notified of the new subscription, but looks at it only after this line
        self._polled.append(subscription)
        # for a depth of 0, only the middleware knows the number of kept messages
        return _Poll(subscription, callback, max(least, qos.depth))

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription of either kind."""
        if subscription in self._polled:
            self._polled.remove(subscription)
        return bool(super().destroy_subscription(subscription))


class _Poll:
    """Polls one subscription; takes a limited number of messages per call."""

    def __init__(
        self, subscription: Subscription, callback: Callable[[bytes], None], most: int
    ) -> None:
        self._take, self._count = raw_take_of(subscription), publisher_count_of(subscription)
        self._callback, self._most = callback, most

    def has_senders(self) -> bool:
        return self._count() > 0

    def __call__(self, until_ns: int) -> None:
        take = self._take
        for number in range(self._most):
            if number >= _AT_ONCE and time.monotonic_ns() > until_ns:
                return
            taken = take()
            if taken is None:
                return
            self._callback(taken[0])


class PollingNode(PollingMixin, Node):
    """A node with polled subscriptions."""
