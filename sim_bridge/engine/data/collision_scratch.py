"""Scratch memory of the collision kernels, allocated once so that stepping allocates nothing."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.parts import Dims, make

PairCount = IntEnum(
    'PairCount',
    'FOUND PAIRS CONVEX_PAIRS SURFACE_PAIRS HOLLOW_PAIRS LINE_PAIRS NEAR PLACED '
    'IS_KEPT IS_STILL SEARCHES',
    start=0,
)
"""
Entries of CollisionScratch.counts: overlapping pairs of boxes, also those without room; of these
the pairs that may collide; of those the pairs of class CONVEX, SURFACE, HOLLOW, and LINE, in the
order of PairClass; pairs kept from step to step, geometries in them, and whether they are kept;
whether the contacts are those of bodies at rest, and how often contacts were looked for.
"""
PairColumn = IntEnum('PairColumn', 'GEOMETRY_A GEOMETRY_B CLASS FIRST_ROW ROW_COUNT', start=0)
"""Columns of CollisionScratch.pair."""
PairClass = IntEnum('PairClass', 'CLOSED CONVEX SURFACE HOLLOW LINE', start=0)
"""
Classes of pairs, by the stage that collides them: arithmetic only; the generic algorithms for
convex shapes; with a mesh or a height field; with a hollow cylinder or cone; with a line.
"""

KeptColumn = IntEnum('KeptColumn', 'ARM SLACK', start=0)
"""
Columns of CollisionScratch.kept: radius about the body's origin that contains its geometries, and
how far their points may go until other pairs can come within reach; negative where nothing is kept
[m].
"""

# first rows of CollisionScratch.polygon for the faces of a and b, for polygons that are clipped,
# and for the points that are collected
FACE_A, FACE_B, CUT, CUT_TOO, FIRST_FOUND = 0, 32, 64, 128, 192
# its columns: coordinates along two axes orthogonal to the normal of the contact; of a corner of a
# face its height along the normal, and its number
U, V, H, LABEL = range(4)
# of a corner of a clipped polygon, behind H: see `clip.polygon`
KIND, NUMBER_P, NUMBER_Q, EDGE = range(3, 7)
# of a collected point, behind V: heights of a and b, name, and what `manifold` chooses
ABOVE, BELOW, FEATURE, CHOICE = range(2, 6)

ABSENT = -3
"""What a stage of collision returns instead of a count if one that it calls is not compiled."""

MOST_POINTS = 8
"""Contact points of one pair at most, in a step."""
CANDIDATES = 512
"""Contact points of one pair with a mesh or height field that are looked at together."""
LANES, LANE_LEVELS = 8, 16
"""Boxes that a line is tested against side by side, and levels of the tree of such groups."""


class CollisionScratch(NamedTuple):
    """Arrays for geometries, pairs and contact points."""

    most_points: Annotated[IntVector, Dims(1)]
    """Contact points of one pair at most; more are reduced to those farthest apart."""
    counts: Annotated[IntVector, Dims(11)]
    """Numbers of pairs: see PairCount."""
    pose: Annotated[FloatMatrix, Dims('ng', 12, unit='1; m')]
    """Rotation of the geometry by rows, its origin, world."""
    reach: Annotated[FloatVector, Dims('ng', unit='m')]
    """Half the margin, and the way that a point of it can go in the step."""
    motion: Annotated[FloatMatrix, Dims('ng', 6, unit='m; rad')]
    """Way of the centre of its bounds, and turn, in the step."""
    box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Least and greatest corner in the world, larger by the reach."""
    found: Annotated[IntMatrix, Dims('pairs + 1', 2, points_at='ng')]
    """Geometries whose boxes overlap, the lower number first; ascending."""
    pair: Annotated[IntMatrix, Dims('pairs + 1', 5)]
    """Columns as PairColumn; ascending."""
    spare_found: Annotated[IntMatrix, Dims('pairs + 1', 2)]

    near: Annotated[IntMatrix, Dims('pairs + 1', 3)]
    """Pairs that may come within reach in the next steps, see `broad.kept`: geometries, class."""
    placed: Annotated[IntVector, Dims('ng', points_at='ng')]
    """Geometries in these pairs."""
    wide_box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Boxes that the pairs were found with."""
    kept: Annotated[FloatMatrix, Dims('carriers', 2, unit='m')]
    """What a body may do until pairs are to be looked for again: columns as KeptColumn."""
    kept_pose: Annotated[FloatMatrix, Dims('carriers', 12, unit='1; m')]
    """Of the bodies when the pairs were found."""
    kept_margin: Annotated[FloatVector, Dims(1, unit='m')]
    """Of contacts, then."""
    still_pose: Annotated[FloatMatrix, Dims('carriers', 12, unit='1; m')]
    """Of the bodies when contacts were looked for last, where IS_STILL."""

    order: Annotated[IntVector, Dims('ng', points_at='ng')]
    """Geometries as the broad phase sorts them."""
    key: Annotated[IntVector, Dims('ng')]
    """Cells or places along a curve."""
    spare_order: Annotated[IntVector, Dims('ng')]
    spare_key: Annotated[IntVector, Dims('ng')]
    start: Annotated[IntVector, Dims('bins')]
    """Where cells, digits or geometries begin; counters of all sorts."""
    sorted_box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Boxes in the order of `order`."""
    node_box: Annotated[FloatMatrix, Dims('boxes', 6, unit='m')]
    """Boxes around groups of them, as a complete binary tree."""
    lane_box: Annotated[FloatVector, Dims('lane_sides', unit='m')]
    """Boxes side by side: of each group LANES coordinates for each of six sides; `ray.lanes`."""
    lane_entry: Annotated[FloatVector, Dims(LANES * LANE_LEVELS, unit='m')]
    """Of each level, where a line comes into the boxes that are still to be visited."""
    lane_first: Annotated[IntVector, Dims(LANE_LEVELS)]
    """First group of each level."""
    lane_visited: Annotated[IntVector, Dims(LANE_LEVELS)]
    """Group of each level that is visited, counted in the level."""

    spare_geometry: Annotated[IntMatrix, Dims('nc', 2)]
    """Contact points while they are put in order."""
    spare_feature: Annotated[IntVector, Dims('nc')]
    spare_point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    spare_normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    spare_gap: Annotated[FloatVector, Dims('nc', unit='m')]

    candidate_feature: Annotated[IntVector, Dims(CANDIDATES)]
    """Contact points of one pair before they are reduced."""
    candidate_point: Annotated[FloatMatrix, Dims(CANDIDATES, 3, unit='m')]
    candidate_normal: Annotated[FloatMatrix, Dims(CANDIDATES, 3, unit='1')]
    candidate_gap: Annotated[FloatVector, Dims(CANDIDATES, unit='m')]
    candidate_group: Annotated[IntVector, Dims(CANDIDATES)]
    """Patch that it belongs to."""

    expand_point: Annotated[FloatMatrix, Dims(128, 7, unit='m')]
    """Corners of the expanding polytope of the narrow phase."""
    expand_plane: Annotated[FloatMatrix, Dims(256, 4, unit='1; m')]
    """Its faces' planes."""
    expand_face: Annotated[IntMatrix, Dims(256, 12)]
    """Its faces' corners and neighbours."""
    polygon: Annotated[FloatMatrix, Dims(256, 8, unit='m')]
    """Faces that are clipped, and collected points: columns from U on."""


def make_collision_scratch(
    geometry: Geometry, contacts: int, pairs: int | None = None, most_points: int = MOST_POINTS
) -> CollisionScratch:
    """
    Allocate the scratch arrays for `geometry`.

    contacts: room for contact points, that of `Contacts`. pairs: room for pairs of geometries
    whose boxes overlap; by default all pairs of a small scene, 16 per geometry of a large one, and
    never fewer than contact points.
    most_points: as in CollisionScratch.
    """
    ng = len(geometry.shape)
    if pairs is None:
        pairs = min(ng * (ng - 1) // 2, max(1024 + 16 * ng, contacts))
    sizes = {
        'ng': ng,
        'nc': contacts,
        'pairs': pairs,
        'carriers': int(geometry.body.max(initial=-1)) + 1,
        'bins': max(4 * ng + 64, 1026),
        'boxes': 2 << max(0, ng - 1).bit_length(),
        'lane_sides': 6 * LANES * (ng // (LANES - 1) + LANE_LEVELS),
    }
    return make(CollisionScratch, sizes, most_points=np.array([most_points], np.int64))
