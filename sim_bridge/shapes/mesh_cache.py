"""Shapes of mesh files, shared by all worlds in a process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foreign.beside import BUFFERS
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.meshes.kept import kept_hulls
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh

_SHAPES_KEPT = 256
_Version = tuple[tuple[int, int], ...]


class ColoredSurface(NamedTuple):
    """vertices: (n, 3) float32 [m]. triangles: (m, 3) uint32. color: the file's, or None."""

    vertices: np.ndarray
    triangles: np.ndarray
    color: tuple[float, float, float, float] | None


def hull_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> ConvexHull:
    """
    Return a mesh file's convex hull, the same object while the file is unchanged.

    part: see `mesh_files.load_mesh`.
    """
    return _hull(Path(path), tuple(scale), part, _version(path))


def mesh_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> TriangleMesh:
    """Return a file's mesh, the same object while the file is unchanged."""
    return _mesh(Path(path), tuple(scale), part, _version(path))


def hulls_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> tuple[ConvexHull, ...]:
    """Return a mesh file's convex decomposition, the same while the file is unchanged."""
    return _hulls(Path(path), tuple(scale), part, _version(path))


def colored_surfaces_of_file(path: str, part: str = '') -> tuple[ColoredSurface, ...]:
    """Return a VRML file's surfaces, one for each colour; raises InvalidValueError."""
    return _colored(path, part, _version(path))


@lru_cache(maxsize=_SHAPES_KEPT)
def _colored(path: str, part: str, _: _Version) -> tuple[ColoredSurface, ...]:
    # imported here, since most worlds have no VRML files
    from sim_bridge.foreign.vrml.text import VrmlError
    from sim_bridge.shapes.vrml_files import colored_surfaces

    by_color: dict[Any, list[tuple[np.ndarray, np.ndarray]]] = {}
    try:
        for vertices, triangles, color in colored_surfaces(Path(path), part):
            by_color.setdefault(color, []).append((vertices, triangles))
    except (VrmlError, OSError) as err:
        raise InvalidValueError('mesh file', path, f'one that can be read: {err}') from err
    found = []
    for color, pieces in by_color.items():
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces[:-1])])
        found.append(
            ColoredSurface(
                np.concatenate([vertices for vertices, _ in pieces]).astype(np.float32),
                np.concatenate(
                    [
                        triangles + start
                        for (_, triangles), start in zip(pieces, starts, strict=True)
                    ]
                ).astype(np.uint32),
                color,
            )
        )
    return tuple(each for each in found if len(each.triangles))


@lru_cache(maxsize=_SHAPES_KEPT)
def _hulls(path: Path, scale: tuple[float, ...], part: str, _: _Version) -> tuple[ConvexHull, ...]:
    return kept_hulls(TriangleMesh.from_file(path, scale, part=part))


@lru_cache(maxsize=_SHAPES_KEPT)
def _hull(path: Path, scale: tuple[float, ...], part: str, _: _Version) -> ConvexHull:
    return ConvexHull.from_file(path, scale, part)


@lru_cache(maxsize=_SHAPES_KEPT)
def _mesh(path: Path, scale: tuple[float, ...], part: str, _: _Version) -> TriangleMesh:
    return TriangleMesh.from_file(path, scale, part=part)


def _version(path: str | Path) -> _Version:
    """Return a file's version: time of the last change, and size; with buffers beside a .gltf."""
    path = Path(path)
    try:
        files = [path]
        if path.suffix.lower() == '.gltf':
            beside = sorted(path.parent.iterdir())
            files += [each for each in beside if each.suffix.lower() in BUFFERS]
        states = [each.stat() for each in files]
    except OSError as err:
        raise InvalidValueError('mesh file', str(path), 'a file that exists') from err
    return tuple((status.st_mtime_ns, status.st_size) for status in states)
