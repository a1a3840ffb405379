"""An action server with goals ended by other code."""

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
    """Accepts goals; other code executes them until `finish`. No callback waits."""

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
        cancel: requests the end of a goal, reported later by `finish`. The executor calls all.
        """

        def accept(goal: ServerGoalHandle) -> None:
            goal.execute()
            start(goal)

        def request_cancel(goal: ServerGoalHandle) -> CancelResponse:
            cancel(goal)
            return CancelResponse.ACCEPT

        def abort(error: Exception, goal: ServerGoalHandle) -> None:
            self.finish(goal, 'abort', action_type.Result())

        guard, source = node.faults.guard, f'action {name!r}'
        self._goals = HeldGoals(
            ActionServer(
                node.expiry_clocks.node_for_server(),
                action_type,
                name,
                execute_callback=lambda goal: None,
                goal_callback=guard(
                    source,
                    lambda goal: GoalResponse.ACCEPT if check(goal) else GoalResponse.REJECT,
                    lambda error, goal: GoalResponse.REJECT,
                ),
                handle_accepted_callback=guard(source, accept, abort),
                cancel_callback=guard(
                    source, request_cancel, lambda error, goal: CancelResponse.REJECT
                ),
            )
        )

    def finish(self, goal: ServerGoalHandle, transition: str, result: Any) -> None:
        """
        Report the end of a goal to its client; also allowed on the executor's thread.

        On return, the result has been sent. The server may be destroyed after `DELIVERY.wait`.
        transition: name of a goal method, 'succeed', 'abort' or 'canceled'.
        """
        self._goals.conclude(goal, transition, result)
        DELIVERY.begin()
