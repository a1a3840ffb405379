"""Candidate pairs of the narrow phase, sorted and classified."""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.filters import is_closed, may_collide
from sim_bridge.engine.collision.broad.overlaps import FEW, few_overlaps, many_overlaps
from sim_bridge.engine.collision.broad.place import spread_along
from sim_bridge.engine.data.collision_scratch import PairClass, PairColumn, PairCount
from sim_bridge.engine.data.geometry import HOLLOW, LINE, MESH, PLANE
from sim_bridge.engine.math.vec3 import dot, load3, sub


@kernel
def find_overlaps(scratch_inout):
    """
    Find the pairs of geometries whose boxes overlap.

    scratch_inout: CollisionScratch with the boxes of `place_geometries`.
    """
    box, found = scratch_inout.box, scratch_inout.found
    if box.shape[0] <= FEW:
        scratch_inout.counts[PairCount.FOUND] = few_overlaps(box, found)
    else:
        scratch_inout.counts[PairCount.FOUND] = many_overlaps(box, scratch_inout, found)


@kernel
def classify_pairs(geometry, scratch_inout, count, is_filtered):
    """Keep the first `count` pairs, or those of them that may collide, and classify them."""
    found, pair_out, count_out = scratch_inout.found, scratch_inout.pair, scratch_inout.counts
    pairs = convex_pairs = surface_pairs = hollow_pairs = line_pairs = 0
    for row in range(count):
        a, b = found[row, 0], found[row, 1]
        if is_filtered and not may_collide(
                geometry.body, geometry.shape, geometry.flags, geometry.group, geometry.mask,
                geometry.excluded, a, b):
            continue
        shape_a, shape_b = geometry.shape[a], geometry.shape[b]
        if shape_a == PLANE and is_above(scratch_inout, a, b):
            continue
        if shape_b == PLANE and is_above(scratch_inout, b, a):
            continue
        kind = PairClass.CLOSED
        if (geometry.flags[a] | geometry.flags[b]) & LINE != 0:
            kind = PairClass.LINE
            line_pairs += 1
        elif shape_a == HOLLOW or shape_b == HOLLOW:
            kind = PairClass.HOLLOW
            hollow_pairs += 1
        elif max(shape_a, shape_b) >= MESH:
            kind = PairClass.SURFACE
            surface_pairs += 1
        elif not is_closed(shape_a, shape_b):
            kind = PairClass.CONVEX
            convex_pairs += 1
        pair_out[pairs, PairColumn.GEOMETRY_A], pair_out[pairs, PairColumn.GEOMETRY_B] = a, b
        pair_out[pairs, PairColumn.CLASS] = kind
        pairs += 1
    count_out[PairCount.PAIRS] = pairs
    count_out[PairCount.CONVEX_PAIRS] = convex_pairs
    count_out[PairCount.SURFACE_PAIRS] = surface_pairs
    count_out[PairCount.HOLLOW_PAIRS] = hollow_pairs
    count_out[PairCount.LINE_PAIRS] = line_pairs


@kernel
def is_above(scratch, plane, other):
    """Return whether a box, enlarged by the other's reach, is out of a plane's reach."""
    pose, box = scratch.pose, scratch.box
    n = pose[plane, 2], pose[plane, 5], pose[plane, 8]
    low, high = load3(box, other, 0), load3(box, other, 3)
    centre = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
    half = (high[0] - centre[0], high[1] - centre[1], high[2] - centre[2])
    height = dot(n, sub(centre, load3(pose, plane, 9)))
    return height - spread_along(n, half) > scratch.reach[plane]
