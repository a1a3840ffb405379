"""Services answered by the physics thread."""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from typing import Any, TYPE_CHECKING

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.process.rclpy_compat import take_over_responses

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.process.pacer import Pacer

# Delivery time reserved for a response [s]. Without a wait 4 of 100 responses were lost between
# busy processes, with 0.05 s none of 60; a client's process may get no processor for longer.
_DELIVERY_S = 0.5

Answer = Callable[[Any], None]

# called with a request, a response to fill, and the function that sends it, now or later
Handler = Callable[[Any, Any, Answer], None]

# called with a response and the refusal's reason; writes the reason into the response
Refusal = Callable[[Any, SimBridgeError], None]


class DeferredServices:
    """
    Creates services with requests handled and answered between two ticks.

    No callback ever waits for physics. Every request is answered exactly once, even if the
    simulation ends first.
    """

    def __init__(self, node: Node, pacer: Pacer, before: Callable[[], None]) -> None:
        """
        Prepare without creating a service.

        before: called before every request, on the executor's thread.
        """
        self._node, self._pacer, self._before = node, pacer, before
        self._unanswered: set[_Request] = set()
        self.on_close: list[Callable[[SimBridgeError], None]] = []
        """Called by `close` with its error; for other request kinds, such as goals."""

    def submit(self, function: Callable[[], None]) -> None:
        """Queue a function for the physics thread; call this on the executor's thread."""
        self._before()
        self._pacer.submit(function)

    def create(self, kind: Any, name: str, handler: Handler, refuse: Refusal) -> None:
        """
        Create a service answered later by another thread.

        refuse: writes the refusal's reason into a response.
        """
        service = self._node.create_service(kind, name, lambda request, response: request)
        take_over_responses(
            service, lambda request, answer: self.take(kind, request, handler, refuse, answer)
        )

    def take(
        self, kind: Any, request: Any, handler: Handler, refuse: Refusal, answer: Answer
    ) -> None:
        """Queue a request for a service type, and make sure it is answered."""
        taken = _Request(kind, request, handler, refuse, answer, self._unanswered)
        self._unanswered.add(taken)
        self.submit(taken.carry_out)

    def close(self, error: SimBridgeError) -> None:
        """
        Refuse all unanswered requests.

        They may be waiting for the physics thread, for steps, or for a robot description. Call
        this after the physics thread has ended, on the executor's thread or after it has stopped.
        """
        for request in list(self._unanswered):
            request.refuse(error)
        for tell in self.on_close:
            tell(error)


class _Request:
    """
    A request answered once: by its handler, or with the reason for its refusal.

    Only the physics thread answers it; after the end of this thread, the closing code does.
    `unanswered` contains the request until then.
    """

    def __init__(
        self,
        kind: Any,
        request: Any,
        handler: Handler,
        refuse: Refusal,
        answer: Answer,
        unanswered: set[_Request],
    ) -> None:
        self._kind, self._request, self._handler = kind, request, handler
        self._refuse, self._send, self._unanswered = refuse, answer, unanswered

    def carry_out(self) -> None:
        try:
            self._handler(self._request, self._kind.Response(), self._answer)
        except SimBridgeError as err:
            self.refuse(err)
        except Exception as err:
            self.refuse(SimBridgeError(f'{type(err).__name__}: {err}'))
            raise

    def refuse(self, error: SimBridgeError) -> None:
        response = self._kind.Response()
        self._refuse(response, error)
        self._answer(response)

    def _answer(self, response: Any) -> None:
        if self in self._unanswered:
            self._unanswered.remove(self)
            self._send(response)
            DELIVERY.begin()


class _Delivery:
    """
    Delivery of this process's last service and action responses.

    A response not yet taken by its client is lost when the service is destroyed. The middleware
    reports the delivery of messages, but not of responses.
    """

    def __init__(self) -> None:
        self._end = -math.inf

    def begin(self) -> None:
        """Note the sending of a response."""
        self._end = time.monotonic() + _DELIVERY_S

    def wait(self) -> None:
        """Wait for the delivery of the last responses; destroy the servers afterwards."""
        time.sleep(max(self._end - time.monotonic(), 0.0))


DELIVERY = _Delivery()
