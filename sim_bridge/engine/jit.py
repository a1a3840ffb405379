"""
The one decorator of every kernel, and the rule that keeps its cache honest.

Numba caches compiled code per file and does not notice an edit in a file that a kernel calls into.
All kernels therefore share one cache folder named after the contents of every file of the engine:
an edit of any of them changes the folder, and stale code is never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import hashlib
import os
from pathlib import Path
import shutil
import tempfile
import time
from typing import Any

import numba
from numba import types

_KEEP_UNUSED_S = 14 * 24 * 3600.0


def source_digest(folder: Path = Path(__file__).parent) -> str:
    """Digest the names and contents of all Python files below `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob('*.py')):
        name = path.relative_to(folder).as_posix().encode()
        digest.update(name + b'\0' + path.read_bytes() + b'\0')
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    """
    Choose where compiled kernels live.

    That is NUMBA_CACHE_DIR, else the user's cache, else, where that cannot be written, a private
    temporary folder.
    """
    if os.environ.get('NUMBA_CACHE_DIR'):
        return Path(os.environ['NUMBA_CACHE_DIR']) / 'sim_bridge'
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    root = Path(home) / 'sim_bridge' / 'kernels'
    try:
        root.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(root, os.W_OK)
    except OSError:
        is_writable = False
    private = Path(tempfile.gettempdir()) / f'sim_bridge-kernels-{os.getuid()}'
    return root if is_writable else private


def _prune(root: Path, current: Path) -> None:
    """Delete folders of earlier sources that nothing has used for two weeks."""
    for folder in root.iterdir():
        if folder != current and time.time() - folder.stat().st_mtime > _KEEP_UNUSED_S:
            shutil.rmtree(folder, ignore_errors=True)


def _open_cache() -> Path:
    root = _cache_root()
    folder = root / source_digest()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    _prune(root, folder)
    return folder


CACHE_FOLDER = _open_cache()


_OPTIONS = {
    'nogil': True, 'error_model': 'numpy', 'fastmath': {'contract'}, '_nrt': False,
    'no_cfunc_wrapper': True}


@contextmanager
def _own_cache() -> Iterator[None]:
    """Let Numba cache in this module's folder."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = previous


def kernel(function: Callable[..., Any]) -> Any:
    """
    Compile a function with Numba, to be inlined into the kernels that call it.

    It runs without the GIL, without allocation and with IEEE semantics. Without Numba's run-time
    (`_nrt`) a kernel that would allocate does not compile, and arrays cost no reference counting,
    which would cost more than the dynamics of a small robot. Multiply-adds may be fused, nothing
    else is relaxed: equal inputs give equal bits. Division by zero gives inf or nan as in C, never
    an exception. Python cannot call it: see `entry`.
    """
    return _compile(function, forceinline=True, no_cpython_wrapper=True)


def subroutine(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`, but to be called: for what is large and used in several places."""
    return _compile(function, no_cpython_wrapper=True)


def entry(function: Callable[..., Any]) -> Any:
    """
    Compile like `kernel`, to be called from Python too.

    The code that unpacks Python's arguments takes longer to compile than most kernels.
    """
    return _compile(function, forceinline=True)


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    with _own_cache():
        compiled = numba.njit(cache=True, **_OPTIONS, **options)(function)
    compiled.get_call_template = _without_literals(compiled.get_call_template)
    return compiled


def _without_literals(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """
    Let a kernel be compiled once for int64, not once more for each constant it is called with.

    Numba asks a function how it may be called with the arguments' types, among them literals.
    """
    def resolve_call(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return resolve([types.unliteral(kind) for kind in args], plain)
    return resolve_call


def compile_stage(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function at once, for one signature, to be called through its address."""
    options = {name: value for name, value in _OPTIONS.items() if name != 'no_cfunc_wrapper'}
    with _own_cache():
        return numba.cfunc(signature, cache=True, nopython=True, **options)(function)
