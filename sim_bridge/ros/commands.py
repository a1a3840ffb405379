"""
Effort commands, from messages of any quality to the efforts of a robot.

They come on the executor's thread and are applied on the physics thread; a message is applied
whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.errors import InvalidValueError, UnknownNameError

if TYPE_CHECKING:
    from sim_bridge.robot import Robot


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


class EffortCommands:
    """
    Checks effort commands and gives the latest to a robot at the start of each control step.

    `accept_named` and `accept_ordered` are called by message callbacks; `apply` and `restart` by
    the physics thread.
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

        robot: its joint names and effort limits are read here, once.
        ordered_joints: the joints of `accept_ordered`, in order; raises UnknownNameError.
        timeout_ns: simulated time [ns] without a command after which it has timed out; 0: never.
        timeout_policy: 'zero', 'hold' or 'last'.
        hold_until_first: whether the robot is held until the first command.
        """
        self.counts = CommandCounts()
        self._robot = robot
        # finite, so that an infinite effort is beyond any limit
        self._limits = np.minimum(robot.effort_limits, sys.float_info.max)
        self._joints = {name: index for index, name in enumerate(robot.joint_names)}
        self._order = self._indices(ordered_joints)
        self._timeout_ns, self._timeout_policy = timeout_ns, timeout_policy
        self._hold_until_first = hold_until_first
        # name lists seldom change from one message to the next
        self._latest_names: list[str] = []
        self._latest_indices = self._order[:0]

        # guards the two below, for no longer than it takes to copy one row
        self._lock = threading.Lock()
        self._efforts = np.zeros(len(self._joints))
        self._is_fresh = False

        self._applied_at_ns: int | None = None
        self._is_timed_out = False
        self.restart()

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints of `accept_ordered`, in order."""
        names = list(self._joints)
        return [names[index] for index in self._order]

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

    def accept_named(self, names: Sequence[str], efforts: Sequence[float]) -> None:
        """
        Take the efforts of some joints by name [N m or N]; the other joints keep theirs.

        Raises UnknownNameError or InvalidValueError, having counted and changed nothing else.
        """
        try:
            self._accept(self._indices_of(names), efforts, 'one effort for each name')
        except (UnknownNameError, InvalidValueError):
            self.counts.rejected += 1
            raise

    def accept_ordered(self, efforts: Sequence[float]) -> None:
        """Take the efforts of all ordered joints; as `accept_named` otherwise."""
        try:
            self._accept(
                self._order, efforts, f'one effort for each of {", ".join(self.joint_names)}'
            )
        except InvalidValueError:
            self.counts.rejected += 1
            raise

    def apply(self, time_ns: int) -> None:
        """
        Write the latest command to the robot, or what a timed-out one becomes.

        time_ns: simulated time [ns].
        """
        with self._lock:
            is_fresh, self._is_fresh = self._is_fresh, False
            if is_fresh:
                self._robot.u[:] = self._efforts
        if is_fresh:
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
            self._efforts[:] = 0.0
            self._is_fresh = False
        self._robot.u[:] = 0.0
        self._robot.hold = self._hold_until_first
        self._applied_at_ns = None
        self._is_timed_out = False

    def _time_out(self) -> None:
        self._is_timed_out = True
        self.counts.timeouts += 1
        if self._timeout_policy == 'last':
            return
        with self._lock:
            # a later command may name some joints only: the others must not get their old efforts
            # back
            if not self._is_fresh:
                self._efforts[:] = 0.0
        self._robot.u[:] = 0.0
        self._robot.hold = self._timeout_policy == 'hold'

    def _accept(self, indices: np.ndarray, efforts: Sequence[float], expected: str) -> None:
        values = np.asarray(efforts, dtype=float)
        if len(values) != len(indices):
            raise InvalidValueError('efforts', list(efforts), f'{len(indices)} values, {expected}')
        limits = self._limits[indices]
        # one comparison in the usual case, which NaN and infinity do not pass
        is_within = bool((np.abs(values) <= limits).all())
        if not is_within:
            if not np.isfinite(values).all():
                raise InvalidValueError('efforts', list(efforts), 'finite values [N m or N]')
            values = np.clip(values, -limits, limits)
        with self._lock:
            self._efforts[indices] = values
            self._is_fresh = True
        self.counts.accepted += 1
        self.counts.clamped += not is_within

    def _indices_of(self, names: Sequence[str]) -> np.ndarray:
        if names != self._latest_names or not names:
            if not names:
                raise InvalidValueError('names', list(names), 'at least one joint name')
            self._latest_indices = self._indices(names)
            self._latest_names = list(names)
        return self._latest_indices

    def _indices(self, names: Sequence[str]) -> np.ndarray:
        place = f'robot {self._robot.name!r}'
        for name in names:
            if name not in self._joints:
                raise UnknownNameError('joint', name, self._joints, place)
        if len(set(names)) != len(names):
            raise InvalidValueError('names', list(names), 'each joint once', place)
        return np.array([self._joints[name] for name in names], dtype=int)
