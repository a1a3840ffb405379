"""
The decorators of kernels.

`kernel` is inlined where it is called, and its sums and products become part of the calling
expression where it is nothing but `return expression`; `subroutine` is called: for what is large
and used in several places; `entry` can be called from Python too and runs compiled. A `Stage` is
compiled on its own, so that kernels that may need it neither contain it nor wait for it.

Called from Python, kernels and subroutines run as the Python functions that they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property, update_wrapper
import inspect
from typing import Any, get_type_hints

from sim_bridge.compiler.calls import Call, Compiled
from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kinds import INT, Kind, kind_of_annotation, kind_of_argument, TABLE, Value
from sim_bridge.compiler.source import tree_of

ENTRIES: list[Entry] = []
"""All entries of the modules that have been imported."""


class Kernel:
    """A function of the subset of Python that docs/kernels.md describes."""

    def __init__(self, function: Callable[..., Any], *, is_inlined: bool):
        """Wrap a Python function; nothing is compiled yet."""
        self.function, self.is_inlined = function, is_inlined
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the Python function."""
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f'<{type(self).__name__.lower()} {self.__module__}.{self.__qualname__}>'

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Its syntax tree."""
        return tree_of(self.function)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Its parameters and variables."""
        return frozenset(self.function.__code__.co_varnames)


class Entry(Kernel):
    """A kernel that Python calls: compiled at its first call, or before by `build.build`."""

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function."""
        super().__init__(function, is_inlined=True)
        self._compiled: dict[tuple[Kind, ...], Compiled] = {}
        ENTRIES.append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Run compiled; raises TypeError for arguments of other kinds than it takes."""
        return self.compiled(*arguments).call(arguments)

    def prepare(self, *arguments: Any, is_short: bool = False) -> Call:
        """
        Return a call with these arguments, to be repeated at little cost.

        The arrays are used in place, and are kept alive by it. is_short: keep the interpreter's
        lock, for what takes some microseconds at most.
        """
        return Call(self.compiled(*arguments), arguments, is_short=is_short)

    @cached_property
    def kinds(self) -> tuple[Kind, ...] | None:
        """The kinds of its parameters by their annotations; None if they have none."""
        hints = get_type_hints(self.function, include_extras=True)
        names = list(inspect.signature(self.function).parameters)
        if not all(name in hints for name in names):
            return None
        return tuple(kind_of_annotation(hints[name]) for name in names)

    def compiled(self, *arguments: Any) -> Compiled:
        """Return what runs for arguments like these; without annotations they say the kinds."""
        if self.kinds is not None:
            return self._own
        return self.compiled_for(tuple(map(kind_of_argument, arguments)))

    @cached_property
    def _own(self) -> Compiled:
        """What runs for arguments of the kinds that the annotations say."""
        return Compiled(self, self.kinds)

    def compiled_for(self, kinds: tuple[Kind, ...]) -> Compiled:
        """Return what runs for arguments of these kinds."""
        if kinds not in self._compiled:
            self._compiled[kinds] = Compiled(self, kinds)
        return self._compiled[kinds]

    @property
    def unit(self) -> Any:
        """What is compiled for it; of entries whose parameters are annotated."""
        if self.kinds is None:
            raise TypeError(f'{self!r}: annotate the parameters, or call it')
        return self._own.unit


class Stage(Kernel):
    """
    A function of a table and an integer that returns one, compiled on its own.

    Other kernels call it by its address with `call_stage`.
    """

    _by_address: dict[int, Stage] = {}

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function `f(table, phase) -> int`."""
        super().__init__(function, is_inlined=True)

    @cached_property
    def unit(self) -> Any:
        """What is compiled for it."""
        from sim_bridge.compiler.unit import Unit

        return Unit(self, None)

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
    """`call_stage(address, table, phase)`: run the stage at an address."""

    def __call__(self, address: int, table: Any, phase: int) -> int:
        return Stage.at(int(address)).function(table, phase)

    def emit(self, function: Any, arguments: list[Value]) -> Value:
        if [each.kind for each in arguments] != [INT, TABLE, INT]:
            raise TypeError('takes an address, a table and a phase')
        (address,), (table,), (phase,) = (each.leaves for each in arguments)
        pointer = function.instruct(f'inttoptr i64 {address} to ptr')
        return Value(INT, (function.instruct(f'call i64 {pointer}(ptr {table}, i64 {phase})'),))

    @property
    def content(self) -> str:
        return 'call_stage'


call_stage = _CallStage()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that is inlined into those that call it."""
    return Kernel(function, is_inlined=True)


def subroutine(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that is called, not inlined."""
    return Kernel(function, is_inlined=False)


def entry(function: Callable[..., Any]) -> Entry:
    """Make a function a kernel that Python can call, too."""
    return Entry(function)
