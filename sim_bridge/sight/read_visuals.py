"""Visuals from link descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
import os

import numpy as np

from sim_bridge.description.model import GeometryDescription, LinkDescription
from sim_bridge.foreign.appearance import Appearance, Color, Piece, read_appearance
from sim_bridge.foreign.reader_process import ReadingError
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.mesh_cache import colored_surfaces_of_file
from sim_bridge.shapes.mesh_files import VRML_SUFFIX
from sim_bridge.shapes.shapes import PRIMITIVES, Shape
from sim_bridge.sight.visual import GREY, Visual

_FILES_KEPT = 256


@dataclass(frozen=True, eq=False)
class LinkSource:
    """
    A link, of which files are not yet read; plain data, which another process can read.

    robot: name for messages. link: its description, None without one. body: its pose row. shapes:
    visuals of its shapes, for a link without others.
    """

    robot: str
    link: LinkDescription | None
    body: int
    color: Color
    instance: int
    shapes: tuple[Visual, ...]

    def read(self, warn: Callable[[str], None]) -> list[Visual]:
        """Return the visuals; warn: as for `visuals_of_link`."""
        own = []
        if self.link is not None:
            own = visuals_of_link(
                self.link,
                self.body,
                lambda text: warn(f'robot {self.robot!r}, {text}'),
                self.color,
                label=self.link.label,
                instance=self.instance,
            )
        return own or list(self.shapes)


def visuals_of_link(
    link: LinkDescription,
    body: int,
    warn: Callable[[str], None],
    color: Color = GREY,
    *,
    label: int = 0,
    instance: int = 0,
) -> list[Visual]:
    """
    Return a link's visuals.

    body: the link's pose row. warn: called with a text for each invisible
    visual, and for each file missing beside a mesh. color: for visuals without their own.
    """
    found = []
    for number, each in enumerate(link.visuals):
        name = each.name or f'{link.name}_visual_{number}'
        place = f'link {link.name!r}, visual {name!r}'
        try:
            for surface in _surfaces(each, warn):
                if not _has_area(surface, _scale(each)):
                    warn(f'{place}: a mesh without triangles with three different corners')
                    continue
                found.append(
                    Visual(
                        surface,
                        body,
                        each.pose.rotation,
                        each.pose.position,
                        _scale(each),
                        each.color or color,
                        label=label,
                        instance=instance,
                        name=name,
                    )
                )
        except InvalidValueError as err:
            warn(f'{place}: {err}')
    return found


def _scale(visual: GeometryDescription) -> tuple[float, float, float]:
    """Return a mesh file's scale; other surfaces have their final size."""
    if visual.kind != 'mesh' or visual.surface is not None:
        return 1.0, 1.0, 1.0
    return visual.size[0], visual.size[1], visual.size[2]


def _surfaces(visual: GeometryDescription, warn: Callable[[str], None]) -> Iterator[Piece | Shape]:
    """Yield a visual element's surfaces; raises InvalidValueError for one without surface."""
    if visual.kind != 'mesh':
        yield PRIMITIVES[visual.kind](*visual.size)
    elif visual.surface is not None:
        yield Piece(*visual.surface)
    elif not visual.path:
        raise InvalidValueError('mesh file', visual.filename, 'a file that is found')
    elif visual.path.lower().endswith(VRML_SUFFIX):
        for each in colored_surfaces_of_file(visual.path, visual.part):
            yield Piece(each.vertices, each.triangles, each.color)
    else:
        appearance = appearance_of_file(visual.path)
        if appearance.missing:
            names = ', '.join(appearance.missing)[:300]
            warn(f'mesh {visual.path}: grey instead of {names}, missing or unreadable')
        if not all(map(_has_finite_places, appearance.pieces)):
            warn(f'mesh {visual.path}: texture coordinates that are not finite, 0 instead')
        yield from appearance.pieces


def _has_area(surface: Piece | Shape, scale: tuple[float, float, float]) -> bool:
    """Return whether a triangle has three different corners; small factors make them equal."""
    if isinstance(surface, Shape):
        return True
    corners = (surface.vertices.astype(float) * scale)[surface.triangles.astype(np.int64)]
    return bool(
        np.all([(corners[:, k] != corners[:, k - 1]).any(axis=1) for k in range(3)], axis=0).any()
    )


def _has_finite_places(piece: Piece) -> bool:
    return piece.places is None or bool(np.isfinite(piece.places).all())


def appearance_of_file(path: str) -> Appearance:
    """Return a mesh file's appearance, the same while the file is unchanged."""
    try:
        status = os.stat(path)
        return _appearance(path, (status.st_mtime_ns, status.st_size))
    except (OSError, ReadingError) as err:
        raise InvalidValueError('mesh file', path, f'one that can be read: {err}') from err


@lru_cache(maxsize=_FILES_KEPT)
def _appearance(path: str, _: tuple[int, int]) -> Appearance:
    found = read_appearance(path)
    if not found.pieces:
        raise InvalidValueError('mesh file', path, 'a file with triangles')
    return found
