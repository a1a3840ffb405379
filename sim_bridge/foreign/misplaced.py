"""
Mesh files near a robot's file, but not at the named place.

Owners commit robot files with paths for their own machine, such as
`file:///home/me/ws/install/share/arm/meshes/hand.stl`, with a former package name, or before a
script moves the robot's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import os
from pathlib import Path
from urllib.parse import unquote

from sim_bridge.foreign.packages import find_package
from sim_bridge.foreign.workspaces import package_name

_PACKAGE_SCHEMES = ('package://', 'model://')
_FILE = 'file://'
_REPOSITORY = '.git'
# folders searched above a file outside packages and repositories
_LEVELS = 2
# a path has no more folders than this; each one may name a package
_MOST_PARTS = 40


def misplaced_file(uri: str, base: Path, package_paths: Iterable[str | Path]) -> Path | None:
    """
    Return the nearby file for a URI or path without a file; None without one.

    Searched are packages named by a folder in an absolute path, then the folders from the robot's
    file up to its package, each for the end of the written path.

    base: folder with the robot's file. package_paths: as for `find_package`.
    """
    parts, has_package = _parts(uri)
    if not parts or len(parts) > _MOST_PARTS or os.pardir in parts:
        return None
    for folder, rest in _places(parts, has_package, base, tuple(package_paths)):
        try:
            found = folder.joinpath(*rest)
            if found.is_file() and found.resolve().is_relative_to(folder.resolve()):
                return found
        except (OSError, ValueError):
            # a name rejected by the file system
            continue
    return None


def _parts(uri: str) -> tuple[tuple[str, ...], bool]:
    """Return a path's parts without leading `.` and `..`, and whether it is absolute."""
    for scheme in _PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            return Path(uri.removeprefix(scheme).lstrip('/')).parts, True
    if '://' in uri and not uri.startswith(_FILE):
        return (), False
    path = Path(unquote(uri.removeprefix(_FILE)) if uri.startswith(_FILE) else uri)
    if path.is_absolute():
        return path.parts[1:], True
    parts = path.parts
    while parts and parts[0] == os.pardir:
        parts = parts[1:]
    return parts, False


def _places(
    parts: tuple[str, ...], has_package: bool, base: Path, package_paths: tuple[str | Path, ...]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield folders, each with the rest of a path inside."""
    if has_package:
        for k in range(len(parts) - 2, -1, -1):
            folder = find_package(parts[k], base, package_paths)
            if folder is not None:
                yield folder, parts[k + 1 :]
    # a folder beside the name makes a chance match unlikely
    shortest = 2 if has_package else 1
    for above in _above(base):
        for k in range(len(parts) - shortest + 1):
            yield above, parts[k:]


def _above(base: Path) -> Iterator[Path]:
    """Yield a file's folder and those above, up to its package or repository."""
    folders = []
    for above in (base, *base.parents):
        folders.append(above)
        if package_name(above) or (above / _REPOSITORY).exists():
            yield from folders
            return
    yield from folders[: _LEVELS + 1]
