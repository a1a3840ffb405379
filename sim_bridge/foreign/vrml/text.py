"""
VRML97 text as nodes, parsed in time and memory bounded by its size.

Values need no type table: their notation determines their type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import re
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.errors import brief

MOST_NODES = 100_000
_MOST_LEVELS = 60

GROUPS = ('Group', 'Transform', 'Anchor', 'Billboard', 'Collision', 'Switch', 'LOD', 'Inline')
GEOMETRIES = ('Box', 'Cone', 'Cylinder', 'Sphere', 'IndexedFaceSet', 'Extrusion', 'ElevationGrid')
# appearance, lights, time, sounds, and drawings without surfaces
_OTHERS = (
    'Appearance',
    'AudioClip',
    'Background',
    'Color',
    'ColorInterpolator',
    'Coordinate',
    'CoordinateInterpolator',
    'CylinderSensor',
    'DirectionalLight',
    'Fog',
    'FontStyle',
    'ImageTexture',
    'IndexedLineSet',
    'Material',
    'MovieTexture',
    'NavigationInfo',
    'Normal',
    'NormalInterpolator',
    'OrientationInterpolator',
    'PixelTexture',
    'PlaneSensor',
    'PointLight',
    'PointSet',
    'PositionInterpolator',
    'ProximitySensor',
    'ScalarInterpolator',
    'Script',
    'Shape',
    'Sound',
    'SphereSensor',
    'SpotLight',
    'Text',
    'TextureCoordinate',
    'TextureTransform',
    'TimeSensor',
    'TouchSensor',
    'Viewpoint',
    'VisibilitySensor',
    'WorldInfo',
)
_STANDARD = frozenset((*GROUPS, *GEOMETRIES, *_OTHERS))

_SPACE = re.compile(r'(?:[\s,]+|#[^\n]*)*')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]|[^][{}\s,"#]+', re.DOTALL)
_NUMBERS = re.compile(r'[-+.\deE\s,]*')
_NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|0[xX][\da-fA-F]+$')
_OTHER_HEADER = re.compile(r'#(?!VRML V2\.0 utf8\b)(VRML|X3D)[^\n]{0,40}')
_WORDS: Mapping[str, Any] = {'TRUE': True, 'FALSE': False, 'NULL': None}
_EVENTS = ('eventIn', 'eventOut')
_FIELDS = ('field', 'exposedField')


class VrmlError(ValueError):
    """Invalid or too large VRML97 text. problem: the defect. line: from 1."""

    def __init__(self, problem: str, line: int = 0):
        self.problem, self.line = problem, line
        super().__init__(f'line {line}: {problem}' if line else problem)


@dataclass(eq=False)
class Node:
    """
    VRML node.

    kind: standard node type or prototype name. fields: given fields, and prototype defaults;
    numbers as an array (n,), texts and nodes as a list, True, False, None. name: from DEF. body:
    for a prototype instance, the node replacing it.
    """

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    name: str = ''
    line: int = 0
    body: Node | None = None

    def nodes(self, key: str) -> list[Node]:
        """Return a field's nodes; raises VrmlError for anything else."""
        value = self.fields.get(key)
        if value is None or (isinstance(value, np.ndarray) and not len(value)):
            return []
        if not isinstance(value, list) or not all(isinstance(each, Node) for each in value):
            raise VrmlError(f'{self.kind}: {key} must hold nodes', self.line)
        return value

    def numbers(self, key: str, width: int, default: Any = None) -> np.ndarray | None:
        """Return a field as rows (n, width); None if it is absent and has no default."""
        value = self.fields.get(key)
        if value is None or (isinstance(value, list) and not value):
            return None if default is None else np.reshape(np.asarray(default, float), (-1, width))
        if not isinstance(value, np.ndarray) or len(value) % width:
            rows = 'numbers' if width == 1 else f'{width} numbers for each'
            raise VrmlError(f'{self.kind}: {key} must hold {rows}', self.line)
        if not np.isfinite(value).all():
            raise VrmlError(f'{self.kind}: {key} is not finite', self.line)
        return value.reshape(-1, width)

    def row(self, key: str, default: tuple[float, ...]) -> np.ndarray:
        """Return a field's numbers; raises VrmlError unless they are as many as the default's."""
        rows = self.numbers(key, len(default), default)
        if rows is None or len(rows) != 1:
            raise VrmlError(f'{self.kind}: {key} must hold {len(default)} numbers', self.line)
        row: np.ndarray = rows[0]
        return row

    def flag(self, key: str, default: bool) -> bool:
        """Return TRUE or FALSE."""
        value = self.fields.get(key, default)
        if not isinstance(value, bool):
            raise VrmlError(f'{self.kind}: {key} must be TRUE or FALSE', self.line)
        return value

    def texts(self, key: str) -> list[str]:
        """Return a field's texts."""
        value = self.fields.get(key)
        if value is None or (isinstance(value, np.ndarray) and not len(value)):
            return []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise VrmlError(f'{self.kind}: {key} must hold texts', self.line)
        return value


class _Is(NamedTuple):
    """Field bound to a field of the enclosing prototype (IS)."""

    name: str


class _Prototype(NamedTuple):
    fields: dict[str, Any]
    body: list[Node]


def read_vrml(data: bytes, read_inline: Callable[[str], list[Node]] | None = None) -> list[Node]:
    """
    Return a text's nodes; USE returns the same object again.

    read_inline: returns the nodes in the file named by an Inline; None: an Inline is an error.
    Raises VrmlError with the line.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # names and comments from older programs
        text = data.decode('latin-1')
    other = _OTHER_HEADER.match(text)
    if other:
        raise VrmlError(f'must be #VRML V2.0 utf8, not {brief(other[0])}', 1)
    return _Reader(text, read_inline).all()


class _Reader:
    def __init__(self, text: str, read_inline: Callable[[str], list[Node]] | None):
        self._text, self._inline = text, read_inline
        self._at = self._line = 0
        self._counted_to = 0
        self._count = 0
        self._names: dict[str, Node] = {}
        self._prototypes: dict[str, _Prototype] = {}
        self._levels = 0

    def all(self) -> list[Node]:
        return self._statements('')

    def _statements(self, end: str) -> list[Node]:
        """Return the nodes up to a closing bracket, or up to the end of the text for ''."""
        nodes = []
        while (word := self._next()) != end:
            if not word:
                raise self._error('ends within a prototype')
            if word == 'PROTO':
                self._prototype()
            elif word == 'EXTERNPROTO':
                raise self._error('EXTERNPROTO is not read: write the prototype into the file')
            elif word == 'ROUTE':
                # event routes are ignored
                for _ in range(3):
                    self._next()
            else:
                node = self._node(word)
                if node is not None:
                    nodes.append(node)
        return nodes

    def _node(self, word: str) -> Node | None:
        """Return the node that begins with a word; None for NULL."""
        if word == 'NULL':
            return None
        if word == 'USE':
            name = self._next()
            if name not in self._names:
                raise self._error(f'no node before is called {brief(name)} (DEF)')
            return self._names[name]
        name = ''
        if word == 'DEF':
            name, word = self._next(), self._next()
            if word == '{':
                # written by programs that omit the name
                name, word, self._at = '', name, self._at - 1
        prototype = self._prototypes.get(word)
        if prototype is None and word not in _STANDARD:
            raise self._error(f'there is no node of type {brief(word)}')
        node = Node(word, name=name, line=self._present_line())
        self._counted()
        self._expect('{')
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise self._error(f'is nested too deeply: {_MOST_LEVELS} levels are read')
        if word == 'Script':
            self._skip()
        else:
            self._fields(node, None if prototype is None else prototype.fields)
        self._levels -= 1
        if prototype is not None:
            node.fields = {**prototype.fields, **node.fields}
            if prototype.body:
                node.body = self._instance(prototype.body[0], node.fields, {})
        elif word == 'Inline':
            node.fields['children'] = self._read_inline(node)
        if name:
            self._names[name] = node
        return node

    def _fields(self, node: Node, known: Mapping[str, Any] | None) -> None:
        while (key := self._next()) != '}':
            if key in ('ROUTE', 'PROTO'):
                raise self._error(f'{key} within a node is not read')
            if not key or key in '{[]':
                raise self._error(
                    f'{node.kind} has no field {brief(key)}' if key else f'ends within {node.kind}'
                )
            if known is not None and key not in known:
                raise self._error(
                    f'{node.kind} has no field {brief(key)}; it has {", ".join(known)}'
                )
            node.fields[key] = self._value()

    def _value(self) -> Any:
        """Return a field's value; its notation determines its type."""
        word = self._peek()
        if word == '[':
            self._next()
            return self._listed()
        if word == 'IS':
            self._next()
            return _Is(self._next())
        if word in _WORDS:
            return _WORDS[self._next()]
        if word[:1] == '"':
            return [_unquoted(self._next())]
        if _NUMBER.match(word):
            values = []
            while _NUMBER.match(self._peek()):
                values.append(_number(self._next()))
            return np.array(values)
        if not word or word in '{}]':
            raise self._error('a value is missing')
        node = self._node(self._next())
        return None if node is None else [node]

    def _listed(self) -> Any:
        """Return the list content up to ']'."""
        fast = _NUMBERS.match(self._text, self._at)
        if fast is not None and self._text[fast.end() : fast.end() + 1] == ']':
            self._at = fast.end() + 1
            try:
                return np.array(fast[0].replace(',', ' ').split(), float)
            except ValueError as err:
                raise self._error(str(err)) from err
        values: list[Any] = []
        while (word := self._next()) != ']':
            if not word:
                raise self._error('ends within a list')
            if word[:1] == '"':
                values.append(_unquoted(word))
            elif _NUMBER.match(word):
                values.append(_number(word))
            elif word in ('TRUE', 'FALSE'):
                values.append(_WORDS[word])
            elif word == 'NULL':
                continue
            else:
                values.append(self._node(word))
        kinds = {type(value) for value in values}
        if kinds == {float}:
            return np.array(values)
        if len(kinds) > 1:
            raise self._error('a list of values of several kinds')
        return values

    def _prototype(self) -> None:
        name = self._next()
        self._expect('[')
        fields: dict[str, Any] = {}
        while (word := self._next()) != ']':
            if word not in (*_EVENTS, *_FIELDS):
                raise self._error(
                    f'expected field, exposedField, eventIn or eventOut, not {brief(word)}'
                )
            self._next()
            key = self._next()
            if word in _FIELDS:
                fields[key] = self._value()
        self._expect('{')
        # names inside a prototype are local
        names, self._names = self._names, {}
        body = self._statements('}')
        self._names = names
        self._prototypes[name] = _Prototype(fields, body)

    def _instance(self, node: Node, fields: Mapping[str, Any], made: dict[int, Node]) -> Node:
        """Return a node from a prototype's body with the fields of an instance."""
        if id(node) in made:
            return made[id(node)]
        self._counted()

        def filled(value: Any) -> Any:
            if isinstance(value, _Is):
                return fields.get(value.name)
            if isinstance(value, list):
                return [
                    self._instance(each, fields, made) if isinstance(each, Node) else each
                    for each in value
                ]
            return value

        copy = Node(
            node.kind,
            {key: filled(value) for key, value in node.fields.items()},
            node.name,
            node.line,
        )
        if node.body is not None:
            copy.body = self._instance(node.body, fields, made)
        made[id(node)] = copy
        return copy

    def _read_inline(self, node: Node) -> list[Node]:
        if self._inline is None:
            raise VrmlError('the files that Inline names are not read here', node.line)
        return [each for url in node.texts('url')[:1] for each in self._inline(url)]

    def _skip(self) -> None:
        """Skip to the end of a node."""
        depth = 1
        while depth:
            word = self._next()
            if not word:
                raise self._error('ends within a node')
            depth += (word == '{') - (word == '}')

    def _expect(self, word: str) -> None:
        found = self._next()
        if found != word:
            raise self._error(f'expected {word}, not {brief(found)}')

    def _peek(self) -> str:
        at = self._at
        word = self._next()
        self._at = at
        return word

    def _next(self) -> str:
        """Return the next word, bracket or quoted text; '' at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = self._at if space is None else space.end()
        if self._at == len(self._text):
            return ''
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            raise self._error('a text has no end')
        self._at = token.end()
        return token[0]

    def _counted(self) -> None:
        self._count += 1
        if self._count > MOST_NODES:
            raise self._error(f'more than {MOST_NODES} nodes are not read')

    def _present_line(self) -> int:
        self._line += self._text.count('\n', self._counted_to, self._at)
        self._counted_to = max(self._at, self._counted_to)
        return self._line + 1

    def _error(self, problem: str) -> VrmlError:
        return VrmlError(problem, self._text.count('\n', 0, self._at) + 1)


def _number(word: str) -> float:
    return float(int(word, 16)) if word[:2] in ('0x', '0X') else float(word)


def _unquoted(word: str) -> str:
    return re.sub(r'\\(.)', r'\1', word[1:-1], flags=re.DOTALL)
