"""Reduction of many contact points to the corners and the deepest point of each patch."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.math.vec3 import cross, dot, load3, store3, sub

SAME = 1e-3
"""Distance, relative to the size, within which two contact points count as one."""
ALIKE = 0.97
"""Cosine of the angle within which two normals belong to one patch."""
LEAN = 10.0
"""Weight of a gap against a distance sideways: round shapes keep the points near their lowest."""
# first search direction for a patch's corners: parallel to no side of an upright box
FIRST_ANGLE = 0.2

DROPPED, CHOSEN = -1, -2


@subroutine
def reduce_candidates(size, most, count, scratch):
    """
    Move the representative points to the first rows; return their number, at most `most`.

    Points with similar normals form a contact patch, and the patches share the room, the deepest
    first. Each patch keeps its deepest point and the extreme points in directions all around,
    where a gap counts LEAN times; the points with the next gaps fill the rest. size:
    reference length for `SAME` [m].
    """
    alike, room = ALIKE, most
    patches, is_whole = find_patches(most, alike, count, scratch)
    while not is_whole and alike > 0.0:
        # too many directions: a patch spans twice the angle, rather than none for some of them
        alike = 2.0 * alike * alike - 1.0
        patches, is_whole = find_patches(most, alike, count, scratch)
    for patch in range(patches):
        left = patches - patch
        room -= choose_corners(patch, (room + left - 1) // left, SAME * size, count, scratch)
    chosen = 0
    for k in range(count):
        if scratch.candidate_group[k] <= CHOSEN:
            swap_candidates(k, chosen, scratch)
            chosen += 1
    return chosen


@kernel
def find_patches(most, alike, count, scratch):
    """
    Find and number patches of similar normals; move each patch's deepest point to its row.

    alike: cosine of the angle within which a normal belongs to the deepest point's patch. Returns
    the number of patches, at most `most`, and whether they hold all points.
    """
    group, gap, normal = scratch.candidate_group, scratch.candidate_gap, scratch.candidate_normal
    for k in range(count):
        group[k] = DROPPED
    patches = 0
    while patches < most:
        leader = -1
        for k in range(patches, count):
            if group[k] == DROPPED and (leader < 0 or gap[k] < gap[leader]):
                leader = k
        if leader < 0:
            return patches, True
        swap_candidates(patches, leader, scratch)
        n = load3(normal, patches, 0)
        for k in range(patches, count):
            if group[k] == DROPPED and dot(n, load3(normal, k, 0)) >= alike:
                group[k] = patches
        # a non-unit normal would be similar to none, even to itself
        group[patches] = patches
        patches += 1
    for k in range(patches, count):
        if group[k] == DROPPED:
            return patches, False
    return patches, True


@kernel
def choose_corners(patch, most, near, count, scratch):
    """Mark the points to keep in a patch, with CHOSEN minus its number; return how many."""
    group, gap, point = scratch.candidate_group, scratch.candidate_gap, scratch.candidate_point
    n = load3(scratch.candidate_normal, patch, 0)
    across = (0.0, n[2], -n[1]) if abs(n[0]) < 0.6 else (-n[2], 0.0, n[0])
    along = cross(n, across)
    mark, chosen, last = CHOSEN - patch, 0, patch
    # quarter turns first, because they find a rectangle's corners
    quarters = min(most, 4)
    for k in range(most):
        turn = 2.0 * math.pi * ((k % quarters) / quarters + (k // quarters) / most) + FIRST_ANGLE
        if most == 1 and patch & 1 == 1:
            # patches with one point each hold both ends of a long shape in turns
            turn += math.pi
        c, s = math.cos(turn), math.sin(turn)
        best, farthest = patch, -math.inf
        for row in range(count):
            if group[row] == patch or group[row] == mark:
                x = load3(point, row, 0)
                reach = c * dot(along, x) + s * dot(across, x) - LEAN * gap[row]
                if reach > farthest:
                    best, farthest = row, reach
        if group[best] != mark and is_alone(best, mark, near, count, scratch):
            group[best] = mark
            chosen += 1
            last = best
    # the patch's own row is its deepest point
    if group[patch] != mark:
        least = math.inf
        for row in range(count):
            if group[row] == mark:
                least = min(least, gap[row])
        if gap[patch] < least - near:
            if chosen == most:
                group[last] = patch
                chosen -= 1
            group[patch] = mark
            chosen += 1
    return chosen + choose_ahead(patch, most - chosen, near, count, scratch)


@kernel
def choose_ahead(patch, room, near, count, scratch):
    """Mark a patch's points with the next gaps, as far as there is room; return their number."""
    group, gap, mark, chosen = scratch.candidate_group, scratch.candidate_gap, CHOSEN - patch, 0
    beyond = gap[patch] + near
    while chosen < room:
        nearest = -1
        for row in range(count):
            is_nearer = nearest < 0 or gap[row] < gap[nearest]
            if group[row] == patch and gap[row] > beyond and is_nearer:
                nearest = row
        if nearest < 0:
            break
        if is_alone(nearest, mark, near, count, scratch):
            group[nearest] = mark
            chosen += 1
        else:
            group[nearest] = DROPPED
    return chosen


@kernel
def is_alone(row, mark, near, count, scratch):
    """Return whether no marked point is near a point."""
    group, point = scratch.candidate_group, scratch.candidate_point
    x = load3(point, row, 0)
    for other in range(count):
        if group[other] == mark:
            apart = sub(load3(point, other, 0), x)
            if dot(apart, apart) < near * near:
                return False
    return True


@kernel
def swap_candidates(i, j, scratch):
    """Exchange two rows."""
    group, feature, gap = scratch.candidate_group, scratch.candidate_feature, scratch.candidate_gap
    group[i], group[j] = group[j], group[i]
    feature[i], feature[j] = feature[j], feature[i]
    gap[i], gap[j] = gap[j], gap[i]
    for vectors in (scratch.candidate_point, scratch.candidate_normal):
        v = load3(vectors, i, 0)
        store3(vectors, i, 0, load3(vectors, j, 0))
        store3(vectors, j, 0, v)


@kernel
def sort_candidates(count, scratch):
    """Sort the first rows by feature (by insertion, because they are few)."""
    feature = scratch.candidate_feature
    for i in range(1, count):
        k = i
        while k > 0 and feature[k] < feature[k - 1]:
            swap_candidates(k, k - 1, scratch)
            k -= 1


@kernel
def is_listed(feature, count, scratch):
    """Return whether a feature is among the first `count` rows."""
    row = 0
    while row < count and scratch.candidate_feature[row] != feature:
        row += 1
    return row < count
