"""Reduction of many contact points to the corners and the deepest point of each patch."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, norm, scale, store3, sub, ZERO

SAME = 1e-3
"""Distance, relative to the size, within which two contact points count as one."""
ALIKE = 0.97
"""Cosine of the angle within which two normals belong to one patch."""
EQUAL = 1e-6
"""Difference between two normals up to which they belong to one face."""
LEAN = 10.0
"""Weight of a gap against a distance sideways: round shapes keep the points near their lowest."""
ROUNDS = 4
"""Searches with half the weight each time, until a patch's room is filled."""
# first search direction for a patch's corners: parallel to no side of an upright box
FIRST_ANGLE = 0.2

DROPPED, CHOSEN = -1, -2
FAR = 4.0


@subroutine
def reduce_candidates(size, most, count, scratch):
    """
    Move the representative points to the first rows; return their number, at most `most`.

    Points with similar normals form a contact patch, and the patches share the room, the deepest
    first. Each patch keeps its deepest point and the extreme points in directions all around,
    where a gap counts LEAN times. If there are more patches than room, the points are spread over
    all directions. size: reference length for `SAME` [m].
    """
    room = most
    patches, is_whole = find_patches(most, count, scratch)
    if not is_whole:
        choose_spread(size, most, count, scratch)
        patches = 0
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
def find_patches(most, count, scratch):
    """
    Find and number patches of similar normals; move each patch's deepest point to its row.

    Returns the number of patches, at most `most`, and whether they hold all points.
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
            if group[k] == DROPPED and dot(n, load3(normal, k, 0)) >= ALIKE:
                group[k] = patches
        # a non-unit normal would be similar to none, even to itself
        group[patches] = patches
        patches += 1
    for k in range(patches, count):
        if group[k] == DROPPED:
            return patches, False
    return patches, True


@kernel
def choose_spread(size, most, count, scratch):
    """
    Mark the deepest point, then again and again the one farthest from all marked ones.

    The distance is between their unit wrenches, with moments about the middle in units of the
    size; a gap counts LEAN times. Points chosen on a bore or thread push in all directions, at
    both ends.
    """
    group, gap, spread = scratch.candidate_group, scratch.candidate_gap, scratch.candidate_spread
    middle, deepest = ZERO, 0
    for k in range(count):
        group[k], spread[k] = DROPPED, FAR
        middle = add(middle, scale(1.0 / count, load3(scratch.candidate_point, k, 0)))
        if gap[k] < gap[deepest]:
            deepest = k
    last = deepest
    for _ in range(most):
        group[last] = CHOSEN
        farthest, best = -1, -math.inf
        for k in range(count):
            if group[k] == CHOSEN:
                continue
            spread[k] = min(spread[k], wrench_distance(k, last, middle, size, scratch))
            reach = spread[k] - LEAN * (gap[k] - gap[deepest]) / size
            if reach > best + SAME and spread[k] > SAME:
                farthest, best = k, reach
        if farthest < 0:
            break
        last = farthest


@kernel
def wrench_distance(i, j, middle, size, scratch):
    """Return the distance between two points' unit wrenches; see `choose_spread`."""
    point, normal = scratch.candidate_point, scratch.candidate_normal
    n, m = load3(normal, i, 0), load3(normal, j, 0)
    turn = sub(
        cross(sub(load3(point, i, 0), middle), n), cross(sub(load3(point, j, 0), middle), m)
    )
    way = sub(n, m)
    return math.sqrt(dot(way, way) + dot(turn, turn) / (size * size))


@kernel
def choose_corners(patch, most, near, count, scratch):
    """Mark the points to keep in a patch, with CHOSEN minus its number; return how many."""
    group, gap, point = scratch.candidate_group, scratch.candidate_gap, scratch.candidate_point
    n = load3(scratch.candidate_normal, patch, 0)
    across = (0.0, n[2], -n[1]) if abs(n[0]) < 0.6 else (-n[2], 0.0, n[0])
    along = cross(n, across)
    mark, chosen, last, lean = CHOSEN - patch, 0, patch, LEAN
    # quarter turns first, because they find a rectangle's corners
    quarters = min(most, 4)
    for step in range(ROUNDS * most):
        if chosen == most:
            break
        k = step % most
        if step > 0 and k == 0:
            lean *= 0.5
        turn = 2.0 * math.pi * ((k % quarters) / quarters + (k // quarters) / most) + FIRST_ANGLE
        if most == 1 and patch & 1 == 1:
            # patches with one point each hold both ends of a long shape in turns
            turn += math.pi
        c, s = math.cos(turn), math.sin(turn)
        best, farthest = patch, -math.inf
        for row in range(count):
            if group[row] == patch or group[row] == mark:
                x = load3(point, row, 0)
                reach = c * dot(along, x) + s * dot(across, x) - lean * gap[row]
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
    return chosen + choose_turned(patch, most - chosen, near, count, scratch)


@kernel
def choose_turned(patch, room, near, count, scratch):
    """
    Mark a patch's points with other normals and the next gaps, as far as there is room.

    A point inside the corners with the same normal adds nothing. Returns the number of points.
    """
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
        is_new = is_turned(nearest, mark, count, scratch)
        if is_new and is_alone(nearest, mark, near, count, scratch):
            group[nearest] = mark
            chosen += 1
        else:
            group[nearest] = DROPPED
    return chosen


@kernel
def is_turned(row, mark, count, scratch):
    """Return whether no marked point has a point's normal."""
    group, normal = scratch.candidate_group, scratch.candidate_normal
    n = load3(normal, row, 0)
    for other in range(count):
        if group[other] == mark and norm(sub(load3(normal, other, 0), n)) < EQUAL:
            return False
    return True


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
