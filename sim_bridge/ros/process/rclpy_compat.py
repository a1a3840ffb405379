"""
All uses of rclpy beyond its public interface.

Each function documents the gap in rclpy. `test/ros/process/test_rclpy_compat.py` tests each
function, so a failed test names the function broken by a new rclpy release.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
import contextlib
import functools
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from rclpy.action import ActionServer
    from rclpy.action.server import ServerGoalHandle
    from rclpy.clock import Clock
    from rclpy.executors import Executor
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.service import Service
    from rclpy.subscription import Subscription


def make_executor() -> Executor:
    """
    Return the executor with the least time per message.

    The EventsExecutor needs a third of the time of the others. It is experimental in Jazzy and
    missing in Humble. Drive it with `spin_once`, since its `spin` hangs in some builds.
    """
    import rclpy.executors

    make: Any = getattr(rclpy.executors, 'EventsExecutor', None)
    if make is None:
        try:
            from rclpy.experimental.events_executor import EventsExecutor as make
        except ImportError:
            make = rclpy.executors.SingleThreadedExecutor
    executor: Executor = make()
    return executor


# --- publishers and subscriptions ----------------------------------------------------------------


def raw_publish_of(publisher: Publisher) -> Callable[[bytes], None]:
    """
    Return the function for publishing serialized messages.

    `Publisher.publish` checks every message again, taking as long as the middleware itself.
    """
    function: Callable[[bytes], None] = publisher.handle.publish_raw
    return function


def raw_take_of(subscription: Subscription) -> Callable[[], tuple[bytes, Any] | None]:
    """Return a function that takes the next serialized message, with its info; None without."""
    return functools.partial(subscription.handle.take_message, subscription.msg_type, True)


def publisher_count_of(subscription: Subscription) -> Callable[[], int]:
    """Return the function counting a topic's publishers; Humble has no interface for it."""
    function: Callable[[], int] = subscription.handle.get_publisher_count
    return function


# --- parameters ----------------------------------------------------------------------------------


def undeclare_read_only(node: Node, name: str) -> None:
    """Undeclare a parameter even if it is read-only, like rclpy's qos_overrides parameters."""
    # a reference to the node's own descriptor, not a copy
    node.describe_parameter(name).read_only = False
    node.undeclare_parameter(name)


# --- services ------------------------------------------------------------------------------------


def take_over_responses(
    service: Service, respond: Callable[[Any, Callable[[Any], None]], None]
) -> None:
    """
    Allow answers after the service's callback has returned; the callback must return the request.

    Executors call the callback and pass its result to `send_response`. Awaiting in the callback
    would be the public way, but the EventsExecutor of Jazzy does not support it. respond: called
    with the request and the function for sending a response, to be called once, from any thread;
    it sends nothing after `silence`.
    """
    send = service.send_response

    def take(request: Any, header: Any) -> None:
        def answer(response: Any) -> None:
            if service.send_response is take:
                send(response, header)

        respond(request, answer)

    service.send_response = take  # type: ignore[method-assign, assignment]


def guard_service(
    node: Node, name: str, guard: Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]
) -> None:
    """Wrap the callback of a node's service with a name ending in `name`."""
    (service,) = (each for each in node.services if each.srv_name.endswith(name))
    service.callback = guard(service.callback)


def forget_destroyed(node: Node) -> None:
    """Remove destroyed entities from the default callback group; rclpy keeps them."""
    group = node.default_callback_group
    group.entities = {entity for entity in group.entities if entity() is not None}


def silence(entity: Any) -> None:
    """
    Make an executor ignore an entity's pending event.

    The entity may already be destroyed when the event is handled. A timer's callback may use
    entities destroyed with it, and a destroyed service cannot respond.
    """
    for name in ('callback', 'send_response'):
        if hasattr(entity, name):
            setattr(entity, name, lambda *arguments: None)


# --- actions -------------------------------------------------------------------------------------


def action_servers(node: Node) -> list[Any]:
    """Return a node's action servers, listed by `Node` among its waitables."""
    return [each for each in node.waitables if hasattr(each, 'action_type')]


class ExpiryClocks:
    """
    Clocks of a node's action servers, one for each.

    A server forgets old results by a timer on its node's clock. The EventsExecutor visits all
    timers on a clock when one of them is due or changes, and prints warnings from eight timers on.
    """

    def __init__(self, node: Node) -> None:
        """Start without clocks. They live as long as the node: rcl uses them to the very end."""
        self._node = node
        self._clocks: list[Clock] = []

    def node_for_server(self) -> Any:
        """Return the node for a new action server: the same, with a clock unused by servers."""
        used = [server._node.get_clock() for server in action_servers(self._node)]
        for clock in self._clocks:
            if clock not in used:
                return _ClockedNode(self._node, clock)
        from rclpy.clock import Clock, ClockType

        # also stamps the goals; clients wait in real time
        self._clocks.append(Clock(clock_type=ClockType.SYSTEM_TIME))
        return _ClockedNode(self._node, self._clocks[-1])


class _ClockedNode:
    """A node with another clock; everything else is the node's own."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._node, self._clock = node, clock

    def get_clock(self) -> Clock:
        return self._clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


class HeldGoals:
    """
    Accepted goals of an action server; they end when `conclude` is called.

    Otherwise the server's execute callback would have to wait, in its own thread or as a
    coroutine; with a coroutine, the EventsExecutor of Jazzy spins at full load.
    """

    def __init__(self, server: ActionServer) -> None:
        """Take over the goals of a server; its executor calls all methods."""
        # typed as Any for access to private members
        self._server: Any = server
        # headers of result requests by goal
        self._asked: dict[bytes, list[Any]] = {}
        self._answer_request: Callable[[Any], Awaitable[None]] = (
            self._server._execute_get_result_request
        )
        vars(server)['_execute_get_result_request'] = self._hold_request
        # rclpy would start the execute callback here
        vars(server)['notify_execute'] = lambda goal, execute_callback: None

    def conclude(self, goal: ServerGoalHandle, transition: str, result: Any) -> None:
        """
        End a goal; before returning, send its result to all clients that requested it.

        transition: name of a goal method, 'succeed', 'abort' or 'canceled'.
        """
        server = self._server

        def execute(goal: ServerGoalHandle) -> Any:
            getattr(goal, transition)()
            return result

        # run at once: an executor task would run after the following code
        with contextlib.suppress(StopIteration):
            server._execute_goal(execute, goal).send(None)
        key = bytes(goal.goal_id.uuid)
        for header in self._asked.pop(key, ()):
            server._send_result_response(header, server._result_futures[key])

    async def _hold_request(self, request_header_and_message: Any) -> None:
        """Store a result request for an unfinished goal; leave others to rclpy."""
        header, request = request_header_and_message
        key = bytes(request.goal_id.uuid)
        future = self._server._result_futures.get(key)
        if future is None or future.done():
            await self._answer_request(request_header_and_message)
        else:
            self._asked.setdefault(key, []).append(header)
