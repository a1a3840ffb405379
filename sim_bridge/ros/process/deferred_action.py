"""An action server whose goals end when somebody else says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from rclpy.action import ActionServer, CancelResponse, GoalResponse

from sim_bridge.ros.process.rclpy_compat import HeldGoals

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle
    from rclpy.node import Node


class DeferredActionServer:
    """Accepts goals, which are then executed elsewhere until `finish`; no callback waits."""

    def __init__(
        self,
        node: Node,
        action_type: Any,
        name: str,
        check: Callable[[Any], bool],
        start: Callable[[ServerGoalHandle], None],
        cancel: Callable[[ServerGoalHandle], None],
    ) -> None:
        """
        Offer the action.

        check: returns whether a goal is accepted. start: begins to execute it, right after.
        cancel: asks for its end, which `finish` reports in time. All are called by the executor.
        """

        def accept(goal: ServerGoalHandle) -> None:
            goal.execute()
            start(goal)

        def request_cancel(goal: ServerGoalHandle) -> CancelResponse:
            cancel(goal)
            return CancelResponse.ACCEPT

        self._goals = HeldGoals(ActionServer(
            node, action_type, name,
            execute_callback=lambda goal: None,
            goal_callback=lambda goal: GoalResponse.ACCEPT if check(goal) else GoalResponse.REJECT,
            handle_accepted_callback=accept,
            cancel_callback=request_cancel))

    def finish(self, goal: ServerGoalHandle, transition: str, result: Any) -> None:
        """
        Tell the client of a goal that it has ended; on the executor's thread, too.

        When this returns the client has been told; after `await_delivery` the server may be
        destroyed. transition: 'succeed', 'abort' or 'canceled', of the goal's.
        """
        self._goals.conclude(goal, transition, result)
