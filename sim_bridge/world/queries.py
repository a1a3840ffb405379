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
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import checked_pose, GivenPose
from sim_bridge.robots.geometry import Geometry
from sim_bridge.shapes.shape_records import pose_row, shape_record
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.contact_search import measurer_of
from sim_bridge.simulation.handles import make_probe, Probe

_ENDLESS = frozenset({engine.PLANE, engine.HEIGHT_FIELD})


class Distance(NamedTuple):
    """
    The signed distance of two objects.

    distance: m; for intersecting objects, the negative length of the minimum translation that
    separates them. Two triangle meshes are surfaces: it is 0 where they cross. point_a, point_b:
    (3,) the nearest points, or the deepest [m], world. normal: (3,) unit vector from b to a; any
    of several if it is not unique.
    """

    distance: float
    point_a: FloatArray
    point_b: FloatArray
    normal: FloatArray


def distance(shape_a: Shape, pose_a: GivenPose, shape_b: Shape, pose_b: GivenPose) -> Distance:
    """
    Measure two shapes that need not be in any world.

    pose_a, pose_b: position [m] and orientation (quaternion x y z w) of each. Raises
    InvalidValueError for invalid poses, and for pairs without a distance: two planes or height
    fields.
    """
    probe = _probe([
        (_checked_shape('shape_a', shape_a), _pose_of('pose_a', pose_a)),
        (_checked_shape('shape_b', shape_b), _pose_of('pose_b', pose_b))])
    return _measure(probe.handle, (shape_a, 0), (shape_b, 1))


def distance_between(
    handle: Handle, a: Iterable[Geometry], b: Iterable[Geometry]
) -> Distance:
    """
    Measure geometries of a world: the nearest pair of `a` and `b`, or the deepest in contact.

    handle: of the world. Raises InvalidValueError if there are no geometries, and for pairs
    without a distance.
    """
    first, second = list(a), list(b)
    if not first or not second:
        raise InvalidValueError('geometries', [*first, *second], 'at least one on either side')
    found = [
        _measure(handle, (one.shape, one.index), (other.shape, other.index))
        for one in first for other in second]
    return min(found, key=lambda measured: measured.distance)


def overlapping(
    shape: Shape, position: Vector, orientation: Vector,
    geometries: Iterable[Geometry],
) -> list[Geometry]:
    """
    Return the geometries that a shape at a pose touches or intersects.

    A plane or a height field never overlaps another.
    """
    _checked_shape('shape', shape)
    if shape.kind in _ENDLESS:
        geometries = [one for one in geometries if one.shape.kind not in _ENDLESS]
    pose = _checked_pose(position, orientation)
    near = [one for one in geometries if _boxes_meet(shape, pose, one)]
    probe = _probe([(shape, pose), *((one.shape, pose_row(one.R, one.p)) for one in near)])
    return [
        one for row, one in enumerate(near, 1)
        if _measure(probe.handle, (shape, 0), (one.shape, row)).distance <= 0.0]


def _probe(shapes: Sequence[tuple[Shape, FloatArray]]) -> Probe:
    """Return a handle of shapes at fixed poses in a world of their own."""
    model, _ = join_models([], (0.0, 0.0, 0.0))
    records = [
        shape_record(shape, rotation=pose[:9].reshape(3, 3), position=pose[9:])
        for shape, pose in shapes]
    return make_probe(model, make_state(model), build_geometry(records))


def _measure(handle: Handle, a: tuple[Shape, int], b: tuple[Shape, int]) -> Distance:
    """Measure two shapes, given with their numbers among the geometries."""
    kinds = {a[0].kind, b[0].kind}
    if kinds <= _ENDLESS:
        raise InvalidValueError('pair', (a[0], b[0]), 'at most one plane or height field')
    measured = np.empty((1, 10))
    measurer_of(np.array(list(kinds)))(handle, np.array([[a[1], b[1]]], np.int64), measured)
    gap, point_a, point_b, normal = np.split(measured[0], (1, 4, 7))
    return Distance(float(gap[0]), point_a, point_b, normal)


def _boxes_meet(shape: Shape, pose: FloatArray, geometry: Geometry) -> bool:
    """Return whether the bounding boxes overlap along the axes of the geometry's frame."""
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
