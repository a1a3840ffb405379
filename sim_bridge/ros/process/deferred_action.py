"""An action server whose goals end when somebody else says so."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from typing import Any, TYPE_CHECKING

from rclpy.action import ActionServer, CancelResponse, GoalResponse

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle
    from rclpy.node import Node


class DeferredActionServer(ActionServer):
    """
    Accepts goals, which then are executed elsewhere, until `finish`.

    The usual execute callback would have to wait, in a thread of its own or as a coroutine, for
    which the EventsExecutor of Jazzy spins without rest. Here no callback waits.
    """

    def __init__(
        self,
        node: Node,
        action_type: type,
        name: str,
        check: Callable[[Any], bool],
        start: Callable[[ServerGoalHandle], None],
        cancel: Callable[[ServerGoalHandle], None],
    ) -> None:
        """
        Offer the action.

        check: tells whether a goal is accepted. start: begins to execute it, right after. cancel:
        asks for its end, which `finish` tells in its time. All are called by the executor.
        """
        self._cancel = cancel
        # by goal, the headers of those who have asked how it ends
        self._asked: dict[bytes, list[Any]] = {}
        super().__init__(
            node, action_type, name,
            execute_callback=lambda goal: None,
            goal_callback=lambda goal: GoalResponse.ACCEPT if check(goal) else GoalResponse.REJECT,
            handle_accepted_callback=self._accepted(start),
            cancel_callback=self._wants_cancel)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Take note that a goal is being executed, and leave it at that."""

    def finish(self, goal: ServerGoalHandle, end: str, result: Any) -> None:
        """
        Tell the client of a goal that it has ended; by the executor, too.

        When this returns the client has been told; after `await_delivery` the server may be
        destroyed. end: 'succeed', 'abort' or 'canceled', a transition of the goal's.
        """

        def conclude(goal: ServerGoalHandle) -> Any:
            getattr(goal, end)()
            return result

        # tasks of the executor's, which rclpy makes of both, would come after what is done next
        with contextlib.suppress(StopIteration):
            self._execute_goal(conclude, goal).send(None)
        key = bytes(goal.goal_id.uuid)
        for header in self._asked.pop(key, ()):
            self._send_result_response(header, self._result_futures[key])

    async def _execute_get_result_request(self, request_header_and_message: Any) -> None:
        """Note who asks for the result of a goal that goes on; leave the others to rclpy."""
        header, request = request_header_and_message
        key = bytes(request.goal_id.uuid)
        future = self._result_futures.get(key)
        if future is None or future.done():
            await super()._execute_get_result_request(request_header_and_message)
        else:
            self._asked.setdefault(key, []).append(header)

    @staticmethod
    def _accepted(
        start: Callable[[ServerGoalHandle], None]
    ) -> Callable[[ServerGoalHandle], None]:
        def accept(goal: ServerGoalHandle) -> None:
            goal.execute()
            start(goal)

        return accept

    def _wants_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        self._cancel(goal)
        return CancelResponse.ACCEPT
