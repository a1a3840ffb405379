"""
Commands from subscribed messages to a robot's joint axes and crawlers.

The executor's thread or the physics thread takes them, and the physics thread applies them. A
message is applied as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import math
import threading
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.robots.joints import motor
from sim_bridge.ros.command.command_table import (
    CommandTable,
    EFFORT,
    POSITION,
    QUANTITIES,
    Values,
    VELOCITY,
)
from sim_bridge.ros.command.inputs import (
    ControlChange,
    Following,
    Input,
    InputNote,
    NOT_FOLLOWING,
    Request,
    SENDERS_LEFT,
)
from sim_bridge.ros.command.repeats import Repeats
from sim_bridge.ros.command.statistics import CommandCounts, CommandTiming
from sim_bridge.ros.publish.axes import named_axes, running_crawlers

if TYPE_CHECKING:
    from sim_bridge.robots.joints.axis import Axis
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.wire.joint_state_reader import JointStateReader


# for how long after a reset answers to states of before it may still come [ns]
_LATE_NS = 1_000_000_000


class SavedCommands(NamedTuple):
    """
    The saved state of a robot's commands.

    age_ns: how long the latest command has been in force [ns]; None before the first. following:
    saved state of the trajectory follower.
    """

    age_ns: int | None
    is_timed_out: bool
    following: Any


class RobotCommands:
    """
    Checks commands, and applies new ones to a robot at the start of each control step.

    `accept_named`, `accept_ordered` and `accept_fitting` are called by one thread at a time,
    `set_control` on the executor's thread, `apply` and `restart` on the physics thread. Commands
    are for axes (see `axes.named_axes`), each according to its control, and for crawlers, whose
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
        Prepare for a robot, and hold it if so told.

        robot: its axes, with their limits and controls, and its crawlers are read here, once.
        ordered_joints: the axes of `accept_ordered`, in order; raises UnknownNameError.
        timeout_ns: simulated time [ns] without a command after which it has timed out; 0: never.
        timeout_policy: 'zero', 'hold' or 'last'.
        hold_until_first: whether the robot is held until the first command.
        parameter_prefix: before an axis' name in those of parameters, for messages.
        period_ns: simulated time [ns] between two commands that is expected; 0: none is.
        """
        self.counts = CommandCounts()
        self.refusal = ''
        """Why the last command that was rejected was."""
        self.timing = CommandTiming(self.counts, period_ns, period_ns or timeout_ns)
        self._robot = robot
        self.axes = named_axes(robot)
        """What has a control, by name."""
        self._crawlers = running_crawlers(robot)
        self._table = CommandTable(
            robot.name, self.axes, [crawler.name for crawler in self._crawlers], parameter_prefix
        )
        self._order = self._table.rows_of(ordered_joints)
        # the robot takes the commands of these at once; others are handed to each axis
        self._joint_count = len(robot.joint_names)
        self._others = list(enumerate(self.axes.values()))[self._joint_count :]
        self._timeout_ns, self._timeout_policy = timeout_ns, timeout_policy
        # the motors of such a scene go on without commands
        self._scene = next(
            (scene for scene in robot.world.openplx.values() if robot.name in scene.record.robots),
            None,
        )
        self._hold_until_first = hold_until_first and self._scene is None

        # guards what can be commanded and all below, while a command is checked or handed over
        self._lock = threading.Lock()
        # nan: no new value
        self._pending = np.full((len(QUANTITIES), len(self._table.names)), np.nan)
        self._repeats = Repeats(self._table, self._pending)
        self._fresh: set[int] = set()
        self._changes: dict[str, tuple[str, float, float]] = {}
        self._inputs: list[Input] = []
        # with what is done instead where commands are dropped
        self._requests: list[tuple[Request, Request]] = []
        # the publishers of all commands so far have left
        self._is_abandoned = False

        self.following: Following = NOT_FOLLOWING
        """Commands the joints that nothing else does."""
        self._is_recorded = False
        self._record: Callable[[list[Input]], None] = _ignore
        self._applied_at_ns: int | None = None
        self._is_timed_out = False
        self.time_ns = 0
        """Simulated time of the latest control step that began [ns], for requests."""
        self._jumped_by_ns = 0
        self._own_targets = [] if self._scene is not None else _moving_targets(self.axes)
        # times before and after the last reset; None once nothing of before it can come
        self._reset: tuple[int, int] | None = None
        self.drops = 0
        """How often all commands were dropped, by resets and snapshots."""
        self.restart(0)
        self._reset = None

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints of `accept_ordered`, in order."""
        return [self._table.names[row] for row in self._order]

    @property
    def names(self) -> list[str]:
        """Names of all axes and crawlers that can be commanded."""
        return self._table.names

    @property
    def is_waiting(self) -> bool:
        """Whether no command has been applied since the start."""
        return self._applied_at_ns is None

    @property
    def is_timed_out(self) -> bool:
        """Whether the latest command is older than allowed."""
        return self._is_timed_out

    def age_ns(self, time_ns: int) -> int | None:
        """Return how long the latest command has been in force [ns]; None before the first."""
        applied_at = self._applied_at_ns
        return None if applied_at is None else time_ns - applied_at

    def accept_named(
        self,
        names: Sequence[str],
        position: Values = (),
        velocity: Values = (),
        effort: Values = (),
        stamp_ns: int = 0,
        source: Input | None = None,
    ) -> None:
        """
        Take a command for some axes and crawlers; the others keep their commands.

        position [rad or m], velocity [rad/s or m/s], effort [N m or N]: each is empty or has a
        value for each name. As in messages of ros2_control's topic-based hardware, a list may
        instead have a value for each of the named axes whose control has the name of the list
        (position also stands for servo). A position without a velocity means rest at that
        position. stamp_ns: simulated time of the stamp [ns]; 0 for none. source: what to record of
        the command.

        Raises UnknownNameError or InvalidValueError, or StateError for a quantity that a joint
        does not take; then only the count of rejected commands changes.
        """
        with self._taking():
            rows = self._table.known_rows_of(names)
            self._accept(
                [(q, rows, v) for q, v in enumerate((position, velocity, effort))],
                stamp_ns,
                source,
            )

    def accept_repeat(self, data: bytes, source: Input | None = None) -> bool:
        """
        Take a serialized joint state if it is similar to the learnt one; return whether it was.

        Otherwise as `accept_named`; a command beyond the limits is not taken here.
        """
        if self._reset is not None:
            # its stamp has to be looked at before its values are taken
            return False
        with self._lock:
            stamp_ns, quantities = self._repeats.take(data)
            if stamp_ns >= 0:
                self._fresh |= quantities
                self._count(stamp_ns, source)
        return stamp_ns >= 0

    def learn(self, data: bytes, reader: JointStateReader, names: Sequence[str]) -> None:
        """Learn an accepted serialized joint state as the template for similar ones."""
        with self._lock:
            self._repeats.learn(data, reader, names)

    def accept_ordered(self, efforts: Values, source: Input | None = None) -> None:
        """Take the efforts of all ordered joints; otherwise as `accept_named`."""
        with self._taking():
            if len(efforts) != len(self._order):
                raise InvalidValueError(
                    'efforts',
                    list(efforts),
                    f'{counted(len(self._order), "value")}, one effort for each of '
                    f'{", ".join(self.joint_names)}',
                )
            self._accept([(EFFORT, self._order, efforts)], source=source)

    def accept_fitting(
        self,
        parts: Sequence[tuple[int, Sequence[str], np.ndarray]],
        stamp_ns: int = 0,
        source: Input | None = None,
    ) -> None:
        """
        Take the commanded quantities that the joints' controls accept; ignore the rest.

        parts: quantity, names and (n,) their values. Otherwise as `accept_named`; also raises
        StateError if no quantity is accepted.
        """
        with self._taking():
            fitting, refused = [], None
            for quantity, names, values in parts:
                rows = self._table.rows_of(names)
                takes = self._table.takes[quantity][rows]
                fitting.append((quantity, rows[takes], values[takes]))
                if refused is None and not takes.all():
                    refused = int(rows[np.argmin(takes)]), quantity
            if refused is not None and not any(len(rows) for _, rows, _ in fitting):
                raise StateError(self._table.refusal(*refused))
            self._accept(fitting, stamp_ns, source)

    def set_control(self, axis: str, control: str, kp: float, kd: float) -> None:
        """
        Change the control of an axis from the next control step on, without a jerk.

        control: as `Motor.control`; kp, kd: gains of 'servo' [N m/rad or N/m, and times s].
        """
        with self._lock:
            row = self._table.note_control(axis, control)
            if row is not None:
                self._pending[:EFFORT, row] = np.nan
            self._changes[axis] = control, kp, kd
            self._log(ControlChange(axis, control, kp, kd))

    def submit(self, request: Request, source: Input, dropped: Request | None = None) -> None:
        """
        Queue a function for the start of the next control step, after earlier inputs.

        source: what to record of it. dropped: is called instead if commands are dropped before;
        None: the request itself, whose client learns how it ended.
        """
        with self._lock:
            self._requests.append((request, dropped or request))
            self._log(source)

    def lose_senders(self) -> None:
        """
        Apply the timeout policy in the next control step, unless a command comes before.

        It does nothing where there is no timeout.
        """
        if self._timeout_ns:
            with self._lock:
                self._is_abandoned = True
                self._log(InputNote(SENDERS_LEFT, {'robot': self._robot.name}))

    def apply(self, time_ns: int) -> None:
        """
        Write new commands to the robot, then apply the timeout policy if they are over.

        time_ns: simulated time [ns].
        """
        if self._reset is not None and time_ns > self._reset[1] + _LATE_NS:
            self._reset = None
        commands: dict[int, np.ndarray] = {}
        self.time_ns = time_ns
        is_abandoned = False
        if self._fresh or self._changes or self._requests or self._is_abandoned:
            with self._lock:
                is_abandoned, self._is_abandoned = self._is_abandoned, False
                changes, self._changes = self._changes, {}
                inputs, self._inputs = self._inputs, []
                requests, self._requests = self._requests, []
                for quantity in self._fresh:
                    commands[quantity] = self._pending[quantity].copy()
                    self._pending[quantity] = np.nan
                self._fresh.clear()
            self._record(inputs)
            self._change_controls(changes)
            for request, _ in requests:
                request()
        if commands:
            self._give_way(commands)
            self._write(commands)
            self.timing.applied(time_ns, None if self._is_timed_out else self._applied_at_ns)
            if self._applied_at_ns is None or self._is_timed_out:
                self._robot.hold = False
            self._applied_at_ns, self._is_timed_out = time_ns, False
        if (
            self._timeout_ns
            and self._applied_at_ns is not None
            and not self._is_timed_out
            and (is_abandoned or time_ns - self._applied_at_ns >= self._timeout_ns)
        ):
            self._time_out()
        if self.following.is_active and self._robot.hold:
            self._robot.hold = False

    def record_to(self, record: Callable[[list[Input]], None]) -> None:
        """
        Record all inputs from now on.

        record: gets the inputs since the previous step, in order; called on the physics thread.
        """
        self._record, self._is_recorded = record, True

    def flush(self) -> None:
        """Record the inputs since the last step, while no step is taken."""
        if self._inputs:
            with self._lock:
                inputs, self._inputs = self._inputs, []
            self._record(inputs)

    def shift(self, by_ns: int) -> None:
        """Continue unchanged while the simulated time jumps by this much [ns]."""
        self._jumped_by_ns = by_ns
        if self._applied_at_ns is not None:
            self._applied_at_ns += by_ns
        self.following.shift(by_ns)
        if by_ns < 0:
            # ages of earlier stamps are meaningless now
            self.timing.restart()

    def _expect_late(self, time_ns: int) -> None:
        """
        Drop from now on what answers a state of before a reset to this time [ns].

        A controller's answer may come after the reset, and would be the first command then.
        """
        self.time_ns = time_ns
        self._reset = time_ns - self._jumped_by_ns, time_ns

    def _is_outdated(self, stamp_ns: int) -> bool:
        """Return whether a stamp [ns] is of before the last reset; 0: there is none."""
        if self._reset is None or not stamp_ns:
            return False
        before, after = self._reset
        if not before - _LATE_NS < stamp_ns <= before:
            return False
        # where the clock was set back, it is of the time that it is nearer to
        return before < after or before - stamp_ns < stamp_ns - self.time_ns

    def save(self, time_ns: int) -> SavedCommands:
        """Return the state for `restore`; time_ns: simulated time [ns]."""
        return SavedCommands(
            self.age_ns(time_ns), self._is_timed_out, self.following.save(time_ns)
        )

    def restore(self, saved: SavedCommands, time_ns: int) -> None:
        """
        Return to a saved state, with the robot as it was then; drop new commands.

        time_ns: simulated time [ns], which may differ from that of `save`.
        """
        self._forget_new()
        self._expect_late(time_ns)
        with self._lock:
            self._changes.clear()
            self._inputs.clear()
            self._table.note_controls(self.axes)
        self.following.restore(saved.following, time_ns)
        self._applied_at_ns = None if saved.age_ns is None else time_ns - saved.age_ns
        self._is_timed_out = saved.is_timed_out

    def restart(self, time_ns: int, reason: str = 'the simulation was reset') -> None:
        """
        Drop all commands and wait for the first; the motors' targets are those of the scene.

        reason: for clients whose goals end.
        """
        self._forget_new()
        self._expect_late(time_ns)
        self.following.restart(reason)
        self._drop_commands()
        for axis, control, quantity, target in self._own_targets:
            if axis.control == control:
                _command(axis, quantity, target)
        self._robot.hold = self._hold_until_first
        self._applied_at_ns = None
        self._is_timed_out = False

    def _forget_new(self) -> None:
        self.drops += 1
        with self._lock:
            self._pending[:] = np.nan
            self._fresh.clear()
            self._is_abandoned = False
            # changes of controls outlive a reset
            self._inputs = [each for each in self._inputs if isinstance(each, ControlChange)]
            requests, self._requests = self._requests, []
        for _, dropped in requests:
            dropped()
        self.timing.restart()

    def _write(self, commands: Mapping[int, np.ndarray]) -> None:
        """Write new values, by quantity, to axes and crawlers; nan: no new value."""
        count = self._joint_count
        given = {QUANTITIES[quantity]: values[:count] for quantity, values in commands.items()}
        self._robot.set_commands(**given)
        for row, axis in self._others:
            for quantity, values in commands.items():
                if not math.isnan(values[row]):
                    _command(axis, quantity, values[row])
        if self._crawlers and VELOCITY in commands:
            speeds = commands[VELOCITY][len(self.axes) :]
            for crawler, speed in zip(self._crawlers, speeds, strict=True):
                if not math.isnan(speed):
                    crawler.speed = speed

    def _time_out(self) -> None:
        self._is_timed_out = True
        self.counts.timeouts += 1
        if self._timeout_policy == 'last':
            return
        # a later command may name only some joints: the others must not continue as before
        self._drop_commands()
        # what goes on must not rely on earlier targets
        self.following.refresh(())
        is_held = self._timeout_policy == 'hold'
        if self.following.is_active:
            # what follows a trajectory goes on, and is told where in this same control step
            if is_held:
                self.following.take_rest()
        else:
            self._robot.hold = is_held and self._scene is None

    def _give_way(self, commands: Mapping[int, np.ndarray]) -> None:
        """Release commanded joints from the trajectories that they follow."""
        if not self.following.is_aside:
            given = np.zeros((len(QUANTITIES), len(self._table.names)), bool)
            for quantity, values in commands.items():
                given[quantity] = ~np.isnan(values)
            self.following.give_way(given[POSITION] | given[VELOCITY], given[EFFORT])

    def _drop_commands(self) -> None:
        self._robot.drop_commands()
        for _, axis in self._others:
            axis.drop_command()
        for crawler in self._crawlers:
            crawler.speed = 0.0
        if self._scene is not None:
            self._scene.restart(self._robot.name)

    def _change_controls(self, changes: Mapping[str, tuple[str, float, float]]) -> None:
        for name, (control, kp, kd) in changes.items():
            axis = self.axes[name]
            if (kp, kd) != (axis.kp, axis.kd):
                axis.kp, axis.kd = kp, kd
            if control != axis.control:
                axis.control = control
        if changes:
            self.following.refresh(changes)

    @contextlib.contextmanager
    def _taking(self) -> Iterator[None]:
        """Take a command while no control changes; count it if it is rejected."""
        with self._lock:
            try:
                yield
            except SimBridgeError:
                self.counts.rejected += 1
                raise

    def _accept(
        self,
        parts: Sequence[tuple[int, np.ndarray, Values]],
        stamp_ns: int = 0,
        source: Input | None = None,
    ) -> None:
        if self._is_outdated(stamp_ns):
            self.counts.outdated += 1
            return
        checked = [
            (quantity, *self._table.checked(quantity, rows, values))
            for quantity, rows, values in parts
            if len(values)
        ]
        if not checked:
            raise InvalidValueError(
                'command', 'no values', 'positions, velocities or efforts, one for each name'
            )
        is_clamped = False
        for quantity, at, values, is_beyond in checked:
            self._pending[quantity, at] = values
            self._fresh.add(quantity)
            if quantity == POSITION:
                # velocities, if there are any, come next
                self._pending[VELOCITY, at] = 0.0
                self._fresh.add(VELOCITY)
            is_clamped = is_clamped or is_beyond
        self.counts.clamped += is_clamped
        self._count(stamp_ns, source)

    def _count(self, stamp_ns: int, source: Input | None) -> None:
        if source is not None:
            self._log(source)
        self._is_abandoned = False
        self.timing.arrived(stamp_ns)
        self.counts.accepted += 1

    def _log(self, each: Input) -> None:
        if self._is_recorded:
            self._inputs.append(each)


def _ignore(inputs: list[Input]) -> None:
    """Record nothing."""


def _command(axis: Axis, quantity: int, value: float) -> None:
    """Set an effort or a target, which has already been checked."""
    if quantity == EFFORT:
        axis.u = value
    else:
        column = motor.POSITION if quantity == POSITION else motor.VELOCITY
        axis.write_target(column, value)


def _moving_targets(axes: Mapping[str, Axis]) -> list[tuple[Axis, str, int, float]]:
    """
    List the targets that a scene has set, those of motors at rest left out.

    Each with its axis, and the control and quantity it is for. A start or a reset is no command,
    and leaves them.
    """
    found = []
    for axis in axes.values():
        if axis.control == 'velocity':
            quantity, target, rest = VELOCITY, axis.target_velocity, 0.0
        else:
            quantity, target, rest = POSITION, axis.target_position, axis.q
        if axis.control != 'effort' and target != rest:
            found.append((axis, axis.control, quantity, target))
    return found
