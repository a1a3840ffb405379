"""
Parts of a surface of triangles, cut exactly where CoACD cuts it roughly.

CoACD looks for the place of a cut in few steps, and its hulls are rounded, last to 1e-4 of the
size of a part, so that they neither hold the mesh nor meet. Of them only the boxes around them are
taken: these tell the planes of the cuts. A plane goes through concave edges where there are some
within the reach of CoACD's search, and hulls get smaller by it. The mesh is cut anew, so that the
corners of a part are corners of the mesh, or places where its edges or other planes meet a plane.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.shapes.half_edges import HalfEdges

# relative to half the longest side of the mesh: within it CoACD takes a point to be on a plane
# (`Plane::Side`)
_NEAR = 1e-6
# CoACD begins with so many planes across a part, not closer than the least distance
# (`ComputeAxesAlignedClippingPlanes`), and refines one between its neighbours (`TernaryMCTS`)
_PLANES, _LEAST = 20, 0.01
# planes of concave edges that are tried instead, the nearest; and by how much they must be better
_TRIED, _BETTER = 8, 1e-9
# triangles times points at once
_MOST_ANGLES = 1 << 20


class Part(NamedTuple):
    """What of a surface is in a box: triangles (m, 3, 3), and the planes of the box (2, 3)."""

    triangles: FloatArray
    box: FloatArray


class Cutter(NamedTuple):
    """
    Cuts a surface.

    unit: half the longest side of the mesh. levels: for each axis the places of the planes across
    it in which concave edges lie, ascending.
    """

    unit: float
    levels: tuple[FloatArray, ...]

    def parts(self, part: Part, boxes: FloatArray, is_final: bool = True) -> list[Part]:
        """
        Return what of a part is in each of the boxes (k, 2, 3) around CoACD's.

        is_final: whether cuts are moved to concave edges.
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
            # the cuts below this one are moved after it
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
        """Return what of a part is below and above a plane across an axis."""
        below, above = part.box.copy(), part.box.copy()
        below[1, axis] = above[0, axis] = level
        low, high = cut(part.triangles, axis, level, _NEAR * self.unit)
        return Part(low, below), Part(high, above)


def concave_levels(edges: HalfEdges, unit: float) -> tuple[FloatArray, ...]:
    """Return for each axis where concave edges lie in planes across it; see `Cutter`."""
    ahead = np.flatnonzero(edges.partners > np.arange(len(edges.partners)))
    vertices = edges.vertices
    a, b = vertices[edges.origins[ahead]], vertices[edges.ends[ahead]]
    # the corners that do not lie on the edge
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
    Return what of triangles (m, 3, 3) is below and above a plane across an axis.

    near: within it a corner is on the plane. A triangle in the plane belongs to what it bounds:
    one that faces up to what is below. One that faces nowhere, thinner than that, is left out.
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
    # first comes the corner that is alone on its side, or the lower one if another is on the plane
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
    """Return for each of the boxes (k, 2, 3) its corners inside a surface (m, 3, 3)."""
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
    Return how often a surface goes around points (n, 3).

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
    """Return the volume of the hull of triangles (m, 3, 3), 0 where they are flat."""
    from scipy.spatial import ConvexHull as QuickHull
    from scipy.spatial import QhullError

    try:
        return float(QuickHull(triangles.reshape(-1, 3)).volume)
    except (QhullError, ValueError):
        return 0.0


def _split(boxes: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    """Return the axis across which boxes (k, 2, 3) overlap least in two groups, and these."""
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
    """Return where edges from a to b (m, 3) meet a plane; from the heights (m,) of both ends."""
    place = a + (b - a) * (at_a / (at_a - at_b))[:, None]
    place[:, axis] = level
    # an end that is on the plane stays where it is
    return np.where((at_b == 0.0)[:, None], b, place)
