"""
Commands for one robot: taken from messages, applied at the start of each control step.

The executor's thread or the physics thread puts commands into the queue; the physics thread
applies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.ros.command.command_queue import CommandQueue
from sim_bridge.ros.command.command_table import (
    CommandTable,
    EFFORT,
    POSITION,
    QUANTITIES,
    VELOCITY,
)
from sim_bridge.ros.command.command_timeout import CommandTimeout
from sim_bridge.ros.command.command_writer import CommandWriter
from sim_bridge.ros.command.inputs import Following, NOT_FOLLOWING
from sim_bridge.ros.command.late_answers import LateAnswers
from sim_bridge.ros.command.statistics import CommandCounts, CommandTiming

if TYPE_CHECKING:
    from sim_bridge.robots.joints.axis import Axis
    from sim_bridge.robots.robot import Robot


class SavedCommands(NamedTuple):
    """
    Saved state of a robot's commands.

    age_ns: age of the latest command [ns]; None before the first. following: saved state of the
    trajectory follower.
    """

    age_ns: int | None
    is_timed_out: bool
    following: Any


class RobotCommands:
    """
    Applies queued commands to a robot, and the timeout policy without commands.

    `queue` checks and collects commands; all methods here are called on the physics thread.
    Commands address axes (see `axes.named_axes`), each in its control mode, and crawlers, whose
    velocity is their speed. Efforts and velocities are limited.
    """

    def __init__(
        self,
        robot: Robot,
        ordered_joints: Sequence[str],
        *,
        timeout_ns: int = 0,
        timeout_policy: str = 'hold',
        hold_until_first: bool = True,
        parameter_prefix: str = '',
        period_ns: int = 0,
    ) -> None:
        """
        Prepare for a robot, and hold it until the first command if `hold_until_first`.

        robot: axes, limits, control modes and crawlers are read once, here.
        ordered_joints: axis names for `CommandQueue.accept_ordered`; raises UnknownNameError.
        timeout_ns: simulated time without a command until it times out [ns]; 0: never.
        timeout_policy: 'zero', 'hold' or 'last'.
        parameter_prefix: prefix of the axes' parameter names, for messages.
        period_ns: expected simulated time between two commands [ns]; 0: none.
        """
        self.counts = CommandCounts()
        self.timing = CommandTiming(self.counts, period_ns, period_ns or timeout_ns)
        self._robot = robot
        self._writer = CommandWriter(robot)
        table = CommandTable(
            robot.name,
            self._writer.axes,
            [crawler.name for crawler in self._writer.crawlers],
            parameter_prefix,
        )
        self.names = table.names
        """Names of all commandable axes and crawlers."""
        order = table.rows_of(ordered_joints)
        self.joint_names = [table.names[row] for row in order]
        """Joint names for `CommandQueue.accept_ordered`, in order."""
        self._late_answers = LateAnswers()
        self.queue = CommandQueue(table, order, self.counts, self.timing, self._late_answers)
        self._timeout = CommandTimeout(timeout_ns, timeout_policy)
        self._hold_until_first = hold_until_first and not self._writer.is_of_scene
        self.following: Following = NOT_FOLLOWING
        """Trajectory follower for joints without other commands."""
        self.drops = 0
        """How often a reset or snapshot has dropped all commands."""
        self.restart(0)
        self._late_answers.forget()

    @property
    def axes(self) -> Mapping[str, Axis]:
        """The commanded axes by name."""
        return self._writer.axes

    @property
    def is_waiting(self) -> bool:
        """Whether no command has been applied since the start."""
        return self._timeout.applied_at_ns is None

    @property
    def is_timed_out(self) -> bool:
        """Whether the latest command is older than allowed."""
        return self._timeout.is_over

    def age_ns(self, time_ns: int) -> int | None:
        """Return the age of the latest command [ns]; None before the first."""
        return self._timeout.age_ns(time_ns)

    def lose_senders(self) -> None:
        """
        Apply the timeout policy in the next control step, unless a command comes before.

        This has no effect without a timeout.
        """
        if self._timeout.has_limit:
            self.queue.lose_senders(self._robot.name)

    def apply(self, time_ns: int) -> None:
        """
        Write new commands to the robot, then apply the timeout policy to an old command.

        time_ns: simulated time [ns].
        """
        self._late_answers.advance(time_ns)
        self.queue.time_ns = time_ns
        is_abandoned = False
        if self.queue.has_new:
            new = self.queue.take()
            is_abandoned = new.is_abandoned
            if new.changes:
                self._writer.change_controls(new.changes)
                self.following.refresh(new.changes)
            for request in new.requests:
                request()
            if new.commands:
                self._write(new.commands, time_ns)
        if self._timeout.is_due(time_ns, is_abandoned):
            self._time_out()
        if self.following.is_active and self._robot.hold:
            self._robot.hold = False

    def set_controls(self, controls: Mapping[str, str]) -> None:
        """Set control modes by axis, except where a servo stands for a position."""
        changes = {
            name: (control, axis.kp, axis.kd)
            for name, control in controls.items()
            for axis in [self.axes[name]]
            if control != axis.control and (control, axis.control) != ('position', 'servo')
        }
        self._writer.change_controls(changes)
        self.queue.note_controls(self.axes)
        self.following.refresh(changes)

    def shift(self, by_ns: int) -> None:
        """Continue unchanged while the simulated time jumps by this much [ns]."""
        self._late_answers.shift(by_ns)
        self._timeout.shift(by_ns)
        self.following.shift(by_ns)
        if by_ns < 0:
            # ages of earlier stamps have become meaningless
            self.timing.restart()

    def save(self, time_ns: int) -> SavedCommands:
        """Return the state for `restore`. time_ns: simulated time [ns]."""
        return SavedCommands(self.age_ns(time_ns), self.is_timed_out, self.following.save(time_ns))

    def restore(self, saved: SavedCommands, time_ns: int) -> None:
        """
        Return to a saved state after the robot was restored; drop new commands.

        time_ns: simulated time [ns], possibly different from the time of `save`.
        """
        self._drop_new(time_ns)
        self.queue.restore_controls(self.axes)
        self.following.restore(saved.following, time_ns)
        self._timeout.restore(saved.age_ns, saved.is_timed_out, time_ns)

    def restart(self, time_ns: int, reason: str = 'the simulation was reset') -> None:
        """
        Drop all commands and wait for the first; motors keep the targets from the scene file.

        time_ns: simulated time [ns]. reason: told to clients whose goals end.
        """
        self._drop_new(time_ns)
        self.following.restart(reason)
        self._writer.restart()
        self._robot.hold = self._hold_until_first
        self._timeout.restart()

    def _drop_new(self, time_ns: int) -> None:
        """Drop the queued commands, and late answers to states before this time [ns]."""
        self.drops += 1
        self.queue.clear()
        self.queue.time_ns = time_ns
        self._late_answers.expect(time_ns)

    def _write(self, commands: Mapping[int, np.ndarray], time_ns: int) -> None:
        """Write new values, by quantity; end waiting or a timeout."""
        timeout = self._timeout
        self._release_followed(commands)
        self._writer.write(commands)
        self.timing.applied(time_ns, None if timeout.is_over else timeout.applied_at_ns)
        if timeout.applied_at_ns is None or timeout.is_over:
            self._robot.hold = False
        timeout.apply(time_ns)

    def _release_followed(self, commands: Mapping[int, np.ndarray]) -> None:
        """Release commanded joints from followed trajectories."""
        if not self.following.is_aside:
            given = np.zeros((len(QUANTITIES), len(self.names)), bool)
            for quantity, values in commands.items():
                given[quantity] = ~np.isnan(values)
            self.following.give_way(given[POSITION] | given[VELOCITY], given[EFFORT])

    def _time_out(self) -> None:
        """Apply the timeout policy."""
        self._timeout.is_over = True
        self.counts.timeouts += 1
        if self._timeout.policy == 'last':
            return
        # a later command may name only some joints; the others must not continue as before
        self._writer.drop()
        # a followed trajectory must not rely on earlier targets
        self.following.refresh(())
        is_held = self._timeout.policy == 'hold'
        if self.following.is_active:
            # a followed trajectory goes on, and sets its targets in this same control step
            if is_held:
                self.following.take_rest()
        else:
            self._robot.hold = is_held and not self._writer.is_of_scene
