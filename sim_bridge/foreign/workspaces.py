"""
Packages in folders of any depth, found by `package.xml` as colcon and rospack find them.

The folder of a package may have any name. A package contains no other packages, and a folder with
an ignore mark is skipped. Links to folders are followed, each folder once. An index is kept while
none of its folders has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import os
from pathlib import Path
import re

# a workspace with 300 repositories has some 20 000 folders
MOST_FOLDERS = 50_000
_MANIFEST = 'package.xml'
_MANIFEST_BYTES = 1 << 20
_NAME = re.compile(rb'<name>\s*([^<\s]+)\s*</name>')
_IGNORED = frozenset({'COLCON_IGNORE', 'AMENT_IGNORE', 'CATKIN_IGNORE'})
# results of builds, and folders of other tools
_SKIPPED = frozenset({'build', 'log', 'node_modules', '__pycache__'})


def package_name(folder: Path) -> str:
    """Return the name in a folder's package.xml; '' if there is none."""
    try:
        with open(folder / _MANIFEST, 'rb') as file:
            names = _NAME.search(file.read(_MANIFEST_BYTES))
    except OSError:
        return ''
    return '' if names is None else names[1].decode(errors='replace')


def packages_below(root: Path) -> Mapping[str, Path]:
    """Return the folders of all packages in a folder of any depth, by name; the first counts."""
    key = os.path.abspath(root)
    index = _indices.get(key)
    if index is None or not index.is_current():
        index = _indices[key] = _scan(key)
    return index.packages


@dataclass(frozen=True)
class _Index:
    """Packages by name. times: modification times of the searched folders [ns]."""

    packages: Mapping[str, Path]
    times: Mapping[str, int]

    def is_current(self) -> bool:
        """Return whether no searched folder has changed."""
        return all(_changed_at(folder) == time for folder, time in self.times.items())


_indices: dict[str, _Index] = {}


def _scan(root: str) -> _Index:
    packages: dict[str, Path] = {}
    times: dict[str, int] = {}
    pending, seen = [root], set()
    # level by level, so that a limit leaves out the deepest folders
    for folder in pending:
        real = os.path.realpath(folder)
        if len(times) == MOST_FOLDERS:
            break
        if real in seen:
            continue
        seen.add(real)
        times[folder] = _changed_at(folder)
        files, folders = _entries(folder)
        if _IGNORED & files:
            continue
        if _MANIFEST in files:
            packages.setdefault(package_name(Path(folder)), Path(folder))
            continue
        pending += [os.path.join(folder, name) for name in sorted(folders)]
    packages.pop('', None)
    return _Index(packages, times)


def _entries(folder: str) -> tuple[set[str], set[str]]:
    """Return the names of the files in a folder, and of its possible package folders."""
    files, folders = set(), set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir():
                    files.add(entry.name)
                elif not entry.name.startswith('.') and entry.name not in _SKIPPED:
                    folders.add(entry.name)
    except OSError:
        return set(), set()
    return files, folders


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0
