"""Appearance of mesh files, read on a separate thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import os
from pathlib import Path
from queue import SimpleQueue
import threading
from typing import NamedTuple

import numpy as np

from sim_bridge.foreign.beside import BUFFERS, read_beside, request_with
from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError, sharing
from sim_bridge.page.records import Color

_READER = 'sim_bridge.foreign.appearance_reader'
_LIMITS = Limits(seconds=60.0, memory_bytes=4 << 30, answer_bytes=1 << 30)
# a mesh file may name any other file; only these types are read, by a confined process
_BESIDE = (
    '.mtl',
    *BUFFERS,
    '.png',
    '.jpg',
    '.jpeg',
    '.bmp',
    '.tga',
    '.gif',
    '.webp',
    '.tif',
    '.tiff',
)
_MOST_BESIDE = 64


class Piece(NamedTuple):
    """
    Surface part with one appearance.

    vertices: (n, 3) float32 [m]. triangles: (m, 3) uint32. color: None without one in the file.
    colors: (n, 4) uint8 vertex colours, or None. places: (n, 2) texture coordinates on `picture`,
    from its lower left corner. picture: (height, width, 4) uint8. Both None without a texture.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    color: Color | None = None
    colors: np.ndarray | None = None
    places: np.ndarray | None = None
    picture: np.ndarray | None = None

    @property
    def mean_color(self) -> Color | None:
        """Mean colour; None without colours in the file."""
        if self.colors is not None:
            return _color(self.colors.mean(axis=0) / 255.0)
        if self.picture is not None:
            shade = self.picture.reshape(-1, 4).mean(axis=0) / 255.0
            return _color(shade * (self.color or (1.0,) * 4))
        return self.color


class Appearance(NamedTuple):
    """Mesh file's appearance. missing: names of missing or unreadable referenced files."""

    pieces: tuple[Piece, ...]
    missing: tuple[str, ...] = ()


def read_appearance(path: str | Path) -> Appearance:
    """Read a mesh file with its referenced files; raises ReadingError, OSError."""
    path = Path(path)
    suffix = path.suffix.lower()
    content = read_file(path, DATA_BYTES)
    with sharing():
        files, missing = _beside(path, suffix, content)
        fields, answer = read_apart(_READER, _LIMITS, *request_with(suffix, content, files))
    return Appearance(tuple(_pieces(fields, answer)), missing)


def _beside(path: Path, suffix: str, content: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the referenced files' contents by name, and the missing files' names."""
    files: dict[str, bytes] = {}
    missing: list[str] = []
    pending = _names(suffix, content)
    while pending and len(files) < _MOST_BESIDE:
        name = pending.pop(0)
        if name in files or name in missing:
            continue
        try:
            files[name] = read_beside(path, name, _BESIDE)
        except (OSError, ValueError):
            missing.append(name)
            continue
        if name.lower().endswith('.mtl'):
            pending += _names('.mtl', files[name])
    return files, tuple(missing)


def _names(suffix: str, content: bytes) -> list[str]:
    fields, _ = read_apart(_READER, _LIMITS, {'suffix': suffix, 'names': True}, content)
    return [name for name in fields.get('names', ()) if isinstance(name, str)][:_MOST_BESIDE]


def _pieces(fields: dict[str, object], data: bytes) -> Iterator[Piece]:
    """Yield the pieces in a reader's answer; raises ReadingError for an invalid answer."""
    at = 0

    def take(kind: str, *shape: int) -> np.ndarray:
        nonlocal at
        count = int(np.prod(shape))
        found = np.frombuffer(data, kind, count, at).reshape(shape)
        at += found.nbytes
        return found

    try:
        raw = []
        for each in fields['pieces']:  # type: ignore[attr-defined]
            n, color = int(each['vertices']), each['color']
            vertices = take('f4', n, 3)
            triangles = take('u4', int(each['triangles']), 3)
            if not np.isfinite(vertices).all() or triangles.max(initial=0) >= max(n, 1):
                raise ValueError
            colors = take('u1', n, 4) if each['is_colored'] else None
            places = None if each['picture'] is None else take('f4', n, 2)
            raw.append(
                (
                    Piece(
                        vertices,
                        triangles,
                        None if color is None else _color(color),
                        colors,
                        places,
                    ),
                    each['picture'],
                )
            )
        pictures = [
            take('u1', int(each['height']), int(each['width']), 4)
            for each in fields['pictures']  # type: ignore[attr-defined]
        ]
        for piece, number in raw:
            yield piece if number is None else piece._replace(picture=pictures[number])
    except (KeyError, ValueError, TypeError, IndexError) as err:
        raise ReadingError('its reader returned no surface with finite coordinates') from err


def _color(values: Iterable[float]) -> Color:
    red, green, blue, opacity = (min(max(float(each), 0.0), 1.0) for each in values)
    return red, green, blue, opacity


class Library:
    """Mesh files, each read once; say: called with severity and text for each problem."""

    def __init__(self, say: Callable[[str, str], None]):
        """Start empty; the thread starts with the first file."""
        self._say = say
        self._wanted: SimpleQueue[str] = SimpleQueue()
        self._asked: dict[str, object] = {}
        self._known: dict[str, Appearance | None] = {}
        self._thread: threading.Thread | None = None
        self.changes = 0
        """Number of files read."""
        self.pending = 0
        """Number of files waiting."""

    def ask(self, path: str) -> None:
        """Request a file, unless its present version was already requested."""
        version = _version(path)
        if path not in self._asked or self._asked[path] != version:
            self._asked[path] = version
            self._known.pop(path, None)
            self.pending += 1
            self._wanted.put(path)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='appearance', daemon=True)
                self._thread.start()

    def has(self, path: str) -> bool:
        """Return whether a file has been read, successfully or not."""
        return path in self._known

    def get(self, path: str) -> Appearance | None:
        """Return a file's appearance, already read; None for an unreadable file."""
        return self._known[path]

    def _run(self) -> None:
        # one reader process while files are waiting; it ends when the queue is empty
        while True:
            path = self._wanted.get()
            with sharing():
                while path:
                    self._read(path)
                    path = '' if self._wanted.empty() else self._wanted.get()

    def _read(self, path: str) -> None:
        appearance: Appearance | None = None
        try:
            appearance = read_appearance(path)
        except OSError as err:
            self._say('warning', f'mesh {path} is not drawn: {err.strerror or err}')
        except ReadingError as err:
            self._say('warning', f'mesh {path} is not drawn: {err}')
        else:
            if appearance.missing:
                self._say('warning', f'mesh {path} lacks {", ".join(appearance.missing)[:300]}')
            if not appearance.pieces:
                self._say('warning', f'mesh {path} is not drawn: it has no triangles')
                appearance = None
        self._known[path] = appearance
        self.changes, self.pending = self.changes + 1, self._wanted.qsize()


def _version(path: str) -> object:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
