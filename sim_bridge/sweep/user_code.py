"""Functions that a study names: `file.py:name`, or `module:name`."""

from __future__ import annotations

from collections.abc import Callable
import importlib
import importlib.util
from pathlib import Path
import sys
from types import ModuleType
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError

_SUFFIX = '.py'


def file_of(call: str, folder: Path) -> Path | None:
    """Return the file that a call names, its path counted from a folder; None for a module."""
    where = call.rpartition(':')[0]
    return folder / where if where.endswith(_SUFFIX) else None


def function_of(call: str, folder: Path) -> Callable[..., Any]:
    """
    Return the function of a call.

    A file is imported as a module of its own, once in a process; its folder is not on the path.
    Raises InvalidValueError where there is no such file, module or function.
    """
    where, _, name = call.rpartition(':')
    path = file_of(call, folder)
    module = _imported(where, call) if path is None else _module_of(path, call)
    found = getattr(module, name, None)
    if not callable(found):
        raise InvalidValueError('call', call, f'a function {name} that {where} has')
    function: Callable[..., Any] = found
    return function


def _imported(name: str, call: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as err:
        raise InvalidValueError('call', call, f'a module that can be imported: {err}') from err


def _module_of(path: Path, call: str) -> ModuleType:
    name = f'sim_bridge_sweep_{abs(hash(path.resolve())):x}'
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise InvalidValueError('call', call, f'a file that is there; {path} is not')
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
