"""
Lines through trees of boxes.

A tree is a complete binary one over items in an order of its own, as those of meshes: node k has
the children 2 k + 1 and 2 k + 2, and of m items the i-th node at depth d holds those from
i m / 2^d to (i + 1) m / 2^d, rounded down. A leaf holds one item or two.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.boxes import copy_box

_PAD = 1e-13
"""Share of the coordinates by which boxes are enlarged, so that rounding hides nothing."""
_STILL = 1e-150
"""Least rate along an axis."""


@kernel
def build_median_tree(box, count, order_inout, sorted_box_out, node_box_out):
    """
    Sort boxes into a tree, split at the median along the longest side; return its depth.

    box: (n, 6). order_inout: which rows of it, in the first `count` items; then in the order of
    the leaves, as sorted_box_out. node_box_out: (2^(depth + 1), 6).
    """
    depth = 0
    while 2 << depth <= count:
        depth += 1
    for level in range(depth):
        for node in range(1 << level):
            first, end = node * count >> level, (node + 1) * count >> level
            middle = (2 * node + 1) * count >> level + 1
            axis = _longest_axis(box, order_inout, first, end)
            _split(box, order_inout, first, middle, end, axis)
    for at in range(count):
        copy_box(box, order_inout[at], at, sorted_box_out)
    leaves = 1 << depth
    for leaf in range(leaves):
        node, first = leaves - 1 + leaf, leaf * count >> depth
        copy_box(sorted_box_out, first, node, node_box_out)
        if ((leaf + 1) * count >> depth) - first > 1:
            _join(sorted_box_out, first, first + 1, node, node_box_out)
    for node in range(leaves - 2, -1, -1):
        _join(node_box_out, 2 * node + 1, 2 * node + 2, node, node_box_out)
    return depth


@kernel
def _join(box, a, b, row, box_out):
    for k in range(3):
        box_out[row, k] = min(box[a, k], box[b, k])
        box_out[row, 3 + k] = max(box[a, 3 + k], box[b, 3 + k])


@kernel
def _longest_axis(box, order, first, end):
    """Return the axis along which the middles of some boxes spread most."""
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
    """Put the lower ones of some boxes before `middle`, the others behind (Hoare's selection)."""
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
def slabs_of(o, d, size):
    """
    Return what `box_entry` needs of the line o + t d.

    size: of the coordinates of the boxes [m]. Returns the columns of the nearer sides, and of each
    axis 1 / d and t at the coordinate 0, for the nearer side and for the farther one.
    """
    pad = _PAD * (abs(o[0]) + abs(o[1]) + abs(o[2]) + size)
    x, y, z = _inverse(d[0]), _inverse(d[1]), _inverse(d[2])
    near = (0 if x > 0.0 else 3, 1 if y > 0.0 else 4, 2 if z > 0.0 else 5)
    return (near, (x, y, z),
            (-o[0] * x - pad * abs(x), -o[1] * y - pad * abs(y), -o[2] * z - pad * abs(z)),
            (-o[0] * x + pad * abs(x), -o[1] * y + pad * abs(y), -o[2] * z + pad * abs(z)))


@kernel
def _inverse(rate):
    return 1.0 / math.copysign(max(abs(rate), _STILL), rate)


@kernel
def box_entry(box, row, slabs, low, high):
    """Return where a line comes into a box, from low to high; infinite where it does not."""
    near, inverse, begin, end = slabs
    i, j, k = near
    # two at a time, so that neither waits for the other
    first = max(max(low, box[row, i] * inverse[0] + begin[0]),
                max(box[row, j] * inverse[1] + begin[1], box[row, k] * inverse[2] + begin[2]))
    last = min(min(high, box[row, 3 - i] * inverse[0] + end[0]),
               min(box[row, 5 - j] * inverse[1] + end[1], box[row, 7 - k] * inverse[2] + end[2]))
    return first if first <= last else math.inf


@kernel
def leaf_items(count, depth, node):
    """Return the place of the first item of a leaf, of `count`, and the one past its last."""
    leaf = node + 1 - (1 << depth)
    return leaf * count >> depth, (leaf + 1) * count >> depth


@kernel
def next_leaf(box, root, depth, slabs, low, high, node, trail):
    """
    Find the next leaf of a tree that a line goes through between low and high, nearer ones first.

    root: row of node 0. node, trail: -1 and 0 for the first call, then what the last call
    returned; the trail has a bit for each level, 1 where the other child is still to be visited.
    Returns the leaf, -1 after the last, and the trail.
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
    """Return the deepest node still to be visited on a trail, -1 for none, and the trail."""
    if trail == 0:
        return -1, 0
    while trail & 1 == 0:
        trail = trail >> 1
        node = (node - 1) >> 1
    # to the other child: 1 and 2, 3 and 4 …
    return ((node + 1) ^ 1) - 1, trail ^ 1
