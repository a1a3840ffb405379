"""Commands for Python child processes with this process's import path, and nothing before it."""

from __future__ import annotations

import os
import sys

# `python -c` and `python -m` search the working directory first, where other users may have put
# modules; until the path is set, only built-in modules are imported
_PATH = 'import sys; sys.path[:] = eval(sys.argv.pop(1)); '
_MODULE = (
    f'{_PATH}name = sys.argv.pop(1); sys.argv[0] = "-m"; import runpy; '
    'runpy.run_module(name, run_name="__main__", alter_sys=True)'
)


def python_program(text: str, *arguments: str, path: list[str] | None = None) -> list[str]:
    """Return the command for a Python program. path: import path; None for this process's."""
    return [sys.executable, '-c', _PATH + text, _absolute(path or sys.path), *arguments]


def python_module(name: str, *arguments: str) -> list[str]:
    """Return the command for running a module, as `python -m` does."""
    return [sys.executable, '-c', _MODULE, _absolute(sys.path), name, *arguments]


def _absolute(path: list[str]) -> str:
    """Return an import path for any working directory, as Python text."""
    return repr([os.path.abspath(each) for each in path])
