"""
Expressions with topic fields over time: `d(/joint_states.velocity[elbow]) * 2`.

The text is read by a token table and Python's own parser. Only arithmetic and the functions in
`FUNCTIONS` are evaluated, no other Python code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
from dataclasses import dataclass
import operator
import re
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.ros.bag.units import common, NO_UNIT, RADIAN, SECOND, Unit

_MOST_CHARACTERS = 2000
_EXPECTED = (
    'topic fields, numbers, + - * / % **, functions and parentheses, for example '
    '/joint_states.velocity[elbow]*2'
)


@dataclass(frozen=True)
class Series:
    """
    Values over time.

    times: (n,) increasing [s]. values: (n, k). labels: k column names, '' for a single column.
    units: for each column, None if unknown; () if all are unknown.
    """

    times: FloatArray
    values: FloatArray
    labels: tuple[str, ...] = ('',)
    units: tuple[Unit | None, ...] = ()

    def unit(self, column: int) -> Unit | None:
        """Return a column's unit; a single unit applies to all columns."""
        if not self.units:
            return None
        return self.units[column if len(self.units) > 1 else 0]


class Reference(NamedTuple):
    """A topic's field. topic: name as written. path: field names, and [keys]."""

    topic: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        """Return the reference as written."""
        return self.topic + ''.join(
            step if step.startswith('[') else f'.{step}' for step in self.path
        )


class Expression:
    """An expression to plot. references: fields it needs."""

    def __init__(self, text: str, functions: Mapping[str, Function] | None = None):
        """
        Read an expression, or several separated by commas; raises InvalidValueError.

        functions: functions by name; `FUNCTIONS` if None.
        """
        self.text = text.strip()
        self._functions = FUNCTIONS if functions is None else functions
        self.references: list[Reference] = []
        if len(text) > _MOST_CHARACTERS:
            raise _wrong(text, f'at most {_MOST_CHARACTERS} characters')
        words = ''.join(self._words())
        try:
            tree = ast.parse(words, mode='eval').body
        except (SyntaxError, RecursionError, MemoryError) as err:
            raise _wrong(text, _EXPECTED) from err
        self._curves = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        if not self.references:
            raise _wrong(text, 'at least one field of a topic')
        for each in self._curves:
            self._check(each)

    def evaluate(self, data: Mapping[Reference, Series]) -> Iterator[tuple[str, Series]]:
        """
        Yield each curve's name and values. data: reference values.

        If times differ, the curve has the times of the series with the most samples in the common
        interval; the others are interpolated linearly. Raises StateError without common times.
        """
        for tree in self._curves:
            found = self._value(tree, data)
            name = self._text_of(tree)
            if not isinstance(found, Series):  # from numbers alone
                raise _wrong(name, 'at least one field of a topic')
            for k, label in enumerate(found.labels):
                own = f'{name} {label}' if label else name
                yield own, Series(found.times, found.values[:, k : k + 1], units=(found.unit(k),))

    def number(self, data: Mapping[Reference, Series]) -> float:
        """
        Return a constant expression's value. data: reference values.

        Raises InvalidValueError for an expression that changes over time, and the errors of
        `evaluate`.
        """
        found = self._value(self._curves[0], data)
        if len(self._curves) > 1 or isinstance(found, Series):
            raise _wrong(self.text, 'one number, for example max(…), rms(…) or last(…) of a field')
        return float(found)

    def check_number(self) -> None:
        """
        Raise InvalidValueError if the expression is not a number, whatever was recorded.

        Errors depending on sample or column counts are not found here.
        """
        sample = Series(np.array([0.0, 1.0]), np.zeros((2, 1)))
        with contextlib.suppress(StateError):
            self.number(dict.fromkeys(self.references, sample))

    def _words(self) -> Iterator[str]:
        """Yield Python's tokens, with references replaced by names."""
        at, wants_operand = 0, True
        while at < len(self.text):
            match = (_OPERAND if wants_operand else _OPERATOR).match(self.text, at)
            if match is None:
                raise _wrong(self.text, f'{_EXPECTED}; not {self.text[at : at + 20]!r}')
            at, word = match.end(), match[0].strip()
            if match.lastgroup == 'reference':
                topic = _TOPIC.match(word)
                assert topic is not None
                reference = Reference(
                    topic[0],
                    tuple(step.lstrip('.') for step in _STEP.findall(word[topic.end() :])),
                )
                if reference not in self.references:
                    self.references.append(reference)
                word = f'_{self.references.index(reference)}'
            wants_operand = match.lastgroup == 'before'
            yield word

    def _check(self, tree: ast.expr) -> None:
        """Raise InvalidValueError or UnknownNameError for unsupported syntax."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                assert isinstance(node.func, ast.Name)  # guaranteed by the tokens
                if node.func.id not in self._functions:
                    raise UnknownNameError('function', node.func.id, self._functions, self.text)
                count, expected = len(node.args), self._functions[node.func.id].arguments
                if count not in expected:
                    raise InvalidValueError(
                        f'arguments of {node.func.id}',
                        count,
                        f'{expected.start} to {expected.stop - 1}'
                        if len(expected) > 1
                        else str(expected.start),
                        self.text,
                    )
            elif isinstance(node, ast.Tuple):
                raise _wrong(self.text, 'commas only between curves or arguments')
            elif isinstance(node, ast.Name) and not (
                node.id in CONSTANTS or node.id in self._functions or node.id.startswith('_')
            ):
                raise UnknownNameError('name', node.id, CONSTANTS, self.text)

    def _value(self, node: ast.expr, data: Mapping[Reference, Series]) -> Series | np.float64:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, (int, float))  # guaranteed by the tokens
            number: np.float64 = np.float64(node.value)
            return number
        if isinstance(node, ast.Name):
            if node.id in self._functions:
                raise _wrong(self.text, f'arguments in parentheses after {node.id}')
            if node.id in CONSTANTS:
                constant: np.float64 = np.float64(CONSTANTS[node.id])
                return constant
            return data[self.references[int(node.id[1:])]]
        if isinstance(node, ast.UnaryOp):
            return applied(_UNARY[type(node.op)], [self._value(node.operand, data)], _same)
        if isinstance(node, ast.BinOp):
            return applied(
                _BINARY[type(node.op)],
                [self._value(each, data) for each in (node.left, node.right)],
                _OF_BINARY.get(type(node.op), _same),
            )
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        values = [self._value(each, data) for each in node.args]
        function = self._functions[node.func.id]
        if function.over_time is None:
            return applied(function.of_values, values, function.of_units)
        if not isinstance(values[0], Series) and not function.takes_numbers:
            raise InvalidValueError(
                f'argument of {node.func.id}', float(values[0]), 'a field over time', self.text
            )
        return function.over_time(values[0], *values[1:])

    def _text_of(self, node: ast.expr) -> str:
        """Return a part's source text."""
        text = ast.unparse(node)
        return re.sub(r'\b_(\d+)\b', lambda at: str(self.references[int(at[1])]), text)


_Operand = Unit | float | None  # a unit, a plain number, or None for an unknown unit
_OfUnits = Callable[..., Unit | None]


def _same(*operands: _Operand) -> Unit | None:
    """Return the unit common to all operands except plain numbers."""
    return common([each for each in operands if not isinstance(each, float)])


def _plain(*operands: _Operand) -> Unit | None:
    """Return no unit, for sines and signs."""
    return NO_UNIT


def _angle(*operands: _Operand) -> Unit | None:
    return RADIAN


def _unit(operand: _Operand) -> Unit | None:
    return NO_UNIT if isinstance(operand, float) else operand


def _product(a: _Operand, b: _Operand, power: int = 1) -> Unit | None:
    """Return the unit for `a` times a power of `b`."""
    first, second = _unit(a), _unit(b)
    return None if first is None or second is None else first.times(second, power)


def _quotient(a: _Operand, b: _Operand) -> Unit | None:
    return _product(a, b, -1)


def _power(a: _Operand, b: _Operand) -> Unit | None:
    base = _unit(a)
    return base.to_the(b) if base is not None and isinstance(b, float) else None


def _root(a: _Operand) -> Unit | None:
    return _power(a, 0.5)


def _in_degrees(a: _Operand) -> Unit | None:
    return a.renamed('rad', '°') if isinstance(a, Unit) else None


def _in_radians(a: _Operand) -> Unit | None:
    return a.renamed('°', 'rad') if isinstance(a, Unit) else None


class Function(NamedTuple):
    """
    A function for expressions, applied to values or to a field over time.

    of_values: function for numbers. of_units: the result's unit from the operands' units or plain
    numbers. over_time: function for a series and further arguments. takes_numbers: whether
    over_time accepts a number in place of a series.
    """

    arguments: range
    of_values: Callable[..., FloatArray] = np.positive
    over_time: Callable[..., Series | np.float64] | None = None
    of_units: _OfUnits = _same
    takes_numbers: bool = False


def derivative(series: Series) -> Series:
    """Return the time derivative, by central differences (second order) [1/s]."""
    _need_two(series)
    slopes = [
        np.gradient(column, series.times, edge_order=2 if len(column) > 2 else 1)
        for column in series.values.T
    ]
    return Series(series.times, np.stack(slopes, 1), series.labels, _times_seconds(series, -1))


def integral(series: Series) -> Series:
    """Return the time integral from the first sample, by the trapezoidal rule [s]."""
    _need_two(series)
    steps = 0.5 * np.diff(series.times)[:, None] * (series.values[1:] + series.values[:-1])
    return Series(
        series.times,
        np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)]),
        series.labels,
        _times_seconds(series, 1),
    )


def _norm(series: Series) -> Series:
    return Series(
        series.times,
        np.linalg.norm(series.values, axis=1, keepdims=True),
        units=(common(list(series.units)),),
    )


def _times_seconds(series: Series, power: int) -> tuple[Unit | None, ...]:
    return tuple(None if unit is None else unit.times(SECOND, power) for unit in series.units)


_PLAIN_FUNCTIONS: Mapping[str, tuple[int, Callable[..., FloatArray], _OfUnits]] = {
    'abs': (1, np.abs, _same),
    'sqrt': (1, np.sqrt, _root),
    'exp': (1, np.exp, _plain),
    'log': (1, np.log, _plain),
    'sin': (1, np.sin, _plain),
    'cos': (1, np.cos, _plain),
    'tan': (1, np.tan, _plain),
    'asin': (1, np.arcsin, _angle),
    'acos': (1, np.arccos, _angle),
    'atan': (1, np.arctan, _angle),
    'degrees': (1, np.degrees, _in_degrees),
    'radians': (1, np.radians, _in_radians),
    'sign': (1, np.sign, _plain),
    'atan2': (2, np.arctan2, _angle),
    'hypot': (2, np.hypot, _same),
    'min': (2, np.minimum, _same),
    'max': (2, np.maximum, _same),
}
CONSTANTS = {'pi': np.pi, 'g': 9.80665}
FUNCTIONS: Mapping[str, Function] = {
    'd': Function(range(1, 2), over_time=derivative),
    'integral': Function(range(1, 2), over_time=integral),
    'norm': Function(range(1, 2), over_time=_norm),
    **{
        name: Function(range(count, count + 1), function, of_units=of_units)
        for name, (count, function, of_units) in _PLAIN_FUNCTIONS.items()
    },
}
"""Functions available in expressions."""

_UNARY: Mapping[type, Callable[..., FloatArray]] = {ast.UAdd: np.positive, ast.USub: np.negative}
_BINARY: Mapping[type, Callable[..., FloatArray]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
# sums, differences and remainders have the unit common to both operands
_OF_BINARY: Mapping[type, _OfUnits] = {ast.Mult: _product, ast.Div: _quotient, ast.Pow: _power}

_TOPIC = re.compile(r'/?[A-Za-z]\w*(?:/\w+)*')
_STEP = re.compile(r'\.\w+|\[[^\]]*\]')
# A slash in operand position begins a topic name; after an operand it divides.
_OPERAND = re.compile(
    r'\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'
    rf'|(?P<reference>/\w[\w/]*(?:{_STEP.pattern})*|{_TOPIC.pattern}(?:{_STEP.pattern})+)'
    r'|(?P<before>[A-Za-z]\w*\s*\(|[-+(])|(?P<name>[A-Za-z]\w*))\s*'
)
_OPERATOR = re.compile(r'\s*(?:(?P<before>\*\*|[-+*/%,])|(?P<after>\)))\s*')


def aligned(series: Sequence[Series]) -> tuple[FloatArray, list[FloatArray]]:
    """Return common times, and each series' values there; see `Expression.evaluate`."""
    first = series[0].times
    if all(np.array_equal(each.times, first) for each in series):
        return first, [each.values for each in series]
    if not all(len(each.times) for each in series):
        raise StateError('fields in an expression have no values at the same time')
    begin = max(each.times[0] for each in series)
    end = min(each.times[-1] for each in series)
    times = max(
        (each.times[(each.times >= begin) & (each.times <= end)] for each in series), key=len
    )
    if not len(times):
        raise StateError(
            'fields in an expression have no values at the same time: the last one begins at '
            f'{begin:.6g} s, the first one ends at {end:.6g} s'
        )
    return times, [
        np.stack([np.interp(times, each.times, column) for column in each.values.T], 1)
        for each in series
    ]


def applied(
    function: Callable[..., FloatArray], values: Sequence[Series | np.float64], of_units: _OfUnits
) -> Series | np.float64:
    """Apply a function to numbers and series at common times. of_units: result unit function."""
    series = [each for each in values if isinstance(each, Series)]
    with np.errstate(all='ignore'):
        # undefined values, for example 1/0, leave a gap
        if not series:
            number: np.float64 = np.float64(function(*values))
            return number
        widths = {len(each.labels) for each in series} - {1}
        if len(widths) > 1:
            raise StateError(
                f'fields with {" and ".join(map(str, sorted(widths)))} values cannot be combined: '
                'select one value of each in brackets'
            )
        times, columns = aligned(series)
        own = iter(columns)
        found = function(*(next(own) if isinstance(each, Series) else each for each in values))
    labels = max((each.labels for each in series), key=len)
    units = tuple(
        of_units(*(each.unit(k) if isinstance(each, Series) else float(each) for each in values))
        for k in range(len(labels))
    )
    return Series(times, found, labels, units)


def _need_two(series: Series) -> None:
    if len(series.times) < 2:
        raise StateError('derivatives and integrals need two values at least')


def _wrong(text: str, expected: str) -> InvalidValueError:
    return InvalidValueError('expression', text, expected)
