"""
All arrays of one world as one kernel argument.

Passing a NamedTuple of fifty arrays to a compiled function costs several microseconds a call, more
than a step of a small robot. A `Handle` is a table of their addresses and shapes, made once;
inside the kernels the NamedTuples are rebuilt from it for nothing. The Python object that made the
handle keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj
import numpy as np

from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import Model, Options
from sim_bridge.engine.state import State
from sim_bridge.engine.workspace import Workspace

_MAX_DIMENSIONS = 3


class Handle:
    """The addresses of a world's arrays, and the arrays themselves so that they live as long."""

    def __init__(self, model: Model, options: Options, state: State, workspace: Workspace):
        """Pack the arrays; those of `model`, `state` and `workspace` are used in place."""
        self._alive = [*model, np.array(options, dtype=np.float64), *state, *workspace]
        self.table = np.array([_entry(array) for array in self._alive], dtype=np.int64)


def _entry(array: np.ndarray) -> list[int]:
    """Describe one array: address, then its shape padded with ones."""
    if not array.flags.c_contiguous or array.dtype not in (np.float64, np.int64) or array.ndim > _MAX_DIMENSIONS:
        raise TypeError(f'a kernel array must be C-contiguous float64 or int64 of at most {_MAX_DIMENSIONS} '
                        f'dimensions, not {array.dtype} {array.shape}')
    return [array.ctypes.data, *array.shape, *[1] * (_MAX_DIMENSIONS - array.ndim)]


def _array_at(dtype: types.Number, dimensions: int) -> Any:
    """Make an intrinsic that gives entry k of a handle's table as an array of the given type."""
    array_type = types.Array(dtype, dimensions, 'C')

    @intrinsic
    def array_at(typing_context: Any, table: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table_type = signature.args[0]
            entries = context.make_array(table_type)(context, builder, arguments[0])
            row = builder.mul(arguments[1], ir.Constant(ir.IntType(64), 1 + _MAX_DIMENSIONS))
            address, *shape = (
                builder.load(builder.gep(entries.data, [builder.add(row, ir.Constant(ir.IntType(64), column))]))
                for column in range(1 + dimensions))
            itemsize = context.get_constant(types.intp, dtype.bitwidth // 8)
            strides = [itemsize]
            for extent in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], extent))
            array = context.make_array(array_type)(context, builder)
            arrayobj.populate_array(
                array, data=builder.inttoptr(address, array.data.type), shape=shape, strides=strides,
                itemsize=itemsize, meminfo=None)
            return array._getvalue()
        return array_type(table, types.int64), generate
    return array_at


_f1 = _array_at(types.float64, 1)
_f2 = _array_at(types.float64, 2)
_f3 = _array_at(types.float64, 3)
_i1 = _array_at(types.int64, 1)
_i2 = _array_at(types.int64, 2)


@kernel(inline='always')
def open_model(table):
    """Rebuild the Model; the order is that of its fields."""
    t = table
    return Model(_i1(t, 0), _i1(t, 1), _i1(t, 2), _i1(t, 3), _i1(t, 4), _f2(t, 5), _f2(t, 6), _f2(t, 7), _f2(t, 8),
                 _i2(t, 9), _f2(t, 10), _i1(t, 11), _f1(t, 12))


@kernel(inline='always')
def open_options(table):
    """Rebuild the Options."""
    o = _f1(table, 13)
    return Options(o[0], o[1], int(o[2]), int(o[3]))


@kernel(inline='always')
def open_state(table):
    """Rebuild the State; the order is that of its fields."""
    t = table
    return State(_f1(t, 14), _f1(t, 15), _f1(t, 16), _f2(t, 17), _i1(t, 18), _i1(t, 19), _f1(t, 20), _f1(t, 21))


@kernel(inline='always')
def open_workspace(table):
    """Rebuild the Workspace; the order is that of its fields."""
    t = table
    return Workspace(_f2(t, 22), _f2(t, 23), _f2(t, 24), _f2(t, 25), _f2(t, 26), _f2(t, 27), _f2(t, 28), _f2(t, 29),
                     _f2(t, 30), _f2(t, 31), _f1(t, 32), _f1(t, 33), _f1(t, 34), _f1(t, 35), _f1(t, 36), _f1(t, 37),
                     _i1(t, 38), _f3(t, 39), _f2(t, 40))
