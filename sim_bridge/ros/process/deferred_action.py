"""An action server whose goals are ended by other code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from rclpy.action import ActionServer, CancelResponse, GoalResponse

from sim_bridge.ros.process.deferred import DELIVERY
from sim_bridge.ros.process.rclpy_compat import HeldGoals

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle

    from sim_bridge.ros.process.guarded_node import GuardedMixin


class DeferredActionServer:
    """Accepts goals, which other code executes until `finish`; no callback waits."""

    def __init__(
        self,
        node: GuardedMixin,
        action_type: Any,
        name: str,
        check: Callable[[Any], bool],
        start: Callable[[ServerGoalHandle], None],
        cancel: Callable[[ServerGoalHandle], None],
    ) -> None:
        """
        Create the action server.

        check: returns whether a goal is accepted. start: starts execution, right after acceptance.
        cancel: requests the end of a goal, which `finish` reports later. The executor calls all of
        them.
        """

        def accept(goal: ServerGoalHandle) -> None:
            goal.execute()
            start(goal)

        def request_cancel(goal: ServerGoalHandle) -> CancelResponse:
            cancel(goal)
            return CancelResponse.ACCEPT

        def abort(error: Exception, goal: ServerGoalHandle) -> None:
            self.finish(goal, 'abort', action_type.Result())

        guard, what = node.faults.guard, f'action {name!r}'
        self._goals = HeldGoals(
            ActionServer(
                node,
                action_type,
                name,
                execute_callback=lambda goal: None,
                goal_callback=guard(
                    what,
                    lambda goal: GoalResponse.ACCEPT if check(goal) else GoalResponse.REJECT,
                    lambda error, goal: GoalResponse.REJECT,
                ),
                handle_accepted_callback=guard(what, accept, abort),
                cancel_callback=guard(
                    what, request_cancel, lambda error, goal: CancelResponse.REJECT
                ),
            )
        )

    def finish(self, goal: ServerGoalHandle, transition: str, result: Any) -> None:
        """
        Report the end of a goal to its client; also allowed on the executor's thread.

        The result has been sent when this returns; after `DELIVERY.wait` the server may be
        destroyed. transition: 'succeed', 'abort' or 'canceled', a method of the goal.
        """
        self._goals.conclude(goal, transition, result)
        DELIVERY.begin()
