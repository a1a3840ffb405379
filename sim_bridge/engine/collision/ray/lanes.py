"""
Lines through a tree of boxes, tested side by side.

A *group* has up to LANES boxes. Groups on level 0 hold items, in their own order. Each group on
the next level holds the boxes around LANES groups, and so on up to the top with its few groups.
No line enters a lane without a box.
"""

import math

from sim_bridge.compiler.kernel import kernel, lanes
from sim_bridge.engine.collision.ray.tree import slab_entry
from sim_bridge.engine.data.collision_scratch import LANES

_SIDES = 6 * LANES
"""Numbers stored per group."""
_FEW = 4
"""Greatest number of groups on the top level."""


@kernel
def build_lanes(box, count, order_inout, scratch_out):
    """
    Sort boxes into groups, split at the median along the longest side.

    box: (n, 6). order_inout: rows of `box` in the first `count` items, on return ordered by group.
    Returns the top level, its number of groups, and the greatest coordinate [m].
    """
    _sort(box, count, order_inout)
    groups, level, first, size = _groups_of(count), 0, 0, 0.0
    scratch_out.lane_first[0] = 0
    for place in range(LANES * groups):
        for k in range(6):
            side = math.inf if k < 3 else -math.inf
            if place < count:
                side = box[order_inout[place], k]
                size = max(size, abs(side))
            scratch_out.lane_box[_side_at(0, place, k)] = side
    while groups > _FEW:
        above = first + groups
        for place in range(LANES * _groups_of(groups)):
            for k in range(6):
                side = math.inf if k < 3 else -math.inf
                if place < groups:
                    for lane in range(LANES):
                        other = scratch_out.lane_box[_side_at(first, LANES * place + lane, k)]
                        side = min(side, other) if k < 3 else max(side, other)
                scratch_out.lane_box[_side_at(above, place, k)] = side
        level, first, groups = level + 1, above, _groups_of(groups)
        scratch_out.lane_first[level] = first
    return level, groups, size


@kernel
def _groups_of(count):
    return (count + LANES - 1) // LANES


@kernel
def _side_at(first, place, k):
    """Return the index of side k of a box; first: a level's first group, place: box in level."""
    return _SIDES * (first + place // LANES) + LANES * k + place % LANES


@kernel
def _sort(box, count, order_inout):
    """Split at multiples of powers of two, so that only the last group is not full."""
    size = LANES
    while size < count:
        size *= 2
    while size > LANES:
        half, first = size >> 1, 0
        while first + half < count:
            end = min(first + size, count)
            axis = _longest_axis(box, order_inout, first, end)
            _split(box, order_inout, first, first + half, end, axis)
            first += size
        size = half


@kernel
def _longest_axis(box, order, first, end):
    """Return the axis with the greatest spread of the boxes' middles."""
    longest, most = 0, -1.0
    for axis in range(3):
        low, high = math.inf, -math.inf
        for at in range(first, end):
            middle = box[order[at], axis] + box[order[at], 3 + axis]
            low, high = min(low, middle), max(high, middle)
        if high - low > most:
            longest, most = axis, high - low
    return longest


@kernel
def _split(box, order_inout, first, middle, end, axis):
    """Move the lower boxes before `middle`, the others behind it (Hoare's selection)."""
    low, high = first, end - 1
    while low < high:
        pivot = order_inout[(low + high) >> 1]
        key = box[pivot, axis] + box[pivot, 3 + axis]
        i, j = low, high
        while i <= j:
            while box[order_inout[i], axis] + box[order_inout[i], 3 + axis] < key:
                i += 1
            while box[order_inout[j], axis] + box[order_inout[j], 3 + axis] > key:
                j -= 1
            if i <= j:
                order_inout[i], order_inout[j] = order_inout[j], order_inout[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break


@kernel
def next_item(scratch_out, top, groups, slabs, high, group, level):
    """
    Find the next item whose box a line enters between 0 and high, nearer boxes in a group first.

    top, groups: from `build_lanes`. group, level: 0 and top + 1 for the first call, then values
    returned by the last call. Returns the item's place in the order (-1 after the last), the group
    and the level.
    """
    entry = scratch_out.lane_entry
    while True:
        while level <= top:
            lane, t = _least(entry, level)
            if t > high or t == math.inf:
                level += 1
                continue
            entry[LANES * level + lane] = math.inf
            place = LANES * scratch_out.lane_visited[level] + lane
            if level == 0:
                return place, group, level
            if _visit(scratch_out, level - 1, place, slabs, high):
                level -= 1
        is_met = False
        while group < groups and not is_met:
            is_met = _visit(scratch_out, top, group, slabs, high)
            group += 1
        if not is_met:
            return -1, group, level
        level = top


@kernel
def _visit(scratch_out, level, group, slabs, high):
    """Go to a group; return whether the line enters any of its boxes."""
    scratch_out.lane_visited[level] = group
    at = _SIDES * (scratch_out.lane_first[level] + group)
    return _enter(scratch_out.lane_box, at, level, slabs, high, scratch_out.lane_entry)


@lanes
def _enter(box, at, level, slabs, high, entry_out):
    """Write a line's entry parameters for a group's boxes; return as `_visit`."""
    (i, j, k), inverse, begin, end = slabs
    near = (at + LANES * i, at + LANES * j, at + LANES * k)
    far = (at + LANES * (3 - i), at + LANES * (5 - j), at + LANES * (7 - k))
    line = (inverse, begin, end, high)
    t = (
        _lane_entry(box, near, far, 0, line),
        _lane_entry(box, near, far, 1, line),
        _lane_entry(box, near, far, 2, line),
        _lane_entry(box, near, far, 3, line),
        _lane_entry(box, near, far, 4, line),
        _lane_entry(box, near, far, 5, line),
        _lane_entry(box, near, far, 6, line),
        _lane_entry(box, near, far, 7, line),
    )
    for lane in range(LANES):
        entry_out[LANES * level + lane] = t[lane]
    return (
        (t[0] < math.inf)
        | (t[1] < math.inf)
        | (t[2] < math.inf)
        | (t[3] < math.inf)
        | (t[4] < math.inf)
        | (t[5] < math.inf)
        | (t[6] < math.inf)
        | (t[7] < math.inf)
    )


@kernel
def _lane_entry(box, near, far, lane, line):
    inverse, begin, end, high = line
    return slab_entry(
        (box[near[0] + lane], box[near[1] + lane], box[near[2] + lane]),
        (box[far[0] + lane], box[far[1] + lane], box[far[2] + lane]),
        inverse,
        begin,
        end,
        0.0,
        high,
    )


@kernel
def _least(entry, level):
    """Return the lane with the least entry on a level, and the entry."""
    at = LANES * level
    a = _nearer((0, entry[at]), (1, entry[at + 1]))
    b = _nearer((2, entry[at + 2]), (3, entry[at + 3]))
    c = _nearer((4, entry[at + 4]), (5, entry[at + 5]))
    d = _nearer((6, entry[at + 6]), (7, entry[at + 7]))
    return _nearer(_nearer(a, b), _nearer(c, d))


@kernel
def _nearer(a, b):
    return a if a[1] <= b[1] else b
