"""
Memory access by address, for kernels working on objects with their own memory.

Python passes addresses as integers in arrays, and keeps the memory alive. Kernels access 8-byte
words at multiples of 8.
"""

from __future__ import annotations

import ctypes
from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kinds import Array, FLOAT_ITEM, INT, INT_ITEM, Item, NONE, Value

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function


class _ArrayAt(Intrinsic):
    """`floats_at(address, count)` and `ints_at(address, count)`: vector at an address."""

    def __init__(self, name: str, item: Item, word: type[ctypes.c_double] | type[ctypes.c_int64]):
        self.__name__, self._item, self._word = name, item, word

    def __call__(self, address: int, count: int) -> np.ndarray:
        return np.ctypeslib.as_array((self._word * int(count)).from_address(int(address)))

    def emit(self, function: Function, arguments: list[Value]) -> Value:
        if [each.kind for each in arguments] != [INT, INT]:
            raise TypeError('takes an address and a number of items')
        (address,), (count,) = (each.leaves for each in arguments)
        pointer = function.instruct(f'inttoptr i64 {address} to ptr')
        return Value(Array(self._item, 1), (pointer, count))

    @property
    def content(self) -> str:
        return self.__name__


class _RunCall(Intrinsic):
    """`run_call(function, block)`: run a prepared `Call`; the addresses are `Call.place`."""

    def __call__(self, function: int, block: int) -> None:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(int(function))(int(block))

    def emit(self, function: Function, arguments: list[Value]) -> Value:
        if [each.kind for each in arguments] != [INT, INT]:
            raise TypeError("takes the two addresses of a call's place")
        pointers = [
            function.instruct(f'inttoptr i64 {each.leaves[0]} to ptr') for each in arguments
        ]
        function.emit(f'call void {pointers[0]}(ptr {pointers[1]})')
        return Value(NONE, ())

    @property
    def content(self) -> str:
        return 'run_call'


floats_at = _ArrayAt('floats_at', FLOAT_ITEM, ctypes.c_double)
ints_at = _ArrayAt('ints_at', INT_ITEM, ctypes.c_int64)
run_call = _RunCall()


def address_of(array: Any) -> int:
    """Return the address of an array's first item."""
    # takes a third of the time of array.ctypes.data
    return array.__array_interface__['data'][0]
