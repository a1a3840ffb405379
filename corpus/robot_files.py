"""Search for robot files below a folder with clones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
import os
from pathlib import Path
import re

_COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
# a macro without macros inside
_MACRO = re.compile(r'<xacro:macro\b(?:(?!<xacro:macro\b).)*?</xacro:macro>', re.DOTALL)
_ROBOT = re.compile(r'<robot\b([^>]*)>')
_NAME = re.compile(r'\bname\s*=')
# an argument or an expression in a file name
_VARIABLE = re.compile(r'\$\(arg [^)]*\)|\$\{[^}]*\}')
_INCLUDE = re.compile(r'<(?:xacro:)?include\s+filename\s*=\s*["\']([^"\']+)["\']')
# a link, or a macro call
_BODY = re.compile(r'<link\b|<xacro:(?!macro|property|arg\b|include|if\b|unless\b|insert_block)')
_OTHER_FORMATS = (('<sdf', 'SDF'), ('<mujoco', 'MJCF'))
_SUFFIXES = ('.urdf', '.xacro', '.sdf', '.world', '.xml')
_OF_ROBOTS = ('.urdf', '.xacro')
PART = 'part of another file'
"""Reason to skip a file whose content is tried with another one."""
# longer files are meshes and maps
_MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class RobotFile:
    """
    A robot file.

    path: full path. workspace: clone with the file. name: path below the searched folder.
    skipped: reason for leaving it out; '' if it is tried. may_be_part: whether another robot's
    file can include it by an argument; it then counts as a part if it does not load.
    """

    path: Path
    workspace: Path
    name: str
    skipped: str = ''
    may_be_part: bool = False


def robot_files(root: Path) -> list[RobotFile]:
    """Return the robot files below a folder, ordered by name."""
    root = root.resolve()
    texts = {path: text for path in _paths(root) if (text := _text(path))}
    included, chosen = frozenset(_included(texts)), frozenset(_chosen(texts))
    found = []
    for path, text in texts.items():
        reason = _reason_to_skip(path, text, path in included)
        if reason is not None:
            name = path.relative_to(root).as_posix()
            clone = _workspace(path, root)
            found.append(RobotFile(path, clone, name, reason, path in chosen))
    return sorted(found, key=lambda each: each.name)


def spread(files: Iterable[RobotFile], most: int) -> list[RobotFile]:
    """Return at most `most` tried files of each clone, spread over their names, and all others."""
    of_clones: dict[Path, list[RobotFile]] = {}
    for each in files:
        of_clones.setdefault(each.workspace, []).append(each)
    kept = []
    for group in of_clones.values():
        tried = [each for each in group if not each.skipped]
        count = min(most, len(tried))
        kept += [tried[k * len(tried) // count] for k in range(count)]
        kept += [each for each in group if each.skipped]
    return sorted(kept, key=lambda each: each.name)


def _paths(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in _SUFFIXES and not path.is_symlink():
                yield path


def _text(path: Path) -> str:
    """Return a file's text without comments; '' for files too large."""
    if path.stat().st_size > _MOST_BYTES:
        return ''
    return _COMMENT.sub('', path.read_text(encoding='utf-8', errors='replace'))


def _reason_to_skip(path: Path, text: str, is_included: bool) -> str | None:
    """Return the reason to skip a file, '' for a robot to try, None for other files."""
    for tag, name in _OTHER_FORMATS:
        if tag in text and '<robot' not in text:
            return name
    if '.srdf' in path.suffixes:
        return 'SRDF'
    found = _ROBOT.search(text)
    if found is None or path.suffix not in _OF_ROBOTS:
        return None
    if is_included:
        return PART
    rest, removed = _MACRO.subn('', text)
    while removed:
        rest, removed = _MACRO.subn('', rest)
    has_includes = '<xacro:macro' not in text and _INCLUDE.search(text)
    if not (_BODY.search(rest) or has_includes):
        return 'macros alone'
    if path.suffix == '.xacro' and not _NAME.search(found[1]):
        return 'no robot name'
    return ''


def _included(texts: Mapping[Path, str]) -> Iterator[Path]:
    """Yield the files included by others."""
    by_name: dict[str, list[Path]] = {}
    for path in texts:
        by_name.setdefault(path.name, []).append(path)
    for path, text in texts.items():
        for written in _INCLUDE.findall(text):
            package, _, inside = written.rpartition(')')
            same_name = by_name.get(os.path.basename(inside), [])
            for other in same_name:
                beside = Path(os.path.normpath(path.parent / inside))
                if other.as_posix().endswith(inside) if package else other == beside:
                    yield other


def _chosen(texts: Mapping[Path, str]) -> Iterator[Path]:
    """Yield the files that others with links of their own may include by an argument."""
    for path, text in texts.items():
        for written in _INCLUDE.findall(text) if '<link' in text else ():
            if not _VARIABLE.search(written):
                continue
            package, _, inside = _VARIABLE.sub('*', written).rpartition(')')
            pattern = f'*{inside}' if package else os.path.normpath(path.parent / inside)
            for other in texts:
                if other != path and fnmatch(other.as_posix(), pattern):
                    yield other


def _workspace(path: Path, root: Path) -> Path:
    """Return the clone with a file, or the first folder below the root."""
    for above in path.parents:
        if (above / '.git').exists() or above == root:
            break
    if above != root or path.parent == root:
        return above
    return root / path.relative_to(root).parts[0]
