"""The action FollowJointTrajectory, if control_msgs is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Duration
import numpy as np
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from trajectory_msgs.msg import JointTrajectoryPoint

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.command.controllers import TrajectoryController
from sim_bridge.ros.command.trajectories import Order, Trajectories
from sim_bridge.ros.process.deferred_action import DeferredActionServer
from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp
from sim_bridge.ros.wire.trajectory_message import seconds
from sim_bridge.trajectory.tolerances import (
    CANCELED,
    GOAL_VIOLATED,
    PATH_VIOLATED,
    REACHED,
    Tolerances,
)

_NO_TOLERANCE = -1.0
_FIELDS = ('position', 'velocity', 'acceleration')


@dataclass(frozen=True)
class _Goal:
    """A client's goal and its order in the simulator."""

    handle: ServerGoalHandle
    order: Order


class FollowJointTrajectory:
    """
    Serves one controller's action like ros2_control's joint_trajectory_controller.

    Invalid goals are rejected. Feedback is sent at the controller's rate in real time, results no
    later than the next feedback.
    """

    def __init__(
        self,
        node: GuardedMixin,
        action_type: Any,
        name: str,
        trajectories: Trajectories,
        controller: TrajectoryController,
    ) -> None:
        """
        Create the action server.

        action_type: control_msgs.action.FollowJointTrajectory. name: action name.
        """
        self._type, self._logger = action_type, node.get_logger()
        self._trajectories, self._controller = trajectories, controller
        self._goals: list[_Goal] = []
        # order of the goal being accepted; it may have ended before the acceptance is complete
        self._accepted: Order | None = None
        self._server = DeferredActionServer(
            node, action_type, name, self._check, self._start, self._cancel
        )
        # this node is the source of ROS time, so its timer must not depend on ROS time
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / controller.monitor_rate, self.monitor, clock=steady)

    def monitor(self) -> bool:
        """Send feedback and results to clients; return whether any goal has ended."""
        has_ended = False
        for goal in list(self._goals):
            if goal.order.outcome:
                has_ended = True
                self._goals.remove(goal)
                self._finish(goal)
            elif (run := goal.order.run) is not None and run.states is not None:
                goal.handle.publish_feedback(self._feedback(goal.order, run.start_ns, *run.states))
        return has_ended

    def _check(self, goal: Any) -> bool:
        try:
            self._accepted = self._read(goal)
        except SimBridgeError as err:
            self._trajectories.reject()
            self._logger.warning(f'goal of {self._controller.name} rejected: {err}')
            return False
        return True

    def _read(self, goal: Any) -> Order:
        if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
            raise InvalidValueError(
                'multi_dof_trajectory',
                list(goal.multi_dof_trajectory.joint_names),
                'an empty one: trajectories are for joints with one axis',
            )
        return self._trajectories.read(
            self._controller, goal.trajectory, goal_tolerances(goal, self._controller)
        )

    def _start(self, handle: ServerGoalHandle) -> None:
        # the order accepted by `_check` just before
        order, self._accepted = self._accepted, None
        if order is not None:
            self._goals.append(_Goal(handle, self._trajectories.follow(order)))

    def _cancel(self, handle: ServerGoalHandle) -> None:
        for goal in self._goals:
            if goal.handle.goal_id == handle.goal_id:
                self._trajectories.cancel(goal.order.number)

    def _finish(self, goal: _Goal) -> None:
        result, outcome = self._type.Result(), goal.order.outcome
        result.error_code = {
            REACHED: result.SUCCESSFUL,
            PATH_VIOLATED: result.PATH_TOLERANCE_VIOLATED,
            GOAL_VIOLATED: result.GOAL_TOLERANCE_VIOLATED,
            CANCELED: result.SUCCESSFUL,
        }.get(outcome, result.INVALID_GOAL)
        result.error_string = goal.order.words
        ends = {REACHED: 'succeed', CANCELED: 'canceled'}
        end = ends.get(outcome, 'abort')
        if end == 'canceled' and not goal.handle.is_cancel_requested:
            end = 'abort'
        self._server.finish(goal.handle, end, result)

    def _feedback(
        self, order: Order, start_ns: int, wanted: np.ndarray, actual: np.ndarray, time_ns: int
    ) -> Any:
        feedback = self._type.Feedback()
        feedback.header.stamp = unpack_stamp(pack_stamp(time_ns))
        feedback.joint_names = list(order.trajectory.joints)
        since = Duration()
        since.sec, since.nanosec = divmod(max(0, time_ns - start_ns), 1_000_000_000)
        feedback.desired, feedback.actual, feedback.error = (
            _point(values, since) for values in (wanted, actual, wanted - actual)
        )
        return feedback


def goal_tolerances(goal: Any, controller: TrajectoryController) -> Tolerances:
    """
    Return a goal's tolerances for a controller's joints.

    A value of 0 means the controller's own tolerance, -1 means no tolerance. Raises
    UnknownNameError or InvalidValueError.
    """
    own = controller.tolerances
    time = goal.goal_time_tolerance
    return Tolerances(
        _merged(own.path, goal.path_tolerance, controller, 'path_tolerance'),
        _merged(own.goal, goal.goal_tolerance, controller, 'goal_tolerance'),
        0.0 if seconds(time) < 0.0 else seconds(time) or own.goal_time,
    )


def _merged(
    own: np.ndarray, given: Sequence[Any], controller: TrajectoryController, what: str
) -> np.ndarray:
    merged = np.array(own)
    for each in given:
        if each.name not in controller.joints:
            raise UnknownNameError(
                'joint', each.name, controller.joints, f'{what} of a goal for {controller.name!r}'
            )
        column = controller.joints.index(each.name)
        for row, field in enumerate(_FIELDS):
            value = getattr(each, field)
            if value == _NO_TOLERANCE:
                merged[row, column] = 0.0
            elif not 0.0 <= value < np.inf:
                raise InvalidValueError(
                    f'{what}.{field}',
                    value,
                    'a finite number above 0, 0 for the default, or -1 for none',
                    f'joint {each.name!r}',
                )
            elif value:
                merged[row, column] = value
    return merged


def _point(values: np.ndarray, since: Duration) -> JointTrajectoryPoint:
    positions, velocities, accelerations = values.tolist()
    return JointTrajectoryPoint(
        positions=positions,
        velocities=velocities,
        accelerations=accelerations,
        time_from_start=since,
    )
