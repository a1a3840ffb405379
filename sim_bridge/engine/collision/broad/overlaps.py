"""
Broad phase: overlapping box pairs.

A few boxes are compared pair by pair. Many boxes of similar size, such as a pile, are sorted into
grid cells (`broad.grid`), several times faster than the alternatives. If sizes or distances differ
too much for a grid, the boxes are sorted into a tree (`broad.tree`). All methods find the same set
of pairs. The pairs are sorted, so the result depends on the boxes alone.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.boxes import load_box, overlaps_row, record_pair
from sim_bridge.engine.collision.broad.grid import grid_overlaps
from sim_bridge.engine.collision.broad.tree import tree_overlaps
from sim_bridge.engine.data.collision_scratch import PairCount

FEW = 32
"""Box count up to which all pairs are compared, see `benchmarks/broad_phase.py`."""


@kernel
def find_overlaps(box, scratch_inout):
    """Find the overlapping box pairs; write scratch_inout.found and counts."""
    found = scratch_inout.found
    if box.shape[0] <= FEW:
        scratch_inout.counts[PairCount.FOUND] = few_overlaps(box, found)
    else:
        scratch_inout.counts[PairCount.FOUND] = many_overlaps(box, scratch_inout, found)


@kernel
def few_overlaps(box, found_out):
    """Find the overlapping boxes by comparing all pairs; see `many_overlaps` for the arguments."""
    total = 0
    for i in range(box.shape[0]):
        one = load_box(box, i)
        for j in range(i + 1, box.shape[0]):
            total = record_pair(overlaps_row(one, box, j), i, j, total, found_out)
    return total


@kernel
def many_overlaps(box, scratch, found_out):
    """
    Find the overlapping boxes; return the pair count.

    box: (n, 6) least and greatest corners; infinite boxes are allowed. found_out: pairs, lower
    number first, ascending; its last row is not usable room but may be written. A result above the
    room gives the room needed; the pairs are then undefined.
    """
    spare, start = scratch.spare_found, scratch.start
    total = grid_overlaps(box, scratch, found_out)
    if total < 0:
        total = tree_overlaps(box, scratch, found_out)
    if total < found_out.shape[0]:
        sort_column(found_out, total, box.shape[0], 1, start, spare)
        sort_column(spare, total, box.shape[0], 0, start, found_out)
    return total


@kernel
def sort_column(pair, count, n, column, start_out, sorted_out):
    """Sort pairs of numbers below n by one column with a stable counting sort."""
    start_out[: n + 1] = 0
    for row in range(count):
        start_out[pair[row, column] + 1] += 1
    for k in range(n):
        start_out[k + 1] += start_out[k]
    for row in range(count):
        at = start_out[pair[row, column]]
        start_out[pair[row, column]] = at + 1
        sorted_out[at, 0], sorted_out[at, 1] = pair[row, 0], pair[row, 1]
