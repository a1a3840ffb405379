"""Mesh files' appearance: pieces with colours and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sim_bridge.foreign.beside import BUFFERS, read_beside, request_with
from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError, sharing

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, sRGB, 0 to 1."""

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
    def is_painted(self) -> bool:
        """Whether colours vary over the piece."""
        return self.colors is not None or self.picture is not None

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
    unread = tuple(str(name) for name in fields.get('unread', ()))[:_MOST_BESIDE]
    return Appearance(tuple(_pieces(fields, answer)), missing + unread)


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
