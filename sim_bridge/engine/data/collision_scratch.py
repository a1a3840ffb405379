"""Scratch memory of the collision kernels, made once so that stepping allocates nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.geometry import Geometry

# entries of CollisionScratch.count
FOUND = 0  # overlapping pairs of boxes, also those beyond the room for them
PAIRS = 1  # of them those that may collide
CONVEX_PAIRS = 2  # of those the pairs of class CONVEX
SURFACE_PAIRS = 3  # and of class SURFACE

# columns of CollisionScratch.pair
FIRST, SECOND, CLASS, FIRST_ROW, ROWS = range(5)

# classes of pairs, by the stage that collides them
CLOSED = 0  # arithmetic only
CONVEX = 1  # the generic algorithms for convex shapes
SURFACE = 2  # with a mesh or a height field

CANDIDATES = 512
"""Contact points of one pair with a mesh or height field that are looked at together."""


# shapes of the scratch arrays of the narrow phase
EXPAND_POINT_SHAPE = (128, 7)
EXPAND_PLANE_SHAPE = (256, 4)
EXPAND_FACE_SHAPE = (256, 12)
POLYGON_SHAPE = (256, 8)


class CollisionScratch(NamedTuple):
    """Arrays for ng geometries, np pairs and nc contact points."""

    count: IntVector
    """(4,) FOUND, PAIRS, CONVEX_PAIRS, SURFACE_PAIRS."""
    pose: FloatMatrix
    """(ng, 12) rotation of the geometry by rows, its origin [m], world."""
    reach: FloatVector
    """(ng,) half the margin, and the way that a point of it can go in the step [m]."""
    motion: FloatMatrix
    """(ng, 6) way of the centre of its bounds [m], and turn [rad], in the step."""
    box: FloatMatrix
    """(ng, 6) least and greatest corner in the world, larger by the reach [m]."""
    found: IntMatrix
    """(np, 2) geometries whose boxes overlap, the lower number first; ascending."""
    pair: IntMatrix
    """(np, 5) FIRST, SECOND, CLASS, FIRST_ROW, ROWS; ascending."""
    spare_found: IntMatrix
    """(np, 2)"""

    order: IntVector
    """(ng,) geometries as the broad phase sorts them."""
    key: IntVector
    """(ng,) cells or places along a curve."""
    spare_order: IntVector
    """(ng,)"""
    spare_key: IntVector
    """(ng,)"""
    start: IntVector
    """Where cells, digits or geometries begin; counters of all sorts."""
    sorted_box: FloatMatrix
    """(ng, 6) boxes in the order of `order`."""
    node_box: FloatMatrix
    """Boxes around groups of them, as a complete binary tree."""

    spare_geometry: IntMatrix
    """(nc, 2) contact points while they are put in order."""
    spare_feature: IntVector
    """(nc,)"""
    spare_place: FloatMatrix
    """(nc, 7) point, normal, gap."""

    candidate_feature: IntVector
    """(CANDIDATES,) contact points of one pair before they are reduced."""
    candidate_point: FloatMatrix
    """(CANDIDATES, 3)"""
    candidate_normal: FloatMatrix
    """(CANDIDATES, 3)"""
    candidate_gap: FloatVector
    """(CANDIDATES,)"""
    candidate_group: IntVector
    """(CANDIDATES,) patch that it belongs to."""

    expand_point: FloatMatrix
    """Corners of the expanding polytope of the narrow phase."""
    expand_plane: FloatMatrix
    """Its faces' planes."""
    expand_face: IntMatrix
    """Its faces' corners and neighbours."""
    polygon: FloatMatrix
    """Faces that are clipped."""


def make_collision_scratch(
    geometry: Geometry, contacts: int, pairs: int | None = None,
) -> CollisionScratch:
    """
    Make the scratch arrays for `geometry`.

    contacts: room for contact points, that of `Contacts`. pairs: room for pairs of geometries
    whose boxes overlap; without it all pairs of a small scene, 16 per geometry of a large one.
    """
    ng = len(geometry.shape)
    if pairs is None:
        pairs = min(ng * (ng - 1) // 2, 1024 + 16 * ng)
    pairs += 1  # one row to write to where there is no room
    leaves = 1 << max(0, ng - 1).bit_length()
    return CollisionScratch(
        count=_ints(4), pose=np.zeros((ng, 12)), reach=np.zeros(ng),
        motion=np.zeros((ng, 6)), box=np.zeros((ng, 6)),
        found=_ints(pairs, 2), pair=_ints(pairs, 5), spare_found=_ints(pairs, 2),
        order=_ints(ng), key=_ints(ng), spare_order=_ints(ng), spare_key=_ints(ng),
        start=_ints(max(4 * ng + 64, 1026)),
        sorted_box=np.zeros((ng, 6)), node_box=np.zeros((2 * leaves, 6)),
        spare_geometry=_ints(contacts, 2), spare_feature=_ints(contacts),
        spare_place=np.zeros((contacts, 7)),
        candidate_feature=_ints(CANDIDATES), candidate_point=np.zeros((CANDIDATES, 3)),
        candidate_normal=np.zeros((CANDIDATES, 3)), candidate_gap=np.zeros(CANDIDATES),
        candidate_group=_ints(CANDIDATES),
        expand_point=np.zeros(EXPAND_POINT_SHAPE), expand_plane=np.zeros(EXPAND_PLANE_SHAPE),
        expand_face=_ints(*EXPAND_FACE_SHAPE), polygon=np.zeros(POLYGON_SHAPE))


def _ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)
