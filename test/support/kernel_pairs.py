"""Kernels compiled and run in CPython, and the comparison of their results."""

from __future__ import annotations

from collections.abc import Sequence
import ctypes
from itertools import count
import math
import struct
from typing import Any

import numpy as np
from programs import function_of

from sim_bridge.compiler import llvm
from sim_bridge.compiler.calls import Compiled
from sim_bridge.compiler.kernel import Kernel, kernel, subroutine
from sim_bridge.compiler.kinds import (
    Array,
    BOOL,
    FLOAT,
    Kind,
    kind_of_argument,
    Part,
    TABLE,
    Tuple,
)
from sim_bridge.compiler.module import Module
from sim_bridge.compiler.reference import Reference
from sim_bridge.compiler.stage import call_stage

# names usable in programs
NAMES = {'math': math, 'kernel': kernel, 'subroutine': subroutine, 'call_stage': call_stage}

REFERENCE = Reference()

_NUMBERS = count()
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Opened:
    """Placeholder for a part or a table returned by a kernel; only its kind is compared."""


def program(source: str, **names: Any) -> Kernel:
    """Return the kernel defined last in a text."""
    found = function_of(source, {**NAMES, **names})
    return found if isinstance(found, Kernel) else kernel(found)


class Machine:
    """A kernel as machine code, for arguments of certain kinds."""

    def __init__(self, kernel: Kernel, kinds: tuple[Kind, ...], result: Kind, address: int):
        """Take an exported function's address."""
        self._compiled, self._result = Compiled(kernel, kinds), result
        self._run = _Function(address)

    def __call__(self, *arguments: Any) -> Any:
        """Run; returned arrays are copies."""
        alive: list[Any] = []
        words = self._compiled.words_of(arguments, alive)
        block = (ctypes.c_int64 * (len(words) + len(self._result.leaves) + 1))(*words)
        self._run(ctypes.addressof(block))
        return _read(self._result, iter(block[len(words) :]))


def _read(kind: Kind, words: Any) -> Any:
    """Convert result words to a Python value."""
    if isinstance(kind, Tuple):
        return tuple(_read(item, words) for item in kind.items) if kind.items else None
    first = next(words)
    if kind is FLOAT:
        return struct.unpack('=d', struct.pack('=q', first))[0]
    if isinstance(kind, Array):
        shape = [next(words) for _ in range(kind.dimensions)]
        found = np.empty(shape, kind.item.dtype)
        ctypes.memmove(found.ctypes.data, first, found.nbytes)
        return found
    if isinstance(kind, Part) or kind is TABLE:
        return Opened
    return first != 0 if kind is BOOL else first


def compile_together(
    wanted: Sequence[tuple[Kernel, tuple[Kind, ...]]], *, is_inlined: bool = True
) -> list[Machine]:
    """
    Compile kernels, each for arguments of its kinds, into one object.

    is_inlined: inlining as in units. Otherwise every kernel is compiled once for all callers.
    """
    module = Module()
    results = [module.export_entry(f'k{at}', *each) for at, each in enumerate(wanted)]
    pointers = ', '.join(f'ptr @k{at}' for at in range(len(wanted)))
    text = f'{module.text()}\n@unit = constant [{len(wanted)} x ptr] [{pointers}]\n'
    if not is_inlined:
        text = text.replace(' alwaysinline ', ' noinline ')
    code = llvm.compile_text(text)
    table = llvm.load(code, 'unit', f'test {next(_NUMBERS)}')
    addresses = (ctypes.c_int64 * len(wanted)).from_address(table)
    return [
        Machine(*each, result, address)
        for each, result, address in zip(wanted, results, addresses, strict=True)
    ]


def compiled(kernel: Kernel, *arguments: Any) -> Machine:
    """Compile one kernel for arguments like these."""
    (machine,) = compile_together([(kernel, tuple(map(kind_of_argument, arguments)))])
    return machine


def agreed(source: str | Kernel, *arguments: Any, **names: Any) -> Any:
    """
    Return a compiled program's result, checked against the reference.

    Arrays are changed in place; the reference gets copies, and must change them alike.
    """
    made = program(source, **names) if isinstance(source, str) else source
    return agreed_on(made, compiled(made, *arguments), *arguments)


def agreed_on(kernel: Kernel, machine: Machine, *arguments: Any) -> Any:
    """Do the same with a compiled kernel."""
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    found = machine(*arguments)
    wanted = REFERENCE(kernel)(*copies)
    difference = differing(found, wanted)
    assert not difference, f'result: compiled {found!r}, reference {wanted!r}'
    for at, (ours, theirs) in enumerate(zip(arguments, copies, strict=True)):
        assert not differing(ours, theirs), f'argument {at}: compiled {ours}, reference {theirs}'
    return found


def differing(a: Any, b: Any) -> bool:
    """Return whether two values differ in kind or in any bit; all nan are equal."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return not _same_arrays(a, b)
    if a is Opened or a is None:
        return a is None and b is not None
    if isinstance(a, tuple):
        return not isinstance(b, tuple) or len(a) != len(b) or any(map(differing, a, b))
    if kind_of_argument(a) != kind_of_argument(b):
        return True
    if isinstance(a, float):
        return bits(a) != bits(b)
    return a != b


def _same_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind != 'f':
        return False
    return all(bits(x) == bits(y) for x, y in zip(a.flat, b.flat, strict=True))


def bits(value: float) -> int:
    """Return a float's bits; all nan have the same."""
    return struct.unpack('=q', struct.pack('=d', math.nan if value != value else value))[0]
