"""
All arrays of one world as one kernel argument.

Passing a NamedTuple of fifty arrays to a compiled function costs several microseconds a call, more
than a step of a small robot. A `Handle` is a table of their addresses and shapes, made once;
inside the kernels the NamedTuples are rebuilt from it for nothing. The Python object that made the
handle keeps the arrays alive.

Both sides follow the NamedTuples' annotations, one row of the table for each field: an array's
address and shape, a number's bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import Any, get_type_hints

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype
import numpy as np

from sim_bridge.engine.arrays import Layout, MAX_DIMENSIONS
from sim_bridge.engine.model import Model, Options
from sim_bridge.engine.state import State
from sim_bridge.engine.workspace import Workspace

_COLUMNS = 1 + MAX_DIMENSIONS
_NUMBERS = {float: types.float64, int: types.int64}
_TABLE = types.Array(types.int64, 2, 'C')


class Handle:
    """The addresses of a world's arrays, and the arrays themselves so that they live as long."""

    def __init__(self, model: Model, options: Options, state: State, workspace: Workspace):
        """
        Tabulate the fields; the arrays are used in place.

        Raises TypeError for an array of another kind than its field's annotation says.
        """
        self._alive = (model, options, state, workspace)
        rows = [row for part in self._alive for row in _rows(part)]
        self.table = np.array(rows, dtype=np.int64)


def _rows(part: Model | Options | State | Workspace) -> Iterator[list[int]]:
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


def _opener(part: type, first_row: int) -> Any:
    """Make the function for kernels that rebuilds a NamedTuple from the rows at `first_row`."""
    kinds = [_numba_type(kind) for kind in _fields(part).values()]
    rebuilt = types.BaseTuple.from_types(kinds, part)

    @intrinsic
    def open_part(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            entries = context.make_array(_TABLE)(context, builder, arguments[0]).data
            fields = [
                _generate_field(context, builder, kind, entries, row)
                for row, kind in enumerate(kinds, first_row)
            ]
            return context.make_tuple(builder, rebuilt, fields)
        return (rebuilt(_TABLE), generate) if table == _TABLE else None
    return open_part


def _generate_field(context: Any, builder: Any, kind: types.Type, entries: Any, row: int) -> Any:
    """Generate the code that reads one row of the table."""
    def load(column: int) -> Any:
        place = ir.Constant(ir.IntType(64), row * _COLUMNS + column)
        return builder.load(builder.gep(entries, [place]))

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


_PARTS = (Model, Options, State, Workspace)
_FIRST_ROWS = accumulate((len(part._fields) for part in _PARTS), initial=0)

open_model, open_options, open_state, open_workspace = map(_opener, _PARTS, _FIRST_ROWS)
