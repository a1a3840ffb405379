"""
Calls from Python to compiled entries.

Arguments and results are words in one memory block. Its address is the only argument passed to the
machine code: converting twenty arguments in each call would cost more than one step of a small
robot. The global interpreter lock is released while an entry runs, except in calls known to be
short: another thread could hold the lock for much longer than the call takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import ctypes
from functools import cached_property
from itertools import accumulate
from struct import Struct
from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.compiler.argument_table import tabulate
from sim_bridge.compiler.kinds import (
    Array,
    BOOL,
    FLOAT,
    INT,
    is_number,
    Kind,
    kind_of_argument,
    Part,
    TABLE,
    Tuple,
)
from sim_bridge.compiler.memory import address_of
from sim_bridge.compiler.taking import READABLE
from sim_bridge.compiler.unit import Unit

if TYPE_CHECKING:
    from sim_bridge.compiler.kernel import Kernel

_FORMATS = {FLOAT: 'd', INT: 'q', BOOL: '?7x'}
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ShortFunction = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Compiled:
    """Entry compiled for given argument kinds."""

    def __init__(self, entry: Kernel, kinds: tuple[Kind, ...]):
        """Prepare for calls; the first call compiles the unit, unless it was built earlier."""
        self.entry, self.kinds = entry, kinds
        self.unit = Unit(entry, kinds)
        *self.starts, self.words = accumulate((len(kind.leaves) for kind in kinds), initial=0)
        """First word of each argument, and the total number of words."""

    @cached_property
    def run(self) -> Any:
        """C function taking the address of a block."""
        return _Function(self.unit.address)

    @cached_property
    def run_short(self) -> Any:
        """The same function, called without releasing the global interpreter lock."""
        return _ShortFunction(self.unit.address)

    @cached_property
    def result(self) -> Kind:
        """Result kind."""
        return self.unit.result

    @cached_property
    def results(self) -> Struct:
        """Layout of the result, stored behind the arguments in the block."""
        return Struct('=' + ''.join(_formats(self.result)))

    @property
    def size(self) -> int:
        """Block size [bytes]."""
        return 8 * self.words + self.results.size

    def words_of(self, arguments: Sequence[Any], alive: list[Any]) -> list[int]:
        """
        Return the argument words; append the objects they point to to `alive`.

        Raises TypeError naming the wrong argument.
        """
        names = self.entry.function.__code__.co_varnames
        if len(arguments) != len(self.kinds):
            raise TypeError(
                f'{self.entry.__name__}() takes {len(self.kinds)} arguments '
                f'({", ".join(names[: len(self.kinds)])}), not {len(arguments)}'
            )
        words: list[int] = []
        for name, kind, argument in zip(names, self.kinds, arguments, strict=False):
            try:
                if name.endswith(_WRITTEN) and isinstance(argument, np.ndarray):
                    _check_writable(argument)
                words += _words(kind, argument, alive)
            except TypeError as error:
                raise TypeError(
                    f'{self.entry.__name__}(): argument {name!r} must be {kind}, not {error}'
                ) from None
        return words

    def call(self, arguments: Sequence[Any]) -> Any:
        """Run once."""
        alive: list[Any] = []
        words = self.words_of(arguments, alive)
        block = (ctypes.c_int64 * (self.size // 8))(*words)
        self.run(ctypes.addressof(block))
        return self.unpack(block)

    def unpack(self, block: Any) -> Any:
        """Return the result in a block."""
        if not self.result.leaves:
            return None
        values = self.results.unpack_from(block, 8 * self.words)
        return _assemble(self.result, iter(values))


class Call:
    """Prepared call to an entry, for repeated use."""

    def __init__(self, compiled: Compiled, arguments: Sequence[Any], *, is_short: bool = False):
        """Fill the block; is_short: hold the global interpreter lock during calls."""
        # arrays are used in place; part tables are created for the call
        self._alive: list[Any] = list(arguments)
        self._compiled = compiled
        words = compiled.words_of(arguments, self._alive)
        self.words = (ctypes.c_int64 * (compiled.size // 8))(*words)
        """Argument words, then result words; integers may be written in place."""
        self._address = ctypes.addressof(self.words)
        self._run = compiled.run_short if is_short else compiled.run
        self._unpack = compiled.results.unpack_from
        self._offset = 8 * compiled.words
        self._is_number = is_number(compiled.result)
        items = compiled.result.items if isinstance(compiled.result, Tuple) else ()
        self._is_flat = len(items) > 0 and all(map(is_number, items))

    def word_of(self, number: int) -> int:
        """Return the index of an argument's first word; numbers there may be replaced."""
        return self._compiled.starts[number]

    def replace(self, number: int, array: np.ndarray) -> None:
        """Use another array of the same kind as an argument; raises TypeError for other kinds."""
        kind, at = self._compiled.kinds[number], self._compiled.starts[number]
        # usual case: takes a tenth of the time of the full check below
        if (
            type(array) is np.ndarray
            and isinstance(kind, Array)
            and array.dtype is kind.item.dtype
            and array.ndim == kind.dimensions
            and array.flags.num & READABLE == READABLE
        ):
            words = [address_of(array), *array.shape]
        else:
            words = _words(kind, array, [])
        self.words[at : at + len(words)] = words
        self._alive[number] = array

    def address_of_word(self, number: int) -> int:
        """Return the address of an argument's first word."""
        return self._address + 8 * self.word_of(number)

    @property
    def count(self) -> int:
        """Number of arguments."""
        return len(self._compiled.kinds)

    @property
    def argument_words(self) -> int:
        """Number of argument words; the result follows them."""
        return self._compiled.words

    @property
    def place(self) -> tuple[int, int]:
        """Addresses of the function and the block, for `memory.run_call`."""
        return self._compiled.unit.address, self._address

    def __call__(self) -> Any:
        """Run; return the result."""
        self._run(self._address)
        if self._is_flat:
            return self._unpack(self.words, self._offset)
        if self._is_number:
            return self._unpack(self.words, self._offset)[0]
        return self._compiled.unpack(self.words)


def _words(kind: Kind, argument: Any, alive: list[Any]) -> list[int]:
    """Return an argument's 64-bit words; raises TypeError stating the kind found."""
    if kind is TABLE:
        table = getattr(argument, 'table', None)
        if not isinstance(table, np.ndarray):
            raise TypeError(repr(argument))
        return [address_of(table)]
    found = kind_of_argument(argument)
    if isinstance(kind, Part):
        if found != kind:
            raise TypeError(str(found))
        alive.append(tabulate([argument]))
        return [address_of(alive[-1])]
    if isinstance(kind, Array):
        if found != kind:
            raise TypeError(str(found))
        if not argument.flags.c_contiguous:
            raise TypeError('an array that is not C-contiguous')
        if not argument.flags.aligned:
            raise TypeError('an array whose items are not aligned in memory')
        return [address_of(argument), *argument.shape]
    if isinstance(kind, Tuple):
        if not isinstance(found, Tuple) or len(found.items) != len(kind.items):
            raise TypeError(str(found))
        return [
            word
            for item, each in zip(kind.items, argument, strict=True)
            for word in _words(item, each, alive)
        ]
    if not is_number(found) or (kind is not FLOAT and found is FLOAT):
        raise TypeError(str(found))
    if kind is FLOAT:
        return [_BITS.unpack(_DOUBLE.pack(argument))[0]]
    if not -(2**63) <= argument < 2**63:
        raise TypeError(f'{argument}, which takes more than 64 bits')
    return [int(argument)]


def _check_writable(array: np.ndarray) -> None:
    if not array.flags.writeable:
        raise TypeError('an array that must not be written')


# suffixes of output parameter names
_WRITTEN = ('_out', '_inout')
_BITS, _DOUBLE = Struct('=q'), Struct('=d')


def _formats(kind: Kind) -> Iterator[str]:
    if isinstance(kind, Tuple):
        for item in kind.items:
            yield from _formats(item)
    elif kind in _FORMATS:
        yield _FORMATS[kind]
    else:
        raise TypeError(f'an entry cannot return {kind} to Python')


def _assemble(kind: Kind, values: Iterator[Any]) -> Any:
    if isinstance(kind, Tuple):
        return tuple(_assemble(item, values) for item in kind.items)
    return next(values)
