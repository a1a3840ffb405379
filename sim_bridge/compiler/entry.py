"""Entries: kernels callable from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
import inspect
from typing import Any, get_type_hints

from sim_bridge.compiler.calls import Call, Compiled
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import Kind, kind_of_annotation, kind_of_argument
from sim_bridge.compiler.unit import Unit


class Entry(Kernel):
    """
    Kernel callable from Python: compiled at its first call, or earlier by `build.build`.

    Annotations give the parameter kinds. Without annotations (all or none), each call's arguments
    give them.
    """

    def __init__(self, function: Callable[..., Any]):
        """Wrap a Python function."""
        super().__init__(function, is_inlined=True)
        self._by_kinds: dict[tuple[Kind, ...], Compiled] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled code; raises TypeError for arguments with wrong kinds."""
        return self._compiled(arguments).call(arguments)

    def prepare(self, *arguments: Any, is_short: bool = False) -> Call:
        """
        Return a call with these arguments, cheap to repeat.

        The arrays are used in place and kept alive. is_short: hold the global interpreter lock,
        for calls lasting a few microseconds.
        """
        return Call(self._compiled(arguments), arguments, is_short=is_short)

    @cached_property
    def kinds(self) -> tuple[Kind, ...] | None:
        """Parameter kinds by annotation; None without annotations."""
        hints = get_type_hints(self.function, include_extras=True)
        names = list(inspect.signature(self.function).parameters)
        if not all(name in hints for name in names):
            return None
        return tuple(kind_of_annotation(hints[name]) for name in names)

    @property
    def unit(self) -> Unit:
        """Unit for the annotated kinds; raises TypeError if the parameters are not annotated."""
        if self._own is None:
            raise TypeError(f'{self!r}: annotate the parameters, or call it')
        return self._own.unit

    @cached_property
    def _own(self) -> Compiled | None:
        """Compiled code for the annotated kinds, None without annotations."""
        return None if self.kinds is None else Compiled(self, self.kinds)

    def _compiled(self, arguments: tuple[Any, ...]) -> Compiled:
        if self._own is not None:
            return self._own
        kinds = tuple(map(kind_of_argument, arguments))
        if kinds not in self._by_kinds:
            self._by_kinds[kinds] = Compiled(self, kinds)
        return self._by_kinds[kinds]


def entry(function: Callable[..., Any]) -> Entry:
    """Make a function a kernel, also callable from Python."""
    return Entry(function)
