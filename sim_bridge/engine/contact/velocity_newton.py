"""
Newton steps for an island's contact problem, solved for velocities instead of impulses.

Each contact's linearized laws P (W dz + S dλ) + Q dλ = r relate its impulse change to the change
of the whitened velocity: dλ = k - K W dz, with K = (P S + Q)⁻¹ P and k = (P S + Q)⁻¹ r; S is the
row softness set by `proximal`. Since dz = Wᵀ dλ,

    (1 + Wᵀ K W) dz = Wᵀ k.

The system size is the bodies' number of coordinates, however many contacts there are, and it has
entries only where contacts connect trees. Trees are ordered by breadth-first search, backwards
(reverse Cuthill-McKee), coordinates within a tree from the leaves to the root. The profile of a
row reaches from its first entry to the diagonal, and L and U stay within it (George and Liu 1981).
Without sliding K is symmetric and the matrix positive definite.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.budget import OF_ENTRY_PAIR
from sim_bridge.engine.contact.cone import has_constant_bound, slide_on_disk
from sim_bridge.engine.contact.gauss_seidel import angular_velocities, linear_velocities
from sim_bridge.engine.contact.rows import diagonal_of, value_of
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import (
    Bound,
    COMPLIANCE_ROW,
    IN_ORDER,
    OF_CONTACT,
    OF_ROW,
    ORDER_WORK,
    Row,
)

_LEAST_PIVOT = 1e-3  # the pivot is at least 1 in every row not coupled by a sliding contact


@subroutine
def order_coordinates(islands, rows, direct, island):
    """
    Order an island's coordinates and lay out the profile, for all Newton steps with these rows.

    ORDER_WORK becomes the multiplications in one step, -1 if there is no room.
    """
    count = list_groups(islands, rows, direct, island)
    size = place_groups(rows, direct, count)
    for at in range(size):
        direct.first[at] = at
    work = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries, least = rows.first[contact + 1] - rows.first[contact], size
        work += OF_ENTRY_PAIR * entries * entries
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            least = min(least, direct.place[rows.support[entry]])
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = direct.place[rows.support[entry]]
            direct.first[at] = min(direct.first[at], least)
    end = 0
    for at in range(size):
        width = at - direct.first[at]
        # offset of entry (at, 0) in direct.lower and of entry (0, at) in direct.upper
        direct.start[at] = end - direct.first[at]
        end += width
        work += width * (width + 1)
    direct.size[IN_ORDER] = size
    direct.size[ORDER_WORK] = work if end <= direct.lower.shape[0] else -1


@kernel
def list_groups(islands, rows, direct, island):
    """
    List the trees pushed by an island's contacts, breadth first; return their number.

    A tree is identified by its first coordinate, see Direct.group. Trees go to direct.queue.
    """
    # contacts of each tree, as linked lists over their entries
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            direct.head[direct.group[at]] = -1
            direct.place[at] = direct.place[direct.group[at]] = -1
    for place in range(islands.first[island + 1] - 1, islands.first[island] - 1, -1):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            group = direct.group[rows.support[entry]]
            head = direct.head[group]
            if head < 0 or direct.of_entry[head] != contact:
                direct.next[entry], direct.of_entry[entry] = head, contact
                direct.head[group] = entry
    count = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        if rows.first[contact] == rows.first[contact + 1]:
            continue
        group = direct.group[rows.support[rows.first[contact]]]
        if direct.place[group] < 0:
            # the tree found last is far from the others, and a better start
            end = search_breadth_first(rows, direct, group, count)
            far = direct.queue[end - 1]
            for k in range(count, end):
                direct.place[direct.queue[k]] = -1
            count = search_breadth_first(rows, direct, far, count)
    return count


@kernel
def search_breadth_first(rows, direct, group, count):
    """
    Append a tree, and all trees connected to it by contacts, to direct.queue.

    count: number of trees in the queue. Returns the new number.
    """
    end = count + 1
    direct.queue[count], direct.place[group] = group, 0
    while count < end:
        entry = direct.head[direct.queue[count]]
        while entry >= 0:
            contact = direct.of_entry[entry]
            for other in range(rows.first[contact], rows.first[contact + 1]):
                near = direct.group[rows.support[other]]
                if direct.place[near] < 0:
                    direct.place[near] = 0
                    direct.queue[end] = near
                    end += 1
            entry = direct.next[entry]
        count += 1
    return end


@kernel
def place_groups(rows, direct, count):
    """Assign places to the listed trees' coordinates, last tree first; return their number."""
    size = 0
    for k in range(count - 1, -1, -1):
        group = direct.queue[k]
        for at in range(direct.last[group], group - 1, -1):
            if direct.group[at] == group:
                direct.place[at], direct.coordinate[size] = size, at
                size += 1
    return size


@subroutine
def solve_for_velocities(laws, rows, solution, direct, size):
    """
    Solve the linearized laws for the listed unknowns; return False for a singular matrix.

    Writes the impulse changes into direct.right. size: number of unknowns in direct.unknown.
    """
    count = direct.size[IN_ORDER]
    lower, upper, dense = direct.lower, direct.upper, direct.search
    for at in range(count):
        direct.diagonal[at], dense[at] = 1.0, 0.0
        for entry in range(direct.start[at] + direct.first[at], direct.start[at] + at):
            lower[entry] = upper[entry] = 0.0
    is_symmetric = True
    at = 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], at + 1
        while end < size and direct.unknown[end, OF_CONTACT] == contact:
            end += 1
        sticks = linearize(laws, rows, solution, direct, at, end)
        is_symmetric = is_symmetric and sticks
        if not eliminate_impulses(end - at, direct.local):
            return False
        store_linearization(direct, contact, end - at)
        if end - at == 3 and direct.unknown[at, OF_ROW] == Row.NORMAL:
            add_linear_rows(rows, direct, contact, sticks)
        else:
            add_any_rows(rows, direct, contact, at, end)
        at = end
    is_regular = factor_symmetric(count, direct) if is_symmetric else factor_general(count, direct)
    if not is_regular:
        return False
    substitute(count, is_symmetric, direct, dense)
    at = 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], at + 1
        while end < size and direct.unknown[end, OF_CONTACT] == contact:
            end += 1
        find_changes(rows, direct, contact, at, end)
        at = end
    return True


@kernel
def linearize(laws, rows, solution, direct, at, end):
    """
    Write a contact's linearized laws into direct.local; return whether K is symmetric.

    The unknowns from `at` to `end` are its rows. Columns: P S + Q, then P, then r.
    """
    unknown, local = direct.unknown, direct.local
    contact, width = unknown[at, OF_CONTACT], end - at
    impulse, block = solution.impulse[contact], rows.block[contact]
    softness, radius = laws.softness[contact], laws.radius[contact]
    u = linear_velocities(laws, rows, solution, contact)
    turn = (0.0, 0.0, 0.0)
    if laws.rows[contact] > 3:
        turn = angular_velocities(laws, rows, solution, contact)
    for i in range(width):
        row = unknown[at + i, OF_ROW]
        for j in range(2 * width + 1):
            local[i, j] = 0.0
        local[i, i] = softness[row]
        local[i, width + i] = 1.0
        local[i, 2 * width] = -component(u, turn, row)
    has_normal = unknown[at, OF_ROW] == Row.NORMAL
    if not has_normal:
        return True
    pressing = max(impulse[Row.NORMAL], 0.0)
    is_symmetric, i = True, 1
    while i < width:
        row = unknown[at + i, OF_ROW]
        is_cone = laws.model[contact] == material.CONE or row >= Row.SPIN
        is_disk = (
            is_cone
            and (row == Row.TANGENT or row == Row.ROLL)
            and i + 1 < width
            and unknown[at + i + 1, OF_ROW] == row + 1
        )
        if is_disk:
            bound = radius[Bound.TANGENT] if row == Row.TANGENT else radius[Bound.ROLL]
            is_symmetric = (
                slide_in_disk(
                    local,
                    i,
                    width,
                    max(block[diagonal_of(row)], block[diagonal_of(row + 1)]),
                    bound,
                    pressing,
                    (impulse[row], impulse[row + 1]),
                    (component(u, turn, row), component(u, turn, row + 1)),
                    (softness[row], softness[row + 1]),
                )
                and is_symmetric
            )
            i += 2
            continue
        is_fixed = row < Row.SPIN and has_constant_bound(laws.model[contact], row - Row.TANGENT)
        share = (
            radius[row - Row.TANGENT]
            if row < Row.SPIN
            else (radius[Bound.SPIN] if row == Row.SPIN else radius[Bound.ROLL])
        )
        is_symmetric = (
            slide_in_interval(
                local,
                i,
                width,
                block[diagonal_of(row)],
                share,
                pressing,
                is_fixed,
                impulse[row],
                component(u, turn, row),
            )
            and is_symmetric
        )
        i += 1
    return is_symmetric


@kernel
def component(u, turn, row):
    """Return a row's velocity."""
    if row < Row.SPIN:
        return u[0] if row == Row.NORMAL else u[1] if row == Row.TANGENT else u[2]
    return turn[0] if row == Row.SPIN else turn[1] if row == Row.ROLL else turn[2]


@kernel
def slide_in_interval(
    local_inout, i, width, scaling, radius, pressing, is_fixed, impulse, velocity
):
    """
    Write row i of a contact, with its own bound, if it slides; return whether K stays symmetric.

    Arguments as in `newton.set_interval_equation`.
    """
    bound = radius if is_fixed else radius * pressing
    wanted = impulse - velocity / scaling
    if abs(wanted) <= bound:
        return True
    side = math.copysign(1.0, wanted)
    local_inout[i, i] = scaling
    local_inout[i, width + i] = 0.0
    local_inout[i, 2 * width] = scaling * (side * bound - impulse)
    if is_fixed:
        return True
    local_inout[i, 0] = -scaling * side * radius
    return False


@kernel
def slide_in_disk(local_inout, i, width, stiff, radius, pressing, impulse, velocity, softness):
    """
    Write rows i and i + 1 of a contact, with a disk bound, if they slide; return if they stick.

    Arguments as in `newton.set_disk_equations`.
    """
    t, s = impulse
    bound = radius * pressing
    slides, d1, d2, p11, p12, p22 = slide_on_disk(stiff, bound, impulse, velocity)
    if not slides:
        return True
    local_inout[i, i] = p11 * softness[0] + stiff * (1.0 - p11)
    local_inout[i, i + 1] = p12 * softness[1] - stiff * p12
    local_inout[i + 1, i] = p12 * softness[0] - stiff * p12
    local_inout[i + 1, i + 1] = p22 * softness[1] + stiff * (1.0 - p22)
    local_inout[i, width + i], local_inout[i, width + i + 1] = p11, p12
    local_inout[i + 1, width + i], local_inout[i + 1, width + i + 1] = p12, p22
    local_inout[i, 0], local_inout[i + 1, 0] = -stiff * radius * d1, -stiff * radius * d2
    local_inout[i, 2 * width] = stiff * (bound * d1 - t)
    local_inout[i + 1, 2 * width] = stiff * (bound * d2 - s)
    return False


@kernel
def eliminate_impulses(width, local_inout):
    """Multiply P and r by (P S + Q)⁻¹, by Gaussian elimination; return False if singular."""
    a, columns = local_inout, 2 * width + 1
    for k in range(width):
        pivot = k
        for i in range(k + 1, width):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if not abs(a[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for j in range(k, columns):
                other = a[pivot, j]
                a[pivot, j] = a[k, j]
                a[k, j] = other
        inverse = 1.0 / a[k, k]
        for j in range(k + 1, columns):
            a[k, j] *= inverse
        for i in range(width):
            factor = a[i, k]
            if i != k and factor != 0.0:
                for j in range(k + 1, columns):
                    a[i, j] -= factor * a[k, j]
    return True


@kernel
def store_linearization(direct, contact, width):
    """Store a contact's K and k."""
    for i in range(width):
        for j in range(width + 1):
            direct.linearized[contact, COMPLIANCE_ROW * i + j] = direct.local[i, width + j]


@kernel
def add_linear_rows(rows, direct, contact, is_symmetric):
    """Add a contact with exactly the three linear rows, like `add_any_rows`."""
    # items 7 i + j of `own` are K, items 7 i + 3 are k: see COMPLIANCE_ROW
    own, linear, right = direct.linearized[contact], rows.linear, direct.search
    first, end = rows.first[contact], rows.first[contact + 1]
    for column in range(first, end):
        c = direct.place[rows.support[column]]
        n, t, s = linear[0, column], linear[1, column], linear[2, column]
        right[c] += own[3] * n + own[10] * t + own[17] * s
        # one column of K W
        x = own[0] * n + own[1] * t + own[2] * s
        y = own[7] * n + own[8] * t + own[9] * s
        z = own[14] * n + own[15] * t + own[16] * s
        direct.diagonal[c] += linear[0, column] * x + linear[1, column] * y + linear[2, column] * z
        for line in range(column + 1 if is_symmetric else first, end):
            r = direct.place[rows.support[line]]
            total = linear[0, line] * x + linear[1, line] * y + linear[2, line] * z
            if is_symmetric:
                entry = direct.start[max(r, c)] + min(r, c)
                direct.lower[entry] += total
                direct.upper[entry] += total
            elif r > c:
                direct.lower[direct.start[r] + c] += total
            elif r < c:
                direct.upper[direct.start[c] + r] += total


@kernel
def add_any_rows(rows, direct, contact, at, end):
    """Add a contact's Wᵀ K W to the matrix, and Wᵀ k to the right-hand side in direct.search."""
    local, width, kept, right = direct.local, end - at, direct.linearized, direct.search
    for column in range(rows.first[contact], rows.first[contact + 1]):
        c = direct.place[rows.support[column]]
        for i in range(width):
            total = 0.0
            for j in range(width):
                total += kept[contact, COMPLIANCE_ROW * i + j] * value_of(
                    rows, column, direct.unknown[at + j, OF_ROW]
                )
            local[i, 0] = total
        total = 0.0
        for i in range(width):
            own = value_of(rows, column, direct.unknown[at + i, OF_ROW])
            total += own * kept[contact, COMPLIANCE_ROW * i + width]
        right[c] += total
        for line in range(rows.first[contact], rows.first[contact + 1]):
            r = direct.place[rows.support[line]]
            total = 0.0
            for i in range(width):
                total += local[i, 0] * value_of(rows, line, direct.unknown[at + i, OF_ROW])
            if r > c:
                direct.lower[direct.start[r] + c] += total
            elif r < c:
                direct.upper[direct.start[c] + r] += total
            else:
                direct.diagonal[r] += total


@kernel
def dot_range(a, first_a, b, first_b, count):
    """Return the inner product of two array ranges, by four partial sums."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    k = 0
    while k < whole:
        s0 += a[first_a + k] * b[first_b + k]
        s1 += a[first_a + k + 1] * b[first_b + k + 1]
        s2 += a[first_a + k + 2] * b[first_b + k + 2]
        s3 += a[first_a + k + 3] * b[first_b + k + 3]
        k += 4
    while k < count:
        s0 += a[first_a + k] * b[first_b + k]
        k += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def factor_symmetric(size, direct):
    """Factor the matrix as L D Lᵀ within its profile; False if it is not positive definite."""
    lower, d, first, start = direct.lower, direct.diagonal, direct.first, direct.start
    for i in range(size):
        own = start[i]
        # compute the L D row first; its products with L rows give the matrix
        for j in range(first[i], i):
            k = max(first[i], first[j])
            lower[own + j] -= dot_range(lower, own + k, lower, start[j] + k, j - k)
        total = d[i]
        for j in range(first[i], i):
            scaled = lower[own + j] / d[j]
            total -= scaled * lower[own + j]
            lower[own + j] = scaled
        if not total > _LEAST_PIVOT:
            return False
        d[i] = total
    return True


@kernel
def factor_general(size, direct):
    """Factor the matrix as L U within its profile, without pivoting; False if this fails."""
    lower, upper, d = direct.lower, direct.upper, direct.diagonal
    first, start = direct.first, direct.start
    for i in range(size):
        own = start[i]
        for j in range(first[i], i):
            k = max(first[i], first[j])
            upper[own + j] -= dot_range(upper, own + k, lower, start[j] + k, j - k)
            lower[own + j] = (
                lower[own + j] - dot_range(lower, own + k, upper, start[j] + k, j - k)
            ) / d[j]
        total = d[i] - dot_range(lower, own + first[i], upper, own + first[i], i - first[i])
        if not abs(total) > _LEAST_PIVOT:
            return False
        d[i] = total
    return True


@kernel
def substitute(size, is_symmetric, direct, x_inout):
    """Solve by forward and backward substitution."""
    lower, upper, d = direct.lower, direct.upper, direct.diagonal
    first, start = direct.first, direct.start
    for i in range(size):
        for j in range(first[i], i):
            x_inout[i] -= lower[start[i] + j] * x_inout[j]
    if is_symmetric:
        for i in range(size):
            x_inout[i] /= d[i]
        for i in range(size - 1, -1, -1):
            for j in range(first[i], i):
                x_inout[j] -= lower[start[i] + j] * x_inout[i]
        return
    for i in range(size - 1, -1, -1):
        x_inout[i] /= d[i]
        for j in range(first[i], i):
            x_inout[j] -= upper[start[i] + j] * x_inout[i]


@kernel
def find_changes(rows, direct, contact, at, end):
    """Write k - K W dz into direct.right, for one contact."""
    kept, local, width, dz = direct.linearized, direct.local, end - at, direct.search
    for i in range(width):
        local[i, 0] = 0.0
    for entry in range(rows.first[contact], rows.first[contact + 1]):
        change = dz[direct.place[rows.support[entry]]]
        for i in range(width):
            local[i, 0] += change * value_of(rows, entry, direct.unknown[at + i, OF_ROW])
    for i in range(width):
        total = kept[contact, COMPLIANCE_ROW * i + width]
        for j in range(width):
            total -= kept[contact, COMPLIANCE_ROW * i + j] * local[j, 0]
        direct.right[at + i] = total
