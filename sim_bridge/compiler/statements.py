"""Statements: assignments, loops, branches and returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from sim_bridge.compiler.arithmetic import binary
from sim_bridge.compiler.expressions import (
    emit_condition,
    emit_expression,
    emit_indices,
    look_up,
    struct_of,
)
from sim_bridge.compiler.function import Function, literal, Loop
from sim_bridge.compiler.indexing import load_number, locate, write
from sim_bridge.compiler.kinds import Array, INT, items_of, NONE, Tuple, Value


def emit_body(f: Function, statements: Sequence[ast.stmt]) -> None:
    """Emit statements; omit those behind a return, a break or a continue."""
    for each in statements:
        if not f.is_open:
            return
        emit = _EMITTERS.get(type(each))
        if emit is None:
            f.fail(each, f'kernels have no {type(each).__name__} statements')
        scope = f.scope
        try:
            emit(f, each)
        except RecursionError:
            f.scope = scope
            problem = 'an expression has too many terms, or is too deep: split it into several'
        else:
            continue
        # outside the handler, for a short traceback
        f.fail(each, problem)


def emit_return(f: Function, node: ast.AST, value: Value) -> None:
    """Leave the function, returning a value."""
    if f.result is None:
        f.result = value.kind
    elif f.result != value.kind:
        f.fail(node, f'returns {value.kind} here and {f.result} before: one kind only')
    llvm = struct_of(value.kind)
    if not value.leaves:
        f.emit('ret void')
    else:
        whole = 'undef'
        for at, (kind, leaf) in enumerate(zip(value.kind.leaves, value.leaves, strict=True)):
            whole = f.instruct(f'insertvalue {llvm} {whole}, {kind} {leaf}, {at}')
        f.emit(f'ret {llvm} {whole}')
    f.is_open = False


def _assign(f: Function, node: ast.Assign) -> None:
    value = emit_expression(f, node.value)
    for target in node.targets:
        _set(f, target, value)


def _set(f: Function, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name) and target.id != '_':
        f.assign(target, target.id, value)
    elif isinstance(target, ast.Name):
        pass  # the target `_` cannot be read and accepts values of any kind
    elif isinstance(target, ast.Subscript):
        array = emit_expression(f, target.value)
        write(f, target, locate(f, target, array, emit_indices(f, target)), value)
    elif isinstance(target, ast.Tuple):
        if not isinstance(value.kind, Tuple) or len(value.kind.items) != len(target.elts):
            f.fail(target, f'{ast.unparse(target)} cannot be set to {value.kind}')
        for each, item in zip(target.elts, items_of(value), strict=True):
            _set(f, each, item)
    else:
        f.fail(
            target,
            f'{ast.unparse(target)} cannot be assigned to: kernels set variables and '
            'items of arrays',
        )


def _augment(f: Function, node: ast.AugAssign) -> None:
    target = node.target
    if isinstance(target, ast.Name):
        before = emit_expression(f, ast.copy_location(ast.Name(target.id, ast.Load()), target))
        after = binary(f, node, node.op, before, emit_expression(f, node.value))
        f.assign(target, target.id, after)
    elif isinstance(target, ast.Subscript):
        array = emit_expression(f, target.value)
        place = locate(f, target, array, emit_indices(f, target))
        if isinstance(place.kind, Array):
            f.fail(node, f'{ast.unparse(target)} is an array: change its items in a loop')
        before = load_number(f, place)
        write(f, target, place, binary(f, node, node.op, before, emit_expression(f, node.value)))
    else:
        f.fail(target, f'{ast.unparse(target)} cannot be assigned to')


def _expression(f: Function, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Call):
        f.fail(node, f'{ast.unparse(node)} does nothing')
    emit_expression(f, node.value)


def _return(f: Function, node: ast.Return) -> None:
    value = Value(NONE, ()) if node.value is None else emit_expression(f, node.value)
    emit_return(f, node, value)


def _if(f: Function, node: ast.If) -> None:
    yes, end = f.label(), f.label()
    no = f.label() if node.orelse else end
    emit_condition(f, node.test, yes, no)
    f.begin(yes)
    emit_body(f, node.body)
    goes_on = f.is_open or not node.orelse
    f.branch(end)
    if node.orelse:
        f.begin(no)
        emit_body(f, node.orelse)
        goes_on = goes_on or f.is_open
        f.branch(end)
    if goes_on:
        f.begin(end)


def _while(f: Function, node: ast.While) -> None:
    _refuse_else(f, node)
    head, body, end = f.label(), f.label(), f.label()
    f.branch(head)
    f.begin(head)
    is_endless = isinstance(node.test, ast.Constant) and node.test.value is True
    if is_endless:
        f.branch(body)
    else:
        emit_condition(f, node.test, body, end)
    f.begin(body)
    f.loops.append(Loop(head, end))
    emit_body(f, node.body)
    f.loops.pop()
    f.branch(head)
    if not is_endless or _breaks(node):
        f.begin(end)


def _breaks(loop: ast.While) -> bool:
    """Return whether a loop contains a break ending it."""
    inner = [
        each
        for each in ast.walk(loop)
        if isinstance(each, (ast.For, ast.While)) and each is not loop
    ]
    foreign = {id(each) for one in inner for each in ast.walk(one)}
    return any(isinstance(each, ast.Break) and id(each) not in foreign for each in ast.walk(loop))


def _for(f: Function, node: ast.For) -> None:
    _refuse_else(f, node)
    call = node.iter if isinstance(node.iter, ast.Call) else None
    called = look_up(f, call.func) if call and isinstance(call.func, ast.Name) else None
    if call and called is range:
        _for_range(f, node, call)
    elif call and called is enumerate and len(call.args) == 1:
        _for_items(f, node, call.args[0], is_numbered=True)
    else:
        _for_items(f, node, node.iter, is_numbered=False)


def _for_range(f: Function, node: ast.For, call: ast.Call) -> None:
    if call.keywords or not 1 <= len(call.args) <= 3:
        f.fail(call, f'{ast.unparse(call)}: takes one to three integers')
    bounds = [f.convert(each, emit_expression(f, each), INT) for each in call.args]
    zero, one = Value(INT, ('0',)), Value(INT, ('1',))
    start, stop, step = ([zero, *bounds, one] if len(bounds) == 1 else [*bounds, one])[:3]
    stride = literal(step)
    if stride is None or stride == 0:
        f.fail(call, f'{ast.unparse(call)}: a step is a literal integer other than 0')
    counter = f.allocate(INT)
    f.store(counter, start)
    head, body, following, end = (f.label() for _ in range(4))
    f.branch(head)
    f.begin(head)
    present = f.load(counter)
    relation = 'slt' if stride > 0 else 'sgt'
    f.branch_if(
        f.instruct(f'icmp {relation} i64 {present.leaves[0]}, {stop.leaves[0]}'), body, end
    )
    f.begin(body)
    _set(f, node.target, present)
    _turn(f, node, Loop(following, end))
    after = f.instruct(f'add nsw i64 {f.load(counter).leaves[0]}, {stride}')
    f.store(counter, Value(INT, (after,)))
    f.branch(head)
    f.begin(end)


def _turn(f: Function, node: ast.For, loop: Loop) -> None:
    """Emit the body once, and begin the next block."""
    f.loops.append(loop)
    emit_body(f, node.body)
    f.loops.pop()
    f.branch(loop.next)
    f.begin(loop.next)


def _for_items(f: Function, node: ast.For, items: ast.expr, *, is_numbered: bool) -> None:
    """Repeat the body for each tuple item."""
    value = emit_expression(f, items)
    if not isinstance(value.kind, Tuple):
        f.fail(
            node.iter,
            f'{ast.unparse(node.iter)} is {value.kind}: a loop goes over range(…), '
            'a tuple, or enumerate(…) of a tuple',
        )
    end = f.label()
    for number, item in enumerate(items_of(value)):
        following = f.label()
        if is_numbered:
            pair = Value(Tuple((INT, item.kind)), (str(number), *item.leaves))
            _set(f, node.target, pair)
        else:
            _set(f, node.target, item)
        _turn(f, node, Loop(following, end))
    f.branch(end)
    f.begin(end)


def _refuse_else(f: Function, node: ast.For | ast.While) -> None:
    if node.orelse:
        f.fail(node.orelse[0], 'kernels have no else behind a loop')


def _break(f: Function, node: ast.Break) -> None:
    f.branch(f.loops[-1].end)


def _continue(f: Function, node: ast.Continue) -> None:
    f.branch(f.loops[-1].next)


def _pass(f: Function, node: ast.Pass) -> None:
    pass


_EMITTERS: dict[type[ast.stmt], Callable[[Function, Any], None]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augment,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Expr: _expression,
    ast.For: _for,
    ast.If: _if,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.While: _while,
}
