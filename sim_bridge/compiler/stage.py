"""
Stages: kernels compiled separately, and only if needed.

Other kernels call a stage by address. They neither contain it nor wait for its compilation: a
robot without contacts compiles no collision code.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from functools import cached_property
from typing import Any, ClassVar, TYPE_CHECKING
from weakref import WeakValueDictionary

from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import INT, TABLE, Value
from sim_bridge.compiler.unit import Unit

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function


class Stage(Kernel):
    """Kernel taking a table and an integer, and returning an integer."""

    _by_address: ClassVar[WeakValueDictionary[int, Stage | Callback]] = WeakValueDictionary()

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function `f(table, phase) -> int`."""
        super().__init__(function, is_inlined=True)
        self.unit = Unit(self, None)

    @cached_property
    def address(self) -> int:
        """Address for `call_stage`; reading it compiles the stage."""
        address = self.unit.address
        self._by_address[address] = self
        return address

    @classmethod
    def at(cls, address: int) -> Stage | Callback:
        """Return the stage at an address."""
        return cls._by_address[address]


class Callback:
    """
    Python function called by kernels as a stage, at `address`, during this object's lifetime.

    The global interpreter lock is held during calls.
    """

    def __init__(self, function: Callable[[int], int]):
        """Wrap a function of the phase; it must not raise, because kernels cannot raise."""
        self._function = function
        self._call = _CALLED(self.function)
        address = ctypes.cast(self._call, ctypes.c_void_p).value
        assert address is not None
        self.address: int = address
        Stage._by_address[address] = self

    def function(self, table: Any, phase: int) -> int:
        """Call the function."""
        return self._function(phase)


_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)


class _CallStage(Intrinsic):
    """`call_stage(address, table, phase)`: run the stage at an address; return its integer."""

    def __call__(self, address: int, table: Any, phase: int) -> int:
        return Stage.at(int(address)).function(table, phase)

    def emit(self, function: Function, arguments: list[Value]) -> Value:
        if [each.kind for each in arguments] != [INT, TABLE, INT]:
            raise TypeError('takes an address, a table and a phase')
        (address,), (table,), (phase,) = (each.leaves for each in arguments)
        pointer = function.instruct(f'inttoptr i64 {address} to ptr')
        return Value(INT, (function.instruct(f'call i64 {pointer}(ptr {table}, i64 {phase})'),))

    @property
    def content(self) -> str:
        return 'call_stage'


call_stage = _CallStage()
