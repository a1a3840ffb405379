"""Candidate pairs for the narrow phase, sorted and classified."""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.filters import class_of, may_collide
from sim_bridge.engine.collision.broad.place import spread_along
from sim_bridge.engine.data.collision_scratch import PairClass, PairColumn, PairCount
from sim_bridge.engine.data.geometry import PLANE
from sim_bridge.engine.math.vec3 import dot, load3, sub


@kernel
def classify_pairs(geometry, scratch_inout, count, is_filtered):
    """Classify the first `count` pairs; is_filtered: drop the pairs that may not collide."""
    found = scratch_inout.found
    start_pairs(scratch_inout)
    for row in range(count):
        a, b = found[row, 0], found[row, 1]
        if is_filtered and not may_collide(
            geometry.body,
            geometry.shape,
            geometry.flags,
            geometry.group,
            geometry.mask,
            geometry.excluded,
            a,
            b,
        ):
            continue
        if not is_out_of_reach(geometry, scratch_inout, a, b):
            add_pair(a, b, class_of(geometry, a, b), scratch_inout)


@kernel
def start_pairs(scratch_out):
    """Clear the pair counts."""
    for k in range(PairCount.PAIRS, PairCount.LINE_PAIRS + 1):
        scratch_out.counts[k] = 0
    scratch_out.counts[PairCount.CONTESTED] = 0


@kernel
def add_pair(a, b, kind, scratch_inout):
    """Append a pair of class `kind`."""
    row = scratch_inout.counts[PairCount.PAIRS]
    scratch_inout.pair[row, PairColumn.GEOMETRY_A] = a
    scratch_inout.pair[row, PairColumn.GEOMETRY_B] = b
    scratch_inout.pair[row, PairColumn.CLASS] = kind
    scratch_inout.counts[PairCount.PAIRS] = row + 1
    if kind != PairClass.CLOSED:
        # the counts have the order of the classes
        scratch_inout.counts[PairCount.CONVEX_PAIRS - PairClass.CONVEX + kind] += 1


@kernel
def is_out_of_reach(geometry, scratch, a, b):
    """Return whether one of two geometries is a plane, and the other is out of its reach."""
    box = scratch.box
    if geometry.shape[a] == PLANE and is_above(scratch, box, a, b):
        return True
    return geometry.shape[b] == PLANE and is_above(scratch, box, b, a)


@kernel
def is_above(scratch, box, plane, other):
    """Return whether a geometry's box, enlarged by its reach, is out of a plane's reach."""
    pose = scratch.pose
    n = pose[plane, 2], pose[plane, 5], pose[plane, 8]
    low, high = load3(box, other, 0), load3(box, other, 3)
    centre = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
    half = (high[0] - centre[0], high[1] - centre[1], high[2] - centre[2])
    height = dot(n, sub(centre, load3(pose, plane, 9)))
    return height - spread_along(n, half) > scratch.reach[plane]
