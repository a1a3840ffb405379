"""
Trajectories of a robot: received in messages and goals, followed on the physics thread.

They are checked on the executor's thread, where the sender can be informed of errors.
`TrajectoryFollower` follows them; this module gives it orders and stores their outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.logging import get_logger

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.command.controller_states import ControllerStates
from sim_bridge.ros.command.controllers import TrajectoryController
from sim_bridge.ros.command.inputs import InputNote, Message
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.qos import optional_messages
from sim_bridge.ros.wire.trajectory_message import from_bytes, from_message, TrajectoryMessage
from sim_bridge.trajectory.follower import TrajectoryFollower
from sim_bridge.trajectory.tolerances import GOAL_VIOLATED, PATH_VIOLATED, Run, Tolerances
from sim_bridge.trajectory.trajectory import Trajectory

STARTED, REFUSED = 'started', 'refused'
SPEED_TOPIC = 'speed_scaling_input'
"""Topic of a controller, with the speed of its trajectories (control_msgs/SpeedScalingFactor)."""
_FASTEST = 1e3  # greater factors are mistakes

# kinds of recorded inputs
FOLLOW, CANCEL = 'follow_trajectory', 'cancel_trajectory'


@dataclass(eq=False)
class Order:
    """
    A request to follow a trajectory.

    number: identifies the order. start_ns: simulated start time [ns]; 0: at once. interpolates:
    False for jumps to the next point. run: None until the order is passed to the follower, or
    permanently if the follower refused it; then `refusal` holds the reason. decelerations: see
    `TrajectoryFollower.start`; () for none.
    """

    number: int
    trajectory: Trajectory
    start_ns: int
    tolerances: Tolerances
    interpolates: bool = True
    run: Run | None = None
    refusal: str = ''
    decelerations: tuple[float, ...] = ()

    @property
    def outcome(self) -> str:
        """Outcome of the order; '' until it has ended."""
        if self.run is None:
            return REFUSED if self.refusal else ''
        return self.run.outcome

    @property
    def words(self) -> str:
        """A message about the outcome."""
        return self.refusal if self.run is None else self.run.words


class Trajectories:
    """
    Accepts trajectories for a robot and passes them to its follower.

    `drive` and `restart` are called on the physics thread, all other methods on the executor's.
    """

    def __init__(
        self,
        robot: Robot,
        commands: RobotCommands,
        controllers: Sequence[TrajectoryController],
        now: Callable[[], int],
        states: ControllerStates | None = None,
    ) -> None:
        """
        Prepare to take trajectories.

        commands: the robot's commands; commands and trajectories take joints from each other.
        controllers: trajectory controllers. now: returns the simulated time [ns]. states: active
        and inactive controllers; None if all are active.
        """
        self.controllers = list(controllers)
        self.counts: Counter[str] = Counter()
        self.logger = get_logger('sim_bridge')
        self._robot, self._commands, self._now = robot, commands, now
        self._states = states or ControllerStates((), robot.name)
        self._follower = TrajectoryFollower(robot)
        self.serve()
        self._begin_speeds()
        commands.following = self._follower
        self._orders: dict[int, Order] = {}
        self._latest = 0

    @property
    def is_active(self) -> bool:
        """Whether any trajectory is followed or pending, or any joint is held."""
        return bool(self._orders) or self._follower.is_active

    @property
    def following(self) -> int:
        """Number of trajectories being followed or waiting for their start time."""
        return len(self._follower.runs)

    @property
    def _active(self) -> list[TrajectoryController]:
        return [each for each in self.controllers if self._states.is_active(each.name)]

    def serve(self) -> None:
        """Hold the joints of the active controllers while others follow; on the physics thread."""
        # the other joints of a loop follow from these, and must not be held
        held = () if self._robot.loop_joints else [j for each in self._active for j in each.joints]
        gains = {joint: gain for each in self._active for joint, gain in each.gains.items()}
        self._follower.serve(held, gains)

    def release(self, names: Collection[str]) -> None:
        """Release the joints of deactivated controllers; on the physics thread."""
        for each in self.controllers:
            if each.name in names:
                self._follower.release(each.joints, 'the controller was deactivated')
                self._follower.scale(each.joints, 1.0)

    def begin(self) -> None:
        """
        Hold the joints of active controllers from a file, which other commands have unlocked.

        On the physics thread.
        """
        if not self._robot.loop_joints:
            self._follower.hold(
                [j for each in self._active if each.quantities for j in each.joints]
            )

    def speed(self, controller: TrajectoryController) -> float:
        """Return the factor of the time in a controller's trajectories."""
        return self._follower.speed(controller.joints[0])

    def _begin_speeds(self) -> None:
        """Let all trajectories have the initial speeds of the active controllers."""
        for each in self._active:
            if each.joints:
                self._follower.scale(each.joints, 1.0 if each.speed is None else each.speed)

    def desired(self, controller: TrajectoryController) -> FloatArray:
        """Return (3, n): the desired motion of a controller's joints now."""
        columns = self._follower.columns(controller.joints)
        return self._follower.desired(columns, self._now())

    def query(self, controller: TrajectoryController, time_ns: int) -> FloatArray:
        """
        Return (3, n): the desired motion of a controller's joints at a later time [ns].

        Raises StateError for an inactive controller, InvalidValueError for an earlier time.
        """
        self._states.check_active(controller.name)
        if time_ns < self._now():
            expected = f'at least {self._now() * 1e-9:.9g} s, the present time'
            raise InvalidValueError('time', time_ns * 1e-9, expected)
        return self._follower.desired(self._follower.columns(controller.joints), time_ns)

    def drive(self, time_ns: int, step_ns: int) -> None:
        """Command the joints for the step starting now [ns]; on the physics thread."""
        self._follower.drive(time_ns, step_ns)
        for order in [each for each in self._orders.values() if each.outcome]:
            self._conclude(order)

    def take_message(self, controller: TrajectoryController, data: bytes, source: Message) -> None:
        """Follow a serialized JointTrajectory; raises a SimBridgeError if it is malformed."""
        message = from_bytes(data)
        try:
            self.follow(self._order(controller, message), source)
        except SimBridgeError:
            self.reject()
            raise

    def take_speed(self, controller: TrajectoryController, data: bytes, source: Message) -> None:
        """Take a serialized SpeedScalingFactor; raises InvalidValueError for a negative one."""
        factor = deserialize(data, speed_message()).factor
        if not 0.0 <= factor <= _FASTEST:
            self.reject()
            place = controller.topic(SPEED_TOPIC)
            raise InvalidValueError('factor', factor, f'a number from 0 to {_FASTEST:g}', place)

        def scale() -> None:
            self._follower.scale(controller.joints, factor)

        self._commands.queue.submit(scale, source)
        self._commands.counts.accepted += 1

    def reject(self) -> None:
        """Count a rejected trajectory."""
        self._commands.counts.rejected += 1

    def read(
        self, controller: TrajectoryController, message: Any, tolerances: Tolerances | None = None
    ) -> Order:
        """
        Return an order for a trajectory_msgs/JointTrajectory.

        tolerances: for the controller's joints; None for the controller's own. Raises
        InvalidValueError or UnknownNameError.
        """
        return self._order(controller, from_message(message), tolerances)

    def _order(
        self,
        controller: TrajectoryController,
        message: TrajectoryMessage,
        tolerances: Tolerances | None = None,
    ) -> Order:
        self._states.check_active(controller.name)
        trajectory = message.trajectory()
        place = f'trajectory controller {controller.name!r} of robot {self._robot.name!r}'
        for joint in trajectory.joints:
            if joint not in controller.joints:
                raise UnknownNameError('joint', joint, controller.joints, place)
        if not controller.allows_part and len(trajectory.joints) < len(controller.joints):
            raise InvalidValueError(
                'joints of trajectory',
                list(trajectory.joints),
                f'all of {", ".join(controller.joints)}, since allow_partial_joints_goal is false',
                place,
            )
        if not controller.allows_moving_end:
            trajectory.check_end()
        if message.stamp_ns:
            trajectory.check_not_over(message.stamp_ns, self._now())
        return Order(
            0,
            trajectory,
            message.stamp_ns,
            select(tolerances or controller.tolerances, controller.joints, trajectory.joints),
            controller.interpolates,
            decelerations=_chosen(controller, trajectory.joints),
        )

    def follow(self, order: Order, source: Message | None = None) -> Order:
        """
        Follow a trajectory from the next control step on, and return the order.

        source: its origin, to be recorded; None to record the order itself.
        """
        self._latest += 1
        order.number = self._latest

        def start() -> None:
            try:
                order.run = self._follower.start(
                    order.trajectory,
                    self._now(),
                    order.start_ns,
                    order.tolerances,
                    order.interpolates,
                    order.decelerations or None,
                )
            except InvalidValueError as err:  # its start time has passed meanwhile
                order.refusal = str(err)
            self._orders[order.number] = order
            self.counts[STARTED] += 1

        self._commands.queue.submit(start, source or self._note(FOLLOW, **to_values(order)))
        self._commands.counts.accepted += 1
        return order

    def cancel(self, number: int) -> None:
        """End an order at the next control step, unless it has already ended."""

        def stop() -> None:
            order = self._orders.get(number)
            if order is not None and order.run is not None:
                self._follower.cancel(order.run)

        self._commands.queue.submit(stop, self._note(CANCEL, number=number))

    def feed(self, kind: str, values: Mapping[str, Any]) -> None:
        """Take an input recorded in another run of the same simulation."""
        if kind == CANCEL:
            self.cancel(**values)
        else:
            self.follow(from_values(values))

    def save(self, time_ns: int) -> None:
        """Return None: the follower's state is saved with the commands."""

    def restore(self, saved: None, time_ns: int) -> None:
        """End all orders, which the follower has already dropped; on the physics thread."""
        for order in list(self._orders.values()):
            self._conclude(order)

    def restart(self, time_ns: int, reason: str) -> None:
        """Like `restore`, with the initial speeds."""
        self.restore(None, time_ns)
        self._begin_speeds()

    def _conclude(self, order: Order) -> None:
        del self._orders[order.number]
        self.counts[order.outcome] += 1
        is_beyond = order.run is not None and bool(order.run.beyond)
        if is_beyond or order.outcome in (PATH_VIOLATED, GOAL_VIOLATED, REFUSED):
            self.logger.warning(f'trajectory of robot {self._robot.name!r} ended: {order.words}')

    def _note(self, kind: str, **values: Any) -> InputNote:
        return InputNote(kind, {'robot': self._robot.name, **values})


def speed_message() -> Any:
    """Return control_msgs.msg.SpeedScalingFactor; None if it is not installed."""
    return getattr(optional_messages('control_msgs'), 'SpeedScalingFactor', None)


def _chosen(controller: TrajectoryController, joints: Iterable[str]) -> tuple[float, ...]:
    """Return a controller's decelerations for these joints; () if it has none."""
    by_joint = dict(zip(controller.joints, controller.decelerations, strict=False))
    return tuple(by_joint[joint] for joint in joints) if by_joint else ()


def select(tolerances: Tolerances, joints: Sequence[str], names: Iterable[str]) -> Tolerances:
    """Return the tolerances for a subset of joints."""
    columns = [joints.index(name) for name in names]
    return Tolerances(
        tolerances.path[:, columns], tolerances.goal[:, columns], tolerances.goal_time
    )


def to_values(order: Order) -> dict[str, Any]:
    """Return an order as numbers and strings, exactly representable in JSON."""
    trajectory, tolerances = order.trajectory, order.tolerances
    return {
        'joints': list(trajectory.joints),
        'times': (trajectory.times_ns * 1e-9).tolist(),
        'positions': trajectory.positions.tolist(),
        'velocities': _rows(trajectory.velocities),
        'accelerations': _rows(trajectory.accelerations),
        'start_ns': order.start_ns,
        'path': tolerances.path.tolist(),
        'goal': tolerances.goal.tolist(),
        'goal_time': tolerances.goal_time,
        **({} if order.interpolates else {'interpolates': False}),
        **({'decelerations': list(order.decelerations)} if order.decelerations else {}),
    }


def from_values(values: Mapping[str, Any]) -> Order:
    """Return the order converted by `to_values`."""
    trajectory = Trajectory(
        *(values[name] for name in ('joints', 'times', 'positions', 'velocities', 'accelerations'))
    )
    return Order(
        0,
        trajectory,
        values['start_ns'],
        Tolerances(values['path'], values['goal'], values['goal_time']),
        values.get('interpolates', True),
        decelerations=tuple(values.get('decelerations', ())),
    )


def _rows(table: np.ndarray) -> list[list[float] | None]:
    """Return a table's rows; None for rows without values."""
    are_empty = np.isnan(table).any(axis=1).tolist()
    return [None if empty else row for empty, row in zip(are_empty, table.tolist(), strict=True)]
