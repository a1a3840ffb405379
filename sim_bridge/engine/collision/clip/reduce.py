"""Reduction of many contact points to the corners and the deepest point of each patch."""

from __future__ import annotations

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.math.vec3 import cross, dot, load3, store3, sub

SAME = 1e-3
"""Share of the size within which two contact points are one."""
ALIKE = 0.97
"""Cosine of the angle within which two normals belong to one patch."""
# the first direction in which a patch's corners are sought: along no side of an upright box
FIRST_ANGLE = 0.2

DROPPED, CHOSEN = -1, -2


@subroutine
def reduce_candidates(
    size, most,
    count, group_inout, feature_inout, point_inout, normal_inout, gap_inout,
):
    """
    Move the representative points to the first rows; return their number, at most `most`.

    Points with similar normals form a contact patch, and the patches share the room. Of each
    patch, the extreme points in directions all around and the deepest point are kept. `size` [m]
    is the length that `SAME` is a share of.
    """
    patches = find_patches(most, count, group_inout, feature_inout, point_inout, normal_inout,
                           gap_inout)
    for patch in range(patches):
        choose_corners(patch, most // patches, SAME * size, count, group_inout, point_inout,
                       normal_inout, gap_inout)
    chosen = 0
    for k in range(count):
        if group_inout[k] <= CHOSEN:
            swap_candidates(k, chosen, group_inout, feature_inout, point_inout, normal_inout,
                            gap_inout)
            chosen += 1
    return chosen


@kernel
def find_patches(most, count, group_out, feature_inout, point_inout, normal_inout, gap_inout):
    """Assign a number to each patch of similar normals; its deepest point moves to that row."""
    for k in range(count):
        group_out[k] = DROPPED
    patches = 0
    while patches < most:
        leader = -1
        for k in range(patches, count):
            if group_out[k] == DROPPED and (leader < 0 or gap_inout[k] < gap_inout[leader]):
                leader = k
        if leader < 0:
            break
        swap_candidates(patches, leader, group_out, feature_inout, point_inout, normal_inout,
                        gap_inout)
        n = load3(normal_inout, patches, 0)
        for k in range(patches, count):
            if group_out[k] == DROPPED and dot(n, load3(normal_inout, k, 0)) >= ALIKE:
                group_out[k] = patches
        # a normal that is no unit vector would be alike to none
        group_out[patches] = patches
        patches += 1
    return patches


@kernel
def choose_corners(patch, most, near, count, group_inout, point, normal, gap):
    """Mark the points of a patch to keep, with CHOSEN minus the patch's number."""
    n = load3(normal, patch, 0)
    across = (0.0, n[2], -n[1]) if abs(n[0]) < 0.6 else (-n[2], 0.0, n[0])
    along = cross(n, across)
    mark, chosen, last = CHOSEN - patch, 0, patch
    # quarter turns first: they find the corners of a rectangle
    quarters = min(most, 4)
    for k in range(most):
        turn = 2.0 * math.pi * ((k % quarters) / quarters + (k // quarters) / most) + FIRST_ANGLE
        c, s = math.cos(turn), math.sin(turn)
        best, farthest = patch, -math.inf
        for row in range(count):
            if group_inout[row] == patch or group_inout[row] == mark:
                x = load3(point, row, 0)
                reach = c * dot(along, x) + s * dot(across, x)
                if reach > farthest:
                    best, farthest = row, reach
        if group_inout[best] != mark and is_alone(best, mark, near, count, group_inout, point):
            group_inout[best] = mark
            chosen += 1
            last = best
    # the patch's own row is its deepest
    if group_inout[patch] != mark:
        least = math.inf
        for row in range(count):
            if group_inout[row] == mark:
                least = min(least, gap[row])
        if gap[patch] < least - near:
            if chosen == most:
                group_inout[last] = patch
            group_inout[patch] = mark


@kernel
def is_alone(row, mark, near, count, group, point):
    """Return whether no marked point is near a point."""
    x = load3(point, row, 0)
    for other in range(count):
        if group[other] == mark:
            apart = sub(load3(point, other, 0), x)
            if dot(apart, apart) < near * near:
                return False
    return True


@kernel
def swap_candidates(i, j, group_inout, feature_inout, point_inout, normal_inout, gap_inout):
    """Exchange two rows."""
    group_inout[i], group_inout[j] = group_inout[j], group_inout[i]
    feature_inout[i], feature_inout[j] = feature_inout[j], feature_inout[i]
    gap_inout[i], gap_inout[j] = gap_inout[j], gap_inout[i]
    point, normal = load3(point_inout, i, 0), load3(normal_inout, i, 0)
    store3(point_inout, i, 0, load3(point_inout, j, 0))
    store3(normal_inout, i, 0, load3(normal_inout, j, 0))
    store3(point_inout, j, 0, point)
    store3(normal_inout, j, 0, normal)


@kernel
def sort_candidates(count, group_inout, feature_inout, point_inout, normal_inout, gap_inout):
    """Sort the first rows by their features (by insertion: they are few)."""
    for i in range(1, count):
        k = i
        while k > 0 and feature_inout[k] < feature_inout[k - 1]:
            swap_candidates(k, k - 1, group_inout, feature_inout, point_inout, normal_inout,
                            gap_inout)
            k -= 1


@kernel
def is_listed(feature, count, features):
    """Return whether a feature is among the first `count`."""
    row = 0
    while row < count and features[row] != feature:
        row += 1
    return row < count
