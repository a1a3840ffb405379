"""
Commands, from messages of any quality to the joints and crawlers of a robot.

They come on the executor's thread and are applied on the physics thread; a message is applied
whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.errors import InvalidValueError, SimBridgeError, StateError, UnknownNameError

if TYPE_CHECKING:
    from sim_bridge.robot import Robot

# what is commanded, in the order of the rows of pending commands
POSITION, VELOCITY, EFFORT = range(3)
QUANTITIES = ('position', 'velocity', 'effort')
_SEVERAL = ('positions', 'velocities', 'efforts')
_UNITS = ('rad or m', 'rad/s or m/s', 'N m or N')

# by the control of a joint: the quantity that it is named after, and all those that it takes
CRAWLER = 'crawler'
_MAIN = {
    'effort': EFFORT, 'velocity': VELOCITY, 'position': POSITION, 'servo': POSITION,
    CRAWLER: VELOCITY}
_TAKEN = {
    'effort': (EFFORT,),
    'velocity': (VELOCITY, EFFORT),
    'position': (POSITION, VELOCITY, EFFORT),
    'servo': (POSITION, VELOCITY, EFFORT),
    CRAWLER: (VELOCITY,),
}


@dataclass
class CommandCounts:
    """
    What became of the commands so far.

    accepted, rejected: messages. clamped: accepted ones that asked for more than an effort limit.
    timeouts: how often commands ceased.
    """

    accepted: int = 0
    clamped: int = 0
    rejected: int = 0
    timeouts: int = 0


class RobotCommands:
    """
    Checks commands and gives what is new to a robot at the start of each control step.

    `accept_named`, `accept_ordered` and `set_control` are called on the executor's thread; `apply`
    and `restart` on the physics thread. What can be commanded are joints, each as its control has
    it, and crawlers, whose velocity is their speed.
    """

    def __init__(
        self,
        robot: Robot,
        ordered_joints: Sequence[str],
        *,
        timeout_ns: int = 0,
        timeout_policy: str = 'hold',
        hold_until_first: bool = True,
    ) -> None:
        """
        Prepare for a robot, and hold it if so told.

        robot: its joints, with their effort limits and controls, and its crawlers are read here,
        once.
        ordered_joints: the joints of `accept_ordered`, in order; raises UnknownNameError.
        timeout_ns: simulated time [ns] without a command after which it has timed out; 0: never.
        timeout_policy: 'zero', 'hold' or 'last'.
        hold_until_first: whether the robot is held until the first command.
        """
        self.counts = CommandCounts()
        self._robot = robot
        # crawlers that touch nothing cannot run
        self._crawlers = [crawler for crawler in robot.crawlers if crawler.link.geometries]
        self._joint_count = len(robot.joint_names)
        names = [*robot.joint_names, *(crawler.name for crawler in self._crawlers)]
        self._rows = {name: row for row, name in enumerate(names)}
        self._order = self._rows_of(ordered_joints)
        # finite, so that what is infinite is beyond any limit
        self._limits = np.full((len(QUANTITIES), len(names)), sys.float_info.max)
        own = self._limits[EFFORT, : self._joint_count]
        np.minimum(robot.effort_limits, own, out=own)
        self._controls = [CRAWLER] * len(names)
        self._main = np.full(len(names), _MAIN[CRAWLER])
        self._takes = np.zeros((len(QUANTITIES), len(names)), bool)
        self._takes[_TAKEN[CRAWLER], :] = True
        for row, joint in enumerate(robot.joint_names):
            self._note_control(row, robot.joint(joint).control)
        self._timeout_ns, self._timeout_policy = timeout_ns, timeout_policy
        self._hold_until_first = hold_until_first
        # name lists seldom change from one message to the next
        self._latest_names: list[str] = []
        self._latest_rows = self._order[:0]

        # guards the three below, for no longer than it takes to copy a few rows
        self._lock = threading.Lock()
        # nan where there is nothing new
        self._pending = np.full((len(QUANTITIES), len(names)), np.nan)
        self._fresh: set[int] = set()
        self._changes: dict[str, tuple[str, float, float]] = {}

        self._applied_at_ns: int | None = None
        self._is_timed_out = False
        self.restart()

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints of `accept_ordered`, in order."""
        names = list(self._rows)
        return [names[row] for row in self._order]

    @property
    def is_waiting(self) -> bool:
        """Whether no command has been applied since the start."""
        return self._applied_at_ns is None

    @property
    def is_timed_out(self) -> bool:
        """Whether the latest command is older than allowed."""
        return self._is_timed_out

    def age_ns(self, time_ns: int) -> int | None:
        """Return for how long [ns] the latest command has been in force; None before the first."""
        applied_at = self._applied_at_ns
        return None if applied_at is None else time_ns - applied_at

    def accept_named(
        self,
        names: Sequence[str],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
    ) -> None:
        """
        Take what some joints and crawlers are to do; the others go on as they did.

        position [rad or m], velocity [rad/s or m/s], effort [N m or N]: each empty, or with a
        value for each name; or, as ros2_control's topic-based hardware sends it, for each of those
        named whose control is named like the list (position goes for servo, too). A position
        without a velocity is one to rest at.

        Raises UnknownNameError or InvalidValueError, or StateError for what a joint does not take,
        having counted and changed nothing else.
        """
        try:
            self._accept(self._known_rows_of(names), (position, velocity, effort))
        except SimBridgeError:
            self.counts.rejected += 1
            raise

    def accept_ordered(self, efforts: Sequence[float]) -> None:
        """Take the efforts of all ordered joints; as `accept_named` otherwise."""
        try:
            if len(efforts) != len(self._order):
                raise InvalidValueError(
                    'efforts', list(efforts),
                    f'{len(self._order)} values, one effort for each of '
                    f'{", ".join(self.joint_names)}')
            self._accept(self._order, ((), (), efforts))
        except InvalidValueError:
            self.counts.rejected += 1
            raise

    def set_control(self, joint: str, control: str, kp: float, kd: float) -> None:
        """
        Let a joint be driven in another way from the next control step on, without a jerk.

        control: as `Motor.control`; kp, kd: gains of 'servo' [N m/rad or N/m, and times s].
        """
        row = self._rows[joint]
        with self._lock:
            if control != self._controls[row]:
                self._note_control(row, control)
                self._pending[:EFFORT, row] = np.nan
            self._changes[joint] = control, kp, kd

    def apply(self, time_ns: int) -> None:
        """
        Write to the robot what is new, or what becomes of a command that has timed out.

        time_ns: simulated time [ns].
        """
        if self._changes:
            self._change_controls()
        commands: dict[int, np.ndarray] = {}
        if self._fresh:
            with self._lock:
                for quantity in self._fresh:
                    commands[quantity] = self._pending[quantity].copy()
                    self._pending[quantity] = np.nan
                self._fresh.clear()
        if commands:
            self._write(commands)
            if self._applied_at_ns is None or self._is_timed_out:
                self._robot.hold = False
            self._applied_at_ns, self._is_timed_out = time_ns, False
        elif (
            self._timeout_ns
            and self._applied_at_ns is not None
            and not self._is_timed_out
            and time_ns - self._applied_at_ns >= self._timeout_ns
        ):
            self._time_out()

    def restart(self) -> None:
        """Forget all commands and wait for the first."""
        with self._lock:
            self._pending[:] = np.nan
            self._fresh.clear()
        self._drop_commands()
        self._robot.hold = self._hold_until_first
        self._applied_at_ns = None
        self._is_timed_out = False

    def _write(self, commands: Mapping[int, np.ndarray]) -> None:
        """Hand new values by quantity to joints and crawlers; nan: none."""
        count = self._joint_count
        given = {QUANTITIES[quantity]: values[:count] for quantity, values in commands.items()}
        self._robot.set_commands(**given)
        if self._crawlers and VELOCITY in commands:
            for crawler, speed in zip(self._crawlers, commands[VELOCITY][count:], strict=True):
                if not math.isnan(speed):
                    crawler.speed = speed

    def _time_out(self) -> None:
        self._is_timed_out = True
        self.counts.timeouts += 1
        if self._timeout_policy == 'last':
            return
        # a later command may name some joints only: the others must not go on as they did
        self._drop_commands()
        self._robot.hold = self._timeout_policy == 'hold'

    def _drop_commands(self) -> None:
        self._robot.drop_commands()
        for crawler in self._crawlers:
            crawler.speed = 0.0

    def _change_controls(self) -> None:
        with self._lock:
            changes, self._changes = self._changes, {}
        for name, (control, kp, kd) in changes.items():
            joint = self._robot.joint(name)
            if (kp, kd) != (joint.kp, joint.kd):
                joint.kp, joint.kd = kp, kd
            if control != joint.control:
                joint.control = control

    def _accept(self, rows: np.ndarray, lists: Sequence[Sequence[float]]) -> None:
        checked = [
            (quantity, *self._checked(quantity, rows, values))
            for quantity, values in enumerate(lists) if len(values)]
        if not checked:
            raise InvalidValueError(
                'command', 'no values', 'positions, velocities or efforts, one for each name')
        is_clamped = False
        with self._lock:
            for quantity, at, values, is_beyond in checked:
                self._pending[quantity, at] = values
                self._fresh.add(quantity)
                if quantity == POSITION:
                    # velocities, if there are any, come next
                    self._pending[VELOCITY, at] = 0.0
                    self._fresh.add(VELOCITY)
                is_clamped = is_clamped or is_beyond
        self.counts.accepted += 1
        self.counts.clamped += is_clamped

    def _checked(
        self, quantity: int, rows: np.ndarray, given: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Give the rows that values are for, the values, and whether efforts had to be clamped."""
        values = np.asarray(given, dtype=float)
        if len(values) != len(rows):
            own = rows[self._main[rows] == quantity]
            if len(values) != len(own):
                raise InvalidValueError(
                    _SEVERAL[quantity], list(given),
                    f'{len(rows)} values, one {QUANTITIES[quantity]} for each name')
            rows = own
        takes = self._takes[quantity][rows]
        if not takes.all():
            raise StateError(self._refusal(int(rows[np.argmin(takes)]), quantity))
        limits = self._limits[quantity][rows]
        # one comparison in the usual case, which NaN and infinity do not pass
        if (np.abs(values) <= limits).all():
            return rows, values, False
        if not np.isfinite(values).all():
            raise InvalidValueError(
                _SEVERAL[quantity], list(given), f'finite values [{_UNITS[quantity]}]')
        return rows, np.clip(values, -limits, limits), True

    def _refusal(self, row: int, quantity: int) -> str:
        """Say why a joint or crawler does not take a quantity, and what would help."""
        name = list(self._rows)[row]
        place = f'{QUANTITIES[quantity]} of robot {self._robot.name!r}'
        if row >= self._joint_count:
            return f'{place}, crawler {name!r}: it takes a velocity, its speed [m/s], alone'
        fitting = [c for c in _TAKEN if c != CRAWLER and quantity in _TAKEN[c]]
        return (
            f'{place}, joint {name!r}: its control is {self._controls[row]!r}, which does not '
            f'take it. Set parameter control.{name} to {" or ".join(fitting)}')

    def _note_control(self, row: int, control: str) -> None:
        self._controls[row] = control
        self._main[row] = _MAIN[control]
        self._takes[:, row] = False
        self._takes[_TAKEN[control], row] = True

    def _known_rows_of(self, names: Sequence[str]) -> np.ndarray:
        if names != self._latest_names or not names:
            if not names:
                raise InvalidValueError('names', list(names), 'at least one joint name')
            self._latest_rows = self._rows_of(names)
            self._latest_names = list(names)
        return self._latest_rows

    def _rows_of(self, names: Sequence[str]) -> np.ndarray:
        place = f'robot {self._robot.name!r}'
        for name in names:
            if name not in self._rows:
                kind = 'joint or crawler' if self._crawlers else 'joint'
                raise UnknownNameError(kind, name, self._rows, place)
        if len(set(names)) != len(names):
            raise InvalidValueError('names', list(names), 'each joint once', place)
        return np.array([self._rows[name] for name in names], dtype=int)
