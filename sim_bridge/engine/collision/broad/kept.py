"""
Pair lists kept from step to step.

The broad phase searches for overlaps between boxes wider than the geometries need: each body has
some slack. The resulting list of pairs is complete until a body has moved farther than its slack,
or users change geometries (neighbour lists, Verlet 1967; the enlarged boxes of Box2D and Bullet).
Meanwhile a step examines only the listed pairs, and places only the geometries in them. It finds
the same pairs, in the same order, as without the list. (The box around a turning hull may leave
its wide box; the hull does not.)
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.boxes import load_box, overlaps_row
from sim_bridge.engine.collision.broad.filters import class_of, may_collide
from sim_bridge.engine.collision.broad.overlaps import find_overlaps
from sim_bridge.engine.collision.broad.pairs import (
    add_pair,
    is_above,
    is_out_of_reach,
    start_pairs,
)
from sim_bridge.engine.collision.broad.place import place_geometries, place_geometry
from sim_bridge.engine.data.collision_scratch import KeptColumn, PairCount
from sim_bridge.engine.data.geometry import KINEMATIC, PLANE, STATIC
from sim_bridge.engine.math.spatial import ANGULAR, LINEAR, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, norm, sub

# a body's slack: a share of its geometries' least half extent, plus its motion in this number of
# steps
_SLACK, _SLACK_STEPS = 0.1, 16.0
_MOST_SLACK = 0.5  # share of the least half extent
_THINNEST = 0.01  # share of the body's ARM; smaller half extents of flat geometries count as this
_FARTHEST = 1e6  # m; after a greater motion in a step no list is kept


@kernel
def find_pairs(geometry, pose, twist, root, h, margin, scratch_inout):
    """
    Find the pairs within reach; return whether there was room for them.

    pose, twist, root, h, margin: as for `place.place_geometries`.
    """
    if not is_complete(pose, twist, root, h, margin, scratch_inout):
        renew(geometry, pose, twist, root, h, margin, scratch_inout)
        if scratch_inout.counts[PairCount.IS_KEPT] == 0:
            start_pairs(scratch_inout)
            return False
    else:
        for at in range(scratch_inout.counts[PairCount.PLACED]):
            place_geometry(
                geometry, scratch_inout.placed[at], pose, twist, root, h, margin, scratch_inout
            )
    select_pairs(geometry, scratch_inout)
    return True


@kernel
def is_complete(pose, twist, root, h, margin, scratch):
    """
    Return whether the list holds all pairs that can be within reach.

    Writers of geometry arrays set scratch.counts[PairCount.IS_KEPT] to 0. This also ends kept
    contacts.
    """
    if scratch.counts[PairCount.IS_KEPT] == 0 or scratch.kept_margin[0] != margin:
        return False
    for body in range(scratch.kept_pose.shape[0]):
        arm, slack = scratch.kept[body, KeptColumn.ARM], scratch.kept[body, KeptColumn.SLACK]
        if slack < 0.0:
            return False
        turned, moved = 0.0, 0.0
        for k in range(9):
            change = pose[body, k] - scratch.kept_pose[body, k]
            turned += change * change
        for k in range(9, 12):
            change = pose[body, k] - scratch.kept_pose[body, k]
            moved += change * change
        v, w = velocity_at_origin(pose, twist, root, body)
        # (a + b + c + d)² <= 4 (a² + b² + c² + d²); a difference of two rotations has two equal
        # singular values, and the third is 0
        square = (
            moved + 0.5 * arm * arm * turned + h * h * dot(v, v) + h * h * arm * arm * dot(w, w)
        )
        if scratch.counts[PairCount.IS_AHEAD] != 0:
            slack -= way_ahead(pose, root, h, scratch, body)
            if slack < 0.0:
                return False
        if not 4.0 * square <= slack * slack:
            return False
    return True


@kernel
def velocity_at_origin(pose, twist, root, body):
    """Return a body's velocity at its origin, and its angular velocity."""
    w = load3(twist, body, ANGULAR)
    arm = sub(load3(pose, body, ORIGIN), load3(pose, root[body], ORIGIN))
    return add(load3(twist, body, LINEAR), cross(w, arm)), w


@kernel
def way_ahead(pose, root, h, scratch, body):
    """Return a bound on the motion of a body's points in a step at the gain of its twist [m]."""
    v, w = velocity_at_origin(pose, scratch.gain, root, body)
    return h * (norm(v) + scratch.kept[body, KeptColumn.ARM] * norm(w))


@subroutine
def renew(geometry, pose, twist, root, h, margin, scratch_inout):
    """
    Place all geometries, and list the pairs that can be within reach during some steps.

    Sets scratch_inout.counts[PairCount.IS_KEPT] to 0 if there is no room for the pairs.
    """
    place_geometries(geometry, pose, twist, root, h, margin, scratch_inout)
    choose_slack(geometry, pose, twist, root, h, scratch_inout)
    widen_boxes(geometry, margin, scratch_inout, scratch_inout.wide_box)
    find_overlaps(scratch_inout.wide_box, scratch_inout)
    found, counts = scratch_inout.counts[PairCount.FOUND], scratch_inout.counts
    counts[PairCount.IS_KEPT] = 0
    if found >= scratch_inout.found.shape[0]:
        return
    list_pairs(geometry, found, scratch_inout)
    keep_poses(pose, margin, scratch_inout)


@kernel
def choose_slack(geometry, pose, twist, root, h, scratch_inout):
    """Choose how far each body may move, including this step, until the list is renewed."""
    box, kept_inout = scratch_inout.box, scratch_inout.kept
    for body in range(kept_inout.shape[0]):
        kept_inout[body, KeptColumn.ARM], kept_inout[body, KeptColumn.SLACK] = 0.0, math.inf
    for g in range(geometry.body.shape[0]):
        body = geometry.body[g]
        if geometry.shape[g] == PLANE and body >= 0 and is_fixed(geometry, g):
            kept_inout[body, KeptColumn.SLACK] = 0.0
        if body < 0 or geometry.shape[g] == PLANE:
            continue
        low, high = load3(box, g, 0), load3(box, g, 3)
        centre = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
        arm = norm(sub(centre, load3(pose, body, ORIGIN))) + geometry.radius[g]
        half = load3(geometry.bounds, g, 3)
        thin = max(min(half[0], min(half[1], half[2])), _THINNEST * arm)
        if is_fixed(geometry, g):
            thin = 0.0
        kept_inout[body, KeptColumn.ARM] = max(kept_inout[body, KeptColumn.ARM], arm)
        kept_inout[body, KeptColumn.SLACK] = min(kept_inout[body, KeptColumn.SLACK], thin)
    for body in range(kept_inout.shape[0]):
        v, w = velocity_at_origin(pose, twist, root, body)
        way = h * (norm(v) + kept_inout[body, KeptColumn.ARM] * norm(w))
        if scratch_inout.counts[PairCount.IS_AHEAD] != 0:
            way += way_ahead(pose, root, h, scratch_inout, body)
        thin = kept_inout[body, KeptColumn.SLACK]
        # the bound in `is_complete` takes up to twice this step's motion
        kept_inout[body, KeptColumn.SLACK] = max(
            2.0 * way, min(_SLACK * thin + _SLACK_STEPS * way, _MOST_SLACK * thin)
        )
        if not way <= _FARTHEST:
            kept_inout[body, KeptColumn.SLACK] = -1.0


@kernel
def is_fixed(geometry, g):
    """Return whether a geometry's body never moves within steps."""
    return geometry.flags[g] & (STATIC | KINEMATIC) == STATIC or geometry.body[g] < 0


@kernel
def widen_boxes(geometry, margin, scratch, wide_box_out):
    """Compute the geometries' boxes, widened by the slack of their bodies."""
    for g in range(geometry.body.shape[0]):
        more = 0.0
        if geometry.shape[g] == PLANE:
            # far from the body, a slightly turned plane has moved by any distance
            more = 0.0 if is_fixed(geometry, g) else math.inf
        elif geometry.body[g] >= 0:
            slack = scratch.kept[geometry.body[g], KeptColumn.SLACK]
            more = max(slack - (scratch.reach[g] - 0.5 * margin), 0.0)
        for k in range(3):
            wide_box_out[g, k] = scratch.box[g, k] - more
            wide_box_out[g, 3 + k] = scratch.box[g, 3 + k] + more


@kernel
def list_pairs(geometry, found, scratch_inout):
    """List the found pairs that may collide, and the geometries in them."""
    counts, near, placed = scratch_inout.counts, scratch_inout.near, scratch_inout.placed
    is_near, pair = scratch_inout.key, scratch_inout.found
    number = geometry.body.shape[0]
    is_near[:number] = 0
    pairs = 0
    for row in range(found):
        a, b = pair[row, 0], pair[row, 1]
        if not may_collide(
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
        if is_fixed_plane(geometry, a) and is_above(scratch_inout, scratch_inout.wide_box, a, b):
            continue
        if is_fixed_plane(geometry, b) and is_above(scratch_inout, scratch_inout.wide_box, b, a):
            continue
        near[pairs, 0], near[pairs, 1], near[pairs, 2] = a, b, class_of(geometry, a, b)
        pairs += 1
        is_near[a] = is_near[b] = 1
    count = 0
    for g in range(number):
        if is_near[g] != 0:
            placed[count] = g
            count += 1
    counts[PairCount.NEAR], counts[PairCount.PLACED] = pairs, count


@kernel
def is_fixed_plane(geometry, g):
    """Return whether a geometry is a plane that never moves within steps."""
    return geometry.shape[g] == PLANE and is_fixed(geometry, g)


@kernel
def keep_poses(pose, margin, scratch_inout):
    """Record the pair list's margin and poses."""
    scratch_inout.counts[PairCount.IS_KEPT] = 1
    scratch_inout.kept_margin[0] = margin
    for body in range(scratch_inout.kept_pose.shape[0]):
        for k in range(12):
            scratch_inout.kept_pose[body, k] = pose[body, k]


@kernel
def select_pairs(geometry, scratch_inout):
    """Select the listed pairs that are within reach in this step."""
    near, box = scratch_inout.near, scratch_inout.box
    start_pairs(scratch_inout)
    for row in range(scratch_inout.counts[PairCount.NEAR]):
        a, b = near[row, 0], near[row, 1]
        if overlaps_row(load_box(box, a), box, b) and not is_out_of_reach(
            geometry, scratch_inout, a, b
        ):
            add_pair(a, b, near[row, 2], scratch_inout)
