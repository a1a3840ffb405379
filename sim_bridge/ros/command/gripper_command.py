"""The actions GripperCommand and ParallelGripperCommand of control_msgs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from rclpy.clock import Clock, ClockType

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.ros.command.grip import CANCELED, REACHED, STALLED
from sim_bridge.ros.process.deferred_action import DeferredActionServer

if TYPE_CHECKING:
    from rclpy.action.server import ServerGoalHandle

    from sim_bridge.ros.command.grip import Grip, Gripper
    from sim_bridge.ros.process.guarded_node import GuardedMixin


@dataclass(frozen=True)
class _Goal:
    """A client's goal and the gripper's."""

    handle: ServerGoalHandle
    grip: Grip


class GripperCommand:
    """Serves one gripper's action; the goal ends by success, stalling, or another goal."""

    def __init__(self, node: GuardedMixin, action_type: Any, name: str, gripper: Gripper) -> None:
        """Create the action server. action_type: class in control_msgs.action. name: its name."""
        self._type, self._gripper, self._logger = action_type, gripper, node.get_logger()
        self._goals: list[_Goal] = []
        # goal being accepted
        self._accepted: tuple[float, float] | None = None
        self._server = DeferredActionServer(
            node, action_type, name, self._check, self._start, self._cancel
        )
        # this node is the source of ROS time, so its timer must not depend on ROS time
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / gripper.settings.monitor_rate, self.monitor, clock=steady)

    def monitor(self) -> bool:
        """Send feedback and results to clients; return whether any goal has ended."""
        has_ended = False
        for goal in list(self._goals):
            if goal.grip.outcome:
                has_ended = True
                self._goals.remove(goal)
                self._finish(goal)
            else:
                feedback = self._type.Feedback()
                self._fill(feedback, self._gripper.state)
                goal.handle.publish_feedback(feedback)
        return has_ended

    def _check(self, goal: Any) -> bool:
        try:
            self._accepted = self._read(goal.command)
            self._gripper.check(*self._accepted)
        except SimBridgeError as err:
            self._logger.warning(f'goal of {self._gripper.name} rejected: {err}')
            return False
        return True

    def _read(self, command: Any) -> tuple[float, float]:
        """Return position and greatest effort of a goal."""
        settings = self._gripper.settings
        if not settings.is_parallel:
            return command.position, command.max_effort
        if len(command.position) != 1:
            expected = f'one position, for joint {settings.joint!r}'
            raise InvalidValueError('command.position', list(command.position), expected)
        return command.position[0], command.effort[0] if command.effort else settings.max_effort

    def _start(self, handle: ServerGoalHandle) -> None:
        # the goal accepted by `_check` just before
        accepted, self._accepted = self._accepted, None
        if accepted is not None:
            self._goals.append(_Goal(handle, self._gripper.grip(*accepted)))

    def _cancel(self, handle: ServerGoalHandle) -> None:
        for goal in self._goals:
            if goal.handle.goal_id == handle.goal_id:
                self._gripper.cancel(goal.grip.number)

    def _finish(self, goal: _Goal) -> None:
        result, outcome = self._type.Result(), goal.grip.outcome
        self._fill(result, goal.grip.ended_at)
        result.reached_goal, result.stalled = outcome == REACHED, outcome == STALLED
        is_success = outcome == REACHED or (
            outcome == STALLED and self._gripper.settings.allows_stalling
        )
        end = 'succeed' if is_success else 'abort'
        if outcome == CANCELED and goal.handle.is_cancel_requested:
            end = 'canceled'
        if end == 'abort':
            name = self._gripper.name
            self._logger.warning(f'goal of {name} aborted: {goal.grip.words}')
        self._server.finish(goal.handle, end, result)

    def _fill(self, message: Any, state: tuple[float, float]) -> None:
        """Write position and effort to a feedback or a result."""
        if self._gripper.settings.is_parallel:
            message.state.name = [self._gripper.settings.joint]
            message.state.position, message.state.effort = [state[0]], [state[1]]
        else:
            message.position, message.effort = state
