"""Commandable quantities of a robot, and the check of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.robots.joints.axis import Axis

# values for a quantity, one per name
Values = Sequence[float] | np.ndarray

# commanded quantities, in the row order of pending commands
POSITION, VELOCITY, EFFORT = range(3)
QUANTITIES = ('position', 'velocity', 'effort')
_SEVERAL = ('positions', 'velocities', 'efforts')
_GREATEST = 1e9
"""Limit for axes without one: greater values are mistakes, yet far from overflow."""
_UNITS = ('rad or m', 'rad/s or m/s', 'N m or N')

# by control mode of an axis: the quantity it is named after, and all accepted quantities
CRAWLER = 'crawler'
_MAIN = {
    'effort': EFFORT,
    'velocity': VELOCITY,
    'position': POSITION,
    'servo': POSITION,
    CRAWLER: VELOCITY,
}
_TAKEN = {
    'effort': (EFFORT,),
    'velocity': (VELOCITY, EFFORT),
    'position': (POSITION, VELOCITY, EFFORT),
    'servo': (POSITION, VELOCITY, EFFORT),
    CRAWLER: (VELOCITY,),
}


class CommandTable:
    """Accepted quantities and limits: one row per axis, then one per crawler."""

    def __init__(
        self,
        robot_name: str,
        axes: Mapping[str, Axis],
        crawlers: Sequence[str],
        parameter_prefix: str,
    ) -> None:
        """
        Read the limits and control modes of the axes.

        robot_name: for messages. parameter_prefix: prefix of the axes' parameter names, for
        messages.
        """
        self._robot_name, self._parameter_prefix = robot_name, parameter_prefix
        self._axis_count = len(axes)
        self.names = [*axes, *crawlers]
        """Names by row."""
        self._rows = {name: row for row, name in enumerate(self.names)}
        shape = len(QUANTITIES), len(self.names)
        # finite, so that an infinite value is beyond any limit
        self._upper = np.full(shape, _GREATEST)
        self._controls = [CRAWLER] * len(self.names)
        self._main = np.full(len(self.names), _MAIN[CRAWLER])
        self.takes = np.zeros(shape, bool)
        """(3, n) whether each row accepts each quantity."""
        self.takes[_TAKEN[CRAWLER], :] = True
        for row, axis in enumerate(axes.values()):
            self._upper[EFFORT, row] = min(axis.effort_limit, _GREATEST)
            self._upper[VELOCITY, row] = min(axis.velocity_limit, _GREATEST)
        self._lower = -self._upper
        for row, axis in enumerate(axes.values()):
            self._lower[EFFORT, row] = max(axis.lower_effort_limit, -_GREATEST)
        self.changes = 0
        """Number of changes to `takes`."""
        self.note_controls(axes)
        self._latest_names: list[str] = []
        self._latest_rows = np.zeros(0, dtype=int)
        # limits for the latest rows, for quantities accepted by all of them
        self._latest_limits: dict[int, np.ndarray] = {}

    def note_controls(self, axes: Mapping[str, Axis]) -> None:
        """Update the control modes of all axes."""
        for name, axis in axes.items():
            self.note_control(name, axis.control)

    def note_control(self, name: str, control: str) -> int | None:
        """Update an axis' control mode; return its row if the mode changed, else None."""
        row = self._rows[name]
        if control == self._controls[row]:
            return None
        self.changes += 1
        self._controls[row] = control
        self._main[row] = _MAIN[control]
        self.takes[:, row] = False
        self.takes[_TAKEN[control], row] = True
        self._latest_limits = {}
        return row

    def known_rows_of(self, names: Sequence[str]) -> np.ndarray:
        """Return the rows for names, cached since names seldom change between messages."""
        if names != self._latest_names or not names:
            if not names:
                raise InvalidValueError('names', list(names), 'at least one joint name')
            self._latest_rows, self._latest_limits = self.rows_of(names), {}
            self._latest_names = list(names)
        return self._latest_rows

    def known_limits(
        self, names: Sequence[str], quantities: Sequence[int]
    ) -> tuple[np.ndarray, list[np.ndarray]] | None:
        """Return rows and limits for the latest names if all accept the quantities; else None."""
        known = self._latest_limits
        if names != self._latest_names or not all(each in known for each in quantities):
            return None
        return self._latest_rows, [known[each] for each in quantities]

    def rows_of(self, names: Sequence[str]) -> np.ndarray:
        """Return rows for names; raises UnknownNameError, InvalidValueError for repeated ones."""
        place = f'robot {self._robot_name!r}'
        for name in names:
            if name not in self._rows:
                kind = 'joint or crawler' if len(self.names) > self._axis_count else 'joint'
                raise UnknownNameError(kind, name, self._rows, place)
        if len(set(names)) != len(names):
            raise InvalidValueError('names', list(names), 'each joint once', place)
        return np.array([self._rows[name] for name in names], dtype=int)

    def checked(
        self, quantity: int, rows: np.ndarray, given: Values
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """
        Return rows, their values, and whether values were clamped.

        Raises InvalidValueError for invalid values, StateError for a quantity not accepted by a
        joint.
        """
        values = np.asarray(given, dtype=float)
        # usual case: the same names as before, a quantity accepted by all, values within limits
        # (false for NaN and infinity)
        known = self._latest_limits
        if rows is self._latest_rows and len(values) == len(rows):
            limits = known.get(quantity)
            if limits is not None and (np.abs(values) <= limits).all():
                return rows, values, False
        if len(values) != len(rows):
            own = rows[self._main[rows] == quantity]
            if len(values) != len(own):
                raise InvalidValueError(
                    _SEVERAL[quantity],
                    values.tolist(),
                    f'{len(rows)} value{"s" * (len(rows) != 1)}, one {QUANTITIES[quantity]} for '
                    'each name',
                )
            rows = own
        takes = self.takes[quantity][rows]
        if not takes.all():
            raise StateError(self.refusal(int(rows[np.argmin(takes)]), quantity))
        lower, upper = self._lower[quantity][rows], self._upper[quantity][rows]
        # symmetric limits within both bounds
        limits = np.minimum(-lower, upper)
        if rows is self._latest_rows:
            known[quantity] = limits
        if (np.abs(values) <= limits).all():
            return rows, values, False
        if not np.isfinite(values).all():
            wrong = int(np.argmin(np.isfinite(values)))
            raise InvalidValueError(
                _SEVERAL[quantity],
                values[wrong],
                f'finite values [{_UNITS[quantity]}]',
                f'{self.names[rows[wrong]]!r} of robot {self._robot_name!r}',
            )
        within = np.clip(values, lower, upper)
        return rows, within, bool((within != values).any())

    def limited(self, quantity: int, name: str, value: float) -> float:
        """Return a finite value for an axis within its limits."""
        row = self._rows[name]
        return float(min(max(value, self._lower[quantity, row]), self._upper[quantity, row]))

    def refusal(self, row: int, quantity: int) -> str:
        """Return why an axis or crawler does not accept a quantity, and a remedy."""
        name = self.names[row]
        place = f'{QUANTITIES[quantity]} of robot {self._robot_name!r}'
        if row >= self._axis_count:
            return f'{place}, crawler {name!r}: it takes only a velocity, its speed [m/s]'
        fitting = [c for c in _TAKEN if c != CRAWLER and quantity in _TAKEN[c]]
        parameter = f'control.{self._parameter_prefix}{name}'
        return (
            f'{place}, joint {name!r}: its control is {self._controls[row]!r}, which does not '
            f'take it. Set parameter {parameter} to {" or ".join(fitting)}: at the start by '
            f'`sim_bridge run … -p {parameter}:={fitting[0]}`, later by `ros2 param set`'
        )
