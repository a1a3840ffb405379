"""The standard's action: a number of steps, with feedback after each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from rclpy.action import ActionServer, CancelResponse

from sim_bridge.errors import SimBridgeError
from sim_bridge.ros.standard.interfaces import OK, OPERATION_FAILED

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.conductor import Conductor

STEPPING = 'SimulateSteps'


class SteppingAction:
    """
    Takes steps while the simulation is paused; a goal may be cancelled after any of them.

    A goal is executed, as rclpy calls it, when its steps are taken already: the callback of that
    only gives the result, and the executor's thread waits for nothing.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        submit: Callable[[Callable[[], None]], None],
        conductor: Conductor,
    ) -> None:
        """
        Create the action.

        kind: its type. submit: has a function called on the physics thread.
        """
        self._kind, self._submit, self._conductor = kind, submit, conductor
        ActionServer(
            node, kind, name, execute_callback=self._finish,
            handle_accepted_callback=lambda goal: submit(lambda: self._begin(goal)),
            cancel_callback=lambda goal: CancelResponse.ACCEPT)

    def _begin(self, goal: Any) -> None:
        steps = goal.request.steps

        def on_tick(remaining: int) -> bool:
            goal.publish_feedback(self._kind.Feedback(
                completed_steps=steps - remaining, remaining_steps=remaining))
            return not goal.is_cancel_requested

        def on_done(error: Exception | None) -> None:
            message = '' if error is None else f'a step failed: {error}'
            goal.execute(lambda goal: self._finish(goal, message))

        try:
            self._conductor.step(steps, on_done, on_tick)
        except SimBridgeError as err:
            message = str(err)
            goal.execute(lambda goal: self._finish(goal, message))

    def _finish(self, goal: Any, message: str = '') -> Any:
        """Give the result of a goal; message: what went wrong."""
        result = self._kind.Result()
        result.result.result = OPERATION_FAILED if message else OK
        result.result.error_message = message
        if goal.is_cancel_requested:
            goal.canceled()
        elif message:
            goal.abort()
        else:
            goal.succeed()
        return result
