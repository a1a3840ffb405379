"""
All arrays of one world as one kernel argument.

Passing a NamedTuple of fifty arrays to a compiled function costs several microseconds a call, more
than a step of a small robot. A `Handle` is a table of their addresses and shapes, made once;
inside the kernels each part is a pointer to its rows, whose fields are read where they are used:
what costs most in compiling is moving many arrays about. The Python object that made the handle
keeps the arrays alive.

Both sides follow the NamedTuples' annotations, one row of the table for each field: an array's
address and shape, a number's bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any, get_type_hints, NamedTuple

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype
import numpy as np

from sim_bridge.engine.arrays import Layout, MAX_DIMENSIONS
from sim_bridge.engine.collision.geometry import Geometry
from sim_bridge.engine.collision.scratch import CollisionScratch
from sim_bridge.engine.contact.contacts import Contacts
from sim_bridge.engine.contact.problem import Direct, Islands, Laws, Response, Rows, Solution
from sim_bridge.engine.contact.surface import Surfaces
from sim_bridge.engine.loops.loops import Loops, LoopWork
from sim_bridge.engine.model import Model, Options
from sim_bridge.engine.state import State
from sim_bridge.engine.workspace import Workspace

_COLUMNS = 1 + MAX_DIMENSIONS
_WORD = ir.IntType(64)
_NUMBERS = {float: types.float64, int: types.int64}
# the compiler's names for Handle.table and for a pointer to its entries; kernels take either
TABLE = types.Array(types.int64, 2, 'C')
ENTRIES = types.CPointer(types.int64)


class Handle:
    """The addresses of a world's arrays, and the arrays themselves so that they live as long."""

    def __init__(self, *parts: NamedTuple):
        """
        Tabulate the fields of one of each of PARTS, in their order; the arrays are used in place.

        Raises TypeError for another part, or an array of another kind than its field's annotation
        says.
        """
        kinds = tuple(type(part) for part in parts)
        if kinds != PARTS:
            raise TypeError(f'a handle is made of {PARTS}, not of {kinds}')
        self.parts = parts
        rows = [row for part in parts for row in _rows(part)]
        self.table = np.array(rows, dtype=np.int64)


def _rows(part: NamedTuple) -> Iterator[list[int]]:
    """Describe the fields, one row each."""
    for name, kind in _fields(type(part)).items():
        value = getattr(part, name)
        if isinstance(kind, Layout):
            if (value.dtype, value.ndim) != kind or not value.flags.c_contiguous:
                raise TypeError(
                    f'{type(part).__name__}.{name} must be a C-contiguous {kind.dtype} '
                    f'array of {kind.dimensions} dimensions, not {value.dtype} {value.shape}')
            row = [value.ctypes.data, *value.shape]
        else:
            row = [int(np.array(kind(value)).view(np.int64))]
        yield row + [0] * (_COLUMNS - len(row))


@cache
def _fields(part: type) -> dict[str, Layout | type]:
    """Give each field's layout or, for a number, its type."""
    hints = get_type_hints(part, include_extras=True)
    kinds = {name: getattr(hint, '__metadata__', (hint,))[0] for name, hint in hints.items()}
    for name, kind in kinds.items():
        if not isinstance(kind, Layout) and kind not in _NUMBERS:
            raise TypeError(f'no row of a table can hold {part.__name__}.{name}, a {kind}')
    return kinds


def _numba_type(kind: Layout | type) -> types.Type:
    """Give the compiler's name for the kind of a field."""
    if isinstance(kind, Layout):
        return types.Array(from_dtype(kind.dtype), kind.dimensions, 'C')
    return _NUMBERS[kind]


class PartType(types.Type):
    """The compiler's name for a part: a NamedTuple whose fields are read from its rows."""

    def __init__(self, part: type):
        """Name one of PARTS."""
        self.part = part
        super().__init__(f'Part({part.__name__})')


@register_model(PartType)
class _PartModel(models.PrimitiveModel):
    """A part is held as the pointer to its first row."""

    def __init__(self, manager: Any, kind: PartType):
        super().__init__(manager, kind, _WORD.as_pointer())


@infer_getattr
class _PartAttributes(AttributeTemplate):
    """The kinds of a part's fields."""

    key = PartType

    def generic_resolve(self, kind: PartType, name: str) -> types.Type | None:
        """Give a field's kind; None for what is no field."""
        layout = _fields(kind.part).get(name)
        return None if layout is None else _numba_type(layout)


@lower_getattr_generic(PartType)
def _generate_attribute(context: Any, builder: Any, kind: PartType, first: Any, name: str) -> Any:
    """Generate the code that reads a part's field."""
    fields = _fields(kind.part)
    row = list(fields).index(name)
    return _generate_field(context, builder, _numba_type(fields[name]), first, row)


def _opener(part: type, first_row: int) -> Any:
    """Make the function for kernels that gives a table's part, whose rows begin at `first_row`."""
    @intrinsic
    def open_part(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            entries = entries_of(context, builder, table, arguments[0])
            return builder.gep(entries, [ir.Constant(_WORD, first_row * _COLUMNS)])
        return (PartType(part)(table), generate) if table in (TABLE, ENTRIES) else None
    return open_part


def entries_of(context: Any, builder: Any, kind: types.Type, table: Any) -> Any:
    """Generate the pointer to a table's entries, which the table may already be."""
    if kind == ENTRIES:
        return table
    return context.make_array(TABLE)(context, builder, table).data


def _generate_field(context: Any, builder: Any, kind: types.Type, first: Any, row: int) -> Any:
    """Generate the code that reads one row of those that begin at `first`."""
    def load(column: int) -> Any:
        place = ir.Constant(_WORD, row * _COLUMNS + column)
        word = builder.load(builder.gep(first, [place]))
        # no kernel writes into its table: one read will do for a whole loop
        word.set_metadata('invariant.load', builder.module.add_metadata([]))
        return word

    if not isinstance(kind, types.Array):
        return builder.bitcast(load(0), context.get_value_type(kind))
    shape = [load(1 + axis) for axis in range(kind.ndim)]
    itemsize = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    strides = [itemsize]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    array = context.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array, data=builder.inttoptr(load(0), array.data.type), shape=shape, strides=strides,
        itemsize=itemsize, meminfo=None)
    return array._getvalue()


PARTS = (
    Model, Options, State, Workspace, Geometry, Surfaces, CollisionScratch, Contacts,
    Laws, Islands, Rows, Solution, Response, Direct, Loops, LoopWork)
_FIRST_ROWS = accumulate((len(part._fields) for part in PARTS), initial=0)

(
    open_model, open_options, open_state, open_workspace, open_geometry, open_surfaces,
    open_collision, open_contacts, open_laws, open_islands, open_rows, open_solution,
    open_response, open_direct, open_loops, open_loop_work,
) = map(_opener, PARTS, _FIRST_ROWS)
