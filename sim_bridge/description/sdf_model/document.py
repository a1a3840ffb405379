"""SDF files, each read once, and their includes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import os
from pathlib import Path

from sim_bridge.description.report import Findings, LineOfFile, Place
from sim_bridge.description.resources import (
    explain_unresolved,
    find_model_file,
    resolve_uri,
    STRING,
)
from sim_bridge.description.sdf_model import included_urdf
from sim_bridge.description.urdf import xacro_file
from sim_bridge.description.xml.document import Element, MOST_ELEMENTS, parse_document, read_source
from sim_bridge.description.xml.values import element_text

ROOTS = ('sdf', 'gazebo')
NEWEST = (1, 12)
ENTITIES = ('model', 'actor', 'light')
# included files within each other, and elements in all of them, with repetitions
MOST_LEVELS = 30
MOST_INCLUDED = 2 * MOST_ELEMENTS


@dataclass(frozen=True, eq=False)
class SdfFile:
    """
    SDF document.

    path: '<string>' for text. version: major and minor number. root: `<sdf>`.
    """

    path: str
    root: Element
    version: tuple[int, int]

    @property
    def folder(self) -> Path | None:
        """Folder for relative paths; None for a text."""
        return None if self.path == STRING else Path(self.path).resolve().parent


@dataclass(frozen=True, eq=False)
class Entity:
    """
    Model, actor or light: its element, and the changes by its `<include>`.

    posed: element holding the pose. placement: frame that the pose places, '' for the model's own
    frame. static: None if unchanged. plugins: of the include. is_merged: whether the contents
    become part of the including model. source: main identity, for models read once. scope_line:
    line in the including file.
    """

    element: Element
    file: SdfFile
    name: str
    posed: Element
    placement: str = ''
    static: bool | None = None
    plugins: tuple[Element, ...] = ()
    is_merged: bool = False

    @property
    def place(self) -> Place:
        """Place for messages."""
        return Place(self.element.tag, self.name, self.element.line)


@dataclass
class Library:
    """
    Files for one world or model.

    package_paths: see `load_description`. xacro_args: argument values for xacro, by name. main:
    first file's path; its lines need no file name.
    """

    package_paths: tuple[str | Path, ...]
    findings: Findings
    xacro_args: Mapping[str, object] = field(default_factory=dict)
    main: str = ''
    files: dict[str, SdfFile | None] = field(default_factory=dict)
    _included: int = 0
    _found: dict[tuple[str, str], Path | None] = field(default_factory=dict)

    def open(self, source: str | Path) -> tuple[SdfFile | None, str]:
        """Return the main file (None, with errors noted, if unreadable) and its label."""
        name, data = read_source(source, self.findings)
        self.main = name
        return self._parsed(name, data, is_main=True)

    def read(self, path: Path, place: Place) -> SdfFile | None:
        """Return an included file; None, with a warning noted, if it cannot be read."""
        key = os.fspath(path)
        if key not in self.files:
            own = Findings()
            name, data = read_source(path, own)
            self.files[key] = self._parsed(name, data, is_main=False, findings=own)[0]
            for finding in own.found:
                line = LineOfFile.of(finding.line, key)
                at = Place(finding.element, finding.name, line)
                self.findings.warning(finding.code, at, finding.message, value=finding.value)
            if self.files[key] is None:
                message = f'{path} cannot be read; left out'
                self.findings.warning('not-simulated', place, message)
        return self.files[key]

    @property
    def paths(self) -> tuple[str, ...]:
        """Full paths to all read files."""
        main = [] if self.main in ('', STRING) else [self.main]
        read = [name for name, file in self.files.items() if file is not None]
        return tuple(str(Path(name).resolve()) for name in (*main, *read))

    def _parsed(
        self, name: str, data: bytes | str | None, is_main: bool, findings: Findings | None = None
    ) -> tuple[SdfFile | None, str]:
        findings = self.findings if findings is None else findings
        label = name
        document = None if data is None else parse_document(data, findings)
        if document is not None and xacro_file.is_xacro(name, document):
            document = xacro_file.expand(
                name, document, self.xacro_args, self.package_paths, findings
            )
            label = f'{name} (expanded)'
        if document is None:
            return None, label
        root = document.root
        if not is_main and root.tag == included_urdf.ROOT:
            converted = included_urdf.sdf_of_urdf(
                name, document, self.xacro_args, self.package_paths, findings
            )
            if converted is None:
                return None, label
            root = converted
        elif not is_main:
            for element in root.walk():
                element.line = LineOfFile.of(element.line, name)
        if root.tag not in ROOTS:
            place = Place('document', line=root.line)
            message = f'the root element is <{root.tag}>, not <sdf>'
            findings.error('not-sdf', place, message)
            return None, label
        return SdfFile(name, root, _version(root, findings)), label

    def included(self, node: Element, file: SdfFile, level: int) -> Entity | None:
        """
        Return the model, actor or light of an `<include>`; None, with a warning, without one.

        level: number of files around it.
        """
        place = Place('include', _child_text(node, 'name') or node.get('name'), node.line)
        uri = _child_text(node, 'uri') or node.get('filename')
        if not uri:
            self.findings.warning('missing-tag', place.child('uri', node.line), 'missing')
            return None
        found = self._located(uri, file, place)
        inner = None if found is None else self.read(found, place)
        if inner is None or found is None:
            return None
        element = next((e for e in inner.root if e.tag in ENTITIES), None)
        if element is None:
            message = f'{found} holds no model, actor or light; left out'
            self.findings.warning('not-simulated', place, message, value=uri)
            return None
        self._included += sum(1 for _ in element.walk())
        if level > MOST_LEVELS or self._included > MOST_INCLUDED:
            message = (
                f'left out: at most {MOST_LEVELS} files within each other and '
                f'{MOST_INCLUDED} elements are included'
            )
            self.findings.warning('not-simulated', place, message, value=uri)
            return None
        own = entity_of(element, inner)
        static = _child_text(node, 'static').lower()
        posed = node if node.find('pose') is not None else element
        return replace(
            own,
            name=_child_text(node, 'name') or own.name,
            posed=posed,
            placement=_child_text(node, 'placement_frame') or own.placement,
            static=None if not static else static in ('true', '1'),
            plugins=tuple(node.findall('plugin')),
            is_merged=node.get('merge').lower() in ('true', '1'),
        )

    def _located(self, uri: str, file: SdfFile, place: Place) -> Path | None:
        """Return an include's SDF file; None, with a warning noted, if there is none."""
        key = uri, str(file.folder)
        if key not in self._found:
            self._found[key] = find_model_file(
                uri, base=file.folder, package_paths=self.package_paths
            )
        found = self._found[key]
        if found is None:
            reason = explain_unresolved(uri, base=file.folder, package_paths=self.package_paths)
            message = f'left out: {reason}'
            self.findings.warning('include-not-found', place, message, 'uri', uri)
        return found

    def uri_of(self, text: str, file: SdfFile) -> str:
        """
        Return the URI of a mesh or picture for readers of other folders.

        `package://` stays. A file that is found becomes a file URI; others stay as written.
        """
        text = text.strip()
        if text.startswith('package://'):
            return text
        found = resolve_uri(text, base=file.folder, package_paths=self.package_paths)
        return text if found is None else found.resolve().as_uri()


def entity_of(element: Element, file: SdfFile) -> Entity:
    """Return a model, actor or light as it stands in a file."""
    return Entity(element, file, element.get('name'), element, element.get('placement_frame'))


def _child_text(node: Element, tag: str) -> str:
    child = node.find(tag)
    return '' if child is None else element_text(child)


def _version(root: Element, findings: Findings) -> tuple[int, int]:
    text = root.get('version')
    major, _, minor = text.partition('.')
    place = Place('document', line=root.line)
    if not (major.isdigit() and minor.isdigit()) or len(text) > 8:
        message = f'missing or unknown; read as {NEWEST[0]}.{NEWEST[1]}'
        findings.warning('unknown-version', place, message, 'version', text)
        return NEWEST
    version = int(major), int(minor)
    if version > NEWEST or version[0] != 1:
        message = f'unknown; read as {NEWEST[0]}.{NEWEST[1]}'
        findings.warning('unknown-version', place, message, 'version', text)
        return NEWEST
    return version
