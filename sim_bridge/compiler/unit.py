"""Units: code compiled into one object, with a key for its content."""

from __future__ import annotations

from collections.abc import Iterator
import ctypes
from enum import Enum
import faulthandler
from functools import cache, cached_property
import hashlib
import json
import os
from pathlib import Path
import sys
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any, TYPE_CHECKING

from sim_bridge.compiler import llvm, objects
from sim_bridge.compiler.argument_table import part_content
from sim_bridge.compiler.build import build, Text
from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import BOOL, FLOAT, INT, Kind, Part, Tuple
from sim_bridge.compiler.source import text_of

if TYPE_CHECKING:
    from sim_bridge.compiler.module import Module

_SYMBOL = 'unit'
_NUMBERS = {'float': FLOAT, 'int': INT, 'bool': BOOL}

CHECKS = 'SIM_BRIDGE_KERNEL_CHECKS'
"""Environment variable: 1 enables index checks, which are slow."""


class Unit:
    """Entry for given argument kinds, or a stage."""

    def __init__(self, kernel: Kernel, arguments: tuple[Kind, ...] | None):
        """Describe a unit; arguments: None for a stage."""
        self.kernel, self.arguments = kernel, arguments

    @property
    def name(self) -> str:
        """Name for progress reports."""
        return self.kernel.__name__

    @property
    def place(self) -> str:
        """Module and kernel name, MODULE:KERNEL."""
        return f'{self.kernel.__module__}:{self.kernel.__qualname__}'

    @cached_property
    def key(self) -> str:
        """Digest of all inputs to the object: sources, constants, compiler, machine."""
        digest = hashlib.sha256()
        kinds = 'stage' if self.arguments is None else ', '.join(map(_layout, self.arguments))
        head = [
            llvm.machine_name(),
            _COMPILER,
            f'checks {_has_checks()}',
            self.kernel.__qualname__,
            kinds,
        ]
        for text in [*head, *sorted(_content(self.kernel))]:
            digest.update(text.encode() + b'\0')
        return digest.hexdigest()[:32]

    @property
    def size(self) -> int:
        """Bytecode bytes of all contained kernels: an estimate of the compile time."""
        return sum(len(kernel.function.__code__.co_code) for kernel in _kernels_of(self.kernel))

    def emit(self) -> Text:
        """Return the LLVM text; raises KernelError for a kernel outside the subset."""
        # imported late: most processes compile nothing
        from sim_bridge.compiler.module import Module

        if _digest_compiler() != _COMPILER:
            raise RuntimeError(
                'the sources of the kernel compiler have changed since this '
                'process began; start it again'
            )
        module = Module(is_checked=_has_checks())
        result = self.export(module, _SYMBOL)
        facts = {'result': _describe(result), 'places': module.places}
        return Text(module.text(), json.dumps(facts))

    def export(self, module: Module, symbol: str) -> Kind:
        """Emit the function exported under the unit's symbol; return its result's kind."""
        if self.arguments is None:
            module.export_stage(symbol, self.kernel)
            return INT
        return module.export_entry(symbol, self.kernel, self.arguments)

    @cached_property
    def address(self) -> int:
        """Address of the machine code in this process; reading it compiles and loads the code."""
        callbacks = dict(self.callbacks)
        if self._facts['places']:
            callbacks['sim_bridge_check_failed'] = _FAILED(self._fail)
        return llvm.load(self._object.code, _SYMBOL, self.key, callbacks=callbacks)

    @property
    def callbacks(self) -> dict[str, Any]:
        """Python functions called by the code, as ctypes objects."""
        return {}

    @property
    def result(self) -> Kind:
        """Result kind."""
        return _read(self._facts['result'])

    @cached_property
    def _object(self) -> objects.Object:
        found = objects.find(self.key)
        if found is None:
            build([self])
            found = objects.find(self.key)
            assert found is not None, f'{self.name} was built and is not there'
        return found

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return json.loads(self._object.facts)

    def _fail(self, place: int, found: int, extent: int) -> None:
        """End the process before the access out of bounds."""
        print(f'{self._facts["places"][place]}: index {found} of {extent}', file=sys.stderr)
        faulthandler.dump_traceback()
        os.abort()


_FAILED = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def _has_checks() -> bool:
    return os.environ.get(CHECKS, '') not in ('', '0')


def _layout(kind: Kind) -> str:
    """Describe a kind's layout."""
    if isinstance(kind, Part):
        return part_content(kind.type)
    if isinstance(kind, Tuple):
        return f'({", ".join(map(_layout, kind.items))})'
    return str(kind)


def _describe(kind: Kind) -> Any:
    return [_describe(item) for item in kind.items] if isinstance(kind, Tuple) else str(kind)


def _read(text: Any) -> Kind:
    return Tuple(tuple(map(_read, text))) if isinstance(text, list) else _NUMBERS[text]


def _digest_compiler() -> str:
    files = sorted(Path(__file__).parent.glob('*.py'))
    return hashlib.sha256(b'\0'.join(path.read_bytes() for path in files)).hexdigest()


# compiler source digest at import
_COMPILER = _digest_compiler()


@cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(text_of(path).encode()).hexdigest()


def _content(kernel: Kernel) -> set[str]:
    """Return the content of a kernel and all kernels it calls."""
    found: set[str] = set()
    for each in _kernels_of(kernel):
        found |= _own_content(each)[0]
    return found


def _kernels_of(kernel: Kernel) -> set[Kernel]:
    """Return a kernel and all kernels it calls, directly or indirectly."""
    seen, waiting = {kernel}, [kernel]
    while waiting:
        _, called = _own_content(waiting.pop())
        waiting += called - seen
        seen |= called
    return seen


@cache
def _own_content(kernel: Kernel) -> tuple[set[str], set[Kernel]]:
    """
    Return one kernel's content, and the kernels it calls.

    The content consists of file digests, constants and part layouts. Cached because units share
    most of their kernels.
    """
    file = _file_digest(kernel.function.__code__.co_filename)
    found = {file}
    called: set[Kernel] = set()
    for name, value in _globals_of(kernel):
        if isinstance(value, Kernel):
            called.add(value)
        meaning = _meaning(value)
        if meaning:
            # a value may depend on files other than the kernel's
            found.add(f'{file} {kernel.__qualname__} {name} = {meaning}')
    return found, called


def _meaning(value: Any) -> str:
    """Describe a global name's value; '' if kernels cannot use the value."""
    if isinstance(value, Kernel):
        code = value.function.__code__
        return f'{_file_digest(code.co_filename)} {value.__qualname__} {code.co_firstlineno}'
    if isinstance(value, Intrinsic):
        return value.content
    if isinstance(value, type) and issubclass(value, Enum):
        return repr([(one.name, one.value) for one in value])
    if isinstance(value, (bool, int, float, tuple)):
        return repr(value)
    if isinstance(value, (BuiltinFunctionType, type)):
        return f'{value.__module__}.{value.__qualname__}'
    return ''


def _globals_of(kernel: Kernel) -> Iterator[tuple[str, Any]]:
    """Yield the global names and values used by a kernel, including module attributes."""
    code = kernel.function.__code__
    names = list(_names(code))
    for name in names:
        value = kernel.function.__globals__.get(name)
        if isinstance(value, ModuleType):
            for attribute in names:
                if hasattr(value, attribute):
                    yield f'{name}.{attribute}', getattr(value, attribute)
        elif value is not None:
            yield name, value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
