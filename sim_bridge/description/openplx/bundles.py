"""
Files and bundles: file search, lazy reading, and name look-up.

A bundle is a folder with a `config.openplx`; its subfolders are namespaces. A file outside of
bundles sees its own declarations, its imports, and all bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
from dataclasses import dataclass, field
import functools
import importlib.util
import os
from pathlib import Path
import re
from typing import NamedTuple

from sim_bridge.description.openplx import syntax
from sim_bridge.description.openplx.parser import parse
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import parse_document
from sim_bridge.foreign.files import read_file
from sim_bridge.foundation.errors import brief, close_match

VARIABLE = 'OPENPLX_BUNDLE_PATH'
SUFFIX = '.openplx'
CONFIG = 'config.openplx'
OFFICIAL = (
    'DriveTrain',
    'Math',
    'Physics',
    'Physics1D',
    'Physics3D',
    'Robotics',
    'Sensors',
    'Simulation',
    'Terrain',
    'Urdf',
    'Vehicles',
    'Visuals',
)
_PACKAGE = 'openplxbundles'
_MOST_FINDINGS = 200
# greatest number of parent folders searched for a bundle's config
_MOST_PARENTS = 20
_MOST_FILES = 2000
_MOST_IMPORTS = 30
_NAMES = re.compile(r'^(?:const[ \t]+|trait[ \t]+)?([A-Za-z_]\w*)', re.ASCII | re.MULTILINE)
_VERSION = re.compile(r'^\s+version\s*:\s*"([^"\n]*)"', re.MULTILINE)
_DECLARED = re.compile(
    r'^(?:const[ \t]+|trait[ \t]+)?([A-Za-z_]\w*)(?=[ \t]+is\b|[ \t]*[:\n])'
    r'|^[ \t]+static[ \t]+fn[ \t]+(\w+)',
    re.ASCII | re.MULTILINE,
)
_BUNDLE_NAME = re.compile(r'^\s+name\s*:\s*"([^"\n]*)"', re.MULTILINE)


class InstalledBundles(NamedTuple):
    """Bundles installed by pip: their folder and version."""

    folder: Path
    version: str


@dataclass(eq=False)
class Source:
    """
    Read file.

    file: path, as shown in messages. bundle: the file's bundle, or None. namespace: prefix of the
    names it declares. models, globals: by name. imports: other files, each with the prefix of its
    names, () for none. imported: path of the URDF file represented by its only model, or ''.
    """

    file: str
    folder: Path
    bundle: Bundle | None = None
    namespace: tuple[str, ...] = ()
    models: dict[str, syntax.Model] = field(default_factory=dict)
    globals: dict[str, syntax.Declaration] = field(default_factory=dict)
    imports: list[tuple[tuple[str, ...], Source]] = field(default_factory=list)
    imported: str = ''

    def full_name(self, name: str) -> str:
        """Return a declared name with its namespace."""
        return '.'.join((*self.namespace, name))

    def place(self, node: syntax.Node, model: str = '', member: str = '') -> Place:
        """Return a node's place in the file. model, member: concerned model and member."""
        element = 'model' if model else 'file'
        return Place(element, model, node.line, member, self.file, node.column)


@dataclass(frozen=True)
class Declared:
    """Meaning of a name: a model or a global in a file."""

    source: Source
    node: syntax.Model | syntax.Declaration
    name: str


class Bundle:
    """Folder with a config, read lazily: a file is read when one of its names is looked up."""

    def __init__(self, name: str, folder: Path, library: Library):
        self.name, self.folder = name, folder
        self._library = library
        self._folders: dict[tuple[str, ...], dict[str, Path] | None] = {}
        self._found: dict[tuple[str, ...], Declared | None] = {}

    def files(self, namespace: tuple[str, ...]) -> dict[str, Path] | None:
        """Return a namespace's files by name without suffix; None for no namespace."""
        if namespace not in self._folders:
            files: dict[str, Path] | None = None
            try:
                names = sorted(os.listdir(self.folder.joinpath(*namespace)))
                files = {
                    name[: -len(SUFFIX)]: self.folder.joinpath(*namespace, name)
                    for name in names[:_MOST_FILES]
                    if name.endswith(SUFFIX)
                }
            except OSError:
                # the namespace does not exist
                pass
            self._folders[namespace] = files
        return self._folders[namespace]

    def find(self, names: tuple[str, ...]) -> Declared | None:
        """Return a name's declaration inside the bundle."""
        if names not in self._found:
            self._found[names] = next(self._look(names), None)
        return self._found[names]

    def _look(self, names: tuple[str, ...]) -> Iterator[Declared]:
        *namespace, name = names
        files = self.files(tuple(namespace)) or {}
        # most files are named after their declaration
        likely = [name] if name in files else []
        for file in (*likely, *(file for file in files if file != name)):
            path = files[file]
            if self._library.may_declare(path, name):
                source = self._library.open(path, self, tuple(namespace))
                if source:
                    yield from _declared(source, name)

    def declared(self) -> Iterator[str]:
        """Yield the full names for top-level declarations in its files, and for functions."""
        for path in sorted(self.folder.rglob(f'*{SUFFIX}'))[:_MOST_FILES]:
            namespace = (self.name, *path.relative_to(self.folder).parts[:-1])
            model = ''
            for match in _DECLARED.finditer(self._library.text(path)):
                model = match[1] or model
                yield '.'.join((*namespace, model, *([f'{match[2]}()'] if match[2] else ())))

    def known(self, namespace: tuple[str, ...]) -> list[str]:
        """Return the names in a namespace, for hints: files and folders."""
        folder = self.folder.joinpath(*namespace)
        files = self.files(namespace)
        if files is None:
            return []
        return [*files, *(name for name in os.listdir(folder) if (folder / name).is_dir())]


class Library:
    """All files for one scene, and the defects found in them."""

    def __init__(self, paths: Sequence[Path], findings: Findings):
        self.findings = findings
        self._errors = 0
        self._texts: dict[Path, str | None] = {}
        self._sources: dict[Path, Source | None] = {}
        self._open_imports = 0
        # the scene author's files, and their paths
        self.own: list[Source] = []
        self.own_files: set[str] = set()
        # whether some author statements could not be read
        self.lacks_statements = False
        # returns path and place for the author's statement under evaluation
        self.cause: Callable[[], tuple[str, Place] | None] = lambda: None
        self.scene_bundle: Bundle | None = None
        self.bundles: dict[str, Bundle] = {}
        for path in (*paths, *_environment_paths()):
            self._add_bundles(path)
        # bundles with one version belong together: two versions are never mixed
        if 'Math' not in self.bundles:
            for path in _installed_paths():
                self._add_bundles(path)

    def _add_bundles(self, path: Path) -> None:
        try:
            folders = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())]
        except OSError:
            return
        for folder in folders[:_MOST_FILES]:
            if (folder / CONFIG).is_file():
                self._add_bundle(folder)

    def _add_bundle(self, folder: Path) -> Bundle:
        match = _BUNDLE_NAME.search(self._text(folder / CONFIG) or '')
        name = match[1] if match else folder.name
        return self.bundles.setdefault(name, Bundle(name, folder, self))

    def is_own(self, source: Source) -> bool:
        """Whether a file belongs to the scene's author: in the scene's bundle, or in none."""
        return source.bundle is None or source.bundle is self.scene_bundle

    # -- findings ----------------------------------------------------------------------------

    @property
    def has_errors(self) -> bool:
        """Whether the findings contain an error."""
        return self._errors > 0

    def error(self, code: str, place: Place, message: str) -> None:
        """
        Add an error; among hundreds only the first are kept.

        An error in a bundle gets the place where the author's statement caused the evaluation.
        """
        self._errors += 1
        cause = None if place.file in self.own_files else self.cause()
        if cause:
            path, own = cause
            message = f'{path}: {message} (in {place.file}:{place.line})'
            place = own
        if self._errors < _MOST_FINDINGS:
            self.findings.error(code, place, message)
        elif self._errors == _MOST_FINDINGS:
            message = f'there are more defects than these {_MOST_FINDINGS - 1}'
            self.findings.error('too-many', Place('file', file=place.file), message)

    # -- files -------------------------------------------------------------------------------

    def open(
        self, path: Path, bundle: Bundle | None = None, namespace: tuple[str, ...] = ()
    ) -> Source | None:
        """Return a read file; None, with an error among the findings, if it cannot be read."""
        if path not in self._sources:
            # imports may be circular
            self._sources[path] = None
            text = self._text(path)
            if text is not None:
                source = Source(str(path), path.parent, bundle)
                if bundle:
                    source.namespace = (bundle.name, *namespace)
                self._sources[path] = source
                self._fill(source, text)
        return self._sources[path]

    def open_scene(self, path: Path) -> Source | None:
        """Return a scene's file, possibly inside a bundle."""
        folder = path.resolve().parent
        for parent in (folder, *list(folder.parents)[:_MOST_PARENTS]):
            if (parent / CONFIG).is_file():
                bundle = self._add_bundle(parent)
                self.scene_bundle = self.scene_bundle or bundle
                if bundle.folder.resolve() == parent:
                    namespace = folder.relative_to(parent).parts
                    return self.open(
                        bundle.folder.joinpath(*namespace, path.name), bundle, namespace
                    )
        return self.open(path)

    def read_text(self, text: str) -> Source:
        """Return a scene given as text."""
        source = Source('<string>', Path())
        self._fill(source, text)
        return source

    def may_declare(self, path: Path, name: str) -> bool:
        """Whether a file has a line beginning with a name."""
        return any(match[1] == name for match in _NAMES.finditer(self._text(path) or ''))

    def text(self, path: Path) -> str:
        """Return a file's text; '' if it cannot be read."""
        return self._text(path) or ''

    def _text(self, path: Path) -> str | None:
        if path not in self._texts:
            self._texts[path] = None
            try:
                self._texts[path] = read_file(path).decode()
            except (OSError, ValueError) as err:
                reason = getattr(err, 'strerror', None) or str(err)
                place = Place('file', str(path), file=str(path))
                self.error('unreadable', place, f'cannot be read: {reason}')
        return self._texts[path]

    def _fill(self, source: Source, text: str) -> None:
        def report(code: str, line: int, column: int, message: str) -> None:
            self.error(code, Place('file', line=line, file=source.file, column=column), message)
            self.lacks_statements = self.lacks_statements or self.is_own(source)

        if self.is_own(source):
            self.own.append(source)
            self.own_files.add(source.file)
        document = _of_bundle(text) if source.bundle and not self.is_own(source) else None
        if document is None:
            document = parse(text, report)
        named: list[tuple[str, syntax.Model | syntax.Declaration]] = [
            *((model.name, model) for model in document.models),
            *((declared.names[0], declared) for declared in document.globals),
        ]
        for name, node in named:
            first = source.models.get(name) or source.globals.get(name)
            if first:
                message = f'{brief(name)} is declared in line {first.line} already'
                self.error('duplicate', source.place(node, name), message)
            elif isinstance(node, syntax.Model):
                source.models[name] = node
            else:
                source.globals[name] = node
        for imported in document.imports:
            self._import(source, imported)

    def _import(self, source: Source, node: syntax.Import) -> None:
        path = source.folder / node.file
        suffix = path.suffix.lower()
        place = source.place(node)
        found: Source | None = None
        if self._open_imports == _MOST_IMPORTS:
            message = f'more than {_MOST_IMPORTS} nested imports are not read'
            self.error('too-deep', place, message)
        elif not path.is_file():
            why = 'is no regular file' if path.exists() else 'does not exist'
            self.error('unreadable', place, f'the file {brief(str(path))} {why}')
        elif suffix == SUFFIX:
            self._open_imports += 1
            found = self.open_scene(path)
            self._open_imports -= 1
            if found:
                source.imports.append((node.alias, found))
        elif suffix == '.urdf':
            self._import_urdf(source, node, path)
        else:
            self.error(
                'unsupported-import',
                place,
                f'files of type {brief(suffix)} cannot be imported; expected {SUFFIX} or .urdf',
            )

    def _import_urdf(self, source: Source, node: syntax.Import, path: Path) -> None:
        """Declare a system for a URDF file; its mechanism is read by the mapping."""
        try:
            document = parse_document(read_file(path), self.findings)
        except OSError as err:
            message = f'{brief(str(path))} cannot be read: {err.strerror}'
            self.error('unreadable', source.place(node), message)
            return
        if not document:
            return
        namespace, name = node.alias[:-1], (node.alias or (document.root.get('name'),))[-1]
        system = syntax.Path(node.line, node.column, ('Physics3D', 'System'))
        model = syntax.Model(node.line, node.column, 'model', name, system, (), ())
        imported = Source(
            source.file, path.parent, models={name: model}, imported=str(path.resolve())
        )
        source.imports.append((namespace, imported))

    # -- names -------------------------------------------------------------------------------

    def find(self, source: Source, names: tuple[str, ...]) -> Declared | None:
        """
        Return a name's declaration in a file.

        Search order: the file's declarations, its imports, its namespace and the enclosing ones,
        then the bundles.
        """
        if len(names) == 1:
            for declared in _declared(source, names[0]):
                return declared
        for alias, imported in source.imports:
            if names[: len(alias)] == alias and len(names) == len(alias) + 1:
                for declared in _declared(imported, names[-1]):
                    return declared
        if source.bundle:
            inner = source.namespace[1:]
            for depth in range(len(inner), -1, -1):
                found = source.bundle.find((*inner[:depth], *names))
                if found:
                    return found
        bundle = self.bundles.get(names[0])
        return bundle.find(names[1:]) if bundle and len(names) > 1 else None

    def missing_bundle(self, names: tuple[str, ...]) -> str:
        """Return how to install a name's bundle; '' if it is installed or not official."""
        if names[0] not in OFFICIAL or names[0] in self.bundles or len(names) == 1:
            return ''
        return (
            f'the bundle {names[0]} is not installed; install it by '
            f'`pip install openplx-bundles`, or name its folder in {VARIABLE}'
        )

    def is_namespace(self, names: tuple[str, ...]) -> bool:
        """Whether a name denotes a bundle, or a folder in one."""
        bundle = self.bundles.get(names[0])
        return bundle is not None and bundle.files(names[1:]) is not None

    def hint(self, source: Source, names: tuple[str, ...]) -> str:
        """Return a hint for an unknown name."""
        if self._errors >= _MOST_FINDINGS:
            return ''
        bundle = self.bundles.get(names[0])
        known: Iterable[str]
        if bundle and len(names) > 1:
            files = bundle.files(names[1:-1])
            known = ['.'.join((*names[:-1], name)) for name in files or ()]
            if files is None:
                known = ['.'.join((names[0], name)) for name in bundle.known(())]
        else:
            seen = [*source.models, *source.globals, *self.bundles]
            for alias, imported in source.imports:
                seen += ['.'.join((*alias, name)) for name in imported.models]
            if source.bundle:
                seen += source.bundle.known(source.namespace[1:])
            known = seen
        name = '.'.join(names)
        close = close_match(name, [each for each in known if each != name])
        return f'did you mean {close!r}?' if close else ''

    def within(self, names: tuple[str, ...]) -> str:
        """Return the name in a bundle closest to an unknown one, or ''."""
        bundle = self.bundles.get(names[0])
        if not bundle or self._errors >= _MOST_FINDINGS:
            return ''
        known = list(bundle.declared())
        same = [name for name in known if name.rpartition('.')[2] == names[-1]]
        return same[0] if same else close_match('.'.join(names), known)


@functools.lru_cache(maxsize=1000)
def _of_bundle(text: str) -> syntax.Document | None:
    """Return the tree for a bundle's file, shared by many scenes; None if it has defects."""
    defects: list[tuple[object, ...]] = []
    document = parse(text, lambda *defect: defects.append(defect))
    return None if defects else document


def _declared(source: Source, name: str) -> Iterator[Declared]:
    node = source.models.get(name) or source.globals.get(name)
    if node:
        yield Declared(source, node, source.full_name(name))


def _environment_paths() -> Iterator[Path]:
    for folder in os.environ.get(VARIABLE, '').split(os.pathsep):
        if folder:
            yield Path(folder)


def installed_bundles() -> InstalledBundles | None:
    """Return the bundles installed by pip; None if there are none."""
    for folder in _installed_paths():
        with contextlib.suppress(OSError):
            text = read_file(folder / 'Math' / CONFIG).decode(errors='replace')
            match = _VERSION.search(text)
            return InstalledBundles(folder.resolve(), match[1] if match else '')
    return None


def has_bundles() -> bool:
    """Return whether the bundles needed by every scene are found."""
    return 'Math' in Library([], Findings()).bundles


def _installed_paths() -> Iterator[Path]:
    """Yield the folder of bundles installed by pip, without importing their package."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder)
