"""
Stages: kernels that are compiled separately, and only if needed.

Other kernels call a stage by its address, so that they neither contain it nor wait for its
compilation: a robot without contacts compiles no collision code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, TYPE_CHECKING

from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import INT, TABLE, Value
from sim_bridge.compiler.unit import Unit

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function


class Stage(Kernel):
    """A function of a table and an integer that returns an integer."""

    _by_address: ClassVar[dict[int, Stage]] = {}

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function `f(table, phase) -> int`."""
        super().__init__(function, is_inlined=True)
        self.unit = Unit(self, None)

    @cached_property
    def address(self) -> int:
        """The address for `call_stage`; compiles it."""
        address = self.unit.address
        self._by_address[address] = self
        return address

    @classmethod
    def at(cls, address: int) -> Stage:
        """Return the stage at an address."""
        return cls._by_address[address]


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
