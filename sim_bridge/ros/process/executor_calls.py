"""Functions run on the executor's thread for the physics thread."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Generic, TYPE_CHECKING, TypeVar

from sim_bridge.foundation.errors import StateError

if TYPE_CHECKING:
    from sim_bridge.ros.process.guarded_node import GuardedMixin

_Result = TypeVar('_Result')

# poll period for noticing the end of the executor's calls
_PATIENCE_S = 0.05


class ExecutorCalls:
    """
    Runs functions on the executor's thread while the physics thread waits for them.

    A node's entities and parameters belong to the executor's thread, the world to the physics
    thread. Work on both runs here, so no lock is needed. The executor's thread must never wait for
    the physics thread.
    """

    def __init__(self, node: GuardedMixin) -> None:
        """Prepare to run functions."""
        self._node = node
        self._is_closed = False

    def call(self, function: Callable[[], _Result]) -> _Result:
        """
        Run a function on the executor's thread; return its result or raise its exception.

        Raises StateError if the node is closing. While no executor spins the node, the calling
        thread counts as the executor's.
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
        """Queue a function and return at once; a closing node does not call it."""
        executor = self._node.executor
        if executor is None:
            function()
        else:
            # the EventsExecutor of Jazzy supports tasks, but no guard conditions
            function = self._node.faults.guard('call from the physics thread', function)
            executor.create_task(lambda: None if self._is_closed else function())

    def close(self) -> None:
        """Call no further functions; waiting threads get an error."""
        self._is_closed = True


class _Call(Generic[_Result]):
    """A function and its result or exception."""

    def __init__(self, function: Callable[[], _Result]) -> None:
        self._function = function
        self.result: _Result
        self.error: Exception | None = None
        self.is_done = threading.Event()

    def run(self) -> None:
        try:
            self.result = self._function()
        except Exception as err:  # noqa: BLE001 - passed on to the caller
            self.error = err
        self.is_done.set()
