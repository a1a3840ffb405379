"""
Arithmetic and comparisons, as docs/kernels.md defines them.

Floats follow IEEE 754 and nothing is reordered. A product used as an operand in a sum or a
difference is not rounded first: `a * b + c` is one fused multiply-add. With two products, the
right one is fused. The source alone therefore decides every bit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import operator

from sim_bridge.compiler.function import Function, literal
from sim_bridge.compiler.kinds import BOOL, FLOAT, INT, is_number, items_of, Tuple, Value

_FLOATING: dict[type[ast.operator], str] = {
    ast.Add: 'fadd',
    ast.Sub: 'fsub',
    ast.Mult: 'fmul',
    ast.Div: 'fdiv',
}
_BITWISE: dict[type[ast.operator], str] = {ast.BitAnd: 'and', ast.BitOr: 'or', ast.BitXor: 'xor'}
_INTEGRAL: dict[type[ast.operator], str] = {
    ast.Add: 'add',
    ast.Sub: 'sub',
    ast.Mult: 'mul',
    **_BITWISE,
}
_LITERAL: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ('oeq', 'eq'),
    ast.NotEq: ('une', 'ne'),
    ast.Lt: ('olt', 'slt'),
    ast.LtE: ('ole', 'sle'),
    ast.Gt: ('ogt', 'sgt'),
    ast.GtE: ('oge', 'sge'),
}


def binary(f: Function, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
    """Apply a binary operator."""
    kind = type(op)
    if isinstance(a.kind, Tuple) and isinstance(b.kind, Tuple) and kind is ast.Add:
        return Value(Tuple(a.kind.items + b.kind.items), a.leaves + b.leaves)
    if not is_number(a.kind) or not is_number(b.kind):
        f.fail(node, f'{ast.unparse(node)} combines {a.kind} and {b.kind}: write it by items')
    if a.kind is BOOL and b.kind is BOOL and kind in _BITWISE:
        return Value(BOOL, (f.instruct(f'{_BITWISE[kind]} i1 {a.leaves[0]}, {b.leaves[0]}'),))
    if kind is ast.Div or FLOAT in (a.kind, b.kind):
        return _floating(f, node, kind, f.convert(node, a, FLOAT), f.convert(node, b, FLOAT))
    return _integral(f, node, kind, f.convert(node, a, INT), f.convert(node, b, INT))


def _floating(f: Function, node: ast.AST, kind: type, a: Value, b: Value) -> Value:
    x, y = a.leaves[0], b.leaves[0]
    if kind not in _FLOATING:
        f.fail(
            node,
            f'{ast.unparse(node)}: floats support only + - * /; write x * x for x ** 2, '
            'math.pow(x, y) for other powers',
        )
    if kind is ast.Mult:
        product = f.instruct(f'fmul double {x}, {y}')
        f.products[product] = (x, y)
        return Value(FLOAT, (product,))
    if kind in (ast.Add, ast.Sub):
        if y in f.products:
            factor, other = f.products[y]
            if kind is ast.Sub:
                factor = f.instruct(f'fneg double {factor}')
            return _fused(f, factor, other, x)
        if x in f.products:
            if kind is ast.Sub:
                y = f.instruct(f'fneg double {y}')
            return _fused(f, *f.products[x], y)
    return Value(FLOAT, (f.instruct(f'{_FLOATING[kind]} double {x}, {y}'),))


def _fused(f: Function, a: str, b: str, c: str) -> Value:
    """Compute a * b + c with one rounding."""
    operands = [('double', a), ('double', b), ('double', c)]
    return Value(FLOAT, (f.call('llvm.fma.f64', 'double', operands),))


def rounded(f: Function, value: Value) -> Value:
    """Return a number rounded, so that a later sum does not fuse it."""
    (leaf,) = value.leaves
    if leaf not in f.products:
        return value
    return Value(FLOAT, (f.instruct(f'bitcast double {leaf} to double'),))


def _integral(f: Function, node: ast.AST, kind: type, a: Value, b: Value) -> Value:
    left, right = literal(a), literal(b)
    is_division, is_shift = kind in (ast.FloorDiv, ast.Mod), kind in (ast.LShift, ast.RShift)
    is_special = (is_division and right == 0) or (is_shift and right not in range(64))
    if kind in _LITERAL and left is not None and right is not None and not is_special:
        return f.constant(node, _LITERAL[kind](left, right))
    x, y = a.leaves[0], b.leaves[0]
    if kind in _INTEGRAL:
        return Value(INT, (f.instruct(f'{_INTEGRAL[kind]} i64 {x}, {y}'),))
    if is_shift:
        if right is None or not 0 <= right < 64:
            y = f.instruct(f'and i64 {y}, 63')
        return Value(INT, (f.instruct(f'{"shl" if kind is ast.LShift else "ashr"} i64 {x}, {y}'),))
    if is_division:
        return _divide(f, kind, x, y, right)
    f.fail(node, f'{ast.unparse(node)}: integers support only + - * / // % << >> & | ^')


def _divide(f: Function, kind: type, x: str, y: str, divisor: int | None) -> Value:
    """Divide, rounding towards minus infinity; return 0 for divisor 0, which would trap."""
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if kind is ast.Mod:
            return Value(INT, (f.instruct(f'and i64 {x}, {divisor - 1}'),))
        return Value(INT, (f.instruct(f'ashr i64 {x}, {divisor.bit_length() - 1}'),))
    by = y
    if divisor is None or divisor in (0, -1):
        # the least integer divided by -1 would overflow: negate instead
        is_zero = f.instruct(f'icmp eq i64 {y}, 0')
        is_minus = f.instruct(f'icmp eq i64 {y}, -1')
        is_special = f.instruct(f'or i1 {is_zero}, {is_minus}')
        by = f.instruct(f'select i1 {is_special}, i64 1, i64 {y}')
    rest = f.instruct(f'srem i64 {x}, {by}')
    has_rest = f.instruct(f'icmp ne i64 {rest}, 0')
    signs = f.instruct(f'xor i64 {rest}, {by}')
    differ = f.instruct(f'icmp slt i64 {signs}, 0')
    is_over = f.instruct(f'and i1 {has_rest}, {differ}')
    if kind is ast.Mod:
        # 0 and -1 are replaced by 1, whose remainder is 0
        shifted = f.instruct(f'add i64 {rest}, {by}')
        return Value(INT, (f.instruct(f'select i1 {is_over}, i64 {shifted}, i64 {rest}'),))
    quotient = f.instruct(f'sdiv i64 {x}, {by}')
    over = f.instruct(f'zext i1 {is_over} to i64')
    quotient = f.instruct(f'sub i64 {quotient}, {over}')
    if by != y:
        negated = f.instruct(f'sub i64 0, {x}')
        quotient = f.instruct(f'select i1 {is_minus}, i64 {negated}, i64 {quotient}')
        quotient = f.instruct(f'select i1 {is_zero}, i64 0, i64 {quotient}')
    return Value(INT, (quotient,))


def negate(f: Function, node: ast.AST, a: Value) -> Value:
    """Change the sign of a number."""
    if not is_number(a.kind):
        f.fail(node, f'{ast.unparse(node)}: kernels have no such operator for {a.kind}')
    if a.kind is FLOAT:
        return Value(FLOAT, (f.instruct(f'fneg double {a.leaves[0]}'),))
    a = f.convert(node, a, INT)
    number = literal(a)
    if number is not None:
        # the least integer is its own negative, see docs/kernels.md
        return a if number == -(2**63) else f.constant(node, -number)
    return Value(INT, (f.instruct(f'sub i64 0, {a.leaves[0]}'),))


def compare(f: Function, node: ast.AST, op: ast.cmpop, a: Value, b: Value) -> str:
    """Compare two numbers, or two tuples for (in)equality; return an i1."""
    if type(op) not in _COMPARED:
        f.fail(node, f'{ast.unparse(node)}: kernels compare by == != < <= > >= only')
    if isinstance(a.kind, Tuple) and isinstance(b.kind, Tuple):
        if not isinstance(op, (ast.Eq, ast.NotEq)) or len(a.kind.items) != len(b.kind.items):
            f.fail(node, f'{ast.unparse(node)} compares {a.kind} and {b.kind}')
        same = 'true'
        for item, other in zip(items_of(a), items_of(b), strict=True):
            same = f.instruct(f'and i1 {same}, {compare(f, node, ast.Eq(), item, other)}')
        return same if isinstance(op, ast.Eq) else f.instruct(f'xor i1 {same}, true')
    if not is_number(a.kind) or not is_number(b.kind):
        f.fail(node, f'{ast.unparse(node)} compares {a.kind} and {b.kind}')
    floating, integral = _COMPARED[type(op)]
    if FLOAT in (a.kind, b.kind):
        x, y = f.convert(node, a, FLOAT).leaves[0], f.convert(node, b, FLOAT).leaves[0]
        return f.instruct(f'fcmp {floating} double {x}, {y}')
    x, y = f.convert(node, a, INT).leaves[0], f.convert(node, b, INT).leaves[0]
    return f.instruct(f'icmp {integral} i64 {x}, {y}')


def select(f: Function, condition: str, a: Value, b: Value) -> Value:
    """Return a if the i1 is true, else b. Both are computed and have the same kind."""
    return Value(
        a.kind,
        tuple(
            f.instruct(f'select i1 {condition}, {llvm} {x}, {llvm} {y}')
            for llvm, x, y in zip(a.kind.leaves, a.leaves, b.leaves, strict=True)
        ),
    )
