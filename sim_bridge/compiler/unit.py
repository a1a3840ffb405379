"""Units: what is compiled into one object, and how its content is told from others."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache, cached_property
import hashlib
import json
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TYPE_CHECKING

from sim_bridge.compiler import llvm, objects
from sim_bridge.compiler.builtin_functions import C_FUNCTIONS
from sim_bridge.compiler.intrinsics import Intrinsic
from sim_bridge.compiler.kinds import BOOL, FLOAT, INT, Kind, Part, Tuple
from sim_bridge.compiler.source import text_of
from sim_bridge.compiler.table import part_content

if TYPE_CHECKING:
    from sim_bridge.compiler.kernel import Kernel

_SYMBOL = 'unit'
_NUMBERS = {'float': FLOAT, 'int': INT, 'bool': BOOL}


class Unit:
    """An entry for arguments of certain kinds, or a stage."""

    def __init__(self, kernel: Kernel, arguments: tuple[Kind, ...] | None):
        """Describe a unit; arguments: None for a stage."""
        self.kernel, self.arguments = kernel, arguments

    @property
    def name(self) -> str:
        """What users are told is being compiled."""
        return self.kernel.__name__

    @cached_property
    def key(self) -> str:
        """The digest of all that its object depends on: sources, constants, compiler, machine."""
        digest = hashlib.sha256()
        kinds = 'stage' if self.arguments is None else ', '.join(map(_layout, self.arguments))
        head = [llvm.machine_name(), compiler_digest(), self.kernel.__qualname__, kinds]
        for text in [*head, *sorted(_content(self.kernel))]:
            digest.update(text.encode() + b'\0')
        return digest.hexdigest()[:32]

    def emit(self) -> tuple[str, str]:
        """Return the LLVM module as text, and what `objects` keeps of the result's kind."""
        from sim_bridge.compiler.module import Module

        module = Module()
        if self.arguments is None:
            module.export_stage(_SYMBOL, self.kernel)
            result: Kind = INT
        else:
            result = module.export_entry(_SYMBOL, self.kernel, self.arguments)
        return module.text(), json.dumps(_describe(result))

    @cached_property
    def _object(self) -> objects.Object:
        found = objects.find(self.key)
        if found is None:
            from sim_bridge.compiler.build import build

            build([self])
            found = objects.find(self.key)
            assert found is not None, f'{self.name} was built and is not there'
        return found

    @cached_property
    def address(self) -> int:
        """Where its machine code is in this process; compiles and loads it."""
        return llvm.load(self._object.code, _SYMBOL, self.key, _imports())

    @cached_property
    def result(self) -> Kind:
        """The kind of what it returns."""
        return _read(json.loads(self._object.result))


def _layout(kind: Kind) -> str:
    """Describe a kind by all that compiled code takes for granted of it."""
    if isinstance(kind, Part):
        return part_content(kind.type)
    if isinstance(kind, Tuple):
        return f'({", ".join(map(_layout, kind.items))})'
    return str(kind)


@cache
def _imports() -> dict[str, int]:
    return llvm.c_functions(C_FUNCTIONS)


def _describe(kind: Kind) -> Any:
    return [_describe(item) for item in kind.items] if isinstance(kind, Tuple) else str(kind)


def _read(text: Any) -> Kind:
    return Tuple(tuple(map(_read, text))) if isinstance(text, list) else _NUMBERS[text]


@cache
def compiler_digest() -> str:
    """Digest the sources of the compiler."""
    files = sorted(Path(__file__).parent.glob('*.py'))
    return hashlib.sha256(b'\0'.join(path.read_bytes() for path in files)).hexdigest()


@cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(text_of(path).encode()).hexdigest()


def _content(kernel: Kernel) -> set[str]:
    """Gather what a kernel is made of: digests of files, values of constants, layouts of parts."""
    found: set[str] = set()
    seen: set[Any] = {kernel}
    waiting = [kernel]
    while waiting:
        each = waiting.pop()
        found.add(_file_digest(each.function.__code__.co_filename))
        for name, value in _globals_of(each):
            if hasattr(value, 'is_inlined'):
                if value not in seen:
                    seen.add(value)
                    waiting.append(value)
            elif isinstance(value, Intrinsic):
                found.add(value.content)
            elif isinstance(value, type) and issubclass(value, Enum):
                found.add(f'{name}={[(one.name, one.value) for one in value]!r}')
            elif isinstance(value, (bool, int, float, tuple)):
                found.add(f'{name}={value!r}')
    return found


def _globals_of(kernel: Kernel) -> Iterator[tuple[str, Any]]:
    """List the global names that a kernel uses, those of modules with their module's name."""
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
