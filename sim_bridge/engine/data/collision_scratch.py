"""Scratch memory for the collision kernels, allocated once: steps allocate nothing."""

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
    'IS_KEPT IS_STILL IS_AHEAD SEARCHES CONTESTED IS_SECOND',
    start=0,
)
"""
Entries in CollisionScratch.counts.

FOUND: overlapping box pairs, including pairs without room. PAIRS: those of them that may collide.
CONVEX_PAIRS … LINE_PAIRS: pairs per class CONVEX, SURFACE, HOLLOW and LINE, in the order of
PairClass. NEAR: pairs kept from step to step. PLACED: geometries in the kept pairs. IS_KEPT:
whether the kept pairs are valid. IS_STILL: whether the contacts belong to bodies at rest.
IS_AHEAD: whether reaches include `gain`.
SEARCHES: number of contact searches. CONTESTED: pairs to be searched a second time,
see `collision.contested`. IS_SECOND: whether these pairs are being searched.
"""
PairColumn = IntEnum(
    'PairColumn', 'GEOMETRY_A GEOMETRY_B CLASS FIRST_ROW ROW_COUNT IS_CONTESTED', start=0
)
"""Columns in CollisionScratch.pair."""
PairClass = IntEnum('PairClass', 'CLOSED CONVEX SURFACE HOLLOW LINE', start=0)
"""
Pair classes by the stage that collides them.

CLOSED: arithmetic only. CONVEX: the generic algorithms for convex shapes. SURFACE: with a mesh or
a height field. HOLLOW: with a hollow cylinder or cone. LINE: with a line.
"""

KeptColumn = IntEnum('KeptColumn', 'ARM SLACK', start=0)
"""
Columns in CollisionScratch.kept [m].

ARM: radius about the body's origin that contains the body's geometries. SLACK: distance that their
points may move until other pairs can come within reach; negative if nothing is kept.
"""

# first rows in CollisionScratch.polygon: faces of a and b, two clipped polygons, collected points
FACE_A, FACE_B, CUT, CUT_TOO, FIRST_FOUND = 0, 32, 64, 128, 192
# its columns: coordinates along two axes orthogonal to the contact normal; for a face corner, the
# height along the normal and the corner's number
U, V, H, LABEL = range(4)
# columns behind H for a clipped polygon's corner, see `clip.polygon`
KIND, NUMBER_P, NUMBER_Q, EDGE = range(3, 7)
# columns behind V for a collected point: heights of a and b, name, choice of `contact_manifold`
ABOVE, BELOW, FEATURE, CHOICE = range(2, 6)

ABSENT = -3
"""Result of a collision stage, instead of a count, if a stage that it calls is not compiled."""

MOST_POINTS = 8
"""Maximum contact point count per pair in a step."""
CANDIDATES = 512
"""Room for contact points between one pair with a mesh or height field, before reduction."""
LANES, LANE_LEVELS = 8, 16
"""Boxes that a line is tested against side by side; maximum levels in the tree of box groups."""


class CollisionScratch(NamedTuple):
    """Arrays for geometries, pairs and contact points."""

    most_points: Annotated[IntVector, Dims(1)]
    """Maximum contact point count per pair; more are reduced to the points farthest apart."""
    counts: Annotated[IntVector, Dims(14)]
    """Pair counts, see PairCount."""
    pose: Annotated[FloatMatrix, Dims('ng', 12, unit='1; m')]
    """World pose of the geometry: rotation by rows, origin."""
    reach: Annotated[FloatVector, Dims('ng', unit='m')]
    """Half the contact margin plus the greatest motion of the geometry's points in the step."""
    motion: Annotated[FloatMatrix, Dims('ng', 6, unit='m; rad')]
    """Translation of the centre of the bounds, and rotation vector, in the step."""
    box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Least and greatest corner in the world, enlarged by the reach."""
    found: Annotated[IntMatrix, Dims('pairs + 1', 2, points_at='ng')]
    """Geometries with overlapping boxes, lower number first; ascending."""
    pair: Annotated[IntMatrix, Dims('pairs + 1', 6)]
    """Columns PairColumn; ascending."""
    spare_found: Annotated[IntMatrix, Dims('pairs + 1', 2)]

    near: Annotated[IntMatrix, Dims('pairs + 1', 3)]
    """Pairs that may come within reach in the next steps, see `broad.kept`: geometries, class."""
    placed: Annotated[IntVector, Dims('ng', points_at='ng')]
    """Geometries in the `near` pairs."""
    wide_box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Boxes in which the `near` pairs were found."""
    kept: Annotated[FloatMatrix, Dims('carriers', 2, unit='m')]
    """Limits on each body's motion before the next search for pairs: columns KeptColumn."""
    gain: Annotated[FloatMatrix, Dims('carriers', 6, unit='rad/s; m/s')]
    """Change of each body's twist in the step, as last solved, see `broad.ahead`."""
    kept_pose: Annotated[FloatMatrix, Dims('carriers', 12, unit='1; m')]
    """Body poses at the last search for pairs."""
    kept_margin: Annotated[FloatVector, Dims(1, unit='m')]
    """Contact margin at the last search for pairs."""
    still_pose: Annotated[FloatMatrix, Dims('carriers', 12, unit='1; m')]
    """Body poses at the last search for contacts, if IS_STILL."""

    order: Annotated[IntVector, Dims('ng', points_at='ng')]
    """Geometries as sorted by the broad phase."""
    key: Annotated[IntVector, Dims('ng')]
    """Cell numbers, or positions along a curve."""
    spare_order: Annotated[IntVector, Dims('ng')]
    spare_key: Annotated[IntVector, Dims('ng')]
    start: Annotated[IntVector, Dims('bins')]
    """First indices of cells, digits or geometries; counters for all sorts."""
    sorted_box: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Boxes in the order of `order`."""
    node_box: Annotated[FloatMatrix, Dims('boxes', 6, unit='m')]
    """Boxes around groups, as a complete binary tree."""
    lane_box: Annotated[FloatVector, Dims('lane_sides', unit='m')]
    """
    Boxes of the lines' tree, stored for vector operations, see `ray.lanes`.

    Per group, LANES coordinates for each of six sides.
    """
    lane_entry: Annotated[FloatVector, Dims(LANES * LANE_LEVELS, unit='m')]
    """Per level, the parameters at which a line enters the boxes still to be visited."""
    lane_first: Annotated[IntVector, Dims(LANE_LEVELS)]
    """First group on each level."""
    lane_visited: Annotated[IntVector, Dims(LANE_LEVELS)]
    """Visited group on each level, counted within the level."""

    left_pose: Annotated[FloatMatrix, Dims(2, 12, unit='1; m')]
    """Poses of the geometries moved by `contested.open_ahead`, before."""
    left_motion: Annotated[FloatMatrix, Dims(2, 6, unit='m; rad')]
    """Their motions, before."""

    spare_geometry: Annotated[IntMatrix, Dims('nc', 2)]
    """Contact points while they are sorted."""
    spare_feature: Annotated[IntVector, Dims('nc')]
    spare_point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    spare_normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    spare_gap: Annotated[FloatVector, Dims('nc', unit='m')]

    candidate_feature: Annotated[IntVector, Dims(CANDIDATES)]
    """Contact points of one pair before reduction."""
    candidate_point: Annotated[FloatMatrix, Dims(CANDIDATES, 3, unit='m')]
    candidate_normal: Annotated[FloatMatrix, Dims(CANDIDATES, 3, unit='1')]
    candidate_gap: Annotated[FloatVector, Dims(CANDIDATES, unit='m')]
    candidate_group: Annotated[IntVector, Dims(CANDIDATES)]
    """Patch of the contact point."""
    candidate_spread: Annotated[FloatVector, Dims(CANDIDATES, unit='1')]
    """Least distance to the chosen points, as unit wrenches."""

    expand_point: Annotated[FloatMatrix, Dims(128, 7, unit='m')]
    """Corners of the expanding polytope in the narrow phase."""
    expand_plane: Annotated[FloatMatrix, Dims(256, 4, unit='1; m')]
    """Planes of its faces."""
    expand_face: Annotated[IntMatrix, Dims(256, 12)]
    """Corners and neighbours of its faces."""
    polygon: Annotated[FloatMatrix, Dims(256, 8, unit='m')]
    """Clipped faces, and collected points: columns from U on."""


def make_collision_scratch(
    geometry: Geometry, contacts: int, pairs: int | None = None, most_points: int = MOST_POINTS
) -> CollisionScratch:
    """
    Allocate the scratch arrays for `geometry`.

    contacts: capacity for contact points, as in `Contacts`. pairs: capacity for geometry pairs
    with overlapping boxes; by default all pairs in a small scene, 16 per geometry in a large one,
    and never fewer than contact points. most_points: as in CollisionScratch.
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
