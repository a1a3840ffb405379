"""
Values for xacro arguments, from launch files.

Robots are started by launch files, and some expand only with the arguments passed by these. Launch
files are searched as text; they are not run. This module runs in the confined process for xacro.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import itertools
import os
from pathlib import Path
import re
from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.launch_values import passed_values
from sim_bridge.foreign.workspaces import package_name

# larger files are no launch files; a large repository has some hundred of these
_LAUNCH_BYTES, _MOST_FILES, _MOST_FOLDERS = 1 << 20, 500, 5_000
_MOST_ALTERNATIVES = 12
_SUFFIXES = ('.py', '.xml', '.launch')
_MARK, _REPOSITORY = 'launch', '.git'
_UNDEFINED = re.compile(r'Undefined substitution argument (\w+)')
_MISSING_FILE = re.compile(r"No such file or directory: '?([^'\n]+?)'?(?: \[Errno| when |'|$)")
_WRITTEN = re.compile(r'\b(\w+):=([\w.+-]+)')
_SUBSTITUTED = ('$', '{', '"', "'")


class Choice(NamedTuple):
    """
    A value for an argument.

    before: rejected default, None without a default. place: source of the value: a launch file or
    a folder. alternatives: other values.
    """

    name: str
    value: str
    before: str | None
    place: str
    alternatives: tuple[str, ...]


@dataclass
class _Found:
    """Values in launch files, in search order. defaults: values passed. choices: accepted."""

    defaults: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)


def choose(
    error: str, values: Mapping[str, object], given: Container[str], file: Path
) -> Choice | None:
    """
    Return a value for the argument behind a failed expansion; None for other causes.

    The argument has no default, or its default names a missing file.
    error: message by xacro. values: present values by argument. given: names set by the user.
    file: robot's file.
    """
    undefined = _UNDEFINED.search(error)
    if undefined is not None:
        return _from_launch_files(undefined[1], None, file)
    missing = _MISSING_FILE.search(error)
    if missing is None:
        return None
    parts = Path(missing[1].strip()).parts
    for name, value in values.items():
        if name not in given and isinstance(value, str) and value in parts:
            found = _from_launch_files(name, value, file)
            found = found or _from_folder(name, value, parts)
            if found is not None:
                return found
    return _for_part(parts, [name for name, value in values.items() if value == ''], file)


def _for_part(parts: tuple[str, ...], empty: Iterable[str], file: Path) -> Choice | None:
    """Return a value for an empty argument in a folder name, as in `arms/$(arg dof)dof`."""
    folder, missing = Path(), ''
    for part in parts:
        if not (folder / part).exists():
            missing = part
            break
        folder /= part
    existing = _folders(folder)
    for name in empty:
        found = _from_launch_files(name, '', file)
        if found and any(each.replace(found.value, '', 1) == missing for each in existing):
            return found
    return None


def _from_launch_files(name: str, before: str | None, file: Path) -> Choice | None:
    for path in _launch_files(file):
        found = _Found()
        try:
            text = read_file(path, _LAUNCH_BYTES).decode(errors='replace')
        except OSError:
            continue
        if name in text:
            _search(path, text, name, found)
        usable = [
            each
            for each in dict.fromkeys([*found.defaults, *found.choices])
            if each and each != before and not each.startswith(_SUBSTITUTED)
        ]
        if usable:
            value, *others = usable
            return Choice(name, value, before, str(path), tuple(others[:_MOST_ALTERNATIVES]))
    return None


def _from_folder(name: str, before: str, parts: tuple[str, ...]) -> Choice | None:
    """Return a folder beside the missing one."""
    folder = Path(*parts[: parts.index(before)])
    names = _folders(folder)
    if not names:
        return None
    value, *others = names
    return Choice(name, value, before, str(folder), tuple(others[:_MOST_ALTERNATIVES]))


def _folders(folder: Path) -> list[str]:
    """Return the names in a folder for folders; [] if it cannot be read."""
    try:
        return sorted(each.name for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []


def _search(path: Path, text: str, name: str, found: _Found) -> None:
    if path.suffix == '.py':
        _search_python(path, text, name, found)
    else:
        _search_xml(text, name, found)
    found.defaults += [value for key, value in _WRITTEN.findall(text) if key == name]


def _search_python(path: Path, text: str, name: str, found: _Found) -> None:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Call):
            first = _constant(node.args[0]) if node.args else None
            words = {each.arg: each.value for each in node.keywords}
            if name in (first, _constant(words.get('name'))):
                found.defaults += _constants([words.get('default_value'), words.get('default')])
                choices = words.get('choices')
                found.choices += _constants(getattr(choices, 'elts', ()))
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            found.defaults += _constants([each for key, each in pairs if _constant(key) == name])
    found.defaults += passed_values(nodes, name, path.parent)


def _constants(nodes: Iterable[ast.AST | None]) -> list[str]:
    return [value for value in map(_constant, nodes) if value is not None]


def _constant(node: ast.AST | None) -> str | None:
    """Return a constant's text, as in a launch argument."""
    if not isinstance(node, ast.Constant) or node.value is None:
        return None
    return str(node.value)


def _search_xml(text: str, name: str, found: _Found) -> None:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return
    for each in root.iter('arg'):
        if each.get('name') == name:
            found.defaults += [each.get('default', each.get('value', ''))]


def _launch_files(file: Path) -> Iterator[Path]:
    """Yield the launch files in a file's package, then those in its repository."""
    known: set[Path] = set()
    for root in _roots(file):
        for path in _below(root):
            if path not in known and len(known) < _MOST_FILES:
                known.add(path)
                yield path


def _roots(file: Path) -> Iterator[Path]:
    for above in file.parents:
        if package_name(above):
            yield above
            break
    for above in file.parents:
        if (above / _REPOSITORY).exists():
            yield above
            break


def _below(root: Path) -> Iterator[Path]:
    for folder, folders, names in itertools.islice(os.walk(root), _MOST_FOLDERS):
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and _MARK in name:
                yield Path(folder, name)
