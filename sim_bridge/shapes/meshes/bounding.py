"""Oriented bounding volumes: boxes, cylinders and capsules around meshes and points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Matrix
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh
from sim_bridge.shapes.shapes import Box, Capsule, Cylinder

# a capsule's length must be positive; relative to its radius
_SHORTEST = 1e-12


class _Frame(NamedTuple):
    """rotation: (3, 3) from box axes to point axes. points: (n, 3) in box axes."""

    rotation: FloatArray
    points: FloatArray


class _Round(NamedTuple):
    """Volume around an axis; center (3,) and rotation (3, 3) in the frame of the points."""

    center: FloatArray
    rotation: FloatArray
    radius: float
    length: float


def oriented_box(points: ConvexHull | TriangleMesh | Matrix) -> Placed:
    """
    Return the least-volume box around a hull, a mesh or points (n, 3) [m].

    Its sizes ascend from x to z. Position and orientation are in the frame of the points. One side
    is parallel to a face of the points' hull, another to an edge of this face. Raises
    InvalidValueError for points without a volume.
    """
    frame = _frame(points)
    low, high = frame.points.min(axis=0), frame.points.max(axis=0)
    return _placed(Box(high - low), frame.rotation @ (low + high) / 2, frame.rotation)


def oriented_cylinder(
    points: ConvexHull | TriangleMesh | Matrix, axis: int | None = None
) -> Placed:
    """
    Return a cylinder around a hull, a mesh or points (n, 3) [m], along an axis of `oriented_box`.

    axis: 0 along the shortest side of the box, 2 along the longest; None: the axis of least
    volume. Raises InvalidValueError for points without a volume, or another axis.
    """
    found = [_cylinder(each) for each in _turned(points, axis, 'oriented_cylinder')]
    best = min(found, key=lambda each: each.radius**2 * each.length)
    return _placed(Cylinder(best.radius, best.length), best.center, best.rotation)


def oriented_capsule(
    points: ConvexHull | TriangleMesh | Matrix, axis: int | None = None
) -> Placed:
    """
    Return a capsule around a hull, a mesh or points (n, 3) [m], along an axis of `oriented_box`.

    It has the radius of the thinnest cylinder along the axis, and the least length for this
    radius. axis: 0 along the shortest side of the box, 2 along the longest; None: the axis of
    least volume. Raises InvalidValueError for points without a volume, or another axis.
    """
    found = [_capsule(each) for each in _turned(points, axis, 'oriented_capsule')]
    best = min(found, key=lambda each: each.radius**2 * (each.length + 4 / 3 * each.radius))
    return _placed(Capsule(best.radius, best.length), best.center, best.rotation)


def _frame(points: ConvexHull | TriangleMesh | Matrix) -> _Frame:
    """Return the hull's corners in the frame of the least-volume box around the points."""
    # imports SciPy
    from trimesh.bounds import oriented_bounds

    if isinstance(points, TriangleMesh):
        points = points.vertices
    hull = points if isinstance(points, ConvexHull) else ConvexHull(points)
    if not len(hull.triangles):
        raise InvalidValueError('points', hull, 'points that are not all in one plane', 'meshes')
    # scaled to unit size, since trimesh's tolerances are lengths
    to_box, _ = oriented_bounds(hull.vertices / np.ptp(hull.vertices, axis=0).max())
    rotation = np.asarray(to_box)[:3, :3].T
    return _Frame(rotation, hull.vertices @ rotation)


def _turned(
    points: ConvexHull | TriangleMesh | Matrix, axis: int | None, place: str
) -> list[_Frame]:
    """Return frames with z along each box axis, or along the given one."""
    if axis is not None and (type(axis) is not int or not 0 <= axis <= 2):
        raise InvalidValueError('axis', axis, '0, 1, 2 or None', place)
    frame = _frame(points)
    # cyclic permutations, so that the frames stay right-handed
    orders = [[(k + 1) % 3, (k + 2) % 3, k] for k in ((0, 1, 2) if axis is None else (axis,))]
    return [_Frame(frame.rotation[:, order], frame.points[:, order]) for order in orders]


def _circle(frame: _Frame) -> tuple[FloatArray, float, FloatArray]:
    """Return centre (2,) and radius for the least circle, and point distances (n,) to its axis."""
    from trimesh.nsphere import minimum_nsphere

    size = np.ptp(frame.points, axis=0).max()
    center = size * np.asarray(minimum_nsphere(frame.points[:, :2] / size)[0])
    away = np.linalg.norm(frame.points[:, :2] - center, axis=1)
    return center, float(away.max()), away


def _cylinder(frame: _Frame) -> _Round:
    center, radius, _ = _circle(frame)
    low, high = frame.points[:, 2].min(), frame.points[:, 2].max()
    middle = frame.rotation @ np.append(center, (low + high) / 2)
    return _Round(middle, frame.rotation, radius, float(high - low))


def _capsule(frame: _Frame) -> _Round:
    center, radius, away = _circle(frame)
    # greatest axial distance between a point and the centre of a ball that contains it
    reach = np.sqrt(np.maximum(radius**2 - away**2, 0.0))
    low, high = (frame.points[:, 2] + reach).min(), (frame.points[:, 2] - reach).max()
    middle = frame.rotation @ np.append(center, (low + high) / 2)
    return _Round(middle, frame.rotation, radius, max(float(high - low), _SHORTEST * radius))


def _placed(shape: Box | Cylinder | Capsule, center: FloatArray, rotation: FloatArray) -> Placed:
    return Placed(shape, position=center, orientation=quaternion_from_matrix(rotation))
