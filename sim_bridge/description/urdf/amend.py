"""
Number replacement in a URDF: attributes change in place, all other bytes of valid XML stay.

Comments, order, indentation and content unknown to this package are kept; a writer of whole files
would lose them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import re
from xml.parsers import expat

import numpy as np

from sim_bridge.description.xml.tolerance import well_formed
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import UnknownNameError

_INDENT = b'  '
_SAME = 1e-12
_MOMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


@dataclass(frozen=True)
class JointValues:
    """New values for a joint's `dynamics`; None: unchanged. SI units."""

    friction: float | None = None
    damping: float | None = None
    armature: float | None = None


@dataclass(frozen=True, eq=False)
class InertialValues:
    """
    New values for a link's `inertial`.

    mass [kg]. center: (3,) [m], link frame. inertia: (3, 3) about the center [kg m²], link axes.
    rotation: (3, 3) orientation of the file's inertia axes in the link frame.
    """

    mass: float
    center: FloatArray
    inertia: FloatArray
    rotation: FloatArray


def amended(
    text: str, joints: Mapping[str, JointValues], links: Mapping[str, InertialValues]
) -> str:
    """
    Return a URDF with other numbers for joints and links.

    Unchanged numbers keep their text. Raises UnknownNameError for a missing joint, and for a link
    without `inertial`.
    """
    editor = _Editor(well_formed(text).encode(), joints, links)
    for kind, given in (('joint', joints), ('link', links)):
        for name in given:
            if (kind, name) not in editor.seen:
                raise UnknownNameError(
                    kind, name, [each for tag, each in editor.seen if tag == kind], 'the URDF'
                )
    return editor.result().decode()


class _Editor:
    """Collector for edits while a document is parsed."""

    def __init__(
        self, data: bytes, joints: Mapping[str, JointValues], links: Mapping[str, InertialValues]
    ) -> None:
        self.seen: set[tuple[str, str]] = set()
        self._data, self._joints, self._links = data, joints, links
        self._edits: list[tuple[int, int, bytes]] = []
        self._path: list[str] = []
        self._name = ''
        self._found: set[str] = set()  # child tags met in the current joint or link
        self._first_child = 0
        # the text is encoded as UTF-8 here, independent of the file
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.Parse(data, True)

    def result(self) -> bytes:
        """Return the document with all edits."""
        data = self._data
        for first, last, text in sorted(self._edits, reverse=True):
            data = data[:first] + text + data[last:]
        return data

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        at = self._parser.CurrentByteIndex
        if len(self._path) == 1 and tag in ('joint', 'link'):
            self._name, self._found, self._first_child = attributes.get('name', ''), set(), 0
            if tag == 'joint':
                self.seen.add((tag, self._name))
        elif len(self._path) >= 2:
            self._first_child = self._first_child or at
        self._path.append(tag)
        where = '/'.join(self._path[1:])
        if where == 'joint/dynamics' and self._name in self._joints:
            self._found.add('dynamics')
            self._set(at, attributes, _dynamics(self._joints[self._name]))
        if where == 'link/inertial':
            self.seen.add(('link', self._name))
            self._first_child = 0
        if self._name in self._links and where.startswith('link/inertial/'):
            values = self._links[self._name]
            if where == 'link/inertial/mass':
                self._set(at, attributes, {'value': values.mass})
            elif where == 'link/inertial/origin':
                self._found.add('origin')
                old = np.array(attributes.get('xyz', '0 0 0').split(), float)
                if not np.allclose(old, values.center, rtol=_SAME, atol=_SAME):
                    self._write(at, {'xyz': ' '.join(map(_number, values.center))})
            elif where == 'link/inertial/inertia':
                own = values.rotation.T @ values.inertia @ values.rotation
                self._set(
                    at,
                    attributes,
                    {
                        name: float(own['xyz'.index(name[1]), 'xyz'.index(name[2])])
                        for name in _MOMENTS
                    },
                )

    def _end(self, tag: str) -> None:
        at = self._parser.CurrentByteIndex
        where = '/'.join(self._path[1:])
        self._path.pop()
        if where == 'joint' and self._name in self._joints and 'dynamics' not in self._found:
            numbers = {
                name: value
                for name, value in _dynamics(self._joints[self._name]).items()
                if value != 0.0
            }
            if numbers:
                text = ' '.join(f'{name}="{_number(value)}"' for name, value in numbers.items())
                self._insert(at, f'<dynamics {text}/>')
        if where == 'link/inertial' and self._name in self._links and 'origin' not in self._found:
            center = self._links[self._name].center
            if np.abs(center).max() > _SAME:
                self._insert(at, f'<origin xyz="{" ".join(map(_number, center))}"/>')

    def _set(self, at: int, attributes: Mapping[str, str], numbers: Mapping[str, float]) -> None:
        """Replace the changed numbers in the tag that begins at byte `at`."""
        self._write(
            at,
            {
                name: _number(value)
                for name, value in numbers.items()
                if abs(float(attributes.get(name, '0')) - value) > _SAME * max(abs(value), _SAME)
            },
        )

    def _write(self, at: int, texts: Mapping[str, str]) -> None:
        """Replace or add attributes in the tag that begins at byte `at`."""
        if not texts:
            return
        end = self._end_of_tag(at)
        tag = self._data[at:end]
        for name, text in texts.items():
            pattern = re.compile(rb'(\s' + name.encode() + rb'\s*=\s*)("[^"]*"|\'[^\']*\')')
            found = pattern.search(tag)
            if found is not None:
                quote = found.group(2)[:1]
                tag = tag[: found.start(2)] + quote + text.encode() + quote + tag[found.end(2) :]
            else:
                close = len(tag.rstrip(b'/> \t\r\n'))
                tag = tag[:close] + f' {name}="{text}"'.encode() + tag[close:].lstrip()
        self._edits.append((at, end, tag))

    def _insert(self, at: int, text: str) -> None:
        """Insert a tag before the end tag at byte `at`, indented like the first child."""
        data = self._data
        line = data.rfind(b'\n', 0, at) + 1
        base = data[line:at]
        if base.strip() or not line:
            self._edits.append((at, at, text.encode()))
            return
        first = data.rfind(b'\n', 0, self._first_child) + 1
        indent = data[first : self._first_child]
        if indent.strip() or not indent.startswith(base):
            indent = base + _INDENT
        new_line = b'\r\n' if data[line - 2 : line] == b'\r\n' else b'\n'
        self._edits.append((line, line, indent + text.encode() + new_line))

    def _end_of_tag(self, at: int) -> int:
        """Return where the tag beginning at byte `at` ends; skip brackets in quoted texts."""
        quote = b''
        for k in range(at, len(self._data)):
            each = self._data[k : k + 1]
            if quote:
                quote = b'' if each == quote else quote
            elif each in (b'"', b"'"):
                quote = each
            elif each == b'>':
                return k + 1
        return len(self._data)


def _dynamics(values: JointValues) -> dict[str, float]:
    return {
        name: value
        for name in ('damping', 'friction', 'armature')
        if (value := getattr(values, name)) is not None
    }


def _number(value: float) -> str:
    return f'{value:.9g}'
