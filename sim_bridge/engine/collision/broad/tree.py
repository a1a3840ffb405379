"""
Overlaps between boxes of any sizes, found with a tree along a space-filling curve.

The boxes are sorted along a Morton curve, so neighbours stay together. Groups of four boxes
are the leaves of a complete binary bounding-volume tree. Each leaf is compared with the leaves
after it, in a tree traversal without a stack.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.boxes import copy_box, extent, load_box, overlaps_row, scan

LEAF = 4
FINITE = 1e300
DIGITS = 1024


@kernel
def tree_overlaps(box, scratch, found_out):
    """Find the overlapping boxes; arguments and result as for `overlaps.many_overlaps`."""
    n, order = box.shape[0], scratch.order
    sorted_box, node_box = scratch.sorted_box, scratch.node_box
    usual = sort_along_curve(box, scratch)
    for at in range(n):
        copy_box(box, order[at], at, sorted_box)
    first_leaf = build_tree(sorted_box, usual, node_box)

    total = 0
    for leaf in range(first_leaf, first_leaf + (usual + LEAF - 1) // LEAF):
        first = (leaf - first_leaf) * LEAF
        end = min(usual, first + LEAF)
        for i in range(first, end):
            total = scan(sorted_box, order, i, i + 1, end, total, found_out)
        one, node = load_box(node_box, leaf), next_node(leaf)
        while node > 0:
            if not overlaps_row(one, node_box, node):
                node = next_node(node)
            elif node < first_leaf:
                node = 2 * node + 1
            else:
                other = (node - first_leaf) * LEAF
                for i in range(first, end):
                    total = scan(
                        sorted_box, order, i, other, min(usual, other + LEAF), total, found_out
                    )
                node = next_node(node)
    for i in range(usual, n):
        total = scan(sorted_box, order, i, 0, i, total, found_out)
    return total


@kernel
def next_node(node):
    """Return the node after a node's subtree in depth-first order, 0 after the last."""
    while node > 0 and node & 1 == 0:
        node = (node - 1) >> 1
    return node + 1 if node > 0 else 0


@kernel
def sort_along_curve(box, scratch):
    """Sort the finite boxes along a Morton curve, infinite ones last; return the finite count."""
    order, key, start = scratch.order, scratch.key, scratch.start
    spare_order, spare_key = scratch.spare_order, scratch.spare_key
    n = box.shape[0]
    x0 = y0 = z0 = math.inf
    side = 0.0
    for i in range(n):
        if extent(box, i) <= FINITE:
            x0 = min(x0, box[i, 0])
            y0 = min(y0, box[i, 1])
            z0 = min(z0, box[i, 2])
    for i in range(n):
        if extent(box, i) <= FINITE:
            side = max(side, box[i, 3] - x0, box[i, 4] - y0, box[i, 5] - z0)
    scale = 0.5 * (DIGITS - 1) / side if side > 0.0 else 0.0
    usual, end = 0, n
    for i in range(n):
        if extent(box, i) <= FINITE:
            x = int(scale * (box[i, 0] + box[i, 3] - 2.0 * x0))
            y = int(scale * (box[i, 1] + box[i, 4] - 2.0 * y0))
            z = int(scale * (box[i, 2] + box[i, 5] - 2.0 * z0))
            spare_key[usual] = spread_bits(x) | spread_bits(y) << 1 | spread_bits(z) << 2
            spare_order[usual] = i
            usual += 1
        else:
            end -= 1
            order[end] = i
    sort_digit(spare_key, spare_order, usual, 0, key, order, start)
    sort_digit(key, order, usual, 10, spare_key, spare_order, start)
    sort_digit(spare_key, spare_order, usual, 20, key, order, start)
    return usual


@kernel
def spread_bits(x):
    """Insert two zero bits between the bits of a ten-bit number."""
    x = (x | x << 16) & 0x030000FF
    x = (x | x << 8) & 0x0300F00F
    x = (x | x << 4) & 0x030C30C3
    return (x | x << 2) & 0x09249249


@kernel
def sort_digit(key, order, count, shift, key_out, order_out, start_out):
    """Sort by the ten key bits from `shift` on, with a stable counting sort."""
    start_out[: DIGITS + 1] = 0
    for i in range(count):
        start_out[(key[i] >> shift & (DIGITS - 1)) + 1] += 1
    for digit in range(DIGITS):
        start_out[digit + 1] += start_out[digit]
    for i in range(count):
        digit = key[i] >> shift & (DIGITS - 1)
        at = start_out[digit]
        start_out[digit] = at + 1
        key_out[at], order_out[at] = key[i], order[i]


@kernel
def build_tree(sorted_box, count, node_box_out):
    """Compute the boxes around leaves and inner nodes; return the first leaf's number."""
    leaves = 1
    while leaves * LEAF < count:
        leaves *= 2
    for leaf in range(leaves):
        node = leaves - 1 + leaf
        for k in range(3):
            low, high = math.inf, -math.inf
            for i in range(leaf * LEAF, min(count, leaf * LEAF + LEAF)):
                low, high = min(low, sorted_box[i, k]), max(high, sorted_box[i, 3 + k])
            node_box_out[node, k], node_box_out[node, 3 + k] = low, high
    for node in range(leaves - 2, -1, -1):
        for k in range(3):
            node_box_out[node, k] = min(
                node_box_out[2 * node + 1, k], node_box_out[2 * node + 2, k]
            )
            node_box_out[node, 3 + k] = max(
                node_box_out[2 * node + 1, 3 + k], node_box_out[2 * node + 2, 3 + k]
            )
    return leaves - 1
