"""
XML parsed into elements that know their lines, without a schema.

The parser is expat, called directly because it reports the line of a start tag (libxml2 keeps the
line of its end). A DOCTYPE is refused before anything in it takes effect: no entity is ever
expanded, and nothing outside the document is ever opened. A document too large for a robot is
refused as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from sim_bridge.description.formats import format_of, is_xml_text, OPENPLX
from sim_bridge.description.report import Place
from sim_bridge.description.resources import robot_meant, shipped_robots
from sim_bridge.description.xml.tolerance import declaring, prefixes_of, robot_alone, well_formed
from sim_bridge.foreign.files import read_file, TEXT_BYTES
from sim_bridge.foundation.errors import brief, InvalidValueError

if TYPE_CHECKING:
    from sim_bridge.description.report import Findings

_DOCUMENT = Place('document')

# a hundred times the element count for a humanoid with all its meshes
MOST_ELEMENTS = 200_000

# allowed encodings by their names in documents; Python knows many more, some of them programs
ENCODINGS = {
    'utf-8': 'utf-8',
    'utf8': 'utf-8',
    'utf-16': 'utf-16',
    'us-ascii': 'ascii',
    'ascii': 'ascii',
    'iso-8859-1': 'latin-1',
    'latin1': 'latin-1',
    'latin-1': 'latin-1',
}
# byte order marks and first bytes of a file, each with encoding and number of bytes to skip; they
# override the encoding that the document declares
_MARKS = {
    b'\xef\xbb\xbf': ('utf-8', 3),
    b'\xff\xfe': ('utf-16-le', 2),
    b'\xfe\xff': ('utf-16-be', 2),
    b'<\0': ('utf-16-le', 0),
    b'\0<': ('utf-16-be', 0),
}
_LONGEST_DECLARATION = 1000
_DECLARATION = re.compile(r'(<\?xml\s[^>]*?\bencoding\s*=\s*["\'])([^"\'>]*)')
_BYTE_DECLARATION = re.compile(_DECLARATION.pattern.encode())


@dataclass(eq=False, slots=True)
class Element:
    """
    XML element.

    attrib: attributes by name. line: start tag line, from 1. text: before the first child.
    children: in file order.
    """

    tag: str
    attrib: dict[str, str] = field(default_factory=dict)
    line: int = 0
    text: str = ''
    children: list[Element] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def get(self, name: str, default: str = '') -> str:
        """Return an attribute; the default if it is absent."""
        return self.attrib.get(name, default)

    def floats(self, name: str) -> list[float]:
        """Return the numbers in an attribute that was checked to hold numbers."""
        return [float(word) for word in self.attrib[name].split()]

    def find(self, tag: str) -> Element | None:
        """Return the first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def findall(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """Yield the element and all its descendants, in file order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))


class _DoctypeError(Exception):
    """The document has a DOCTYPE."""


class _EncodingError(Exception):
    """The document's encoding is not supported, or its bytes are not in this encoding."""


class _TooLargeError(Exception):
    """The document has more elements than any robot."""


_OPENPLX = 'is an OpenPLX scene, read by World.load_openplx({!r}), not a URDF'


def read_source(source: str | Path, findings: Findings) -> tuple[str, bytes | str | None]:
    """
    Read a description from a file, from a string, or from a shipped robot by its name.

    Returns its name for messages ('<string>' for text) and its content, None if the file cannot be
    read. Raises InvalidValueError if `source` is neither text nor a path.
    """
    if not isinstance(source, (str, Path)):
        raise InvalidValueError('source', source, 'the path of a URDF or xacro file, or XML text')
    if is_xml_text(source):
        return '<string>', source
    name = str(source)
    if format_of(source) is OPENPLX:
        findings.error('openplx', Place('file', name[:200]), _OPENPLX.format(name[:200]))
        return name[:200], None
    try:
        return name, read_file(source)
    except (OSError, ValueError) as err:
        shipped = shipped_robots()
        if name in shipped:
            return read_source(shipped[name], findings)
        # OpenPLX scenes are left out
        shipped = {each: path for each, path in shipped.items() if format_of(path) is not OPENPLX}
        reason = getattr(err, 'strerror', None) or str(err)
        if '<' in name:
            reason += ' (an XML text starts with "<")'
        elif not Path(name).suffix and not Path(name).parent.name:
            reason += f'; the robots that are shipped are {", ".join(sorted(shipped))}'
        else:
            reason += robot_meant(Path(name), shipped)
        findings.error('unreadable', Place('file', name[:200]), f'cannot be read: {reason}')
        return name[:200], None


@dataclass(frozen=True, eq=False)
class Document:
    """Parsed document and its text."""

    root: Element
    text: str


def parse_document(data: bytes | str, findings: Findings) -> Document | None:
    """
    Parse XML; None, with an error among the findings, for other text or a DOCTYPE.

    The parser gets the text of the returned document, with UTF-8 as declared encoding and well
    formed where only Gazebo's parser accepts it. So later readers of the text read exactly the
    checked text; they also find a declaration of every prefix.
    """
    builder = _TreeBuilder()
    parser = builder.parser
    if len(data) > TEXT_BYTES:
        message = f'{len(data)} characters, and at most {TEXT_BYTES} are read'
        findings.error('too-large', _DOCUMENT, message)
        return None
    try:
        given = well_formed(_decoded(data))
        text = robot_alone(given)
        if text != given:
            message = 'elements beside <robot> are ignored, as by Gazebo'
            findings.warning('other-roots', _DOCUMENT, message)
        parser.Parse(text, True)
    except _EncodingError as err:
        findings.error('encoding', _DOCUMENT, str(err))
    except _TooLargeError:
        place = Place('document', line=parser.CurrentLineNumber)
        findings.error('too-large', place, f'more than {MOST_ELEMENTS} elements are not read')
    except _DoctypeError:
        place = Place('document', line=parser.CurrentLineNumber)
        findings.error('doctype', place, 'a DOCTYPE and its entities are not accepted; remove it')
    except expat.ExpatError as err:
        message = f'not well-formed XML: {expat.ErrorString(err.code)} (column {err.offset + 1})'
        findings.error('xml', Place('document', line=err.lineno), message)
    except UnicodeEncodeError:
        findings.error('encoding', _DOCUMENT, 'the text holds half of a surrogate pair')
    else:
        return Document(builder.root, builder.with_declarations(text))
    return None


def _decoded(data: bytes | str) -> str:
    """Return a document as text; raises _EncodingError for an unknown or wrong encoding."""
    if isinstance(data, str):
        encoding, text = None, data.lstrip('\ufeff')
    else:
        encoding, size = next(
            (found for mark, found in _MARKS.items() if data.startswith(mark)), (None, 0)
        )
        named = _BYTE_DECLARATION.match(data[size : _LONGEST_DECLARATION + size])
        if encoding is None and named is not None:
            encoding = _known_encoding(named[2].decode('latin-1'))
        try:
            text = data[size:].decode(encoding or 'utf-8')
        except UnicodeDecodeError as err:
            raise _EncodingError(
                f'is not {encoding or "utf-8"}, its encoding: byte {err.start + size} is wrong; '
                f'another one must be named as in <?xml version="1.0" encoding="ISO-8859-1"?>'
            ) from err
    declared = _DECLARATION.match(text[:_LONGEST_DECLARATION])
    if declared is None:
        return text
    _known_encoding(declared[2])
    return f'{declared[1]}UTF-8{text[declared.end(2) :]}'


def _known_encoding(name: str) -> str:
    """Return an encoding's name in Python; raises _EncodingError for an unknown one."""
    if name.lower() not in ENCODINGS:
        raise _EncodingError(
            f'the encoding {brief(name)} is not read; known: UTF-8, UTF-16, US-ASCII, ISO-8859-1'
        )
    return ENCODINGS[name.lower()]


class _TreeBuilder:
    """Builder for `Element` trees from expat's events."""

    def __init__(self) -> None:
        self.root = Element('')
        self._count = 0
        self._root_at = 0
        self._prefixes: set[str] = set()
        self._declared: set[str] = set()
        self._open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def with_declarations(self, text: str) -> str:
        """Return the parsed text with a declaration for each prefix that has none."""
        return declaring(text, self._root_at, self.root.tag, self._prefixes - self._declared)

    def _doctype(self, *_: object) -> None:
        raise _DoctypeError

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise _TooLargeError
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
            self._root_at = self.parser.CurrentByteIndex
        self._note_prefixes(element)
        self._open.append(element)

    def _note_prefixes(self, element: Element) -> None:
        self._prefixes |= prefixes_of((element.tag, *element.attrib))
        self._declared |= {name[6:] for name in element.attrib if name.startswith('xmlns:')}

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        element = self._open[-1]
        if not element.children:
            element.text += text
