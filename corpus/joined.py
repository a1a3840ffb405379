"""A ROS node of a client, which waits for events on the graph."""

from __future__ import annotations

from collections.abc import Callable
import time
from types import TracebackType
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile


class AbsentError(Exception):
    """An event that has not come in time."""


class Joined:
    """
    A node as a context manager, and waiting.

    patience: longest wait for an event [s].
    """

    def __init__(self, name: str, patience: float):
        self._name, self._patience = name, patience

    def __enter__(self) -> Joined:
        """Join the graph."""
        rclpy.init()
        self.node = Node(self._name)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def latest(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> list[Any]:
        """Return a list with all later messages on a topic."""
        messages: list[Any] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def wait(
        self,
        condition: Callable[[], Any],
        event: str,
        also: Callable[[], None] = lambda: None,
        interval: float = 0.05,
    ) -> Any:
        """
        Spin until a condition holds, and return its value.

        also: called at least once per interval [s]. Raises AbsentError with the event's name.
        """
        end = time.monotonic() + self._patience
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AbsentError(f'no {event}')
            also()
            self._executor.spin_once(timeout_sec=interval)

    def result(self, future: Any, event: str) -> Any:
        """Return a future's result."""
        self.wait(future.done, event)
        return future.result()
