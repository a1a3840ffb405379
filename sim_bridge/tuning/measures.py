"""
Motion measures, as text: 'rms(error[elbow]) + 0.01 * peak(effort[elbow])'.

A measure is an arithmetic expression with signals over time, reduced to one number. The text is
parsed as Python and evaluated here node by node; no Python function named in it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
import operator
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

SIGNALS = ('position', 'velocity', 'effort', 'target', 'error')
"""Joint signals: [rad or m], [per s], [N m or N]; error: target - position."""
TIME = 'time'

_LONGEST = 2000
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_COMPARISONS = {ast.LtE: '<=', ast.GtE: '>='}

Signals = Mapping[str, Any]
"""'time': (T,) [s]; other signals by joint, each (S, T) for S worlds."""


def _settling(values: FloatArray, band: FloatArray, times: FloatArray) -> FloatArray:
    """Return the first time after the last value outside ±band; at most the last time."""
    outside = np.abs(values) > band
    last = outside.shape[-1] - 1 - np.argmax(outside[..., ::-1], axis=-1)
    settled = times[np.minimum(last + 1, len(times) - 1)]
    return np.where(outside.any(axis=-1), settled, times[0])


_ALONG_TIME: dict[str, Callable[[FloatArray], FloatArray]] = {
    'rms': lambda x: np.sqrt(np.mean(x**2, axis=-1)),
    'mean': lambda x: np.mean(x, axis=-1),
    'peak': lambda x: np.max(np.abs(x), axis=-1),
    'max': lambda x: np.max(x, axis=-1),
    'min': lambda x: np.min(x, axis=-1),
    'final': lambda x: x[..., -1],
}
_EACH: dict[str, Callable[[Any], Any]] = {
    'abs': np.abs,
    'sqrt': np.sqrt,
    'exp': np.exp,
    'log': np.log,
}
FUNCTIONS = (*_ALONG_TIME, 'integral', 'settling', *_EACH)


class Measure:
    """Measure from its text; joints: referenced names."""

    def __init__(self, text: str, place: str) -> None:
        """Parse a text; raises InvalidValueError, UnknownNameError listing the known names."""
        self.text, self.place = text, place
        self._root = _parsed(text, place)
        self.joints: set[str] = set()
        self._check(self._root)

    def __repr__(self) -> str:
        """Show the text."""
        return f'<Measure {self.text!r}>'

    def of(self, signals: Signals) -> FloatArray:
        """Return the measure (S,) for S worlds; raises InvalidValueError for a time series."""
        with np.errstate(all='ignore'):
            value = np.asarray(self._value(self._root, signals), float)
        worlds = len(next(iter(signals['position'].values())))
        if value.ndim == 0:
            return np.full(worlds, float(value))
        if value.shape != (worlds,):
            raise InvalidValueError(
                'measure',
                self.text,
                'one number of a motion: reduce signals by '
                + ', '.join((*_ALONG_TIME, 'integral', 'settling')),
                self.place,
            )
        return value

    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            self._check(node.left)
            self._check(node.right)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            self._check(node.operand)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return
        elif isinstance(node, ast.Name):
            if node.id in SIGNALS:
                raise InvalidValueError(
                    'measure', self.text, f'a joint in brackets: {node.id}[JOINT]', self.place
                )
            if node.id != TIME:
                raise UnknownNameError('signal', node.id, (TIME, *SIGNALS), self.place)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id not in SIGNALS:
                raise UnknownNameError('signal', node.value.id, SIGNALS, self.place)
            self.joints.add(self._joint(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in FUNCTIONS:
                raise UnknownNameError('function', node.func.id, FUNCTIONS, self.place)
            wanted = 2 if node.func.id == 'settling' else 1
            if len(node.args) != wanted or node.keywords:
                raise InvalidValueError(
                    'measure',
                    self.text,
                    f'{node.func.id} of '
                    + ('a signal and a band' if wanted == 2 else 'one signal'),
                    self.place,
                )
            for each in node.args:
                self._check(each)
        else:
            raise InvalidValueError(
                'measure',
                ast.unparse(node),
                f'numbers, signals as position[JOINT], + - * / ** and {", ".join(FUNCTIONS)}',
                self.place,
            )

    def _joint(self, node: ast.Subscript) -> str:
        index = node.slice
        if isinstance(index, ast.Name):
            return index.id
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return index.value
        raise InvalidValueError(
            'joint',
            ast.unparse(index),
            'a name, quoted if it contains characters other than letters, digits and _',
            self.place,
        )

    def _value(self, node: ast.AST, signals: Signals) -> Any:
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, signals), self._value(node.right, signals)
            if np.ndim(left) == 1 and np.ndim(right) == 2 and len(left) == len(right):
                left = left[:, np.newaxis]
            if np.ndim(right) == 1 and np.ndim(left) == 2 and len(right) == len(left):
                right = right[:, np.newaxis]
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            return _SIGNS[type(node.op)](self._value(node.operand, signals))
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return signals[TIME][np.newaxis]
        if isinstance(node, ast.Subscript):
            assert isinstance(node.value, ast.Name)
            return signals[node.value.id][self._joint(node)]
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        name, values = node.func.id, [self._value(each, signals) for each in node.args]
        if name in _EACH:
            return _EACH[name](values[0])
        if np.ndim(values[0]) != 2:
            raise InvalidValueError(
                'measure', ast.unparse(node), f'{name} of a signal over time', self.place
            )
        if name == 'integral':
            return trapezoid(values[0], signals[TIME], axis=-1)
        if name == 'settling':
            band = np.asarray(values[1])
            return _settling(
                values[0], band[:, np.newaxis] if band.ndim == 1 else band, signals[TIME]
            )
        return _ALONG_TIME[name](values[0])


class Constraint:
    """Measure with an upper or lower bound: 'peak(effort[elbow]) <= 40'."""

    def __init__(self, text: str, place: str) -> None:
        """Parse a text; raises the errors of `Measure`."""
        root = _parsed(text, place)
        expected = "a measure and a number: 'peak(effort[JOINT]) <= 40'"
        if not isinstance(root, ast.Compare) or len(root.ops) != 1:
            raise InvalidValueError('constraint', text, expected, place)
        kind, bound = _COMPARISONS.get(type(root.ops[0])), root.comparators[0]
        sign = 1.0
        if isinstance(bound, ast.UnaryOp) and isinstance(bound.op, ast.USub):
            sign, bound = -1.0, bound.operand
        if (
            kind is None
            or not isinstance(bound, ast.Constant)
            or type(bound.value) not in (int, float)
        ):
            raise InvalidValueError('constraint', text, expected, place)
        self.text = text
        self.measure = Measure(ast.unparse(root.left), place)
        self.bound = sign * float(bound.value)  # type: ignore[arg-type]
        self.is_upper = kind == '<='

    def __repr__(self) -> str:
        """Show the text."""
        return f'<Constraint {self.text!r}>'

    def holds(self, value: float) -> bool:
        """Return whether a measure value is allowed."""
        return bool(value <= self.bound if self.is_upper else value >= self.bound)


def _parsed(text: str, place: str) -> ast.expr:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InvalidValueError('measure', text, 'a text such as rms(error[JOINT])', place)
    try:
        return ast.parse(text.strip(), mode='eval').body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        reason = err.msg if isinstance(err, SyntaxError) else type(err).__name__
        raise InvalidValueError(
            'measure', text, f'an expression such as rms(error[JOINT]) ({reason})', place
        ) from err
