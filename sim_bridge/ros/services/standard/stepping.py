"""The standard action: a number of steps, with feedback after each."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.services.standard.interfaces import OK, OPERATION_FAILED

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle

    from sim_bridge.ros.process.deferred import DeferredServices
    from sim_bridge.ros.process.executor_calls import ExecutorCalls
    from sim_bridge.ros.process.guarded_node import GuardedMixin
    from sim_bridge.ros.services.simulation_control import SimulationControl

STEPPING = 'SimulateSteps'


class SteppingAction:
    """Takes steps while the simulation is paused; a goal can be cancelled after any step."""

    def __init__(
        self,
        node: GuardedMixin,
        kind: Any,
        name: str,
        services: DeferredServices,
        control: SimulationControl,
        calls: ExecutorCalls,
    ) -> None:
        """Create the action. kind: action type."""
        # imported here, since it loads all of rclpy's actions
        from sim_bridge.ros.process.deferred_action import DeferredActionServer

        self._kind, self._services = kind, services
        self._control, self._calls = control, calls
        self._goals: list[_Goal] = []
        # each step checks whether the goal's cancellation was requested
        self._server = DeferredActionServer(
            node, kind, name, lambda goal: True, self._start, lambda goal: None
        )
        services.on_close.append(self._close)

    # --- on the executor's thread ----------------------------------------------------------------

    def _start(self, handle: ServerGoalHandle) -> None:
        goal = _Goal(handle)
        self._goals.append(goal)
        self._services.submit(lambda: self._begin(goal))

    def _finish(self, goal: _Goal) -> None:
        self._goals.remove(goal)
        result = self._kind.Result()
        result.result.result = OPERATION_FAILED if goal.failure else OK
        result.result.error_message = goal.failure or ''
        end = 'abort' if goal.failure else 'succeed'
        if goal.handle.is_cancel_requested:
            end = 'canceled'
        self._server.finish(goal.handle, end, result)

    def _close(self, error: SimBridgeError) -> None:
        for goal in list(self._goals):
            if goal.failure is None:
                goal.failure = str(error)
            self._finish(goal)

    # --- on the physics thread -------------------------------------------------------------------

    def _begin(self, goal: _Goal) -> None:
        handle, steps = goal.handle, goal.handle.request.steps

        def on_tick(remaining: int) -> bool:
            handle.publish_feedback(
                self._kind.Feedback(completed_steps=steps - remaining, remaining_steps=remaining)
            )
            return not handle.is_cancel_requested

        def on_done(error: Exception | None) -> None:
            self._end(goal, '' if error is None else f'a step failed: {error}')

        try:
            self._control.step(steps, on_done, on_tick)
        except SimBridgeError as err:
            self._end(goal, str(err))

    def _end(self, goal: _Goal, failure: str) -> None:
        goal.failure = failure
        self._calls.post(lambda: self._finish(goal))


class _Goal:
    """A client's goal. failure: the error, '' for none, None while the goal is in progress."""

    def __init__(self, handle: ServerGoalHandle) -> None:
        self.handle = handle
        self.failure: str | None = None
