"""Expressions: code generation per syntax tree node, operands from left to right."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from enum import Enum
from types import ModuleType, NoneType
from typing import Any

from sim_bridge.compiler import builtin_functions
from sim_bridge.compiler.argument_table import emit_field
from sim_bridge.compiler.arithmetic import binary, compare, negate
from sim_bridge.compiler.function import Function, Scope
from sim_bridge.compiler.indexing import count_items, Range, read_item
from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import Array, BOOL, INT, Part, Tuple, tuple_of, Value
from sim_bridge.compiler.source import expression_of, has_plain_parameters


def emit_expression(f: Function, node: ast.expr) -> Value:
    """Emit an expression; raises KernelError if it is outside the subset."""
    emit = _EMITTERS.get(type(node))
    if emit is None:
        f.fail(node, f'{ast.unparse(node)}: kernels have no {type(node).__name__} expressions')
    return emit(f, node)


def emit_condition(f: Function, node: ast.expr, yes: str, no: str) -> None:
    """Branch to one of two labels, with short-circuit evaluation."""
    if isinstance(node, ast.BoolOp):
        is_and = isinstance(node.op, ast.And)
        for each in node.values[:-1]:
            following = f.label()
            emit_condition(f, each, *((following, no) if is_and else (yes, following)))
            f.begin(following)
        emit_condition(f, node.values[-1], yes, no)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        emit_condition(f, node.operand, no, yes)
    elif isinstance(node, ast.Compare):
        left = emit_expression(f, node.left)
        for op, each in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            right = emit_expression(f, each)
            following = f.label()
            f.branch_if(compare(f, node, op, left, right), following, no)
            f.begin(following)
            left = right
        right = emit_expression(f, node.comparators[-1])
        f.branch_if(compare(f, node, node.ops[-1], left, right), yes, no)
    else:
        value = emit_expression(f, node)
        if value.kind is INT:
            value = Value(BOOL, (f.instruct(f'icmp ne i64 {value.leaves[0]}, 0'),))
        if value.kind is not BOOL:
            f.fail(
                node,
                f'{ast.unparse(node)} is {value.kind}: a condition is a bool or an '
                'integer; write a comparison',
            )
        f.branch_if(value.leaves[0], yes, no)


def _constant(f: Function, node: ast.Constant) -> Value:
    return f.constant(node, node.value)


def _name(f: Function, node: ast.Name) -> Value:
    if node.id in f.scope.names:
        return f.scope.names[node.id]
    if f.scope.kernel is f.kernel:
        if node.id in f.variables:
            return f.load(f.variables[node.id])
        if node.id in f.kernel.local_names:
            f.fail(node, f'{node.id!r} is read before anything is assigned to it')
    return f.constant(node, look_up(f, node))


def look_up(f: Function, node: ast.expr) -> Any:
    """
    Return the value of a global name, or of an attribute of a module or enum.

    Fails for undefined names, and for attributes of other objects.
    """
    if isinstance(node, ast.Name):
        names = f.scope.kernel.function.__globals__
        if node.id in f.scope.kernel.function.__code__.co_freevars:
            f.fail(
                node,
                f'{node.id!r} belongs to a function around the kernel: make it a '
                'parameter, or a constant of the module',
            )
        if node.id in names:
            return names[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        f.fail(node, f'{node.id!r} is neither a parameter, a variable nor a global name')
    if isinstance(node, ast.Attribute):
        owner = look_up(f, node.value)
        is_enum = isinstance(owner, type) and issubclass(owner, Enum)
        found = getattr(owner, node.attr, None)
        # submodules are not supported: `unit` does not look into them
        if (isinstance(owner, ModuleType) or is_enum) and not isinstance(
            found, (ModuleType, NoneType)
        ):
            return found
        f.fail(node, f'{ast.unparse(node)}: not available in kernels')
    f.fail(node, f'{ast.unparse(node)} cannot be called: kernels call other kernels by name')


def _is_global(f: Function, node: ast.expr) -> bool:
    """Return whether an attribute chain begins at a global name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name) or node.id in f.scope.names:
        return False
    return f.scope.kernel is not f.kernel or node.id not in f.kernel.local_names


def _attribute(f: Function, node: ast.Attribute) -> Value:
    if _is_global(f, node.value):
        return f.constant(node, look_up(f, node))
    owner = emit_expression(f, node.value)
    if isinstance(owner.kind, Part):
        try:
            return emit_field(f, owner, node.attr)
        except KeyError:
            f.fail(node, f'{owner.kind} has no field {node.attr!r}')
    if isinstance(owner.kind, Array):
        if node.attr == 'shape':
            extents = owner.leaves[1:]
            return Value(Tuple((INT,) * len(extents)), extents)
        if node.attr == 'ndim':
            return f.constant(node, owner.kind.dimensions)
        if node.attr == 'size':
            return Value(INT, (count_items(f, owner),))
    f.fail(
        node,
        f'{ast.unparse(node)}: {owner.kind} has no {node.attr!r}; arrays have shape, '
        'size and ndim, parts their fields',
    )


def _tuple(f: Function, node: ast.Tuple) -> Value:
    return tuple_of([emit_expression(f, item) for item in node.elts])


def _subscript(f: Function, node: ast.Subscript) -> Value:
    whole = emit_expression(f, node.value)
    return read_item(f, node, whole, emit_indices(f, node))


def emit_indices(f: Function, node: ast.Subscript) -> list[Value | Range]:
    """Emit the indices and ranges in the brackets of `whole[…]`."""
    indices: list[Value | Range] = []
    for each in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(each, ast.Slice):
            indices.append(emit_expression(f, each))
            continue
        if each.step is not None:
            f.fail(node, f'{ast.unparse(node)}: a range has no step; write a loop')
        ends = [
            None if end is None else emit_expression(f, end) for end in (each.lower, each.upper)
        ]
        indices.append(Range(*ends))
    return indices


def _unary(f: Function, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return _boolean(f, node)
    if isinstance(node.op, ast.USub):
        if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, int):
            return f.constant(node, -node.operand.value)
        return negate(f, node, emit_expression(f, node.operand))
    value = emit_expression(f, node.operand)
    if isinstance(node.op, ast.Invert) and value.kind is INT:
        return Value(INT, (f.instruct(f'xor i64 {value.leaves[0]}, -1'),))
    f.fail(node, f'{ast.unparse(node)}: kernels have no such operator for {value.kind}')


def _binary(f: Function, node: ast.BinOp) -> Value:
    left = emit_expression(f, node.left)
    return binary(f, node, node.op, left, emit_expression(f, node.right))


def _boolean(f: Function, node: ast.expr) -> Value:
    """Compute a comparison or combined conditions as a bool."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left = emit_expression(f, node.left)
        right = emit_expression(f, node.comparators[0])
        return Value(BOOL, (compare(f, node, node.ops[0], left, right),))
    if isinstance(node, ast.BoolOp):
        # in Python the result is the deciding operand; here it is a bool
        return _decide(f, node)
    return _choose(f, node, node, lambda: Value(BOOL, ('true',)), lambda: Value(BOOL, ('false',)))


def _decide(f: Function, node: ast.BoolOp) -> Value:
    """Compute `and` or `or` between bools, from left to right until decided."""
    end, chosen = f.label(), f.allocate(BOOL)
    for number, each in enumerate(node.values, 1):
        value = emit_expression(f, each)
        if value.kind is not BOOL:
            f.fail(
                each,
                f'{ast.unparse(each)} is {value.kind}: as a value, and / or joins bools; '
                'write a comparison',
            )
        f.store(chosen, value)
        if number < len(node.values):
            following = f.label()
            is_and = isinstance(node.op, ast.And)
            f.branch_if(value.leaves[0], *((following, end) if is_and else (end, following)))
            f.begin(following)
    f.branch(end)
    f.begin(end)
    return f.load(chosen)


def _conditional(f: Function, node: ast.IfExp) -> Value:
    return _choose(
        f,
        node,
        node.test,
        lambda: emit_expression(f, node.body),
        lambda: emit_expression(f, node.orelse),
    )


def _choose(
    f: Function,
    node: ast.expr,
    test: ast.expr,
    if_true: Callable[[], Value],
    if_false: Callable[[], Value],
) -> Value:
    """Emit both values in branches; only the chosen one is computed at run time."""
    yes, no, end = f.label(), f.label(), f.label()
    emit_condition(f, test, yes, no)
    f.begin(yes)
    a = if_true()
    chosen = f.allocate(a.kind)
    f.store(chosen, a)
    f.branch(end)
    f.begin(no)
    b = if_false()
    if a.kind != b.kind:
        f.fail(node, f'{ast.unparse(node)} is {a.kind} or {b.kind}: both must be of one kind')
    f.store(chosen, b)
    f.branch(end)
    f.begin(end)
    return f.load(chosen)


def _call(f: Function, node: ast.Call) -> Value:
    if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        f.fail(node, f'{ast.unparse(node)}: kernels take plain arguments, in their order')
    if not _is_global(f, node.func):
        f.fail(node, f'{ast.unparse(node.func)} cannot be called: kernels call global functions')
    target = look_up(f, node.func)
    arguments = [emit_expression(f, each) for each in node.args]
    if isinstance(target, Kernel):
        return _call_kernel(f, node, target, arguments)
    if isinstance(target, Intrinsic):
        try:
            return target.emit(f, arguments)
        except (TypeError, ValueError) as error:
            f.fail(node, f'{ast.unparse(node)}: {error}')
    emit = builtin_functions.find(target)
    if emit is None:
        f.fail(
            node,
            f'{ast.unparse(node.func)} is not a kernel; decorate it with @kernel, or use '
            f'one of {", ".join(builtin_functions.NAMES)}',
        )
    return emit(f, node, arguments)


def _call_kernel(f: Function, node: ast.Call, kernel: Kernel, arguments: list[Value]) -> Value:
    count = len(kernel.tree.args.args)
    if len(arguments) != count:
        f.fail(
            node,
            f'{ast.unparse(node)}: {kernel.__name__!r} takes {count} arguments, not '
            f'{len(arguments)}',
        )
    expression = expression_of(kernel.tree) if kernel.is_inlined else None
    if expression is not None and has_plain_parameters(kernel.tree):
        # inlined as part of this expression: its products and sums fuse with the caller's
        if kernel in f.module.under_way:
            f.fail(node, f'{kernel.__name__!r} calls itself')
        before = f.scope
        names = [argument.arg for argument in kernel.tree.args.args]
        f.scope = Scope(kernel, dict(zip(names, arguments, strict=True)))
        f.module.under_way.append(kernel)
        value = emit_expression(f, expression)
        f.module.under_way.pop()
        f.scope = before
        return value
    symbol, result = f.module.function(f, node, kernel, tuple(each.kind for each in arguments))
    operands = ', '.join(
        f'{llvm} {leaf}'
        for each in arguments
        for llvm, leaf in zip(each.kind.leaves, each.leaves, strict=True)
    )
    # x86 processors return floats beyond the third on the x87 register stack, which has eight
    # entries. LLVM can turn the last call into a jump; unused results would then stay there.
    call = 'call' if kernel.is_inlined else 'notail call'
    if not result.leaves:
        f.emit(f'{call} void @{symbol}({operands})')
        return Value(result, ())
    llvm = struct_of(result)
    returned = f.instruct(f'{call} {llvm} @{symbol}({operands})')
    return Value(
        result,
        tuple(
            f.instruct(f'extractvalue {llvm} {returned}, {at}') for at in range(len(result.leaves))
        ),
    )


def struct_of(kind: Any) -> str:
    """Return the LLVM type for a function's result kind."""
    return f'{{ {", ".join(kind.leaves)} }}' if kind.leaves else 'void'


_EMITTERS: dict[type[ast.expr], Callable[[Function, Any], Value]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.Compare: _boolean,
    ast.Constant: _constant,
    ast.IfExp: _conditional,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
}
