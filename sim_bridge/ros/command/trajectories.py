"""
The trajectories of a robot: taken from messages and goals, followed on the physics thread.

They are checked on the executor's thread, where whoever sent them can be told. What is followed is
`TrajectoryFollower`'s; here is what it is to follow, and what became of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.logging import get_logger

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.command.inputs import InputNote, Message
from sim_bridge.ros.wire.trajectory_message import from_bytes, from_message, TrajectoryMessage
from sim_bridge.trajectory.follower import TrajectoryFollower
from sim_bridge.trajectory.tolerances import GOAL_VIOLATED, PATH_VIOLATED, Run, Tolerances
from sim_bridge.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.controllers import TrajectoryController

STARTED, REFUSED = 'started', 'refused'

# kinds of notes about what came in
FOLLOW, CANCEL = 'follow_trajectory', 'cancel_trajectory'


@dataclass(eq=False)
class Order:
    """
    A trajectory that somebody wants followed.

    number: tells it from others. start_ns: simulated time it is to start at [ns]; 0: at once. run:
    None until it has been handed to the follower, or for good if that refused it, as `refusal`
    says.
    """

    number: int
    trajectory: Trajectory
    start_ns: int
    tolerances: Tolerances
    run: Run | None = None
    refusal: str = ''

    @property
    def outcome(self) -> str:
        """How it ended; '' until it has."""
        if self.run is None:
            return REFUSED if self.refusal else ''
        return self.run.outcome

    @property
    def words(self) -> str:
        """What is to be said about the outcome."""
        return self.refusal if self.run is None else self.run.words


class Trajectories:
    """
    Takes trajectories for a robot and has them followed.

    `drive` and `restart` are called on the physics thread, all else on the executor's.
    """

    def __init__(
        self, robot: Robot, commands: RobotCommands, controllers: Sequence[TrajectoryController],
        now: Callable[[], int],
    ) -> None:
        """
        Prepare.

        commands: of the robot, which take joints from trajectories, and the other way round.
        controllers: who takes trajectories. now: gives the simulated time [ns].
        """
        self.controllers = list(controllers)
        self.counts: Counter[str] = Counter()
        self.logger = get_logger('sim_bridge')
        self._robot, self._commands, self._now = robot, commands, now
        # the other joints of a loop follow it, and must not be held
        held = () if robot.loop_joints else [j for each in controllers for j in each.joints]
        gains = {joint: gain for each in controllers for joint, gain in each.gains.items()}
        self._follower = TrajectoryFollower(robot, held, gains)
        commands.following = self._follower
        self._orders: dict[int, Order] = {}
        self._latest = 0

    @property
    def is_active(self) -> bool:
        """Whether anything is followed, held or waited for."""
        return bool(self._orders) or self._follower.is_active

    @property
    def following(self) -> int:
        """How many trajectories are being followed, or wait for their time."""
        return len(self._follower.runs)

    def drive(self, time_ns: int, step_ns: int) -> None:
        """Command the joints for the step that begins now [ns]; on the physics thread."""
        self._follower.drive(time_ns, step_ns)
        for order in [each for each in self._orders.values() if each.outcome]:
            self._conclude(order)

    def take_message(
        self, controller: TrajectoryController, data: bytes, source: Message
    ) -> None:
        """Follow a serialized JointTrajectory; raises a SimBridgeError where it is malformed."""
        message = from_bytes(data)
        try:
            self.follow(self._order(controller, message), source)
        except SimBridgeError:
            self.reject()
            raise

    def reject(self) -> None:
        """Count a trajectory that is not taken."""
        self._commands.counts.rejected += 1

    def read(
        self, controller: TrajectoryController, message: Any,
        tolerances: Tolerances | None = None,
    ) -> Order:
        """
        Make an order of a trajectory_msgs/JointTrajectory.

        tolerances: of the controller's joints; None for its own. Raises InvalidValueError or
        UnknownNameError.
        """
        return self._order(controller, from_message(message), tolerances)

    def _order(
        self, controller: TrajectoryController, message: TrajectoryMessage,
        tolerances: Tolerances | None = None,
    ) -> Order:
        trajectory = message.trajectory()
        place = f'trajectory controller {controller.name!r} of robot {self._robot.name!r}'
        for joint in trajectory.joints:
            if joint not in controller.joints:
                raise UnknownNameError('joint', joint, controller.joints, place)
        if not controller.allows_part and len(trajectory.joints) < len(controller.joints):
            raise InvalidValueError(
                'joints of trajectory', list(trajectory.joints),
                f'all of {", ".join(controller.joints)}, since allow_partial_joints_goal is false',
                place)
        if not controller.allows_moving_end:
            trajectory.check_end()
        start_ns, now_ns = message.stamp_ns, self._now()
        if start_ns and start_ns + int(trajectory.times_ns[-1]) < now_ns:
            raise InvalidValueError(
                'end of trajectory', start_ns * 1e-9 + trajectory.duration,
                f'a time not yet over: it is {now_ns * 1e-9:.9g} s')
        return Order(0, trajectory, start_ns, select(
            tolerances or controller.tolerances, controller.joints, trajectory.joints))

    def follow(self, order: Order, source: Message | None = None) -> Order:
        """
        Have a trajectory followed from the next control step on, and give the order.

        source: where it came from, to be recorded; None to record the order itself.
        """
        self._latest += 1
        order.number = self._latest

        def start() -> None:
            try:
                order.run = self._follower.start(
                    order.trajectory, self._now(), order.start_ns, order.tolerances)
            except InvalidValueError as err:  # its time went by meanwhile
                order.refusal = str(err)
            self._orders[order.number] = order
            self.counts[STARTED] += 1

        self._commands.submit(start, source or self._note(FOLLOW, **to_values(order)))
        self._commands.counts.accepted += 1
        return order

    def cancel(self, number: int) -> None:
        """Have an order ended by the next control step, if it has not ended before."""

        def stop() -> None:
            order = self._orders.get(number)
            if order is not None and order.run is not None:
                self._follower.cancel(order.run)

        self._commands.submit(stop, self._note(CANCEL, number=number))

    def feed(self, kind: str, values: Mapping[str, Any]) -> None:
        """Take in what was noted of another run of the same simulation."""
        if kind == CANCEL:
            self.cancel(**values)
        else:
            self.follow(from_values(values))

    def save(self, time_ns: int) -> None:
        """Return nothing: what is followed is saved with the commands."""

    def restore(self, saved: None, time_ns: int) -> None:
        """As `restart`."""
        self.restart(time_ns, '')

    def restart(self, time_ns: int, reason: str) -> None:
        """End all orders, which the follower has dropped before; on the physics thread."""
        for order in list(self._orders.values()):
            self._conclude(order)

    def _conclude(self, order: Order) -> None:
        del self._orders[order.number]
        self.counts[order.outcome] += 1
        if order.outcome in (PATH_VIOLATED, GOAL_VIOLATED, REFUSED):
            self.logger.warning(f'trajectory of robot {self._robot.name!r} ended: {order.words}')

    def _note(self, kind: str, **values: Any) -> InputNote:
        return InputNote(kind, {'robot': self._robot.name, **values})


def select(tolerances: Tolerances, joints: Sequence[str], names: Iterable[str]) -> Tolerances:
    """Return the tolerances of some joints out of those of others."""
    columns = [joints.index(name) for name in names]
    return Tolerances(
        tolerances.path[:, columns], tolerances.goal[:, columns], tolerances.goal_time)


def to_values(order: Order) -> dict[str, Any]:
    """Return what an order says in numbers and texts that JSON holds to the last bit."""
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
    }


def from_values(values: Mapping[str, Any]) -> Order:
    """Return the order that `to_values` has told of."""
    trajectory = Trajectory(*(
        values[name] for name in ('joints', 'times', 'positions', 'velocities', 'accelerations')))
    return Order(0, trajectory, values['start_ns'], Tolerances(
        np.array(values['path']), np.array(values['goal']), values['goal_time']))


def _rows(table: np.ndarray) -> list[list[float] | None]:
    """Return rows, None for those that say nothing."""
    are_empty = np.isnan(table).any(axis=1).tolist()
    return [None if empty else row for empty, row in zip(are_empty, table.tolist(), strict=True)]
