"""Picture scene: triangles in world coordinates, each part with a colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import (
    finite_vector,
    instance_of,
    items_of,
    number_from,
    positive_number,
    real_array,
    whole_number,
)
from sim_bridge.robots.default_colors import FIXED, GROUND, moves, MOVING
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.line import Line
from sim_bridge.shapes.outlines import revolved, Surface
from sim_bridge.shapes.shapes import Box, Plane, Sphere
from sim_bridge.shapes.tessellation import tessellated
from sim_bridge.view.picture import ANGLE, draw, Part, View
from sim_bridge.world.contact_points import contact_axes, ContactPoints
from sim_bridge.world.world import World

Color = Sequence[float]
"""Red, green, blue and optional opacity, 0 to 1."""

_CONTACT, _FORCE = (0.82, 0.10, 0.10), (0.10, 0.55, 0.20)
# line width, point diameter and patch diameter, relative to the scene size
_WIDTH, _POINT, _PATCH = 0.004, 0.012, 0.05
_SIDES = 48
_DIRECTION = np.array([0.55, -0.74, 0.387]) / np.linalg.norm([0.55, -0.74, 0.387])  # to the eye
_LEAST_DISTANCE = 1e-9  # m
_MOST_PIXELS = 10000


class Scene:
    """
    Picture contents, in their state when they are added. `parts` lists them.

    Lengths that are None follow from the scene size.
    """

    def __init__(self, world: World | None = None, colors: Mapping[str, Color] | None = None):
        """Start with a world's present state, or empty; colors: see `add_world`."""
        self.parts: list[Part] = []
        if world is not None:
            self.add_world(world, colors)

    def __repr__(self) -> str:
        """Show how many parts there are."""
        return f'<Scene of {len(self.parts)} parts>'

    @property
    def center(self) -> FloatArray:
        """Centre (3,) of all finite parts [m]."""
        return self._bounds().mean(axis=0)

    @property
    def size(self) -> float:
        """Box diagonal around all finite parts [m]."""
        return float(np.linalg.norm(np.diff(self._bounds(), axis=0)))

    def add_world(
        self, world: World, colors: Mapping[str, Color] | None = None, opacity: float = 1.0
    ) -> None:
        """
        Add all collision shapes at their present poses.

        colors: by robot or body name; the others have default colours. opacity: for all shapes,
        0 to 1. Planes are drawn as squares around the other parts. Raises UnknownNameError for a
        name that is not in the world, InvalidValueError for an invalid colour.
        """
        instance_of('world', world, World, 'a World')
        opacity = number_from('opacity', opacity, 0.0, 1.0, '', 'a number from 0 to 1')
        given = {name: _rgba('colors', color) for name, color in (colors or {}).items()}
        for name in given:
            if name not in world.robots:
                raise UnknownNameError('robot', name, world.robots)
        moving = [each for each in world.robots.values() if moves(each)]
        own = {each.name: MOVING[k % len(MOVING)] for k, each in enumerate(moving)}
        for endless in (False, True):
            for robot in world.robots.values():
                for geometry in robot.geometries:
                    if isinstance(geometry.shape, Plane) == endless:
                        plain = own.get(robot.name, GROUND if endless else FIXED)
                        r, g, b, alpha = given.get(robot.name, (*plain, 1.0))
                        self._add_geometry(robot, geometry, (r, g, b, alpha * opacity))

    def add_contacts(
        self,
        contacts: ContactPoints,
        color: Color = _CONTACT,
        *,
        normals: bool = False,
        length: float | None = None,
    ) -> None:
        """
        Add the contacts' witness points, and a line between them.

        normals: also an arrow with this length [m] along each normal, from b.
        """
        instance_of('contacts', contacts, ContactPoints, 'the result of find_contacts')
        self.add_points(contacts.points_a, color)
        self.add_points(contacts.points_b, color)
        self.add_lines(contacts.points_a, contacts.points_b, color)
        if normals:
            reach = 0.12 * self.size if length is None else length
            self.add_arrows(contacts.points_b, reach * contacts.normals, color)

    def add_patches(
        self, contacts: ContactPoints, color: Color = _CONTACT, radius: float | None = None
    ) -> None:
        """Add a disc with a radius [m] midway at each contact, in its tangent plane."""
        instance_of('contacts', contacts, ContactPoints, 'the result of find_contacts')
        r = self._length('radius', radius, _PATCH / 2)
        disc = revolved(np.array([(0.0, -0.02), (1.0, -0.02), (1.0, 0.02), (0.0, 0.02)]), _SIDES)
        places = 0.5 * (contacts.points_a + contacts.points_b)
        self._add(
            'patches',
            [
                Surface(p + r * disc.vertices @ R.T, disc.triangles)
                for p, R in zip(places, contacts.axes, strict=True)
            ],
            color,
        )

    def add_forces(
        self,
        contacts: ContactPoints,
        forces: Matrix,
        scale: float | None = None,
        color: Color = _FORCE,
    ) -> None:
        """
        Add an arrow for the force on a at each contact.

        forces: (n, 3) along the contact axes [N]. scale: m/N; None: the longest arrow is a quarter
        of the scene size.
        """
        instance_of('contacts', contacts, ContactPoints, 'the result of find_contacts')
        own = _rows('forces', forces, len(contacts))
        vectors = np.einsum('nij,nj->ni', contacts.axes, own)
        greatest = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
        if scale is None:
            scale = 0.25 * self.size / greatest if greatest else 1.0
        self.add_arrows(contacts.points_a, scale * vectors, color)

    def add_points(
        self, points: Matrix, color: Color = _CONTACT, radius: float | None = None
    ) -> None:
        """Add a ball with a radius [m] at each point (n, 3) [m]."""
        r = self._length('radius', radius, _POINT / 2)
        ball = tessellated(Sphere(r), 16)
        self._add(
            'points',
            [Surface(p + ball.vertices, ball.triangles) for p in _rows('points', points)],
            color,
        )

    def add_lines(
        self, starts: Matrix, ends: Matrix, color: Color = _CONTACT, width: float | None = None
    ) -> None:
        """Add a line with a width [m] from each start to its end, (n, 3) each [m]."""
        begin = _rows('starts', starts)
        r = 0.5 * self._length('width', width, _WIDTH)
        self._add(
            'lines',
            _along(
                begin,
                _rows('ends', ends, len(begin)) - begin,
                lambda length: [(0.0, 0.0), (r, 0.0), (r, length), (0.0, length)],
            ),
            color,
        )

    def add_arrows(
        self, starts: Matrix, vectors: Matrix, color: Color = _FORCE, width: float | None = None
    ) -> None:
        """Add an arrow with a shaft width [m] along each vector (n, 3) [m]."""
        begin = _rows('starts', starts)
        r = 0.5 * self._length('width', width, 2.0 * _WIDTH)

        def profile(length: float) -> list[tuple[float, float]]:
            neck = max(length - 6.0 * r, 0.5 * length)
            return [(0.0, 0.0), (r, 0.0), (r, neck), (2.5 * r, neck), (0.0, length)]

        self._add('arrows', _along(begin, _rows('vectors', vectors, len(begin)), profile), color)

    def save(
        self,
        path: str | Path,
        *,
        eye: Vector | None = None,
        target: Vector | None = None,
        pixels: tuple[int, int] = (640, 480),
    ) -> None:
        """
        Draw the scene to a PNG file.

        eye, target: (3,) camera position and image centre [m]; None: all finite parts fit. pixels:
        width and height. Raises MissingPackageError without VTK, OSError.
        """
        file = Path(path)
        if file.suffix.lower() != '.png':
            raise InvalidValueError('path', str(path), 'a file name ending with .png')
        middle = self.center if target is None else finite_vector('target', target, 3, '')
        size = _size_of('pixels', pixels)
        place = (
            middle + self._distance(middle, size) * _DIRECTION
            if eye is None
            else finite_vector('eye', eye, 3, '')
        )
        if np.linalg.norm(place - middle) < _LEAST_DISTANCE:
            raise InvalidValueError('eye', place, f'a point apart from the target {middle}')
        draw(self.parts, View(place, middle, size), file)

    def _add_geometry(
        self, robot: Robot, geometry: Geometry, color: tuple[float, float, float, float]
    ) -> None:
        shape = geometry.shape
        if isinstance(shape, Line):
            start, end = shape.ends @ geometry.R.T + geometry.p
            self.add_lines([start], [end], color)
            return
        is_plane = isinstance(shape, Plane)
        if is_plane:
            # a square around the present parts
            half = np.array([1.0, 1.0, 0.0]) * max(1.2 * self.size, 1e-3)
            corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * half
            middle = geometry.R.T @ (self.center - geometry.p) * (1.0, 1.0, 0.0)
            found = Surface(corners + middle, np.array([(0, 1, 2), (0, 2, 3)], np.int64))
        else:
            found = tessellated(shape, _SIDES)
        self.parts.append(
            Part(
                robot.name,
                found.vertices @ geometry.R.T + geometry.p,
                found.triangles,
                color,
                is_plane,
            )
        )

    def _add(self, name: str, pieces: Sequence[Surface], color: Color) -> None:
        """Add small surfaces as one part."""
        rgba = _rgba('color', color)
        if not pieces:
            return
        counts = np.cumsum([0, *(len(each.vertices) for each in pieces[:-1])])
        self.parts.append(
            Part(
                name,
                np.concatenate([each.vertices for each in pieces]),
                np.concatenate(
                    [each.triangles + first for each, first in zip(pieces, counts, strict=True)]
                ),
                rgba,
            )
        )

    def _length(self, name: str, value: float | None, share: float) -> float:
        """Return a checked length, or for None the scene size times `share`."""
        if value is None:
            return share * self.size
        return positive_number(name, value, 'a positive number [m]')

    def _distance(self, middle: FloatArray, size: tuple[int, int]) -> float:
        """Return the distance along `_DIRECTION` where all finite parts fit [m]."""
        aside = np.cross((0.0, 0.0, 1.0), _DIRECTION)
        aside /= np.linalg.norm(aside)
        slope = np.tan(0.5 * ANGLE)
        seen = np.array(
            [_DIRECTION, aside / (slope * size[0] / size[1]), np.cross(_DIRECTION, aside) / slope]
        )
        forward, x, y = seen @ (self._points() - middle).T
        return float(max(1.08 * (forward + np.maximum(abs(x), abs(y))).max(), _LEAST_DISTANCE))

    def _points(self) -> FloatArray:
        """Vertices (n, 3) in all finite parts; a 1 m box if there are none."""
        own = [part.vertices for part in self.parts if not part.is_endless]
        return np.concatenate(own or [tessellated(Box((1.0, 1.0, 1.0))).vertices])

    def _bounds(self) -> FloatArray:
        """Box (2, 3) around the finite parts [m]."""
        points = self._points()
        return np.stack([points.min(axis=0), points.max(axis=0)])


def _along(
    starts: FloatArray, vectors: FloatArray, profile: Callable[[float], list[tuple[float, float]]]
) -> list[Surface]:
    """Return surfaces of revolution about vectors (n, 3); profile: profile for each length."""
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > 0.0
    axes = contact_axes(vectors[kept] / lengths[kept, None])
    found = []
    for start, R, length in zip(starts[kept], axes, lengths[kept].tolist(), strict=True):
        vertices, triangles = revolved(np.array(profile(length)), 16)
        found.append(Surface(start + vertices @ R.T, triangles))
    return found


def _rows(name: str, value: Matrix, count: int | None = None) -> FloatArray:
    """Return checked finite numbers (n, 3)."""
    expected = f'({"n" if count is None else count}, 3) finite numbers'
    array = real_array(name, value, expected, '')
    if array.shape == (3,) and count in (None, 1):
        array = array[None]
    if (
        array.ndim != 2
        or array.shape[1] != 3
        or count not in (None, len(array))
        or not np.isfinite(array).all()
    ):
        raise InvalidValueError(name, value, expected)
    return array


def _rgba(name: str, value: Color) -> tuple[float, float, float, float]:
    """Return red, green, blue and opacity."""
    expected = '3 or 4 numbers from 0 to 1: red, green, blue, opacity'
    array = real_array(name, value, expected, '')
    if array.shape not in ((3,), (4,)) or not ((array >= 0.0) & (array <= 1.0)).all():
        raise InvalidValueError(name, value, expected)
    red, green, blue, *opacity = array.tolist()
    return red, green, blue, opacity[0] if opacity else 1.0


def _size_of(name: str, value: Iterable[int]) -> tuple[int, int]:
    expected = f'width and height, integers from 1 to {_MOST_PIXELS}'
    given = items_of(name, value, (int, np.integer), expected)
    sizes = [whole_number(name, each) for each in given]
    if len(sizes) != 2 or not all(1 <= each <= _MOST_PIXELS for each in sizes):
        raise InvalidValueError(name, value, expected)
    return sizes[0], sizes[1]
