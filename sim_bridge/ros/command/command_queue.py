"""Checked commands and other inputs for a robot, waiting for the next control step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import threading
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.command.command_table import (
    CommandTable,
    EFFORT,
    POSITION,
    QUANTITIES,
    Values,
    VELOCITY,
)
from sim_bridge.ros.command.inputs import ControlChange, Input, InputNote, Request, SENDERS_LEFT
from sim_bridge.ros.command.late_answers import LateAnswers
from sim_bridge.ros.command.repeats import Repeats
from sim_bridge.ros.command.statistics import CommandCounts, CommandTiming

if TYPE_CHECKING:
    from sim_bridge.robots.joints.axis import Axis
    from sim_bridge.ros.wire.joint_state_reader import JointStateReader

Gains = tuple[str, float, float]
"""New control mode of an axis with its gains kp [N m/rad or N/m] and kd [the same times s]."""


class NewInputs(NamedTuple):
    """
    Inputs since the last control step.

    commands: (n,) new values by quantity, nan for none; one item per axis and crawler. changes:
    new control modes by axis. requests: functions to call. is_abandoned: whether the publishers of
    commands have left the graph.
    """

    commands: dict[int, np.ndarray]
    changes: Mapping[str, Gains]
    requests: Sequence[Request]
    is_abandoned: bool


class CommandQueue:
    """
    Checks commands and stores the newest value for each axis until `take`.

    A message is accepted or refused as a whole. `accept_named`, `accept_ordered`,
    `accept_fitting`, `accept_repeat` and `learn` are called by one thread at a time, `set_control`
    and `submit` on the executor's thread, `take`, `clear` and `flush` on the physics thread.
    """

    def __init__(
        self,
        table: CommandTable,
        order: np.ndarray,
        counts: CommandCounts,
        timing: CommandTiming,
        late_answers: LateAnswers,
    ) -> None:
        """
        Start empty.

        table: valid commands. order: (n,) rows of the table for `accept_ordered`. counts, timing:
        updated with each command.
        """
        self._table, self._order = table, order
        self._counts, self._timing, self._late_answers = counts, timing, late_answers
        self.refusal = ''
        """Reason for the latest rejection."""
        self.time_ns = 0
        """Simulated time of the latest control step [ns]."""
        # guards the table and everything below, while a command is checked or taken
        self._lock = threading.Lock()
        # nan: no new value
        self._pending = np.full((len(QUANTITIES), len(table.names)), np.nan)
        self._repeats = Repeats(table, self._pending)
        self._fresh: set[int] = set()
        self._changes: dict[str, Gains] = {}
        self._inputs: list[Input] = []
        # pairs: the request, and the function called instead when commands are dropped
        self._requests: list[tuple[Request, Request]] = []
        # the publishers of all commands so far have left
        self._is_abandoned = False
        self._is_recorded = False
        self._record: Callable[[list[Input]], None] = _ignore

    @property
    def has_new(self) -> bool:
        """Whether `take` returns anything; read without the lock."""
        return bool(self._fresh or self._changes or self._requests or self._is_abandoned)

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
        value for each name. As in messages from ros2_control's topic-based hardware, a list may
        instead have a value for each named axis whose control mode has the list's name (position
        also stands for servo). A position without a velocity means rest at this position.
        stamp_ns: simulated time in the stamp [ns]; 0 for none. source: input to record.

        Raises UnknownNameError or InvalidValueError, or StateError for a quantity not accepted by
        a joint; then only the count of rejected commands changes.
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

        Otherwise like `accept_named`; commands beyond the limits are not taken here.
        """
        if self._late_answers.are_possible:
            # its stamp must be read before its values are taken
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
        """Take efforts for all ordered joints; otherwise like `accept_named`."""
        with self._taking():
            if len(efforts) != len(self._order):
                joints = ', '.join(self._table.names[row] for row in self._order)
                raise InvalidValueError(
                    'efforts',
                    list(efforts),
                    f'{counted(len(self._order), "value")}, one effort for each of {joints}',
                )
            self._accept([(EFFORT, self._order, efforts)], source=source)

    def accept_fitting(
        self,
        parts: Sequence[tuple[int, Sequence[str], np.ndarray]],
        stamp_ns: int = 0,
        source: Input | None = None,
    ) -> None:
        """
        Take the commanded quantities accepted by the joints' control modes; ignore the rest.

        parts: quantity, names, (n,) values. Otherwise like `accept_named`; also raises StateError
        if no quantity is accepted.
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

    def checked_value(self, quantity: int, name: str, value: float) -> float:
        """
        Return a value for an axis within its limits, without taking it; count it if clamped.

        Raises like `accept_named`, except that no rejection is counted.
        """
        with self._lock:
            rows = self._table.rows_of([name])
            _, values, is_beyond = self._table.checked(quantity, rows, [value])
            self._counts.clamped += is_beyond
        return float(values[0])

    def limited(self, quantity: int, name: str, value: float) -> float:
        """Return a finite value for an axis within its limits."""
        return self._table.limited(quantity, name, value)

    def set_control(self, axis: str, control: str, kp: float, kd: float) -> None:
        """
        Change an axis' control mode from the next control step on, without a jerk.

        control: see `Motor.control`. kp, kd: gains for 'servo' [N m/rad or N/m, and times s].
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

        source: input to record. dropped: called instead if commands are dropped before; None: the
        request itself, so its client learns the outcome.
        """
        with self._lock:
            self._requests.append((request, dropped or request))
            self._log(source)

    def lose_senders(self, robot: str) -> None:
        """Note that the last publisher of commands has left. robot: its name, for recordings."""
        with self._lock:
            self._is_abandoned = True
            self._log(InputNote(SENDERS_LEFT, {'robot': robot}))

    def take(self) -> NewInputs:
        """Remove and return the inputs since the last call, and record them."""
        commands: dict[int, np.ndarray] = {}
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
        return NewInputs(commands, changes, [request for request, _ in requests], is_abandoned)

    def clear(self) -> None:
        """Drop commands and requests; changes of control modes remain."""
        with self._lock:
            self._pending[:] = np.nan
            self._fresh.clear()
            self._is_abandoned = False
            # changes of control modes outlive a reset
            self._inputs = [each for each in self._inputs if isinstance(each, ControlChange)]
            requests, self._requests = self._requests, []
        for _, dropped in requests:
            dropped()
        self._timing.restart()

    def note_controls(self, axes: Mapping[str, Axis]) -> None:
        """Read the axes' control modes, which other code has set."""
        with self._lock:
            self._table.note_controls(axes)

    def restore_controls(self, axes: Mapping[str, Axis]) -> None:
        """Drop changes of control modes; read the modes restored from a snapshot."""
        with self._lock:
            self._changes.clear()
            self._inputs.clear()
            self._table.note_controls(axes)

    def record_to(self, record: Callable[[list[Input]], None]) -> None:
        """
        Record all inputs from now on.

        record: called on the physics thread with the inputs since the previous step, in order.
        """
        self._record, self._is_recorded = record, True

    def flush(self) -> None:
        """Record the inputs since the last step, while no step is taken."""
        if self._inputs:
            with self._lock:
                inputs, self._inputs = self._inputs, []
            self._record(inputs)

    @contextlib.contextmanager
    def _taking(self) -> Iterator[None]:
        """Take a command while no control mode changes; count it if it is rejected."""
        with self._lock:
            try:
                yield
            except SimBridgeError:
                self._counts.rejected += 1
                raise

    def _accept(
        self,
        parts: Sequence[tuple[int, np.ndarray, Values]],
        stamp_ns: int = 0,
        source: Input | None = None,
    ) -> None:
        if self._late_answers.is_outdated(stamp_ns, self.time_ns):
            self._counts.outdated += 1
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
                # velocities in the message follow and replace this
                self._pending[VELOCITY, at] = 0.0
                self._fresh.add(VELOCITY)
            is_clamped = is_clamped or is_beyond
        self._counts.clamped += is_clamped
        self._count(stamp_ns, source)

    def _count(self, stamp_ns: int, source: Input | None) -> None:
        if source is not None:
            self._log(source)
        self._is_abandoned = False
        self._timing.arrived(stamp_ns)
        self._counts.accepted += 1

    def _log(self, each: Input) -> None:
        if self._is_recorded:
            self._inputs.append(each)


def _ignore(inputs: list[Input]) -> None:
    """Record nothing."""
