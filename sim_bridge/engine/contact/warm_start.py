"""
Contact warm start: impulses from the last step, and an estimate for new pairs.

When a face lands, its corners can share the load in many ways. Gauss-Seidel would give all of it
to the first corner, and a block in a gripper would turn about that corner: a valid solution, but
an unexpected one. So a pair's points pushing for the first time are solved in parallel (Jacobi).
All take the same share of their change, chosen to dissipate the most energy.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import linear_velocities, push_linear, update_friction
from sim_bridge.engine.contact.prepare import directions
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Block, Row
from sim_bridge.engine.data.state import ANGULAR_IMPULSE, LINEAR_IMPULSE
from sim_bridge.engine.math.vec3 import add, dot, load3, load_v, scale, store_v, sub

SHIFTS = 5e-7
"""Least velocity change by an impulse that shifts loads noticeably [m/s]."""

_PASSES = 4


@subroutine
def reuse_impulses(state, contacts, laws, solution):
    """
    Initialize impulses from the last step, matched by feature; both lists have the same order.

    Writes them into solution.last, world axes, and as row impulses into solution.impulse.
    """
    old, old_count, count, matched = 0, state.contact_size[COUNT], contacts.size[COUNT], 0
    for contact in range(count):
        a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
        feature = contacts.feature[contact]
        while old < old_count and is_before(state, old, a, b, feature):
            old += 1
        for k in range(6):
            solution.last[contact, k] = 0.0
        if (
            old < old_count
            and state.contact_geometry[old, 0] == a
            and state.contact_geometry[old, 1] == b
            and state.contact_feature[old] == feature
        ):
            matched += 1
            for k in range(6):
                solution.last[contact, k] = state.contact_impulse[old, k]
    if matched < count and matched < old_count:
        inherit_impulses(state, contacts, solution)
    for contact in range(count):
        set_row_impulses(laws, solution, contact)


@subroutine
def inherit_impulses(state, contacts, solution):
    """
    Add each vanished contact's impulse to the nearest new contact of its geometries, if any.

    Parallel faces and edges have several features at one point; rounding decides which of them is
    reported. Without its last impulse, a pile at rest would be solved from the start in each step.
    """
    first, count = 0, contacts.size[COUNT]
    for old in range(state.contact_size[COUNT]):
        a, b = state.contact_geometry[old, 0], state.contact_geometry[old, 1]
        while first < count and is_pair_before(contacts, first, a, b):
            first += 1
        nearest, least, is_kept = -1, 0.0, False
        at = first
        while at < count and contacts.geometry[at, 0] == a and contacts.geometry[at, 1] == b:
            is_kept = is_kept or contacts.feature[at] == state.contact_feature[old]
            away = sub(load3(contacts.point, at, 0), load3(state.contact_point, old, 0))
            distance = dot(away, away)
            if (nearest < 0 or distance < least) and is_new_feature(state, contacts, old, at):
                nearest, least = at, distance
            at += 1
        if nearest >= 0 and not is_kept:
            for k in range(6):
                solution.last[nearest, k] += state.contact_impulse[old, k]


@kernel
def is_pair_before(contacts, contact, a, b):
    """Return whether a contact orders before all contacts of geometries a and b."""
    first = contacts.geometry[contact, 0]
    return first < a or first == a and contacts.geometry[contact, 1] < b


@kernel
def is_new_feature(state, contacts, old, contact):
    """Return whether no contact of the geometries of `old` had its feature in the last step."""
    a, b, feature = contacts.geometry[contact, 0], contacts.geometry[contact, 1], contacts.feature
    at = old
    while (
        at > 0
        and state.contact_geometry[at - 1, 0] == a
        and state.contact_geometry[at - 1, 1] == b
    ):
        at -= 1
    while (
        at < state.contact_size[COUNT]
        and state.contact_geometry[at, 0] == a
        and state.contact_geometry[at, 1] == b
    ):
        if state.contact_feature[at] == feature[contact]:
            return False
        at += 1
    return True


@kernel
def set_row_impulses(laws, solution, contact):
    """Convert a contact's impulse in solution.last to its rows."""
    rows, impulse, last = laws.rows[contact], solution.impulse[contact], solution.last[contact]
    for k in range(6):
        impulse[k] = 0.0
    n, t, s = directions(laws, contact)
    stretch = dot(s, s)
    s = scale(1.0 / stretch if stretch > 0.0 else 0.0, s)
    push, twist = load_v(last, LINEAR_IMPULSE), load_v(last, ANGULAR_IMPULSE)
    if rows > 0:
        impulse[Row.NORMAL] = max(dot(n, push) + laws.pull[contact], 0.0)
    if rows > 1:
        impulse[Row.TANGENT], impulse[Row.TANGENT2] = dot(t, push), dot(s, push)
    if rows > 3:
        store_v(impulse, Row.SPIN, (dot(n, twist), dot(t, twist), dot(s, twist)))


@kernel
def is_before(state, old, a, b, feature):
    """Return whether the last step's contact `old` orders before (a, b, feature)."""
    if state.contact_geometry[old, 0] != a:
        return state.contact_geometry[old, 0] < a
    if state.contact_geometry[old, 1] != b:
        return state.contact_geometry[old, 1] < b
    return state.contact_feature[old] < feature


@subroutine
def estimate_new_pairs(contacts, laws, rows, solution):
    """
    Estimate impulses for pairs without any pushing contact; return whether loads shift noticeably.

    Sides that touch without a load are estimated in each step, and change by rounding only.
    """
    first, moved, geometry, count = 0, False, contacts.geometry, contacts.size[COUNT]
    while first < count:
        end, is_new = first, True
        while (
            end < count
            and geometry[end, 0] == geometry[first, 0]
            and geometry[end, 1] == geometry[first, 1]
        ):
            is_new = is_new and laws.rows[end] > 0 and solution.impulse[end, Row.NORMAL] == 0.0
            end += 1
        if is_new and end > first + 1:
            for _ in range(_PASSES):
                if not move_together(first, end, laws, rows, solution):
                    break
            moved = moved or greatest_push(first, end, rows, solution) > SHIFTS
        first = end
    return moved


@kernel
def greatest_push(first, end, rows, solution):
    """Return the greatest velocity given by a contact's normal impulse to itself [m/s]."""
    greatest = 0.0
    for contact in range(first, end):
        own = rows.block[contact, Block.NN] * solution.impulse[contact, Row.NORMAL]
        greatest = max(greatest, own)
    return greatest


@kernel
def move_together(first, end, laws, rows, solution):
    """Move a pair's impulses towards single contacts' solutions; return whether any changed."""
    before, after = 0.0, 0.0
    for contact in range(first, end):
        before += propose(contact, laws, rows, solution)
    if not before < 0.0:
        return False
    for contact in range(first, end):
        push_proposal(contact, 1.0, rows, solution)
    for contact in range(first, end):
        after += power(contact, laws, rows, solution)
    # along this line the energy is a parabola; cones are convex, so any share up to 1 is safe
    share = before / (before - after) if after > 0.0 else 1.0
    for contact in range(first, end):
        push_proposal(contact, share - 1.0, rows, solution)
        impulse, change = solution.impulse[contact], load3(solution.proposal, contact, 0)
        store_v(impulse, Row.NORMAL, add(load_v(impulse, Row.NORMAL), scale(share, change)))
    return True


@kernel
def propose(contact, laws, rows, solution):
    """Write the change that solves a contact alone into solution.proposal; return its power."""
    impulse, change = solution.impulse[contact], solution.proposal[contact]
    old = load_v(impulse, Row.NORMAL)
    change[:] = 0.0
    if rows.block[contact, Block.NN] == 0.0:
        return 0.0
    if laws.rows[contact] == 1:
        u = linear_velocities(laws, rows, solution, contact)[0]
        change[0] = max(old[0] - u / rows.block[contact, Block.NN], 0.0) - old[0]
        return u * change[0]
    update_friction(laws, rows, solution, contact)
    store_v(change, Row.NORMAL, sub(load_v(impulse, Row.NORMAL), old))
    store_v(impulse, Row.NORMAL, old)
    push_proposal(contact, -1.0, rows, solution)
    return power(contact, laws, rows, solution)


@kernel
def push_proposal(contact, share, rows, solution):
    """Add a share of the proposed change to the whitened velocity."""
    change = load3(solution.proposal, contact, 0)
    push_linear(rows, contact, scale(share, change), solution.z)


@kernel
def power(contact, laws, rows, solution):
    """Return the product of the proposed change and the current row velocities [J]."""
    change = load3(solution.proposal, contact, 0)
    u = linear_velocities(laws, rows, solution, contact)
    return u[0] * change[0] if laws.rows[contact] == 1 else dot(u, change)
