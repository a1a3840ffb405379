"""Section of a YAML file: its keys are read one by one, and every defect is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
import math
from pathlib import Path
import re
from typing import Any, TypeGuard, TypeVar

import numpy as np

from sim_bridge.description.poses import read_quaternion
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.errors import (
    brief,
    close_match,
    InvalidValueError,
    plain,
    SimBridgeError,
)
from sim_bridge.foundation.rotation import matrix_from_rpy, quaternion_from_matrix

_Made = TypeVar('_Made')
_Default = TypeVar('_Default')
_DECIMAL = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+', re.ASCII)


def read_document(
    source: str | Path | Mapping[str, object], findings: Findings
) -> tuple[str, Path, Mapping[str, object] | None]:
    """Return a source's name, the folder for its relative paths, and its content or None."""
    if isinstance(source, Mapping):
        return '<mapping>', Path(), source
    if not isinstance(source, (str, Path)):
        problem = f'must be a file name or a mapping like its content, not {brief(source)}'
        findings.error('bad-value', Place('file'), problem)
        return '<source>', Path(), None
    # imported here, since most worlds are made without scenes
    from sim_bridge.description.yaml.file import read_mapping

    path = Path(source)
    return str(path), path.parent, read_mapping(path, findings)


def mapping_from_text(text: str, subject: str, expected: str) -> Mapping[str, object]:
    """Return the mapping in a YAML text; raises InvalidValueError about `subject`."""
    # imported here, since most worlds are made without YAML files
    from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError

    try:
        content = load_yaml(text)
    except YamlTextError as err:
        problem = f'{expected}; this is no YAML: {err.problem}'
        raise InvalidValueError(subject, text, problem) from None
    if not isinstance(content, Mapping):
        raise InvalidValueError(subject, text, expected)
    return content


def check_findings(findings: Findings, text: str, subject: str, expected: str) -> None:
    """Raise InvalidValueError about `subject`, with all errors found in a text, if any."""
    wrong = findings.report(subject).errors
    if wrong:
        raise InvalidValueError(
            subject,
            text,
            f'{expected}; ' + '; '.join(f'{each.subject}: {each.message}' for each in wrong),
        )


class Section:
    """
    Mapping in a YAML file, read key by key.

    Every method reads one key. A wrong value is noted as an error and replaced by the default.
    `close` reports the unread keys.
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        path: str,
        findings: Findings,
        line: int = 0,
        name: str = '',
    ):
        """
        Read `content` at a dotted key path; name: the path's last key.

        In findings the first key of the path is the element, the rest its name.
        """
        self.name = name
        self._content = content
        self._path = path
        self._findings = findings
        self._read: dict[str, None] = {}
        self.line = line

    @property
    def findings(self) -> Findings:
        """Findings so far."""
        return self._findings

    def names(self) -> list[str]:
        """List the keys."""
        return [str(key) for key in self._content]

    def has(self, key: str) -> bool:
        """Return whether the section has a key."""
        return key in self._content

    def knows(self, key: str) -> None:
        """Mark a key as known, whether or not it is read."""
        self._read[key] = None

    def peek(self, key: str) -> Any:
        """Return a key's unchecked value, None if absent."""
        return self._content.get(key)

    def error(self, key: str, value: object, message: str) -> None:
        """Report a defect at a key."""
        shown = '' if value is None or value == '' else plain(value)
        self._findings.error('bad-value', self.place(key), message, key, shown)

    def place(self, key: str = '') -> Place:
        """Return the place of a key, or of the section itself."""
        lines = getattr(self._content, 'lines', {})
        element, _, name = self._path.partition('.')
        return Place(element or 'world', name, lines.get(key, self.line))

    def rename(self, path: str) -> None:
        """Change the section's path in findings."""
        self._path = path

    def make(self, build: Callable[[], _Made]) -> _Made | None:
        """Return a function's result; None, with the error noted, if it refuses its values."""
        try:
            return build()
        except SimBridgeError as err:
            expected, subject = getattr(err, 'expected', str(err)), getattr(err, 'quantity', '')
            self.error(subject, getattr(err, 'value', ''), f'expected {expected}')
            return None

    def number(self, key: str, default: _Default) -> float | _Default:
        """Return a number, which may be infinite."""
        return self._converted(key, default, number_in, 'must be a number')

    def vector(
        self, key: str, size: int, default: _Default, most: float = math.inf
    ) -> tuple[float, ...] | _Default:
        """Return `size` finite numbers; most: bound for their magnitudes."""

        def numbers(value: Any) -> tuple[float, ...] | None:
            items = value if _is_list(value) else ()
            found = [v for v in map(number_in, items) if v is not None and abs(v) <= most]
            is_right = len(items) == len(found) == size and all(map(math.isfinite, found))
            return tuple(found) if is_right else None

        bound = '' if most == math.inf else f' of at most {most:g}'
        expected = f'must be a list of {size} finite numbers{bound}'
        return self._converted(key, default, numbers, expected)

    def matrix(self, key: str) -> np.ndarray | None:
        """Return a number list, or a list of number lists, as an array."""
        value = self._take(key)
        if value is None:
            return None
        items = value if _is_list(value) else ()
        rows = [[number_in(v) for v in (row if _is_list(row) else [row])] for row in items]
        # -1: a number outside an inner list
        widths = {len(row) if _is_list(row) else -1 for row in items}
        if len(widths) != 1 or widths == {0} or any(None in row for row in rows):
            self.error(key, value, 'must be a list of numbers, or of lists of equally many')
            return None
        matrix = np.array(rows, dtype=float)
        return matrix.ravel() if widths == {-1} else matrix

    def text(self, key: str, default: _Default, required: bool = False) -> str | _Default:
        """Return a text; an empty text is an error."""
        if required and self.peek(key) is None:
            self.error(key, '', 'missing')
        return self._converted(
            key,
            default,
            lambda value: value if isinstance(value, str) and value else None,
            'must be a text',
        )

    def texts(self, key: str, size: int | None = None) -> tuple[str, ...] | None:
        """Return texts; size: required count."""
        value = self._take(key)
        if value is None and size is None:
            return None
        good = _is_list(value) and all(isinstance(v, str) and v for v in value)
        if not good or size not in (None, len(value)):
            count = 'texts' if size is None else f'{size} texts'
            self.error(key, value, f'must be a list of {count}')
            return None
        return tuple(value)

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """Return one of several words."""
        value = self._take(key)
        if value in choices:
            return str(value)
        if value is not None:
            self.error(key, value, f'must be one of {", ".join(choices)}{_hint(value, choices)}')
        return default

    def flag(self, key: str, default: _Default) -> bool | _Default:
        """Return true or false."""
        return self._converted(
            key,
            default,
            lambda value: value if isinstance(value, bool) else None,
            'must be true or false',
        )

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a mapping unchanged, empty if absent."""
        return self._converted(
            key,
            {},
            lambda value: value if isinstance(value, Mapping) else None,
            'must be a mapping',
        )

    def section(self, key: str, required: bool = False) -> Section | None:
        """Return the section at a key; None if absent."""
        value = self._take(key)
        if value is None and not (required or self.has(key)):
            return None
        return self._inner(key, value, required)

    def sections(self, key: str) -> list[Section]:
        """Return the sections in a mapping from name to section."""
        outer = self.section(key)
        if outer is None:
            return []
        inner = [outer._inner(name, outer._take(name)) for name in outer._content]
        return [section for section in inner if section is not None]

    def named_sections(
        self, key: str, kind: str, taken: Iterable[str]
    ) -> Iterator[tuple[str, Section]]:
        """
        Yield the sections in a list, with the name in each, called KIND.NAME in messages.

        taken: names in use; a name given twice is an error.
        """
        names = set(taken)
        for section in self.list_of_sections(key):
            name = section.text('name', '', required=True)
            section.rename(f'{kind}.{name}')
            if name in names:
                section.error('name', name, f'another {kind} has this name')
            names.add(name)
            yield name, section

    def list_of_sections(self, key: str) -> list[Section]:
        """Return the sections in a list."""
        value = self._take(key)
        if value is not None and not _is_list(value):
            self.error(key, value, 'must be a list')
            value = None
        inner = [self._inner(f'{key}[{k}]', item) for k, item in enumerate(value or ())]
        return [section for section in inner if section is not None]

    def pairs(self, key: str) -> Iterable[tuple[str, str]]:
        """Yield text pairs."""
        value = self._take(key) or ()
        for k, pair in enumerate(value if _is_list(value) else [value]):
            good = _is_list(pair) and len(pair) == 2
            if not good or not all(isinstance(name, str) and name for name in pair):
                self.error(f'{key}[{k}]', pair, 'must be a pair of names')
            else:
                yield tuple(pair)

    def pose(self) -> dict[str, tuple[float, ...]]:
        """Return position [m] and orientation (quaternion x y z w) from `position` and `rpy`."""
        if self.has('rpy') and self.has('orientation'):
            self.error('orientation', self.peek('orientation'), 'rpy is given too; keep one')
        rpy = self.vector('rpy', 3, (0.0, 0.0, 0.0))
        turn = tuple(quaternion_from_matrix(matrix_from_rpy(rpy)).tolist())
        given = self.vector('orientation', 4, None)
        if given is not None:
            text = ' '.join(map(repr, given))
            rotation = read_quaternion(text, self.place(), self._findings, 'orientation')
            turn = tuple(quaternion_from_matrix(rotation).tolist())
        return {'position': self.vector('position', 3, (0.0, 0.0, 0.0)), 'orientation': turn}

    def unread(self) -> list[str]:
        """List the unread keys."""
        return [str(key) for key in self._content if key not in self._read]

    def ignore(self, key: str) -> None:
        """Warn that the value of a key is not simulated."""
        self.findings.warning(
            'unknown-key', self.place(key), 'is not simulated, ignored', key, str(self.peek(key))
        )

    def warn_deprecated(self, key: str, new: str) -> None:
        """Warn about a key with an old name. new: the present way to write it."""
        self.findings.warning(
            'deprecated-key',
            self.place(key),
            f'is an old name; write {new}',
            key,
            str(self.peek(key)),
        )

    def ignore_unread(self) -> None:
        """Warn that the values of the unread keys are not simulated."""
        for key in self.unread():
            self.ignore(key)

    def close(self) -> None:
        """Report the unread keys."""
        for key in self._content:
            if key not in self._read:
                known = list(self._read)
                self.error(
                    str(key),
                    self._content[key],
                    f'there is no such key{_hint(key, known)}; the keys are {", ".join(known)}',
                )

    def _converted(
        self, key: str, default: _Default, convert: Callable[[Any], _Made | None], expected: str
    ) -> _Made | _Default:
        """
        Return a key's converted value; the default if absent or invalid.

        convert: returns None for an invalid value. expected: text for the noted error.
        """
        value = self._take(key)
        if value is None:
            return default
        converted = convert(value)
        if converted is None:
            self.error(key, value, expected)
            return default
        return converted

    def _take(self, key: str) -> Any:
        self._read[key] = None
        return self._content.get(key)

    def _inner(self, key: str, value: object, required: bool = False) -> Section | None:
        if not isinstance(value, Mapping):
            problem = 'missing' if required and value is None else 'must be a mapping'
            self.error(str(key), value, problem)
            return None
        lines = getattr(self._content, 'lines', {})
        path = f'{self._path}.{key}' if self._path else str(key)
        # for a list item, the line of its first key
        first = next(iter(getattr(value, 'lines', {}).values()), self.line)
        return Section(value, path, self._findings, lines.get(key, first), str(key))


def number_in(value: object) -> float | None:
    """Return a value's number, None for none. YAML 1.1 reads 1e-3, without a point, as text."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _hint(value: object, known: Iterable[str]) -> str:
    close = close_match(value, known)
    return f'; did you mean {close!r}?' if close else ''
