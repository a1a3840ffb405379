"""VRML97 surfaces: all drawn geometry, or a part by its name (DEF)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.vertices import merge_vertices
from sim_bridge.foreign.vrml.scene import Color, drawn_in, HERE, names_in, part_of, surface_of
from sim_bridge.foreign.vrml.text import Node, read_vrml, VrmlError
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import brief, close_match
from sim_bridge.shapes.outlines import arc, box, revolved, Surface

# VRML's cylinders and cones are along y, ours along z
ALONG_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
_MOST_FILES = 8
_SIDES = 32
# VRML's default sizes [m]
_SIZES: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        'Box': {'size': (2.0, 2.0, 2.0)},
        'Sphere': {'radius': (1.0,)},
        'Cylinder': {'radius': (1.0,), 'height': (2.0,)},
        'Cone': {'bottomRadius': (1.0,), 'height': (2.0,)},
    }
)


def nodes_of_file(path: Path, inside: int = 0) -> list[Node]:
    """
    Return a file's nodes, including those from its Inline files.

    inside: nesting depth. Raises VrmlError and OSError.
    """

    def read_inline(url: str) -> list[Node]:
        if inside == _MOST_FILES:
            raise VrmlError(f'Inline files are nested more than {_MOST_FILES} deep')
        return nodes_of_file(path.parent / url.removeprefix('file:'), inside + 1)

    data = read_file(path)
    try:
        return read_vrml(data, read_inline)
    except VrmlError as err:
        raise VrmlError(f'{path.name}: {err.problem}', err.line) if inside else err from None


def colored_surfaces(
    path: Path, part: str = ''
) -> Iterator[tuple[FloatArray, IntArray, Color | None]]:
    """
    Yield vertices (n, 3) [m], triangles (m, 3) and colour for each drawn geometry in a file.

    part: node name; '' for all. The node's position in the file is ignored, its rotation and
    scale are applied, as in Choreonoid. Raises VrmlError and OSError.
    """
    nodes, frame = nodes_of_file(path), HERE
    if part:
        found = part_of(nodes, part)
        if found is None:
            known = names_in(nodes)
            close = close_match(part, known)
            hint = (
                f'did you mean {close!r}?'
                if close
                else (f'names are {", ".join(known) or "none"}')
            )
            raise VrmlError(f'no node is called {brief(part)} (DEF); {hint}')
        node, frame = found
        # the frame is a Transform's child frame
        nodes = node.nodes('children') if node.kind == 'Transform' else [node]
    for geometry, at, color in drawn_in(nodes, frame):
        points, triangles = surface_of(geometry) or _primitive(geometry)
        if np.linalg.det(at.linear) < 0.0:
            triangles = triangles[:, ::-1]
        yield points @ at.linear.T + at.position, triangles, color


def surface_of_file(path: Path, part: str = '') -> tuple[FloatArray, IntArray]:
    """Merge all geometries into vertices (n, 3) and triangles (m, 3); see `colored_surfaces`."""
    parts, count = [], 0
    for points, triangles, _ in colored_surfaces(path, part):
        parts.append((points, triangles + count))
        count += len(points)
    if not parts:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    vertices, corners = map(np.concatenate, zip(*parts, strict=True))
    merged, numbered = merge_vertices(vertices, corners)
    return merged, numbered


def _primitive(geometry: Node) -> Surface:
    """Return the surface for a Box, Sphere, Cylinder or Cone."""
    sizes = {key: geometry.row(key, default) for key, default in _SIZES[geometry.kind].items()}
    for key, size in sizes.items():
        if not (size > 0.0).all():
            raise VrmlError(f'{geometry.kind}: {key} must be above 0', geometry.line)
    if geometry.kind == 'Box':
        return box(0.5 * sizes['size'])
    if geometry.kind == 'Sphere':
        ball = revolved(arc(-0.5 * np.pi, 0.5 * np.pi, _SIDES), _SIDES)
        return Surface(sizes['radius'] * ball.vertices, ball.triangles)
    end = 0.5 * float(sizes['height'][0])
    radius = float(sizes['radius' if geometry.kind == 'Cylinder' else 'bottomRadius'][0])
    rim = [(radius, end)] if geometry.kind == 'Cylinder' else []
    round_z = revolved(np.array([(0.0, -end), (radius, -end), *rim, (0.0, end)]), _SIDES)
    return Surface(round_z.vertices @ ALONG_Y.T, round_z.triangles)
