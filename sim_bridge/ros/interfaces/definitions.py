"""The definitions of the message packages that have no wheels, from the folder `definitions`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / 'definitions'
"""One file for each package: its version, the packages it depends on, and its interfaces."""

_INTERFACE, _PACKAGE, _DEPENDS = 'interface ', 'package ', 'depends '


class Package(NamedTuple):
    """
    A message package.

    dependencies: the packages whose messages it uses. interfaces: the text of each definition, by
    its file: 'msg/Bounds.msg'.
    """

    name: str
    version: str
    dependencies: list[str]
    interfaces: dict[str, str]


def files(folders: Iterable[Path] = (FOLDER,)) -> list[Path]:
    """Return the files of definitions in folders, those of one folder by name."""
    return [path for folder in folders for path in sorted(folder.glob('*.txt'))]


def read(path: Path) -> Package:
    """Return the package that a file defines."""
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
