"""
Success criteria for runs.

A measure is an expression as in `sim_bridge plot`, reduced to a number by a function from
`reductions`: `max(abs(joint_states.position[elbow] - 0.5))`. A criterion compares measures and
inputs by name: `overshoot < 0.1 and settled < 1`. Operator tables evaluate both; no
Python code is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
import math
import operator
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

_EXPECTED = (
    'comparisons of measures, inputs and numbers by < <= > >= == !=, with and, or, not, + - * / '
    '**, abs, min, max and parentheses, such as overshoot < 0.1 and settled < 1'
)
_MOST_CHARACTERS = 2000

_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_UNARY: Mapping[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARED: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {'abs': abs, 'min': min, 'max': max}
_CONSTANTS = {'pi': math.pi, 'inf': math.inf, 'true': True, 'false': False}


class Criterion:
    """Success criterion over a run's measures and inputs."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        """Parse; names: measures and inputs. Raises InvalidValueError, UnknownNameError."""
        self.text = text
        if len(text) > _MOST_CHARACTERS:
            raise _wrong(text)
        try:
            self._tree = ast.parse(text.strip(), mode='eval').body
        except (SyntaxError, RecursionError, MemoryError, ValueError) as err:
            raise _wrong(text) from err
        self._check(self._tree, list(names))
        self._check_truth(self._tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether the criterion holds; False if a named value is NaN."""
        named = [
            values.get(each.id) for each in ast.walk(self._tree) if isinstance(each, ast.Name)
        ]
        if any(isinstance(each, float) and math.isnan(each) for each in named):
            return False
        try:
            return bool(self._value(self._tree, values))
        except (ZeroDivisionError, OverflowError, ValueError):
            return False
        except TypeError as err:
            raise InvalidValueError('criterion', self.text, f'{_EXPECTED} ({err})') from err

    def _check(self, tree: ast.expr, names: list[str]) -> None:
        called = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                if not isinstance(node.func, ast.Name) or node.keywords or not node.args:
                    raise _wrong(self.text)
                if node.func.id not in _FUNCTIONS:
                    raise UnknownNameError('function', node.func.id, _FUNCTIONS, self.text)
            elif isinstance(node, ast.Name):
                if id(node) not in called and node.id not in names and node.id not in _CONSTANTS:
                    raise UnknownNameError(
                        'measure or input', node.id, [*names, *_CONSTANTS], self.text
                    )
            elif isinstance(node, ast.Constant):
                if not isinstance(node.value, (int, float, str)):
                    raise _wrong(self.text)
            elif not isinstance(
                node,
                (
                    ast.BoolOp,
                    ast.And,
                    ast.Or,
                    ast.Compare,
                    ast.Load,
                    ast.UnaryOp,
                    ast.BinOp,
                    *_BINARY,
                    *_UNARY,
                    *_COMPARED,
                ),
            ):
                raise _wrong(self.text)

    def _check_truth(self, tree: ast.expr) -> None:
        """Raise InvalidValueError for a number instead of a truth value."""
        if isinstance(tree, ast.BoolOp):
            for each in tree.values:
                self._check_truth(each)
        elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            self._check_truth(tree.operand)
        elif not isinstance(tree, (ast.Compare, ast.Name)) and not (
            isinstance(tree, ast.Constant) and isinstance(tree.value, bool)
        ):
            raise _wrong(self.text)

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return values[node.id] if node.id in values else _CONSTANTS[node.id]
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](self._value(node.operand, values))
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](
                self._value(node.left, values), self._value(node.right, values)
            )
        if isinstance(node, ast.BoolOp):
            found = [bool(self._value(each, values)) for each in node.values]
            return all(found) if isinstance(node.op, ast.And) else any(found)
        if isinstance(node, ast.Compare):
            parts = [self._value(each, values) for each in (node.left, *node.comparators)]
            return all(
                _COMPARED[type(compare)](a, b)
                for compare, a, b in zip(node.ops, parts[:-1], parts[1:], strict=True)
            )
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return _FUNCTIONS[node.func.id](*(self._value(each, values) for each in node.args))


def _wrong(text: str) -> InvalidValueError:
    return InvalidValueError('criterion', text, _EXPECTED)
