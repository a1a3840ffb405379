"""Definitions for the message packages without wheels, from the folder `definitions`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / 'definitions'
"""One file per package: version, dependencies and interfaces."""

_INTERFACE, _PACKAGE, _DEPENDS = 'interface ', 'package ', 'depends '


class Package(NamedTuple):
    """
    A message package.

    dependencies: packages with messages used by this one. interfaces: definition text by
    file name, for example 'msg/Bounds.msg'.
    """

    name: str
    version: str
    dependencies: list[str]
    interfaces: dict[str, str]


def files(folders: Iterable[Path] = (FOLDER,)) -> list[Path]:
    """Return the definition files in folders, sorted by name within each folder."""
    return [path for folder in folders for path in sorted(folder.glob('*.txt'))]


def read(path: Path) -> Package:
    """Return the package defined by a file."""
    head, *sections = ('\n' + path.read_text(encoding='utf-8')).split('\n' + _INTERFACE)
    lines = head.splitlines()
    ((name, version),) = (
        line.removeprefix(_PACKAGE).split() for line in lines if line.startswith(_PACKAGE)
    )
    (dependencies,) = (
        line.removeprefix(_DEPENDS).split() for line in lines if line.startswith(_DEPENDS)
    )
    interfaces = {}
    for section in sections:
        file, _, text = section.partition('\n')
        interfaces[file] = text.strip() + '\n'
    return Package(name, version, dependencies, interfaces)
