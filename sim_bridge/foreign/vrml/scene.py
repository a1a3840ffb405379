"""Drawn geometry in a VRML97 scene, with the frame of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import math
from typing import NamedTuple

import numpy as np

from sim_bridge.foreign.vrml.text import GEOMETRIES, GROUPS, Node, VrmlError
from sim_bridge.foreign.vrml.triangulation import (
    DEFAULT_SECTION,
    DEFAULT_SPINE,
    elevation_grid,
    extrusion,
    face_set,
    Surface,
)

# drawn nodes, counting each use
_MOST_DRAWN = 50_000


class Frame(NamedTuple):
    """Node frame: p = position + linear @ p_node; linear may include scale."""

    linear: np.ndarray
    position: np.ndarray

    def inside(self, linear: np.ndarray, position: np.ndarray) -> Frame:
        """Return a frame given relative to this one."""
        return Frame(self.linear @ linear, self.position + self.linear @ position)


HERE = Frame(np.eye(3), np.zeros(3))


Color = tuple[float, float, float, float]


class Drawn(NamedTuple):
    """Geometry in its frame. color: red, green, blue, opacity; None without a material."""

    geometry: Node
    frame: Frame
    color: Color | None = None


def color_of(shape: Node) -> Color | None:
    """Return the colour of a Shape's material; None if it is missing or invalid."""
    try:
        for key in ('appearance', 'material'):
            inner = shape.nodes(key)
            if not inner:
                return None
            shape = inner[0].body or inner[0]
        shades = [
            *shape.row('diffuseColor', (0.8, 0.8, 0.8)),
            1.0 - shape.row('transparency', (0.0,))[0],
        ]
    except VrmlError:
        # an invalid appearance is no reason to reject a file
        return None
    red, green, blue, opacity = (min(max(float(each), 0.0), 1.0) for each in shades)
    return red, green, blue, opacity


def turn(axis: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) for axis and angle (4,) [rad]; identity for a zero axis."""
    x, y, z, angle = axis
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return np.eye(3)
    x, y, z = x / length, y / length, z / length
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: np.ndarray = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew
    return turned


def frame_of(node: Node) -> Frame:
    """Return the frame of a Transform's content, in its parent's frame."""
    scale = node.row('scale', (1.0, 1.0, 1.0))
    center = node.row('center', (0.0, 0.0, 0.0))
    oriented = turn(node.row('scaleOrientation', (0.0, 0.0, 1.0, 0.0)))
    rotation = turn(node.row('rotation', (0.0, 0.0, 1.0, 0.0)))
    linear = rotation @ oriented * scale @ oriented.T
    position = node.row('translation', (0.0, 0.0, 0.0)) + center - linear @ center
    return Frame(linear, position)


def children_of(node: Node) -> list[Node]:
    """Return a grouping node's children; for Switch the chosen one, for LOD the finest level."""
    if node.kind == 'Switch':
        chosen = int(node.row('whichChoice', (-1.0,))[0])
        choices = node.nodes('choice')
        return choices[chosen : chosen + 1] if 0 <= chosen < len(choices) else []
    if node.kind == 'LOD':
        return node.nodes('level')[:1]
    return node.nodes('children')


def drawn_in(nodes: Iterable[Node], frame: Frame = HERE) -> Iterator[Drawn]:
    """Yield the nodes' geometry; raises VrmlError if they repeat each other endlessly."""
    count = 0
    stack = [(node, frame) for node in nodes][::-1]
    while stack:
        node, at = stack.pop()
        count += 1
        if count > _MOST_DRAWN:
            raise VrmlError(f'more than {_MOST_DRAWN} nodes, each use counted, are not read')
        if node.body is not None:
            stack.append((node.body, at))
        elif node.kind == 'Shape':
            color = color_of(node)
            yield from (
                Drawn(each, at, color)
                for each in node.nodes('geometry')
                if each.kind in GEOMETRIES
            )
        elif node.kind in GROUPS:
            inner = at.inside(*frame_of(node)) if node.kind == 'Transform' else at
            stack += [(child, inner) for child in children_of(node)][::-1]


def part_of(nodes: Iterable[Node], name: str) -> tuple[Node, Frame] | None:
    """
    Return the first node with a name, and the frame of its content; None if there is none.

    As in Choreonoid, the frame contains rotation and scale of the surrounding nodes, but its
    origin is the node's own.
    """
    stack = [(node, HERE) for node in nodes][::-1]
    count = 0
    while stack:
        node, at = stack.pop()
        count += 1
        if count > _MOST_DRAWN:
            raise VrmlError(f'more than {_MOST_DRAWN} nodes, each use counted, are not read')
        if node.name == name:
            if node.kind == 'Transform':
                at = at.inside(*frame_of(node))
            return node, Frame(at.linear, np.zeros(3))
        if node.body is not None:
            stack.append((node.body, at))
        elif node.kind in GROUPS:
            inner = at.inside(*frame_of(node)) if node.kind == 'Transform' else at
            stack += [(child, inner) for child in children_of(node)][::-1]
    return None


def names_in(nodes: Iterable[Node]) -> list[str]:
    """List the names of drawable nodes, without duplicates."""
    found: dict[str, None] = {}
    stack, seen = list(nodes), set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.name and (node.kind in GROUPS or node.kind == 'Shape' or node.body is not None):
            found[node.name] = None
        stack += (
            [node.body]
            if node.body is not None
            else (children_of(node) if node.kind in GROUPS else [])
        )
    return sorted(found)


def surface_of(geometry: Node) -> Surface | None:
    """Return the triangles of point-based geometry; None for boxes and round primitives."""
    try:
        return _surface(geometry)
    except ValueError as err:
        if isinstance(err, VrmlError):
            raise
        raise VrmlError(f'{geometry.kind}: {err}', geometry.line) from err


def _surface(geometry: Node) -> Surface | None:
    ccw = geometry.flag('ccw', True)
    if geometry.kind == 'IndexedFaceSet':
        coordinates = geometry.nodes('coord')
        points = coordinates[0].numbers('point', 3) if coordinates else None
        indices = geometry.numbers('coordIndex', 1)
        if points is None or indices is None:
            return Surface(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
        return face_set(points, indices[:, 0], ccw)
    if geometry.kind == 'ElevationGrid':
        rows, columns = (int(geometry.row(f'{axis}Dimension', (0.0,))[0]) for axis in 'zx')
        heights = geometry.numbers('height', 1, ())
        if heights is None or len(heights) != rows * columns or min(rows, columns) < 2:
            raise ValueError(f'{rows} × {columns} points do not fit the heights')
        spacing = [float(geometry.row(f'{axis}Spacing', (1.0,))[0]) for axis in 'xz']
        return elevation_grid(heights.reshape(rows, columns), (spacing[0], spacing[1]), ccw)
    if geometry.kind == 'Extrusion':
        section = geometry.numbers('crossSection', 2, DEFAULT_SECTION)
        spine = geometry.numbers('spine', 3, DEFAULT_SPINE)
        scales = geometry.numbers('scale', 2, (1.0, 1.0))
        turns = geometry.numbers('orientation', 4, (0.0, 0.0, 1.0, 0.0))
        assert section is not None and spine is not None
        assert scales is not None and turns is not None
        return extrusion(
            section,
            spine,
            scales,
            np.array([turn(row) for row in turns]),
            (geometry.flag('beginCap', True), geometry.flag('endCap', True)),
            ccw,
        )
    return None
