"""Merging of convex parts, as long as their hulls contain little else."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray

# barycentric coordinates for distance measurements on a triangle
_DIVISIONS = 6
_PLACES = (
    np.array(
        [
            (i, j, _DIVISIONS - i - j)
            for i in range(_DIVISIONS + 1)
            for j in range(_DIVISIONS + 1 - i)
        ]
    )
    / _DIVISIONS
)
# factor of a sphere's radius: CoACD's conversion from volumes to distances (`ComputeRv`)
_OF_RADIUS = 0.3


class Merged(NamedTuple):
    """
    Hull around parts.

    corners: (n, 3). faces: for each part its face planes (f, 4), outward normals and
    offsets. solid: total part volume. volume: hull volume. concavity: distance of
    the hull outside the parts, as a length.
    """

    corners: FloatArray
    faces: tuple[FloatArray, ...]
    solid: float
    volume: float
    concavity: float


def merge(parts: list[FloatArray], threshold: float, most: int) -> list[FloatArray]:
    """
    Return hull corners around convex parts, merged; parts: solids' corners (n, 3).

    threshold: two hulls merge if the union exceeds the parts by at most this distance [m]. most:
    0, or the greatest hull count, which has priority over the threshold. The pair of least
    concavity merges first.
    """
    hulls = dict(enumerate(map(_single, parts)))
    numbers = itertools.count(len(hulls))
    unions = {
        (i, j): _union(hulls[i], hulls[j])
        for i, j in itertools.combinations(hulls, 2)
        if most or _gap(hulls[i], hulls[j]) <= 2 * threshold
    }
    while unions:
        pair = min(unions, key=lambda each: unions[each].concavity)
        if unions[pair].concavity > threshold and not 0 < most < len(hulls):
            break
        number, union = next(numbers), unions[pair]
        for old in pair:
            del hulls[old]
        unions = {each: one for each, one in unions.items() if not set(each) & set(pair)}
        unions |= {
            (k, number): _union(other, union)
            for k, other in hulls.items()
            if most or _gap(other, union) <= 2 * threshold
        }
        hulls[number] = union
    return [hull.corners for hull in hulls.values()]


def _single(points: FloatArray) -> Merged:
    from scipy.spatial import ConvexHull as QuickHull

    hull = QuickHull(points)
    return Merged(points[hull.vertices], (hull.equations,), hull.volume, hull.volume, 0.0)


def _union(one: Merged, other: Merged) -> Merged:
    """Return the hull around two hulls."""
    from scipy.spatial import ConvexHull as QuickHull

    corners = np.concatenate([one.corners, other.corners])
    hull = QuickHull(corners)
    is_other = hull.simplices >= len(one.corners)
    # triangles with all corners from one hull lie inside it
    bridges = corners[hull.simplices[is_other.any(axis=1) & ~is_other.all(axis=1)]]
    places = np.einsum('pk,tkx->tpx', _PLACES, bridges).reshape(-1, 3)
    faces, solid = one.faces + other.faces, one.solid + other.solid
    depths = [(places @ each[:, :3].T + each[:, 3]).max(axis=1) for each in faces]
    reach = float(np.min(depths, axis=0).max(initial=0.0))
    radius = float(np.cbrt(3 * max(hull.volume - solid, 0.0) / (4 * np.pi)))
    return Merged(
        corners[hull.vertices],
        faces,
        solid,
        hull.volume,
        max(reach, _OF_RADIUS * radius, one.concavity, other.concavity),
    )


def _gap(one: Merged, other: Merged) -> float:
    """Return the distance between the bounding boxes of two hulls."""
    return float(
        np.maximum(
            one.corners.min(axis=0) - other.corners.max(axis=0),
            other.corners.min(axis=0) - one.corners.max(axis=0),
        ).max()
    )
