"""
Overlaps between boxes of similar size, found with a uniform grid.

The cells are as large as the largest box, so boxes whose centres lie more than one cell apart
cannot overlap. Boxes are sorted by the cell of their centre. In this order, three cells adjacent
along x are consecutive, and five such runs hold all later neighbours of a box. The few boxes much
larger than the others are compared with all boxes.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.boxes import copy_box, extent, scan

# a box is large above this multiple of the average extent
LARGE = 2.0
# share of large boxes, and mean number of boxes per cell, above which the tree is faster
MOST_LARGE = 1.0 / 64.0
MOST_SHARING = 8.0


@kernel
def grid_overlaps(box, scratch, found_out):
    """
    Find the overlapping boxes; return their pair count, -1 if no grid suits.

    Arguments and result: see `overlaps.many_overlaps`.
    """
    n, order, start, sorted_box = box.shape[0], scratch.order, scratch.start, scratch.sorted_box
    key, sorted_key = scratch.key, scratch.spare_key
    least, cell = usual_extents(box)
    if cell <= 0.0:
        return -1
    nx, ny, nz, x0, y0, z0, cell = lay_grid(box, least, cell, start.shape[0] - 2)

    # count the boxes in each cell, start[c + 2] for cell c; large boxes go to the end
    cells = nx * ny * nz
    start[: cells + 2] = 0
    usual = n
    for i in range(n):
        if extent(box, i) > least:
            usual -= 1
            order[usual] = i
            key[i] = -1
            continue
        x = int((0.5 * (box[i, 0] + box[i, 3]) - x0) / cell) + 1
        y = int((0.5 * (box[i, 1] + box[i, 4]) - y0) / cell) + 1
        z = int((0.5 * (box[i, 2] + box[i, 5]) - z0) / cell) + 1
        key[i] = x + nx * (y + ny * z)
        start[key[i] + 2] += 1
    sharing = 0.0
    for c in range(cells):
        sharing += float(start[c + 2]) * start[c + 2]
        start[c + 2] += start[c + 1]
    if sharing > MOST_SHARING * n:
        return -1

    # sort; afterwards cell c begins at start[c] and ends at start[c + 1]
    for i in range(n):
        c = key[i]
        if c >= 0:
            at = start[c + 1]
            start[c + 1] = at + 1
            order[at], sorted_key[at] = i, c
            copy_box(box, i, at, sorted_box)
    for at in range(usual, n):
        copy_box(box, order[at], at, sorted_box)

    total = 0
    for i in range(usual):
        c = sorted_key[i]
        # the rest of the own cell and the next; then rows ahead in y, and in the next layer
        total = scan(sorted_box, order, i, i + 1, start[c + 2], total, found_out)
        total = scan(sorted_box, order, i, start[c + nx - 1], start[c + nx + 2], total, found_out)
        for row in range(-1, 2):
            near = c + nx * (ny + row)
            total = scan(sorted_box, order, i, start[near - 1], start[near + 2], total, found_out)
    for i in range(usual, n):
        total = scan(sorted_box, order, i, 0, i, total, found_out)
    return total


@kernel
def usual_extents(box):
    """
    Separate the usual boxes from the large ones.

    Returns the least extent of large boxes, and the greatest extent among the other boxes;
    (0, 0) if too many boxes would be large.
    """
    n = box.shape[0]
    limit = 1e300
    while True:
        total, greatest, count = 0.0, 0.0, 0
        for i in range(n):
            size = extent(box, i)
            if size <= limit:
                total += size
                greatest = max(greatest, size)
                count += 1
        if n - count > 8 + MOST_LARGE * n:
            return 0.0, 0.0
        if greatest * count <= LARGE * total:
            return limit, greatest
        limit = LARGE * total / count


@kernel
def lay_grid(box, limit, cell, room):
    """
    Lay out a grid over the centres of the usual boxes, with a margin of one cell.

    Returns the numbers of cells, the origin and the cell size. The cell size is increased until
    the cells fit into the available room.
    """
    x0 = y0 = z0 = math.inf
    x1 = y1 = z1 = -math.inf
    for i in range(box.shape[0]):
        if extent(box, i) <= limit:
            x = 0.5 * (box[i, 0] + box[i, 3])
            y = 0.5 * (box[i, 1] + box[i, 4])
            z = 0.5 * (box[i, 2] + box[i, 5])
            x0, y0, z0 = min(x0, x), min(y0, y), min(z0, z)
            x1, y1, z1 = max(x1, x), max(y1, y), max(z1, z)
    # a little larger than the largest box, so that rounding cannot separate neighbours
    cell *= 1.0 + 1e-9
    while True:
        wide, long, high = (x1 - x0) / cell + 3.0, (y1 - y0) / cell + 3.0, (z1 - z0) / cell + 3.0
        if wide * long * high <= room:
            return int(wide), int(long), int(high), x0, y0, z0, cell
        cell *= 1.25
