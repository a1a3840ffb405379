"""Functions that the physics thread has called on the executor's thread."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Generic, TYPE_CHECKING, TypeVar

from sim_bridge.foundation.errors import StateError

if TYPE_CHECKING:
    from rclpy.node import Node

_Result = TypeVar('_Result')

# how soon a waiting thread notices that its function will not be called any more
_PATIENCE_S = 0.05


class ExecutorCalls:
    """
    Has functions called on the executor's thread while the physics thread waits for them.

    A node's entities and parameters belong to the executor's thread, the world to the physics
    thread. What concerns both is done so, and nothing needs a lock. The executor's thread must
    never wait for the physics thread.
    """

    def __init__(self, node: Node) -> None:
        """Prepare."""
        self._node = node
        self._is_closed = False

    def call(self, function: Callable[[], _Result]) -> _Result:
        """
        Have a function called; return what it returns or raise what it raises.

        Raises StateError where the node is closing. While nothing spins the node, this is the
        executor's thread.
        """
        call = _Call(function)
        self.post(call.run)
        while not call.is_done.wait(_PATIENCE_S):
            if self._is_closed:
                raise StateError('the node is closing')
        if call.error is not None:
            raise call.error
        return call.result

    def post(self, function: Callable[[], None]) -> None:
        """Have a function called, and go on; where the node is closing it is not called."""
        executor = self._node.executor
        if executor is None:
            function()
        else:
            # the EventsExecutor of Jazzy knows tasks, but no guard conditions
            executor.create_task(lambda: None if self._is_closed else function())

    def close(self) -> None:
        """Call nothing any more; threads that wait get an error."""
        self._is_closed = True


class _Call(Generic[_Result]):
    """A function, and what became of it."""

    def __init__(self, function: Callable[[], _Result]) -> None:
        self._function = function
        self.result: _Result
        self.error: Exception | None = None
        self.is_done = threading.Event()

    def run(self) -> None:
        try:
            self.result = self._function()
        except Exception as err:  # noqa: BLE001 - whatever it is, it belongs to who asked
            self.error = err
        self.is_done.set()
