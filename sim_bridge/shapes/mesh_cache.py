"""Shapes of mesh files, which the worlds of a process share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.meshes.kept import kept_hulls
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh

_SHAPES_KEPT = 256


def hull_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> ConvexHull:
    """
    Return the convex hull of a mesh file, the same object while the file is unchanged.

    part: as of `mesh_files.load_mesh`.
    """
    return _hull(Path(path), tuple(scale), part, _version(path))


def mesh_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> TriangleMesh:
    """Return the mesh of a file, the same object while the file is unchanged; as the hull."""
    return _mesh(Path(path), tuple(scale), part, _version(path))


def hulls_of_file(
    path: str | Path, scale: Sequence[float] = (1.0, 1.0, 1.0), part: str = ''
) -> tuple[ConvexHull, ...]:
    """Return the hulls of a file's mesh, decomposed, the same while the file is unchanged."""
    return _hulls(Path(path), tuple(scale), part, _version(path))


@lru_cache(maxsize=_SHAPES_KEPT)
def _hulls(
    path: Path, scale: tuple[float, ...], part: str, _: tuple[int, int]
) -> tuple[ConvexHull, ...]:
    return kept_hulls(TriangleMesh.from_file(path, scale, part=part))


@lru_cache(maxsize=_SHAPES_KEPT)
def _hull(path: Path, scale: tuple[float, ...], part: str, _: tuple[int, int]) -> ConvexHull:
    return ConvexHull.from_file(path, scale, part)


@lru_cache(maxsize=_SHAPES_KEPT)
def _mesh(
    path: Path, scale: tuple[float, ...], part: str, _: tuple[int, int]
) -> TriangleMesh:
    return TriangleMesh.from_file(path, scale, part=part)


def _version(path: str | Path) -> tuple[int, int]:
    """Return what differs between two versions of a file: time of the last change, and size."""
    try:
        status = Path(path).stat()
    except OSError as err:
        raise InvalidValueError('mesh file', str(path), 'a file that exists') from err
    return status.st_mtime_ns, status.st_size
