"""
All arrays of one world as one argument: a table with their addresses and shapes.

Passing fifty arrays to a compiled function costs several microseconds per call, more than a step
of a small robot. A table is made once. Inside kernels each *part* is a pointer to its table rows;
its fields are read where they are used. A part is a NamedTuple class with annotated fields. Each
field has one table row: an array's address and shape, or a number's bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, get_type_hints, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler.arrays import Layout, MAX_DIMENSIONS
from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kinds import (
    Array,
    FLOAT,
    INT,
    Kind,
    kind_of_annotation,
    Part,
    TABLE,
    Value,
)
from sim_bridge.compiler.memory import address_of

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function

COLUMNS = 1 + MAX_DIMENSIONS
"""Words per row: an address, then extents; or a number."""

Table = Annotated[Any, TABLE]
"""
Annotation of a kernel parameter that takes a world's arrays; Python passes an object with `.table`
and `.parts`.
"""


@cache
def fields_of(part: type) -> dict[str, Kind]:
    """Return a part's field kinds by name; raises TypeError for an unsupported field."""
    hints = get_type_hints(part, include_extras=True)
    kinds = {}
    for name, hint in hints.items():
        try:
            kinds[name] = kind_of_annotation(hint)
        except TypeError:
            kinds[name] = TABLE
        if not isinstance(kinds[name], Array) and kinds[name] not in (FLOAT, INT):
            raise TypeError(
                f'{part.__name__}.{name} is a {hint}; a field is an array of compiler.arrays, a '
                'float or an int'
            )
    return kinds


def tabulate(parts: Sequence[tuple[Any, ...]]) -> np.ndarray:
    """
    Make the table for parts; their arrays are used in place, and must outlive it.

    Returns (rows, COLUMNS) int64. Raises TypeError if an array's layout differs from its field's.
    """
    rows = [row for part in parts for row in _rows(part)]
    return np.array(rows, np.int64).reshape(len(rows), COLUMNS)


@cache
def _layouts_of(part: type) -> dict[str, Layout]:
    """Return the layouts of a part's array fields by name."""
    return {
        name: next(each for each in hint.__metadata__ if isinstance(each, Layout))
        for name, hint in get_type_hints(part, include_extras=True).items()
        if isinstance(fields_of(part)[name], Array)
    }


def _rows(part: tuple[Any, ...]) -> Iterator[list[int]]:
    layouts = _layouts_of(type(part))
    for name, kind in fields_of(type(part)).items():
        value = getattr(part, name)
        if isinstance(kind, Array):
            layout = layouts[name]
            is_readable = value.flags.c_contiguous and value.flags.aligned
            if (value.dtype, value.ndim) != layout or not is_readable:
                raise TypeError(
                    f'{type(part).__name__}.{name} must be a C-contiguous, aligned {layout.dtype} '
                    f'array of {layout.dimensions} dimensions, not {value.dtype} {value.shape}'
                )
            row = [address_of(value), *value.shape]
        else:
            number = float(value) if kind is FLOAT else int(value)
            row = [int(np.array(number).view(np.int64))]
        yield row + [0] * (COLUMNS - len(row))


class PartOpener(Intrinsic):
    """Kernel function returning one part of a table."""

    def __init__(self, place: int, part: type, first_row: int):
        """Open the `place`-th part of the table; its rows begin at `first_row`."""
        self.place, self.part, self.first_row = place, part, first_row
        self.__name__ = f'open_{part.__name__}'

    def __call__(self, table: Any) -> Any:
        """Return the part from an object with `.parts`, for kernels run by Python."""
        return table.parts[self.place]

    def emit(self, function: Function, arguments: list[Value]) -> Value:
        """Point at the part's first row."""
        if [each.kind for each in arguments] != [TABLE]:
            raise TypeError('takes a table')
        (table,) = arguments
        at = self.first_row * COLUMNS
        row = function.instruct(f'getelementptr i64, ptr {table.leaves[0]}, i64 {at}')
        return Value(Part(self.part), (row,))

    @property
    def content(self) -> str:
        """Layout that compiled code depends on."""
        return f'{part_content(self.part)} at {self.first_row}'


def part_content(part: type) -> str:
    """Describe a part by its name and its fields, in order."""
    return f'{part.__name__}: {[(name, str(kind)) for name, kind in fields_of(part).items()]}'


def openers_of(parts: Sequence[type]) -> list[PartOpener]:
    """Make an opener for each part of a table, in row order."""
    openers, row = [], 0
    for place, part in enumerate(parts):
        openers.append(PartOpener(place, part, row))
        row += len(fields_of(part))
    return openers


def emit_field(function: Function, part: Value, name: str) -> Value:
    """Read a part's field; raises KeyError if the part has no field with this name."""
    assert isinstance(part.kind, Part)
    fields = fields_of(part.kind.type)
    kind, row = fields[name], list(fields).index(name)
    leaves = []
    for column, llvm in enumerate(kind.leaves):
        at = row * COLUMNS + column
        place = function.instruct(f'getelementptr i64, ptr {part.leaves[0]}, i64 {at}')
        # kernels never write to the table: the load may be moved out of loops
        leaves.append(function.instruct(f'load {llvm}, ptr {place}, !invariant.load !0'))
    return Value(kind, tuple(leaves))
