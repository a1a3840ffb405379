"""
Lines through trees of boxes.

A tree is a complete binary tree over items in its own order, like the trees of meshes. Node k has
the children 2 k + 1 and 2 k + 2. Of m items, the i-th node at depth d holds the items from
i m / 2^d to (i + 1) m / 2^d, rounded down. A leaf holds one or two items.
"""

import math

from sim_bridge.compiler.kernel import kernel

_PAD = 1e-13
"""Enlargement of boxes, as a share of the coordinates, so that rounding hides no box."""
_STILL = 1e-150
"""Smaller components of d count as this value, so that their inverse is finite."""


@kernel
def slabs_of(o, d, size):
    """
    Return the data of the line o + t d for `box_entry`.

    size: greatest box coordinate [m]. Returns the columns of the nearer sides, then for each axis
    1 / d and the t at coordinate 0, for the nearer side and for the farther side.
    """
    pad = _PAD * (abs(o[0]) + abs(o[1]) + abs(o[2]) + size)
    x, y, z = _inverse(d[0]), _inverse(d[1]), _inverse(d[2])
    near = (0 if x > 0.0 else 3, 1 if y > 0.0 else 4, 2 if z > 0.0 else 5)
    return (
        near,
        (x, y, z),
        (-o[0] * x - pad * abs(x), -o[1] * y - pad * abs(y), -o[2] * z - pad * abs(z)),
        (-o[0] * x + pad * abs(x), -o[1] * y + pad * abs(y), -o[2] * z + pad * abs(z)),
    )


@kernel
def _inverse(rate):
    return 1.0 / math.copysign(max(abs(rate), _STILL), rate)


@kernel
def box_entry(box, row, slabs, low, high):
    """Return a line's entry parameter t into a box, from low to high; infinite if it misses."""
    (i, j, k), inverse, begin, end = slabs
    return slab_entry(
        (box[row, i], box[row, j], box[row, k]),
        (box[row, 3 - i], box[row, 5 - j], box[row, 7 - k]),
        inverse,
        begin,
        end,
        low,
        high,
    )


@kernel
def slab_entry(near, far, inverse, begin, end, low, high):
    """Return the result of `box_entry` for the given nearer and farther sides of a box."""
    # two at a time, so that neither waits for the other
    first = max(
        max(low, near[0] * inverse[0] + begin[0]),
        max(near[1] * inverse[1] + begin[1], near[2] * inverse[2] + begin[2]),
    )
    last = min(
        min(high, far[0] * inverse[0] + end[0]),
        min(far[1] * inverse[1] + end[1], far[2] * inverse[2] + end[2]),
    )
    return first if first <= last else math.inf


@kernel
def next_leaf(box, root, depth, slabs, low, high, node, trail):
    """
    Find the next leaf of a tree that a line passes between low and high, nearer leaves first.

    root: row of node 0. node, trail: -1 and 0 for the first call, then the values returned by the
    last call. The trail has a bit for each level, 1 if the other child is still to be visited.
    Returns the leaf (-1 after the last) and the trail.
    """
    first_leaf = (1 << depth) - 1
    if node < 0:
        if box_entry(box, root, slabs, low, high) == math.inf:
            return -1, 0
        node = 0
    else:
        node, trail = _next_sibling(node, trail)
    while 0 <= node < first_leaf:
        child = 2 * node + 1
        left = box_entry(box, root + child, slabs, low, high)
        right = box_entry(box, root + child + 1, slabs, low, high)
        if min(left, right) < math.inf:
            trail = trail << 1 | int(max(left, right) < math.inf)
            node = child + int(right < left)
        else:
            node, trail = _next_sibling(node, trail)
    return node, trail


@kernel
def _next_sibling(node, trail):
    """Return the deepest node still to be visited on a trail (-1 for none), and the trail."""
    if trail == 0:
        return -1, 0
    while trail & 1 == 0:
        trail = trail >> 1
        node = (node - 1) >> 1
    # to the other child: 1 and 2, 3 and 4 …
    return ((node + 1) ^ 1) - 1, trail ^ 1
