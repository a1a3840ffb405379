"""
Exact cuts of a triangle surface, at the approximate cuts of CoACD.

CoACD searches the position of a cut in few steps. Its hulls are rounded, finally to 1e-4 times
the part size, so that they neither contain the mesh nor touch each other. Only their bounding
boxes are used: they give the cut planes. If concave edges lie within the reach of CoACD's
search, the plane moves to one of them, provided that the hulls become smaller. The mesh is cut
again at these planes, so that each part corner is a mesh vertex, or an intersection of a
plane with mesh edges or other planes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.shapes.half_edges import HalfEdges

# tolerance relative to half the longest side of the mesh: CoACD counts points within it as on the
# plane (`Plane::Side`)
_NEAR = 1e-6
# CoACD begins with this number of planes across a part, at least this distance apart
# (`ComputeAxesAlignedClippingPlanes`), and refines one between its neighbours (`TernaryMCTS`)
_PLANES, _LEAST = 20, 0.01
# number of planes through concave edges, nearest to CoACD's cut, that are tried instead of it;
# relative gain in hull volume that replaces a plane
_TRIED, _BETTER = 8, 1e-9
# triangles times points in one block
_MOST_ANGLES = 1 << 20


class Part(NamedTuple):
    """Surface part inside a box: triangles (m, 3, 3), and box planes (2, 3)."""

    triangles: FloatArray
    box: FloatArray


class Cutter(NamedTuple):
    """
    Surface cutter.

    unit: half the longest side of the mesh. levels: for each axis, coordinates of the planes
    across it with concave edges in them, ascending.
    """

    unit: float
    levels: tuple[FloatArray, ...]

    def parts(self, part: Part, boxes: FloatArray, is_final: bool = True) -> list[Part]:
        """
        Return the pieces of a part, one for each box (k, 2, 3) from CoACD.

        is_final: whether cuts move to concave edges.
        """
        if len(boxes) == 1:
            return [part]
        axis, low, high = _split(boxes)
        place = float(low[:, 1, axis].max() + high[:, 0, axis].min()) / 2
        if is_final:
            reach = max(_LEAST * self.unit, float(np.ptp(boxes[:, :, axis])) / (_PLANES + 1))
            levels = self.levels[axis]
            away = np.abs(levels - place)
            nearest = away.argsort(kind='stable')[:_TRIED]
            least = np.inf
            # the later cuts, in both halves, move only afterwards
            for level in (place, *levels[nearest[away[nearest] <= reach]].tolist()):
                below, above = self._halves(part, axis, level)
                volume = sum(
                    _hull_volume(each.triangles)
                    for each in (
                        *self.parts(below, low, is_final=False),
                        *self.parts(above, high, is_final=False),
                    )
                )
                if volume < (1 - _BETTER) * least:
                    least, place = volume, level
        below, above = self._halves(part, axis, place)
        return self.parts(below, low, is_final) + self.parts(above, high, is_final)

    def _halves(self, part: Part, axis: int, level: float) -> tuple[Part, Part]:
        """Return a part's pieces below and above a plane across an axis."""
        below, above = part.box.copy(), part.box.copy()
        below[1, axis] = above[0, axis] = level
        low, high = cut(part.triangles, axis, level, _NEAR * self.unit)
        return Part(low, below), Part(high, above)


def concave_levels(edges: HalfEdges, unit: float) -> tuple[FloatArray, ...]:
    """Return, for each axis, the coordinates of planes across it with concave edges in them."""
    ahead = np.flatnonzero(edges.partners > np.arange(len(edges.partners)))
    vertices = edges.vertices
    a, b = vertices[edges.origins[ahead]], vertices[edges.ends[ahead]]
    # corners opposite the edge, in both triangles
    here = vertices[edges.ends[edges.following[ahead]]]
    there = vertices[edges.ends[edges.following[edges.partners[ahead]]]]
    normals = np.cross(b - a, here - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    is_concave = ((there - a) * normals).sum(axis=1) > _NEAR * unit
    a, b = a[is_concave], b[is_concave]
    return tuple(np.unique(a[np.abs(a[:, k] - b[:, k]) <= _NEAR * unit, k]) for k in range(3))


def cut(
    triangles: FloatArray, axis: int, level: float, near: float
) -> tuple[FloatArray, FloatArray]:
    """
    Return the triangle pieces (m, 3, 3) below and above a plane across an axis.

    near: corners within this distance are on the plane. A triangle in the plane belongs to the
    solid it bounds: one facing up belongs below. A triangle in the plane narrower than `near` has
    no direction and is left out.
    """
    height = triangles[:, :, axis] - level
    height[np.abs(height) <= near] = 0.0
    is_low, is_high = (height <= 0.0).all(axis=1), (height >= 0.0).all(axis=1)
    a, b, c = (triangles[:, k] for k in range(3))
    width = np.cross(b - a, c - a)[:, axis] / np.maximum(
        np.linalg.norm([b - a, c - b, a - c], axis=2).max(axis=0), np.finfo(float).tiny
    )
    is_level = is_low & is_high
    low = [triangles[is_low & (~is_level | (width > near))]]
    high = [triangles[is_high & (~is_level | (width < -near))]]
    crossing = ~(is_low | is_high)
    two_below = crossing & ((height < 0.0).sum(axis=1) == 2)
    # the first corner is alone on its side, or is the lower one if another corner is on the plane
    for chosen, first, alone, others in (
        (two_below, height.argmax(axis=1), high, low),
        (crossing & ~two_below, height.argmin(axis=1), low, high),
    ):
        order = (first[chosen, None] + np.arange(3)) % 3
        tip, one, two = np.take_along_axis(triangles[chosen], order[:, :, None], axis=1).swapaxes(
            0, 1
        )
        at_tip, at_one, at_two = np.take_along_axis(height[chosen], order, axis=1).T
        p = _between(tip, one, at_tip, at_one, axis, level)
        q = _between(tip, two, at_tip, at_two, axis, level)
        alone.append(np.stack([tip, p, q], axis=1))
        others += [np.stack([p, one, q], axis=1), np.stack([q, one, two], axis=1)]
    return np.concatenate(low), np.concatenate(high)


def corners_inside(triangles: FloatArray, boxes: FloatArray) -> list[FloatArray]:
    """Return for each box (k, 2, 3) its corners inside a surface (m, 3, 3)."""
    sides = np.array(list(itertools.product((0, 1), repeat=3)))
    corners = boxes[:, sides, np.arange(3)]
    points, number = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    is_inside = np.asarray(np.isfinite(points).all(axis=1))
    step = max(1, _MOST_ANGLES // len(triangles))
    finite = np.flatnonzero(is_inside)
    for k in range(0, len(finite), step):
        chosen = finite[k : k + step]
        is_inside[chosen] = np.abs(windings(triangles, points[chosen])) > 0.5
    return [
        each[inside]
        for each, inside in zip(corners, is_inside[number.reshape(-1, 8)], strict=True)
    ]


def windings(triangles: FloatArray, points: FloatArray) -> FloatArray:
    """
    Return a surface's winding numbers around points (n, 3).

    Source: van Oosterom and Strackee, The solid angle of a plane triangle, 1983.
    """
    a, b, c = (triangles[None, :, k] - points[:, None] for k in range(3))
    x, y, z = (np.linalg.norm(each, axis=2) for each in (a, b, c))
    volume = (a * np.cross(b, c)).sum(axis=2)
    spread = (
        x * y * z + (a * b).sum(axis=2) * z + (b * c).sum(axis=2) * x + (c * a).sum(axis=2) * y
    )
    windings: FloatArray = np.arctan2(volume, spread).sum(axis=1) / (2 * np.pi)
    return windings


def _hull_volume(triangles: FloatArray) -> float:
    """Return the hull volume around triangles (m, 3, 3), 0 if they are flat."""
    from scipy.spatial import ConvexHull as QuickHull
    from scipy.spatial import QhullError

    try:
        return float(QuickHull(triangles.reshape(-1, 3)).volume)
    except (QhullError, ValueError):
        return 0.0


def _split(boxes: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    """Return the axis along which boxes (k, 2, 3) separate best, and the two box groups."""
    best: tuple[float, int, IntArray, int] | None = None
    for axis in range(3):
        order = boxes[:, 0, axis].argsort(kind='stable')
        overlaps = np.maximum.accumulate(boxes[order[:-1], 1, axis]) - boxes[order[1:], 0, axis]
        at = int(overlaps.argmin())
        if best is None or overlaps[at] < best[0]:
            best = float(overlaps[at]), axis, order, at + 1
    assert best is not None
    _, axis, order, count = best
    return axis, boxes[order[:count]], boxes[order[count:]]


def _between(
    a: FloatArray, b: FloatArray, at_a: FloatArray, at_b: FloatArray, axis: int, level: float
) -> FloatArray:
    """Return intersections (m, 3) between edges from a to b and a plane; at_a, at_b: heights."""
    place = a + (b - a) * (at_a / (at_a - at_b))[:, None]
    place[:, axis] = level
    # an end on the plane stays exactly in place
    return np.where((at_b == 0.0)[:, None], b, place)
