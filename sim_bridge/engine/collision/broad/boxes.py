"""Axis-aligned boxes, stored as rows: least corner, greatest corner."""

from sim_bridge.compiler.kernel import kernel


@kernel
def load_box(box, i):
    """Read a row."""
    return box[i, 0], box[i, 1], box[i, 2], box[i, 3], box[i, 4], box[i, 5]


@kernel
def overlaps_row(one, box, j):
    """Return whether a loaded box overlaps row j; branchless, because branches mispredict here."""
    return (
        (one[0] <= box[j, 3])
        & (box[j, 0] <= one[3])
        & (one[1] <= box[j, 4])
        & (box[j, 1] <= one[4])
        & (one[2] <= box[j, 5])
        & (box[j, 2] <= one[5])
    )


@kernel
def record_pair(is_pair, a, b, total, found_out):
    """
    Count a pair if it is one; return the new total.

    The pair is written in any case, to the last row if there is no room: a mispredicted branch
    would cost more than the write.
    """
    row = min(total, found_out.shape[0] - 1)
    found_out[row, 0], found_out[row, 1] = a, b
    return total + (1 if is_pair else 0)


@kernel
def scan(sorted_box, order, i, first, end, total, found_out):
    """Record the boxes `first` <= j < `end` that overlap row i; return the total."""
    one, a = load_box(sorted_box, i), order[i]
    for j in range(first, end):
        b = order[j]
        total = record_pair(
            overlaps_row(one, sorted_box, j), min(a, b), max(a, b), total, found_out
        )
    return total


@kernel
def copy_box(box, i, j, box_out):
    """Copy row i in one array of boxes to row j in another."""
    for k in range(6):
        box_out[j, k] = box[i, k]


@kernel
def extent(box, i):
    """Return a box's longest side."""
    return max(box[i, 3] - box[i, 0], box[i, 4] - box[i, 1], box[i, 5] - box[i, 2])
