"""Services that the physics thread answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from sim_bridge.errors import SimBridgeError

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.pacer import Pacer

Answer = Callable[[Any], None]

# gets a request, a response to fill, and what answers with it, now or later
Handler = Callable[[Any, Any, Answer], None]

# fills a response with why a request was refused
Refusal = Callable[[Any, SimBridgeError], None]


class DeferredServices:
    """
    Creates services whose requests are carried out between two ticks, and answered from there.

    So no callback ever waits for physics, and commands go on arriving while a request takes its
    time.
    """

    def __init__(self, node: Node, pacer: Pacer, before: Callable[[], None]) -> None:
        """
        Prepare.

        before: called for every request, on the executor's thread.
        """
        self._node, self._pacer, self._before = node, pacer, before

    def submit(self, function: Callable[[], None]) -> None:
        """Have a function called on the physics thread; on the executor's."""
        self._before()
        self._pacer.submit(function)

    def create(self, kind: type, name: str, handler: Handler, refuse: Refusal) -> None:
        """
        Create a service that is answered later, by another thread.

        Executors call a service's callback and then, with what it returned, its `send_response`.
        Awaiting in the callback would be the usual way, but the EventsExecutor of Jazzy cannot.
        """
        service = self._node.create_service(kind, name, lambda request, response: request)
        send, handle = service.send_response, handling(kind, handler, refuse)

        def respond_later(request: Any, header: Any) -> None:
            self.submit(lambda: handle(request, lambda response: send(response, header)))

        service.send_response = respond_later


def handling(kind: type, handler: Handler, refuse: Refusal) -> Callable[[Any, Answer], None]:
    """Give what carries out a request for a type of service, and answers in any case."""
    def handle(request: Any, answer: Answer) -> None:
        response = kind.Response()
        try:
            handler(request, response, answer)
        except SimBridgeError as err:
            refuse(response, err)
            answer(response)
        except Exception as err:
            refuse(response, SimBridgeError(f'{type(err).__name__}: {err}'))
            answer(response)
            raise

    return handle
