"""
Array and tuple items, rows and ranges: reading and writing.

Indices are computed values, or ranges between them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arithmetic import select
from sim_bridge.compiler.function import Function, literal
from sim_bridge.compiler.kinds import (
    Array,
    FLOAT,
    INT,
    is_number,
    Item,
    items_of,
    Place,
    Tuple,
    Value,
)


class Range(NamedTuple):
    """Range `lower:upper` along an axis; None for an open end."""

    lower: Value | None
    upper: Value | None


_ALL = Range(None, None)

# alias metadata of loads and stores: items with different LLVM types never share memory
_ALIAS = {
    'double': '!tbaa !3',
    'i64': '!tbaa !5',
    'float': '!tbaa !7',
    'i8': '!tbaa !9',
    'i16': '!tbaa !11',
    'i32': '!tbaa !13',
}


def read_item(
    f: Function, node: ast.Subscript, whole: Value, indices: Sequence[Value | Range]
) -> Value:
    """Return `whole[indices]`: a number, a row, a range, or a tuple item."""
    if isinstance(whole.kind, Tuple):
        return _item_of_tuple(f, node, whole, indices)
    place = locate(f, node, whole, indices)
    return load_number(f, place) if isinstance(place.kind, Place) else place


def load_number(f: Function, place: Value) -> Value:
    """Return the number at a place; narrow items are widened."""
    assert isinstance(place.kind, Place)
    item = place.kind.item
    loaded = f.instruct(f'load {item.llvm}, ptr {place.leaves[0]}, {_ALIAS[item.llvm]}')
    if item.is_narrow:
        widen = 'fpext' if item.number is FLOAT else 'sext' if item.is_signed else 'zext'
        loaded = f.instruct(f'{widen} {item.llvm} {loaded} to {item.number.llvm}')
    return Value(item.number, (loaded,))


def _store(f: Function, item: Item, address: str, narrowed: str) -> None:
    f.emit(f'store {item.llvm} {narrowed}, ptr {address}, {_ALIAS[item.llvm]}')


def _narrowed(f: Function, node: ast.AST, value: Value, item: Item) -> str:
    """Return a number as stored: a float rounded to nearest, an integer saturated."""
    (number,) = f.convert(node, value, item.number).leaves
    if not item.is_narrow:
        return number
    if item.number is FLOAT:
        return f.instruct(f'fptrunc double {number} to {item.llvm}')
    limits = np.iinfo(item.dtype)
    number = f.call('llvm.smax.i64', 'i64', [('i64', number), ('i64', str(limits.min))])
    number = f.call('llvm.smin.i64', 'i64', [('i64', number), ('i64', str(limits.max))])
    return f.instruct(f'trunc i64 {number} to {item.llvm}')


def write(f: Function, node: ast.Subscript, place: Value, value: Value) -> None:
    """Write a number to a place; fill a range with a number, or copy an array into it."""
    if isinstance(place.kind, Place):
        item = place.kind.item
        _store(f, item, place.leaves[0], _narrowed(f, node, value, item))
    elif isinstance(value.kind, Array):
        _copy(f, node, value, place)
    elif isinstance(place.kind, Array) and is_number(value.kind):
        _fill(f, place.kind.item, _narrowed(f, node, value, place.kind.item), place)
    else:
        f.fail(node, f'{ast.unparse(node)} cannot be set to {value.kind}: write it by items')


def _item_of_tuple(
    f: Function, node: ast.Subscript, whole: Value, indices: Sequence[Value | Range]
) -> Value:
    items = list(items_of(whole))
    index = indices[0]
    if len(indices) > 1 or isinstance(index, Range) or index.kind is not INT:
        f.fail(node, f'{ast.unparse(node)}: the index of a tuple is an integer')
    number = literal(index)
    if number is not None:
        if not -len(items) <= number < len(items):
            f.fail(node, f'{ast.unparse(node)}: there are {len(items)} items')
        return items[number]
    if not items or any(item.kind != items[0].kind for item in items):
        f.fail(
            node,
            f'{ast.unparse(node)}: items of several kinds, {whole.kind}, need a literal index',
        )
    chosen = items[-1]
    for at in range(len(items) - 2, -1, -1):
        is_it = f.instruct(f'icmp eq i64 {index.leaves[0]}, {at}')
        chosen = select(f, is_it, items[at], chosen)
    return chosen


def locate(
    f: Function, node: ast.Subscript, array: Value, indices: Sequence[Value | Range]
) -> Value:
    """Return an item's place, or the array for rows or a range."""
    if not isinstance(array.kind, Array):
        f.fail(node, f'{ast.unparse(node.value)} is {array.kind}: only arrays have such items')
    address, *extents = array.leaves
    if len(indices) > len(extents):
        f.fail(node, f'{ast.unparse(node)}: {array.kind} has no {len(indices)} indices')
    offset, kept = '0', []
    for axis, index in enumerate(indices):
        extent = extents[axis]
        if isinstance(index, Range):
            if any(behind != _ALL for behind in indices[axis + 1 :]):
                f.fail(
                    node, f'{ast.unparse(node)}: only whole axes may follow a range; write a loop'
                )
            first, count = _range(f, node, index, extent)
            kept.append(count)
        else:
            first = _index(f, node, index, extent)
        if axis:
            offset = _times(f, offset, extent)
        offset = _plus(f, offset, first)
    for extent in extents[len(indices) :]:
        offset = _times(f, offset, extent)
        kept.append(extent)
    item = array.kind.item
    place = (
        address
        if offset == '0'
        else f.instruct(f'getelementptr inbounds {item.llvm}, ptr {address}, i64 {offset}')
    )
    kind = Array(item, len(kept)) if kept else Place(item)
    return Value(kind, (place, *kept))


def _index(f: Function, node: ast.Subscript, value: Value, extent: str) -> str:
    """
    Return an index along an axis.

    Only literal indices may count from the end: testing the sign of every index would cost a sixth
    of the time for a step with contacts.
    """
    if value.kind is not INT:
        f.fail(node, f'{ast.unparse(node)}: an index is an integer, not {value.kind}')
    number = literal(value)
    index = value.leaves[0]
    if number is not None and number < 0:
        index = f.instruct(f'add i64 {extent}, {number}')
    f.module.check_index(f, node, index, extent)
    return index


def _range(f: Function, node: ast.Subscript, given: Range, extent: str) -> tuple[str, str]:
    """Return a range's first index and length; bounds are clipped, as in Python."""
    first = '0' if given.lower is None else _bound(f, node, given.lower, extent)
    end = extent if given.upper is None else _bound(f, node, given.upper, extent)
    if first == '0':
        return first, end
    count = f.instruct(f'sub i64 {end}, {first}')
    return first, f.call('llvm.smax.i64', 'i64', [('i64', count), ('i64', '0')])


def _bound(f: Function, node: ast.Subscript, value: Value, extent: str) -> str:
    if value.kind is not INT:
        f.fail(node, f'{ast.unparse(node)}: a bound is an integer, not {value.kind}')
    bound = value.leaves[0]
    if (literal(value) or 0) < 0:
        bound = f.instruct(f'add i64 {extent}, {bound}')
    bound = f.call('llvm.smax.i64', 'i64', [('i64', bound), ('i64', '0')])
    return f.call('llvm.smin.i64', 'i64', [('i64', bound), ('i64', extent)])


def _times(f: Function, a: str, b: str) -> str:
    return '0' if a == '0' else f.instruct(f'mul nsw i64 {a}, {b}')


def _plus(f: Function, a: str, b: str) -> str:
    if '0' in (a, b):
        return b if a == '0' else a
    return f.instruct(f'add nsw i64 {a}, {b}')


def count_items(f: Function, array: Value) -> str:
    """Return the number of items in an array."""
    total, *others = array.leaves[1:]
    for extent in others:
        total = f.instruct(f'mul nsw i64 {total}, {extent}')
    return total


def _copy(f: Function, node: ast.Subscript, source: Value, target: Value) -> None:
    """Copy an array with equal extents; the arrays may overlap."""
    if source.kind != target.kind:
        f.fail(node, f'{ast.unparse(node)} is {target.kind} and cannot be set to {source.kind}')
    for extent, other in zip(source.leaves[1:], target.leaves[1:], strict=True):
        f.module.check_extent(f, node, extent, other)
    assert isinstance(target.kind, Array)
    size = f.instruct(f'mul nsw i64 {count_items(f, target)}, {target.kind.item.dtype.itemsize}')
    f.module.declare('declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)')
    f.emit(
        f'call void @llvm.memmove.p0.p0.i64(ptr {target.leaves[0]}, ptr {source.leaves[0]}, '
        f'i64 {size}, i1 false)'
    )


def _fill(f: Function, item: Item, narrowed: str, target: Value) -> None:
    """Set all array items to a number as stored."""
    total = count_items(f, target)
    at = f.allocate(INT)
    head, body, end = f.label(), f.label(), f.label()
    f.store(at, Value(INT, ('0',)))
    f.branch(head)
    f.begin(head)
    index = f.load(at).leaves[0]
    f.branch_if(f.instruct(f'icmp slt i64 {index}, {total}'), body, end)
    f.begin(body)
    place = f.instruct(f'getelementptr inbounds {item.llvm}, ptr {target.leaves[0]}, i64 {index}')
    _store(f, item, place, narrowed)
    f.store(at, Value(INT, (f.instruct(f'add nsw i64 {index}, 1'),)))
    f.branch(head)
    f.begin(end)
