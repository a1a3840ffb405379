"""
A fair guess of what new contacts push.

Where a face lands, its corners can share the load in many ways. Gauss-Seidel would give all of it
to the corner that comes first, and a block in a gripper would turn about that corner: also a
solution, but none that anyone expects. So the points of a pair that push for the first time are
solved side by side, and all go the same share of the way, that which loses most energy.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import push_rows, update_friction, velocities
from sim_bridge.engine.data.contact_problem import NN

_PASSES = 4


@subroutine
def begin_fairly(count, geometry, laws, rows, solution):
    """Guess the impulses of all pairs none of whose contacts pushes yet; tell whether any does."""
    first, moved = 0, False
    while first < count:
        end, is_new = first, True
        while (end < count and geometry[end, 0] == geometry[first, 0]
               and geometry[end, 1] == geometry[first, 1]):
            is_new = is_new and laws.rows[end] > 0 and solution.impulse[end, 0] == 0.0
            end += 1
        if is_new and end > first + 1:
            for _ in range(_PASSES):
                if not move_together(first, end, laws, rows, solution):
                    break
                moved = True
        first = end
    return moved


@kernel
def move_together(first, end, laws, rows, solution):
    """Move a pair's impulses towards what each alone would be; tell whether there is any move."""
    before, after = 0.0, 0.0
    for contact in range(first, end):
        before += propose(contact, laws, rows, solution)
    if not before < 0.0:
        return False
    for contact in range(first, end):
        push(contact, 1.0, rows, solution)
    for contact in range(first, end):
        after += power(contact, laws, rows, solution)
    # along this line the energy is a parabola; cones are convex, so that no more than all is safe
    share = before / (before - after) if after > 0.0 else 1.0
    for contact in range(first, end):
        push(contact, share - 1.0, rows, solution)
        for k in range(3):
            solution.impulse[contact, k] += share * solution.last[contact, k]
    return True


@kernel
def propose(contact, laws, rows, solution):
    """Find what a contact would change alone, into solution.last; give the power of that."""
    impulse, change = solution.impulse[contact], solution.last[contact]
    start, stop = rows.first[contact], rows.first[contact + 1]
    old = impulse[0], impulse[1], impulse[2]
    for k in range(3):
        change[k] = 0.0
    if rows.block[contact, NN] == 0.0:
        return 0.0
    if laws.rows[contact] == 1:
        u = velocities(rows.support, rows.linear, start, stop, solution.bias[contact],
                       laws.softness[contact], impulse, 0, solution.z)[0]
        change[0] = max(old[0] - u / rows.block[contact, NN], 0.0) - old[0]
        return u * change[0]
    update_friction(rows.support, rows.linear, start, stop, rows.block[contact],
                    rows.inverse[contact], solution.bias[contact], laws.softness[contact],
                    laws.model[contact], laws.radius[contact], impulse, solution.z)
    for k in range(3):
        change[k] = impulse[k] - old[k]
    impulse[0], impulse[1], impulse[2] = old
    push(contact, -1.0, rows, solution)
    return power(contact, laws, rows, solution)


@kernel
def push(contact, share, rows, solution):
    """Add a share of the proposed change to the whitened velocity."""
    change = solution.last[contact]
    push_rows(rows.support, rows.linear, rows.first[contact], rows.first[contact + 1],
              share * change[0], share * change[1], share * change[2], solution.z)


@kernel
def power(contact, laws, rows, solution):
    """Return the product of the proposed change with the rows' present velocities [J]."""
    change = solution.last[contact]
    u_n, u_1, u_2 = velocities(
        rows.support, rows.linear, rows.first[contact], rows.first[contact + 1],
        solution.bias[contact], laws.softness[contact], solution.impulse[contact], 0, solution.z)
    if laws.rows[contact] == 1:
        return u_n * change[0]
    return u_n * change[0] + u_1 * change[1] + u_2 * change[2]
