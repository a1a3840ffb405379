"""Shapes with flat faces: convex hulls, triangle meshes and height fields."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from sim_bridge.engine.collision.clip.polytope import Polytope, polytope
from sim_bridge.engine.data import geometry as engine
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.arrays import FloatArray, IntArray, Matrix, Vector
from sim_bridge.foundation.attributes import unknown_attribute
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import (
    finite_number,
    numbers,
    positive_number,
    positive_vector,
    real_array,
    whole_number,
)
from sim_bridge.shapes.half_edges import HalfEdges
from sim_bridge.shapes.height_images import load_brightness
from sim_bridge.shapes.mesh_files import load_mesh, start_reading
from sim_bridge.shapes.shapes import MassProperties, Shape

# points are flat if their least extent, relative to the greatest, is below this
_FLAT = 1e-9
_TINY = 1e-300

_Item = TypeVar('_Item', bound=np.generic)

_ATTRIBUTES = ('vertices', 'triangles', 'bottom_margin', 'heights', 'size', 'bottom')


class _SetOnce(Shape):
    """Shape whose arrays are set only once, since results computed from them are cached."""

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            if not hasattr(type(self), name) and name not in _ATTRIBUTES:
                raise unknown_attribute(self, name)
            if name not in _ATTRIBUTES or name in vars(self):
                raise AttributeError(f'{type(self).__name__}.{name} cannot be set')
            object.__setattr__(self, name, value)


class _Polyhedron(_SetOnce):
    """Triangle surface."""

    vertices: FloatArray
    triangles: IntArray

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Size numbers for the engine: zeros, because the vertices describe the shape."""
        return 0.0, 0.0, 0.0

    @cached_property
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates [m]."""
        return _read_only(np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]))

    def __repr__(self) -> str:
        """Show the size."""
        vertices, triangles = len(self.vertices), len(self.triangles)
        return f'<{type(self).__name__} of {vertices} vertices, {triangles} triangles>'


class ConvexHull(_Polyhedron):
    """
    Smallest convex solid around points.

    vertices: (n, 3) corners [m]. triangles: (m, 3) surface, counterclockwise seen from outside;
    flat faces are cut into triangles. Points in one plane make a plate without thickness and
    without triangles.
    """

    kind: ClassVar[int] = engine.HULL

    def __init__(self, points: Matrix):
        """
        Wrap points (n, 3) [m].

        Raises InvalidValueError for points that are all on one line, or values that are not
        finite.
        """
        corners = np.unique(
            _finite_rows('points', points, 'float (n, 3), finite [m]', 'ConvexHull'), axis=0
        )
        extents, axes = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[1:]
        thickness = np.resize(extents / max(extents[0], _TINY), 3)
        if len(corners) < 3 or thickness[1] <= _FLAT:
            raise InvalidValueError(
                'points',
                f'{len(corners)} on one line',
                'at least three points that are not all on one line',
                'ConvexHull',
            )
        if len(corners) == 3 or thickness[2] <= _FLAT:
            kept, triangles = _hull_in_plane(corners @ axes[:2].T), np.zeros((0, 3), np.int64)
        else:
            kept, triangles = _hull_in_space(corners)
        self.vertices, self.triangles = _read_only(corners[kept]), _read_only(triangles)

    @classmethod
    def from_file(
        cls, path: str | Path, scale: Vector = (1.0, 1.0, 1.0), part: str = ''
    ) -> ConvexHull:
        """Return a mesh file's hull; see `mesh_files.load_mesh`."""
        with sharing():
            start_reading(path)
            # imported while the other process imports its own packages
            import scipy.spatial  # noqa: F401

            return cls(load_mesh(path, scale, part).vertices)

    @cached_property
    def polytope(self) -> Polytope:
        """Faces and neighbours for collision detection, computed at the first use."""
        return polytope(self.vertices, self.triangles if len(self.triangles) else None)

    def mass_properties(self, density: float) -> MassProperties:
        if not len(self.triangles):
            raise InvalidValueError(
                'shape', self, 'a solid with a volume, or a mass and an inertia for a flat shape'
            )
        return solid_mass_properties(self.vertices, self.triangles, density)


class TriangleMesh(_Polyhedron):
    """
    Triangle surface; a solid if it is closed.

    vertices: (n, 3) [m]. triangles: (m, 3) corners, counterclockwise seen from outside.
    bottom_margin: terrain depth below the lowest vertex [m], for open surfaces; None: the
    mesh is no terrain. Everything below a terrain, along the mesh's z axis, is solid: bodies below
    its surface are pushed up. Terrain triangles face upwards in any corner order.
    """

    kind: ClassVar[int] = engine.MESH

    def __init__(self, vertices: Matrix, triangles: Matrix, bottom_margin: float | None = None):
        """
        Check the arrays.

        Raises InvalidValueError if they are no triangles in space, for a margin that is not
        positive, and for a closed surface with a margin.
        """
        self.vertices = _read_only(
            _finite_rows('vertices', vertices, 'float (n, 3), finite [m]', 'TriangleMesh')
        )
        expected = f'(m, 3) integers from 0 to {len(self.vertices) - 1}, at least one row'
        corners = numbers('triangles', triangles, expected, 'TriangleMesh')
        is_shaped = corners.ndim == 2 and corners.shape[1] == 3 and len(corners) > 0
        if not is_shaped or corners.dtype.kind not in 'iu':
            shown = f'{corners.dtype} {corners.shape}'
            raise InvalidValueError('triangles', shown, expected, 'TriangleMesh')
        if corners.min() < 0 or corners.max() >= len(self.vertices):
            shown = f'{corners.min()} to {corners.max()}'
            raise InvalidValueError('triangles', shown, expected, 'TriangleMesh')
        self.triangles = _read_only(corners.astype(np.int64))
        expected = 'a positive number [m], for an open surface only'
        if bottom_margin is not None:
            bottom_margin = positive_number(
                'bottom_margin', bottom_margin, expected, 'TriangleMesh'
            )
            if self.is_closed:
                raise InvalidValueError(
                    'bottom_margin',
                    bottom_margin,
                    f'{expected}; this one is closed',
                    'TriangleMesh',
                )
        self.bottom_margin = bottom_margin

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        scale: Vector = (1.0, 1.0, 1.0),
        bottom_margin: float | None = None,
        part: str = '',
    ) -> TriangleMesh:
        """Return a file's mesh; see `mesh_files.load_mesh`."""
        return cls(*load_mesh(path, scale, part), bottom_margin)

    @property
    def bottom(self) -> float | None:
        """Height [m] at a terrain's underside; None for other meshes."""
        return (
            None
            if self.bottom_margin is None
            else float(self.vertices[:, 2].min() - self.bottom_margin)
        )

    @cached_property
    def is_closed(self) -> bool:
        """Whether each edge is shared by exactly two triangles with the same orientation."""
        return self.half_edges.is_closed

    @cached_property
    def half_edges(self) -> HalfEdges:
        """Triangle neighbours, computed at the first use."""
        return HalfEdges(self.vertices, self.triangles)

    def mass_properties(self, density: float) -> MassProperties:
        """
        Return mass, centre of mass and inertia of the enclosed solid, at a density [kg/m³].

        Raises InvalidValueError if the surface is not closed.
        """
        if not self.is_closed:
            raise InvalidValueError(
                'shape', self, 'a closed surface, a convex hull instead, or a mass and an inertia'
            )
        triangles = self.triangles
        if _signed_volume(self.vertices, triangles) < 0.0:
            # a negative volume means that the surface is inside out
            triangles = triangles[:, ::-1]
        return solid_mass_properties(self.vertices, triangles, density)

    def convex_hull(self) -> ConvexHull:
        """Return the smallest convex solid around the mesh; raises InvalidValueError if flat."""
        return ConvexHull(self.vertices)


class HeightField(_SetOnce):
    """
    Ground with varying height: everything below a grid of heights.

    heights: (ny, nx) [m] along z, row 0 at the least y, column 0 at the least x. size: lengths
    along x and y [m]; the frame is in the middle of the grid, at height 0. The diagonal of each
    cell from its greatest x to its greatest y is straight. bottom: None, or the height of a flat
    underside [m]. Without a bottom the field extends down infinitely, and only
    static bodies can have it. With a bottom it is a solid with a mass. Only its upper surface
    collides, so moving bodies need further shapes for the sides and the underside.

    `Geometry.set_heights` changes a field's heights in a world.
    """

    kind: ClassVar[int] = engine.HEIGHT_FIELD

    def __init__(self, heights: Matrix, size: Vector, bottom: float | None = None):
        """Check the grid; raises InvalidValueError if it is invalid, or below the bottom."""
        expected = 'float (ny, nx) of at least (2, 2), finite [m]'
        grid = real_array('heights', heights, expected, 'HeightField')
        if grid.ndim != 2 or min(grid.shape) < 2 or not np.isfinite(grid).all():
            raise InvalidValueError('heights', f'shape {grid.shape}', expected, 'HeightField')
        self.heights = _read_only(grid)
        lengths = positive_vector(
            'size', size, 2, 'HeightField', 'lengths along x and y, positive [m]'
        )
        self.size = tuple(lengths.tolist())
        if bottom is not None:
            expected = f'a number up to the least height, {grid.min():.9g} [m]'
            bottom = finite_number('bottom', bottom, 'HeightField', expected)
            if bottom > grid.min():
                raise InvalidValueError('bottom', bottom, expected, 'HeightField')
        self.bottom = bottom

    @classmethod
    def from_image(
        cls, path: str | Path, size: Vector, bottom: float | None = None
    ) -> HeightField:
        """
        Return a field with an image's brightness as heights; see `height_images.load_brightness`.

        size: lengths along x and y, and height for white above black (height 0) [m], as in an SDF
        `heightmap`. The pixel centres are the grid; the image's upper border has the greatest y.
        """
        x, y, z = positive_vector(
            'size', size, 3, 'HeightField', 'lengths along x, y and z, positive [m]'
        ).tolist()
        return cls(z * load_brightness(path), (x, y), bottom)

    def __repr__(self) -> str:
        """Show the size."""
        rows, columns = self.heights.shape
        return f'<HeightField of {rows} x {columns} heights, {self.size[0]} m x {self.size[1]} m>'

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Half the lengths along x and y [m]."""
        return self.size[0] / 2, self.size[1] / 2, 0.0

    @property
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates [m]; infinite downwards without a bottom."""
        x, y = self.size[0] / 2, self.size[1] / 2
        low = -np.inf if self.bottom is None else self.bottom
        return np.array([[-x, -y, low], [x, y, self.heights.max()]])

    @property
    def is_endless(self) -> bool:
        """Whether the field has no bottom."""
        return self.bottom is None

    def checked_block(self, heights: Matrix, row: int, column: int, place: str) -> FloatArray:
        """Return a checked block with new heights [m]; raises InvalidValueError if unfit."""
        rows, columns = self.heights.shape
        least = -np.inf if self.bottom is None else self.bottom
        for name, value, count in (('row', row, rows), ('column', column, columns)):
            if whole_number(name, value) >= count:
                raise InvalidValueError(name, value, f'a whole number below {count}', place)
        expected = (
            f'float (m, n) of at most ({rows - row}, {columns - column}), finite'
            + ('' if self.bottom is None else f', not below {self.bottom:.9g}')
            + ' [m]'
        )
        block = real_array('heights', heights, expected, place)
        fits = (
            block.ndim == 2
            and block.size > 0
            and (row + len(block) <= rows and column + block.shape[1] <= columns)
        )
        if not fits:
            raise InvalidValueError('heights', f'shape {block.shape}', expected, place)
        if not (np.isfinite(block).all() and block.min() >= least):
            raise InvalidValueError(
                'heights', f'{block.min():.9g} to {block.max():.9g}', expected, place
            )
        return block

    def mass_properties(self, density: float) -> MassProperties:
        """
        Return mass, centre of mass and inertia of the solid above the bottom, density in kg/m³.

        The solid is a sum of upright prisms; their upper ends are the cell triangles.
        Raises InvalidValueError for a field without a bottom, or without volume.
        """
        if self.bottom is None:
            raise InvalidValueError(
                'shape',
                self,
                'a shape of finite volume, for example a HeightField with a bottom, to compute '
                'a mass',
            )
        return solid_mass_properties(*closed_down(*field_surface(self), self.bottom), density)


def field_surface(field: HeightField) -> tuple[FloatArray, IntArray]:
    """Return a height field's vertices and triangles, counterclockwise seen from above."""
    rows, columns = field.heights.shape
    x, y = np.meshgrid(
        *(
            np.linspace(-0.5 * length, 0.5 * length, count)
            for length, count in zip(field.size, (columns, rows), strict=True)
        )
    )
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (
        part.ravel()
        for part in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    )
    return (
        np.stack([x, y, field.heights], axis=-1).reshape(-1, 3),
        np.concatenate([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)]),
    )


def closed_down(
    vertices: FloatArray, triangles: IntArray, bottom: float
) -> tuple[FloatArray, IntArray]:
    """Close an open surface with vertical sides below its border and a flat underside."""
    below, down = vertices.copy(), len(vertices)
    below[:, 2] = bottom
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    both = edges @ np.array([(down, 1), (1, down)])
    start, end = edges[~np.isin(both[:, 0], both[:, 1])].T
    return np.concatenate([vertices, below]), np.concatenate(
        [
            triangles,
            triangles[:, ::-1] + down,
            np.stack([start, start + down, end + down], axis=1),
            np.stack([start, end + down, end], axis=1),
        ]
    )


def solid_mass_properties(
    vertices: FloatArray, triangles: IntArray, density: float
) -> MassProperties:
    """
    Return the mass properties of the solid in a closed triangle surface, at a density [kg/m³].

    By the divergence theorem, the solid is the signed sum of tetrahedra between the triangles
    and a point; a tetrahedron's moments are known (Tonon 2004). Raises InvalidValueError for
    a density that is not positive or a solid without volume.
    """
    density = positive_number('density', density, 'a positive number [kg/m³]')
    # a point inside keeps cancellation small
    origin = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - origin for k in range(3))
    sixfold = np.einsum('ij,ij->i', a, np.cross(b, c))
    volume = sixfold.sum() / 6
    if volume <= 0.0:
        raise InvalidValueError(
            'volume', float(volume), 'a positive volume, with triangles that face outwards'
        )
    total = a + b + c
    center = sixfold @ total / 24 / volume
    second = sum(np.einsum('i,ij,ik->jk', sixfold, corner, corner) for corner in (a, b, c, total))
    second = density * (second / 120 - volume * np.outer(center, center))
    inertia = np.trace(second) * np.eye(3) - second
    return MassProperties(density * float(volume), origin + center, inertia)


def _hull_in_space(points: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the hull's corner indices, ascending, and triangles between these corners."""
    # imported here: the import takes longer than building a simple world
    from scipy.spatial import ConvexHull as QuickHull

    hull = QuickHull(points)
    triangles = hull.simplices
    # Qhull's normals point outwards, but its corners come in any order
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum('ij,ij->i', np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles = np.where(inward[:, None], triangles[:, ::-1], triangles)
    kept = np.sort(hull.vertices)
    return kept, np.searchsorted(kept, triangles)


def _hull_in_plane(points: FloatArray) -> IntArray:
    """Return the convex polygon's corner indices around points (n, 2), in cyclic order."""
    from scipy.spatial import ConvexHull as QuickHull

    corners: IntArray = QuickHull(points).vertices
    return corners


def _signed_volume(vertices: FloatArray, triangles: IntArray) -> float:
    a, b, c = (vertices[triangles[:, k]] - vertices.mean(axis=0) for k in range(3))
    return float(np.einsum('ij,ij->', a, np.cross(b, c)) / 6)


def _finite_rows(what: str, value: object, expected: str, place: str) -> FloatArray:
    array = real_array(what, value, expected, place)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InvalidValueError(what, f'shape {array.shape}', expected, place)
    if not np.isfinite(array).all():
        raise InvalidValueError(what, 'with values that are not finite', expected, place)
    return array


def _read_only(array: npt.NDArray[_Item]) -> npt.NDArray[_Item]:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
