"""Functions from Python and `math` available to kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
import math
from typing import Any

from sim_bridge.compiler.arithmetic import compare, rounded, select
from sim_bridge.compiler.function import Function
from sim_bridge.compiler.kinds import (
    Array,
    BOOL,
    FLOAT,
    INT,
    is_number,
    items_of,
    Number,
    Tuple,
    Value,
)

Emit = Callable[[Function, ast.Call, list[Value]], Value]


def find(target: Any) -> Emit | None:
    """Return the function emitting calls to a Python function, None if it is not supported."""
    try:
        return _EMITTERS.get(target)
    except TypeError:
        return None


def _extremum(op: ast.cmpop, f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    """Emit min or max: keep the first unless a later one is less (greater), also with nan."""
    if len(arguments) == 1 and isinstance(arguments[0].kind, Tuple):
        arguments = list(items_of(arguments[0]))
    elif len(arguments) == 1:
        arguments = []
    if not arguments or not all(is_number(each.kind) for each in arguments):
        f.fail(node, f'{ast.unparse(node)}: takes two numbers or more, or a tuple of them')
    kind = FLOAT if any(each.kind is FLOAT for each in arguments) else INT
    best, *others = (f.convert(node, rounded(f, each), kind) for each in arguments)
    for each in others:
        best = select(f, compare(f, node, op, each, best), each, best)
    return best


def _absolute(f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    (value,) = _numbers(f, node, arguments, 1)
    if value.kind is FLOAT:
        return Value(FLOAT, (f.call('llvm.fabs.f64', 'double', [('double', value.leaves[0])]),))
    operands = [('i64', f.convert(node, value, INT).leaves[0]), ('i1', 'false')]
    f.module.declare('declare i64 @llvm.abs.i64(i64, i1)')
    given = ', '.join(f'{llvm} {operand}' for llvm, operand in operands)
    return Value(INT, (f.instruct(f'call i64 @llvm.abs.i64({given})'),))


def _number(kind: Number, f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    (value,) = _numbers(f, node, arguments, 1)
    if kind is INT and value.kind is FLOAT:
        return _to_integer(f, value.leaves[0])
    if kind is BOOL and value.kind is not BOOL:
        zero = Value(INT, ('0',))
        return Value(BOOL, (compare(f, node, ast.NotEq(), value, zero),))
    return f.convert(node, rounded(f, value), kind)


def _to_integer(f: Function, operand: str) -> Value:
    """Round towards 0; values out of range become the nearest integer, nan becomes 0."""
    return Value(INT, (f.call('llvm.fptosi.sat.i64.f64', 'i64', [('double', operand)]),))


def _length(f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    if len(arguments) == 1 and isinstance(arguments[0].kind, Array):
        return Value(INT, (arguments[0].leaves[1],))
    if len(arguments) == 1 and isinstance(arguments[0].kind, Tuple):
        return f.constant(node, len(arguments[0].kind.items))
    f.fail(node, f'{ast.unparse(node)}: takes an array or a tuple')


def _rounded(name: str, f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    return _to_integer(f, _floats(name, 1, f, node, arguments).leaves[0])


def _is_finite(f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    size = _floats('llvm.fabs.f64', 1, f, node, arguments).leaves[0]
    return Value(BOOL, (f.instruct(f'fcmp one double {size}, 0x7FF0000000000000'),))


def _is_nan(f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    (value,) = _numbers(f, node, arguments, 1)
    leaf = f.convert(node, value, FLOAT).leaves[0]
    return Value(BOOL, (f.instruct(f'fcmp uno double {leaf}, 0.0'),))


def _floats(name: str, count: int, f: Function, node: ast.Call, arguments: list[Value]) -> Value:
    """Call an LLVM intrinsic or a C library function on floats."""
    values = _numbers(f, node, arguments, count)
    operands = [('double', f.convert(node, each, FLOAT).leaves[0]) for each in values]
    # LLVM would replace pow(x, 2.0) by x * x, with another result; it may join sin and cos calls
    attributes = '' if name.startswith('llvm.') or name in ('sin', 'cos') else 'nobuiltin'
    return Value(FLOAT, (f.call(name, 'double', operands, attributes),))


def _numbers(f: Function, node: ast.Call, arguments: list[Value], count: int) -> list[Value]:
    if len(arguments) != count or not all(is_number(each.kind) for each in arguments):
        what = 'a number' if count == 1 else f'{count} numbers'
        f.fail(node, f'{ast.unparse(node)}: takes {what}')
    return arguments


# names of LLVM intrinsics or C library functions
_OF_FLOATS: dict[Callable[..., float], tuple[str, int]] = {
    math.sqrt: ('llvm.sqrt.f64', 1),
    math.fabs: ('llvm.fabs.f64', 1),
    math.copysign: ('llvm.copysign.f64', 2),
    math.sin: ('sin', 1),
    math.cos: ('cos', 1),
    math.tan: ('tan', 1),
    math.asin: ('asin', 1),
    math.acos: ('acos', 1),
    math.atan: ('atan', 1),
    math.atan2: ('atan2', 2),
    math.pow: ('pow', 2),
    math.exp: ('exp', 1),
    math.log: ('log', 1),
}

_EMITTERS: dict[Any, Emit] = {
    min: partial(_extremum, ast.Lt()),
    max: partial(_extremum, ast.Gt()),
    abs: _absolute,
    int: partial(_number, INT),
    float: partial(_number, FLOAT),
    bool: partial(_number, BOOL),
    len: _length,
    math.floor: partial(_rounded, 'llvm.floor.f64'),
    math.ceil: partial(_rounded, 'llvm.ceil.f64'),
    math.isfinite: _is_finite,
    math.isnan: _is_nan,
    **{function: partial(_floats, *called) for function, called in _OF_FLOATS.items()},
}

NAMES = sorted(
    f'math.{each.__name__}' if each.__module__ == 'math' else each.__name__ for each in _EMITTERS
)
