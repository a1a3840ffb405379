"""
Parts of a step that are compiled on their own, and only where they are needed.

A stage is called through its address, so that a kernel that may need it neither contains it nor
waits for its compilation: a robot that touches nothing compiles no collision code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sim_bridge.engine.handle import ENTRIES, entries_of, TABLE
from sim_bridge.engine.jit import CACHE_FOLDER, compile_stage


class Stage:
    """A function of a handle's table and an integer, compiled when it is first asked for."""

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function `f(entries, phase) -> int`."""
        self._function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _compiled(self) -> Any:
        return compile_stage(self._function, types.int64(ENTRIES, types.int64))

    @property
    def is_cached(self) -> bool:
        """Whether it is compiled, here or on disk."""
        name = f'*.{self._function.__qualname__}-*.nbi'
        return '_compiled' in self.__dict__ or any(CACHE_FOLDER.rglob(name))

    @property
    def address(self) -> int:
        """The address for `call_stage`."""
        return self._compiled.address


@intrinsic
def call_stage(typing_context: Any, address: Any, table: Any, phase: Any) -> Any:
    """Call the stage at an address with a handle's table."""
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word.as_pointer(), word])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        entries = entries_of(context, builder, table, arguments[1])
        return builder.call(function, [entries, arguments[2]])
    is_callable = table in (TABLE, ENTRIES)
    return (types.int64(types.int64, table, types.int64), generate) if is_callable else None
