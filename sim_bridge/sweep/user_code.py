"""Functions named in a study: `file.py:name`, or `module:name`."""

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
    """Return a call's file, relative to a folder; None for a module."""
    where = call.rpartition(':')[0]
    return folder / where if where.endswith(_SUFFIX) else None


def function_of(call: str, folder: Path) -> Callable[..., Any]:
    """
    Return a call's function.

    A file is imported as a separate module, once in a process; its folder is not on the path.
    Raises InvalidValueError for a missing file, module or function.
    """
    where, _, name = call.rpartition(':')
    path = file_of(call, folder)
    module = _imported(where, call) if path is None else _module_of(path, call)
    found = getattr(module, name, None)
    if not callable(found):
        raise InvalidValueError('call', call, f'a function {name} in {where}')
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
        raise InvalidValueError('call', call, f'an existing file; {path} does not exist')
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
