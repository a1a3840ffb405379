"""
Value kinds in kernels, and their representation in LLVM.

A value is held as *leaves*, a flat sequence of LLVM values. A number is one leaf. A tuple has its
items' leaves, an array its address and extents, a part or a table its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import Layout, MAX_DIMENSIONS


@dataclass(frozen=True)
class Number:
    """64-bit float, 64-bit integer or bool; llvm: its LLVM type."""

    name: str
    llvm: str

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return (self.llvm,)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Tuple:
    """Tuple of values with any kinds."""

    items: tuple[Kind, ...]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return tuple(leaf for item in self.items for leaf in item.leaves)

    def __str__(self) -> str:
        return f'({", ".join(map(str, self.items))})' if self.items else 'None'


@dataclass(frozen=True)
class Item:
    """
    Array item format: numpy type and LLVM type in memory.

    number: kind of a loaded item; a narrow item has fewer than 64 bits.
    """

    name: str
    number: Number
    dtype: np.dtype
    llvm: str

    @property
    def is_narrow(self) -> bool:
        """Return whether loads and stores convert."""
        return self.llvm != self.number.llvm

    @property
    def is_signed(self) -> bool:
        """Return whether an integer item has a sign."""
        return self.dtype.kind == 'i'

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Place:
    """Array item to be loaded or stored; its leaf is an address."""

    item: Item

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return ('ptr',)

    def __str__(self) -> str:
        return str(self.item)


@dataclass(frozen=True)
class Array:
    """C-contiguous array with float or integer items."""

    item: Item
    dimensions: int

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return ('ptr', *('i64',) * self.dimensions)

    def __str__(self) -> str:
        return f'array of {self.item}, {self.dimensions}-d'


@dataclass(frozen=True)
class Part:
    """Part of a table: arrays and numbers, declared by a NamedTuple class."""

    type: type

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return ('ptr',)

    def __str__(self) -> str:
        return self.type.__name__


@dataclass(frozen=True)
class TableKind:
    """Table, from which parts are opened."""

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """LLVM types of a value's leaves."""
        return ('ptr',)

    def __str__(self) -> str:
        return 'table'


Kind = Number | Tuple | Array | Place | Part | TableKind

FLOAT = Number('float', 'double')
INT = Number('int', 'i64')
BOOL = Number('bool', 'i1')
NONE = Tuple(())
TABLE = TableKind()

_NUMBERS: dict[Any, Number] = {float: FLOAT, int: INT, bool: BOOL}
FLOAT_ITEM = Item('float', FLOAT, np.dtype(np.float64), 'double')
INT_ITEM = Item('int', INT, np.dtype(np.int64), 'i64')
_ITEMS = {
    each.dtype: each
    for each in (
        FLOAT_ITEM,
        INT_ITEM,
        Item('float32', FLOAT, np.dtype(np.float32), 'float'),
        Item('uint8', INT, np.dtype(np.uint8), 'i8'),
        Item('uint16', INT, np.dtype(np.uint16), 'i16'),
        Item('uint32', INT, np.dtype(np.uint32), 'i32'),
        Item('int16', INT, np.dtype(np.int16), 'i16'),
        Item('int32', INT, np.dtype(np.int32), 'i32'),
    )
}


class Value(NamedTuple):
    """Value during compilation; leaves: LLVM operands, as text."""

    kind: Kind
    leaves: tuple[str, ...]


def is_number(kind: Kind) -> bool:
    """Return whether a kind is float, int or bool."""
    return isinstance(kind, Number)


def items_of(value: Value) -> Iterator[Value]:
    """Yield a tuple's items."""
    assert isinstance(value.kind, Tuple)
    leaves = iter(value.leaves)
    for item in value.kind.items:
        yield Value(item, tuple(islice(leaves, len(item.leaves))))


def tuple_of(items: list[Value]) -> Value:
    """Return a tuple from values."""
    return Value(
        Tuple(tuple(item.kind for item in items)),
        tuple(leaf for item in items for leaf in item.leaves),
    )


def is_part(kind: type) -> bool:
    """Return whether a class is a NamedTuple, the form required for parts."""
    return issubclass(kind, tuple) and hasattr(kind, '_fields')


def kind_of_annotation(annotation: Any) -> Kind:
    """
    Return the kind for a parameter or field annotation.

    Raises TypeError for unsupported annotations.
    """
    if annotation in _NUMBERS:
        return _NUMBERS[annotation]
    for each in getattr(annotation, '__metadata__', ()):
        if isinstance(each, Layout):
            return Array(_ITEMS[each.dtype], each.dimensions)
        if isinstance(each, TableKind):
            return each
    if isinstance(annotation, type) and is_part(annotation):
        return Part(annotation)
    items = getattr(annotation, '__args__', None)
    if getattr(annotation, '__origin__', None) is tuple and items and ... not in items:
        return Tuple(tuple(map(kind_of_annotation, items)))
    raise TypeError(f'{annotation!r} is not a value kind of kernels')


def kind_of_argument(value: Any) -> Kind:
    """Return a Python value's kind; raises TypeError for unsupported values."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return INT
    if isinstance(value, (float, np.floating)):
        return FLOAT
    if isinstance(value, np.ndarray):
        if value.dtype in _ITEMS and 1 <= value.ndim <= MAX_DIMENSIONS:
            return Array(_ITEMS[value.dtype], value.ndim)
        raise TypeError(
            f'a {value.ndim}-d array of {value.dtype}; kernels take arrays of '
            f'{", ".join(map(str, _ITEMS))} with 1 to {MAX_DIMENSIONS} dimensions'
        )
    if isinstance(value, tuple):
        if is_part(type(value)):
            return Part(type(value))
        return Tuple(tuple(map(kind_of_argument, value)))
    if isinstance(getattr(value, 'table', None), np.ndarray):
        return TABLE
    raise TypeError(f'{value!r}; kernels take numbers, tuples, arrays and tables')
