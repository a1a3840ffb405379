"""Distance and overlap queries between steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.data import geometry as engine
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import checked_pose, GivenPose, real_array
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.owners import World
from sim_bridge.shapes.line import Line
from sim_bridge.shapes.shape_records import pose_row, shape_record
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.contact_search import ContactSearch, measurer_of
from sim_bridge.simulation.handles import make_probe, Probe
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.bodies import Body, geometries_of, numbers_of_all

_SAME = 1e-9  # depths with a smaller difference count as equal [m]
_ENDLESS = frozenset({engine.PLANE, engine.HEIGHT_FIELD})


class Distance(NamedTuple):
    """
    Signed distance between two objects.

    distance: [m]; for intersecting objects, the negated minimum translation length that
    separates them. Triangle meshes are surfaces: two crossing meshes have distance 0. point_a,
    point_b: (3,) the nearest points, or the deepest ones [m], world. normal: (3,) unit vector from
    b to a; an arbitrary one if it is not unique.
    """

    distance: float
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray


class OverlapContact(NamedTuple):
    """
    A contact between a shape outside the world and a geometry. All vectors are (3,), world.

    point: midway between both surfaces [m]. normal: unit vector from the geometry to the shape;
    after a move by the depth along it, the shape just touches at this point. depth: [m], at
    least 0.
    """

    geometry: Geometry
    point: FloatArray
    normal: FloatArray
    depth: float


def distance(shape_a: Shape, pose_a: GivenPose, shape_b: Shape, pose_b: GivenPose) -> Distance:
    """
    Return the signed distance between two shapes; they need not be in a world.

    pose_a, pose_b: position [m] and orientation (quaternion x y z w) of each. Raises
    InvalidValueError for invalid poses, and for pairs without a distance: two planes or height
    fields.
    """
    probe = _probe(
        [
            (_checked_shape('shape_a', shape_a), _pose_of('pose_a', pose_a)),
            (_checked_shape('shape_b', shape_b), _pose_of('pose_b', pose_b)),
        ]
    )
    return _measure(probe.handle, (shape_a, 0), (shape_b, 1))


class GeometryQueries:
    """Queries in one world for geometry pairs, and for shapes outside the world."""

    def __init__(self, world: World, simulation: Simulation):
        """Query a world's geometries."""
        self._world, self._simulation = world, simulation

    def distance(self, a: Body, b: Body) -> Distance:
        """Measure the nearest pair, or the deepest one in contact; see `World.distance`."""
        handle = self._simulation.cache.handles.probe
        first, second = geometries_of('a', a, self._world), geometries_of('b', b, self._world)
        if not first or not second:
            raise InvalidValueError('geometries', [*first, *second], 'at least one on either side')
        found = [
            _measure(handle, (one.shape, one.index), (other.shape, other.index))
            for one in first
            for other in second
        ]
        return min(found, key=lambda measured: measured.distance)

    def overlaps(self, shape: Shape, position: Vector, orientation: Vector) -> list[Geometry]:
        """Return the geometries touched or intersected by a shape; see `World.overlaps`."""
        probe, near = _probe_near(shape, position, orientation, self._world.geometries)
        return [
            one
            for row, one in enumerate(near, 1)
            if _measure(probe.handle, (shape, 0), (one.shape, row)).distance <= 0.0
        ]

    def overlap_contacts(
        self, shape: Shape, position: Vector, orientation: Vector, skip: Body | Iterable[Body]
    ) -> list[OverlapContact]:
        """Find a shape's contacts, ordered by geometry; see `World`."""
        skipped = set(numbers_of_all('skip', skip, self._world).tolist())
        probe, near = _probe_near(
            shape,
            position,
            orientation,
            [one for number, one in enumerate(self._world.geometries) if number not in skipped],
        )
        pairs = np.array([(0, row) for row in range(1, len(near) + 1)], np.int64).reshape(-1, 2)
        search = ContactSearch(probe.handle)
        deepest, patches = search.distances(pairs), search.between(pairs, 0.0)
        has_line = [isinstance(shape, Line) or isinstance(one.shape, Line) for one in near]
        found = []
        for row, one in enumerate(near):
            own = [
                OverlapContact(one, 0.5 * (point_a + point_b), normal, -float(gap))
                for pair, point_a, point_b, normal, gap in zip(*patches, strict=True)
                if pair[1] == row + 1 and gap <= 0.0
            ]
            _, point_a, point_b, normal, gap = (array[row] for array in deepest)
            # a patch misses a body wholly inside a mesh; for lines a missing patch is correct
            is_missed = max((each.depth for each in own), default=-1.0) < -gap - _SAME
            if not has_line[row] and gap <= 0.0 and is_missed:
                own.insert(0, OverlapContact(one, 0.5 * (point_a + point_b), normal, -float(gap)))
            found += own
        return found

    def overlapping(self, box: Matrix) -> list[Geometry]:
        """Return the geometries whose bounding box overlaps a box; see `World.overlapping`."""
        boxes = self._simulation.cache.handles.search.boxes()
        expected = '(2, 3): the smallest corner and the largest [m]'
        corners = real_array('box', box, expected, 'overlapping')
        if corners.shape != (2, 3) or not (corners[0] <= corners[1]).all():
            raise InvalidValueError('box', box, expected, 'overlapping')
        meets = (boxes[:, :3] <= corners[1]).all(axis=1) & (boxes[:, 3:] >= corners[0]).all(axis=1)
        return [
            one for one, is_there in zip(self._world.geometries, meets, strict=True) if is_there
        ]


def _probe_near(
    shape: Shape, position: Vector, orientation: Vector, geometries: Iterable[Geometry]
) -> tuple[Probe, list[Geometry]]:
    """
    Return a probe of a shape and the geometries near it, and these geometries.

    A geometry is near if its bounding box meets that of the shape.
    """
    _checked_shape('shape', shape)
    if shape.kind in _ENDLESS:
        geometries = [one for one in geometries if one.shape.kind not in _ENDLESS]
    pose = _checked_pose(position, orientation)
    near = [one for one in geometries if _boxes_meet(shape, pose, one)]
    return _probe([(shape, pose), *((one.shape, pose_row(one.R, one.p)) for one in near)]), near


def _probe(shapes: Sequence[tuple[Shape, FloatArray]]) -> Probe:
    """Return a probe with shapes at fixed poses in a separate world."""
    model, _ = join_models([], (0.0, 0.0, 0.0))
    records = [
        shape_record(shape, rotation=pose[:9].reshape(3, 3), position=pose[9:])
        for shape, pose in shapes
    ]
    return make_probe(model, make_state(model), build_geometry(records))


def _measure(handle: Handle, a: tuple[Shape, int], b: tuple[Shape, int]) -> Distance:
    """Measure two shapes, given with their geometry indices."""
    kinds = {a[0].kind, b[0].kind}
    if kinds <= _ENDLESS:
        raise InvalidValueError('pair', (a[0], b[0]), 'at most one plane or height field')
    measured = np.empty((1, 10))
    measurer_of(np.array(list(kinds)))(handle, np.array([[a[1], b[1]]], np.int64), measured)
    gap, point_a, point_b, normal = np.split(measured[0], (1, 4, 7))
    return Distance(float(gap[0]), point_a, point_b, normal)


def _boxes_meet(shape: Shape, pose: FloatArray, geometry: Geometry) -> bool:
    """Return whether the bounding boxes overlap along the geometry frame's axes."""
    low, high = shape.bounds
    if not np.isfinite([low, high]).all():
        return True
    rotation = geometry.R.T @ pose[:9].reshape(3, 3)
    center = geometry.R.T @ (pose[9:] - geometry.p) + rotation @ (0.5 * (low + high))
    half = np.abs(rotation) @ (0.5 * (high - low))
    own_low, own_high = geometry.shape.bounds
    return bool(((center - half <= own_high) & (center + half >= own_low)).all())


def _checked_shape(what: str, shape: object) -> Shape:
    if not isinstance(shape, Shape):
        raise InvalidValueError(what, shape, 'a shape such as Box((1, 1, 1))')
    return shape


def _pose_of(what: str, pose: GivenPose) -> FloatArray:
    try:
        position, orientation = pose
    except (TypeError, ValueError) as err:
        expected = 'a position [m] and an orientation (quaternion x y z w)'
        raise InvalidValueError(what, pose, expected) from err
    return _checked_pose(position, orientation)


def _checked_pose(position: Vector, orientation: Vector) -> FloatArray:
    p, quaternion = checked_pose(position, orientation)
    return pose_row(matrix_from_quaternion(quaternion), p)
