"""
Newton steps for an island's contact problem, solved along the trees of joints.

The same equations as in `velocity_newton`, in the bodies' spatial velocities instead of the
whitened coordinates: a contact with the surroundings adds Eᵀ K E to the touched
body's spatial inertia, and Eᵀ k to its force, where E has the contact's rows for that body. The
articulated-body elimination (Featherstone 2008, section 7.3) then solves

    (M + Jᵀ K J) dv = Jᵀ k

without the matrix, in linear time: a whitened row has an entry for every joint between its body
and the root, so the matrix is dense for a rope. Sliding makes K, and so the articulated
inertias, asymmetric. Joint law elements add K to the joint's own inertia.

Contacts between two bodies in the trees are coupled: their impulse changes are unknowns,

    (1 + K G) dλ = k - K J dv₀,    G = J (M + Jᵀ K J)⁻¹ Jᵀ

with dv₀ and the inverse for the other contacts alone. The matrix has as many rows as they have.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.banded import solve_banded
from sim_bridge.engine.contact.budget import sweep_work
from sim_bridge.engine.contact.velocity_newton import (
    eliminate_impulses,
    linearize,
    store_linearization,
)
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import (
    COMPLIANCE_ROW,
    ELEMENTS,
    OF_CONTACT,
    OF_ROW,
    OF_TREES,
    Row,
    TREE_BODIES,
    TREE_WORK,
)
from sim_bridge.engine.data.inertia import (
    EFFECTIVE,
    INVERSE,
    MASS,
    MOMENT,
    RIGID_SIZE,
    XX,
    XY,
    XZ,
    YY,
    YZ,
    ZZ,
)
from sim_bridge.engine.data.loops import RANK
from sim_bridge.engine.dynamics.articulated import carrier, has_axis, is_immobile
from sim_bridge.engine.dynamics.whitening import is_free
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import cross, load3, load_v, sub

_DEEP = 60_000  # an island with a cheaper Newton step for velocities is not laid out
# multiplications: per body in a factorization, per body in a solution, per contact
_OF_BODY, _OF_SOLUTION, _OF_CONTACT = 170, 36, 300
_PASSES = 2  # the passes over the contacts in a Newton step cost as much as so many sweeps
_LEAST_PIVOT = 1e-3  # as in `velocity_newton`: relative to the pivot without contacts
RIGID, ON_AXIS, FLOATING = range(3)  # values in Direct.joint_of
ON_GROUND, ON_JOINT = -1, -2  # values in Direct.side: no moving body; a joint law element
_EFFORT = 6  # column behind a spatial force: joint effort; behind a velocity: joint velocity


@subroutine
def lay_out_trees(table, island, work):
    """
    List the bodies in an island's trees, for all Newton steps with these rows.

    work: multiplications in a Newton step by other means. Direct.size[TREE_WORK] becomes the
    multiplications along the trees, -1 if this is not possible or costs as much.
    """
    direct, islands = world.direct(table), world.islands(table)
    direct.size[TREE_WORK] = -1
    if work < _DEEP or has_ties(table):
        return
    mark_trees(table, island)
    count = list_bodies(table)
    direct.size[TREE_BODIES] = count
    coupled, contacts = 0, islands.first[island + 1] - islands.first[island]
    for place in range(islands.first[island], islands.first[island + 1]):
        coupled += set_sides(table, islands.order[place])
    if coupled > direct.matrix.shape[0]:
        return
    own = _OF_BODY * count + _OF_CONTACT * contacts
    between = coupled * (_OF_SOLUTION * count + 12 * coupled + coupled * coupled)
    if own + between < work:
        direct.size[TREE_WORK] = own + between


@kernel
def work_along_trees(islands, rows, direct, island, work):
    """
    Return the multiplications in a Newton step with its passes over the contacts.

    work: without trees, returned if the island's bodies are not listed.
    """
    if direct.size[TREE_WORK] < 0:
        return work
    return direct.size[TREE_WORK] + _PASSES * sweep_work(islands, rows, island)


@kernel
def has_ties(table):
    """Return whether other constraints tie joints or bodies, or there is no state."""
    rows, elements = world.rows(table), world.law_rows(table)
    return (
        world.state(table).v.shape[0] == 0
        or rows.mimic.shape[0] > 0
        or world.options(table).loops != 0
        and world.loop_work(table).counts[RANK] > 0
        or elements.size[ELEMENTS] > elements.size[OF_TREES]
    )


@kernel
def mark_trees(table, island):
    """Set Direct.in_island at the island's trees, at their first bodies."""
    model, geometry, contacts = world.model(table), world.geometry(table), world.contacts(table)
    islands, elements, direct = world.islands(table), world.law_rows(table), world.direct(table)
    direct.in_island[:] = 0
    direct.body_of[:] = -1
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        element = contact - contacts.size[COUNT]
        if element >= 0:
            direct.body_of[elements.owner[element]] = 0
            continue
        for side in range(2):
            body = geometry.body[contacts.geometry[contact, side]]
            if body >= 0:
                direct.in_island[model.root[body]] = 1
    if elements.size[ELEMENTS] > 0:
        for body in range(model.kind.shape[0]):
            if has_axis(model.kind[body]) and direct.body_of[model.v_index[body]] >= 0:
                direct.in_island[model.root[body]] = 1


@kernel
def list_bodies(table):
    """List the marked trees' moving bodies, roots first; return their number."""
    model, ws, direct = world.model(table), world.workspace(table), world.direct(table)
    count = 0
    for body in range(model.kind.shape[0]):
        kind = ws.kind[body]
        direct.item_of[body] = ON_GROUND
        if direct.in_island[model.root[body]] == 0 or is_immobile(kind):
            continue
        above = carrier(model.parent, ws.kind, body)
        direct.item_of[body] = count
        direct.above[count] = direct.item_of[above] if above >= 0 else -1
        direct.tree_of[count] = model.root[body]
        for k in range(RIGID_SIZE):
            direct.rigid[count, k] = ws.rigid[body, k]
        direct.joint_of[count] = RIGID
        direct.own_pivot[count] = 0.0
        if is_free(kind):
            direct.joint_of[count] = FLOATING
            for k in range(6):
                direct.axis[count, k] = ws.articulated[body, k * (k + 3) // 2]
        elif has_axis(kind) and ws.joint_factor[body, INVERSE] != 0.0:
            direct.joint_of[count] = ON_AXIS
            direct.body_of[model.v_index[body]] = count
            total = 0.0
            for k in range(6):
                direct.axis[count, k] = ws.axis[body, k]
                total += ws.axis[body, k] * ws.joint_factor[body, k]
            # the joint's own inertia: armature and implicit terms
            direct.own_pivot[count] = ws.joint_factor[body, EFFECTIVE]
            direct.own_inertia[count] = ws.joint_factor[body, EFFECTIVE] - total
        count += 1
    return count


@kernel
def set_sides(table, contact):
    """Find a contact's bodies in the list, and its arms; return its rows if it is coupled."""
    model, ws, direct = world.model(table), world.workspace(table), world.direct(table)
    geometry, contacts = world.geometry(table), world.contacts(table)
    element = contact - contacts.size[COUNT]
    if element >= 0:
        direct.side[contact, 0] = direct.body_of[world.law_rows(table).owner[element]]
        direct.side[contact, 1] = ON_JOINT
        sign = world.law_rows(table).sign[element]
        # an element with two bounds has no direction
        direct.arm[contact, 0] = sign if sign != 0.0 else 1.0
        return 0
    point = load3(contacts.point, contact, 0)
    for side in range(2):
        body = geometry.body[contacts.geometry[contact, side]]
        direct.side[contact, side] = direct.item_of[body] if body >= 0 else ON_GROUND
        if body >= 0:
            arm = sub(point, load3(ws.pose, model.root[body], ORIGIN))
            for k in range(3):
                direct.arm[contact, 3 * side + k] = arm[k]
    is_coupled = direct.side[contact, 0] >= 0 and direct.side[contact, 1] >= 0
    return world.laws(table).rows[contact] if is_coupled else 0


@subroutine
def solve_along_trees(laws, rows, solution, direct, size):
    """
    Solve the linearized laws for the listed unknowns; return False for a singular matrix.

    Writes the impulse changes into direct.right. size: unknowns in direct.unknown.
    """
    for item in range(direct.size[TREE_BODIES]):
        begin_body(direct, item)
    coupled, at = 0, 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], end_of_contact(direct, at, size)
        linearize(laws, rows, solution, direct, at, end)
        if not eliminate_impulses(end - at, direct.local):
            return False
        store_linearization(direct, contact, end - at)
        if is_between(direct, contact):
            coupled += end - at
        else:
            add_to_trees(laws, direct, contact, at, end)
        at = end
    if not factor_trees(direct):
        return False
    solve_trees(direct, -1, -1, direct.tree_force, direct.tree_twist)
    if coupled > 0 and not add_coupled(laws, direct, size, coupled):
        return False
    at = 0
    while at < size:
        end = end_of_contact(direct, at, size)
        find_changes_along_trees(laws, direct, at, end, at, direct.right)
        at = end
    return True


@kernel
def end_of_contact(direct, at, size):
    """Return the index behind a contact's last unknown; `at`: its first one."""
    end = at + 1
    while end < size and direct.unknown[end, OF_CONTACT] == direct.unknown[at, OF_CONTACT]:
        end += 1
    return end


@kernel
def is_between(direct, contact):
    """Return whether a contact connects two moving bodies."""
    return direct.side[contact, 0] >= 0 and direct.side[contact, 1] >= 0


@kernel
def begin_body(direct, item):
    """Start a body's 6 x 6 inertia with its rigid inertia, and its force with 0."""
    a, i = direct.inertia[item], direct.rigid[item]
    m = i[MASS]
    hx, hy, hz = load_v(i, MOMENT)
    a[:] = 0.0
    a[0], a[1], a[2], a[4], a[5] = i[XX], i[XY], i[XZ], -hz, hy
    a[6], a[7], a[8], a[9], a[11] = i[XY], i[YY], i[YZ], hz, -hx
    a[12], a[13], a[14], a[15], a[16] = i[XZ], i[YZ], i[ZZ], -hy, hx
    a[19], a[20], a[21] = hz, -hy, m
    a[24], a[26], a[28] = -hz, hx, m
    a[30], a[31], a[35] = hy, -hx, m
    direct.tree_force[item, :] = 0.0
    direct.joint_inertia[item] = direct.own_inertia[item]


@kernel
def set_row(laws, direct, contact, side, row, place):
    """Write a contact row's spatial direction at one body into Direct.wrench[place]."""
    first = 3 * (row % 3)
    d = load3(laws.frame, contact, first)
    wrench = direct.wrench[place]
    if row >= Row.SPIN:
        for k in range(3):
            wrench[k], wrench[3 + k] = d[k], 0.0
    else:
        n = cross(load3(direct.arm, contact, 3 * side), d)
        for k in range(3):
            wrench[k], wrench[3 + k] = n[k], d[k]


@kernel
def add_to_trees(laws, direct, contact, at, end):
    """Add Eᵀ K E to the touched body's inertia, and Eᵀ k to its force; K and k to a joint's."""
    side = 0 if direct.side[contact, 0] >= 0 else 1
    item, width = direct.side[contact, side], end - at
    if item < 0:
        return
    own, a, wrench = direct.linearized[contact], direct.inertia[item], direct.wrench
    if direct.side[contact, 1] == ON_JOINT:
        direct.joint_inertia[item] += own[0]
        direct.tree_force[item, _EFFORT] += direct.arm[contact, 0] * own[1]
        return
    # the signs of a second side cancel in Eᵀ K E
    sign = 1.0 - 2.0 * side
    for i in range(width):
        set_row(laws, direct, contact, side, direct.unknown[at + i, OF_ROW], i)
    for i in range(width):
        for k in range(6):
            direct.tree_force[item, k] += sign * own[COMPLIANCE_ROW * i + width] * wrench[i, k]
        for k in range(6):
            total = 0.0
            for j in range(width):
                total += own[COMPLIANCE_ROW * i + j] * wrench[j, k]
            for line in range(6):
                a[6 * line + k] += wrench[i, line] * total


@subroutine
def factor_trees(direct):
    """Eliminate all joints, leaves first; return False if a pivot is too small."""
    for item in range(direct.size[TREE_BODIES] - 1, -1, -1):
        a, above, joint = direct.inertia[item], direct.above[item], direct.joint_of[item]
        if joint == FLOATING:
            if not factor_floating(direct.axis[item], a):
                return False
            continue
        u, v, s = direct.column[item], direct.line[item], direct.axis[item]
        d = 0.0
        if joint == ON_AXIS:
            d = direct.joint_inertia[item]
            for k in range(6):
                right, left = 0.0, 0.0
                for j in range(6):
                    right += a[6 * k + j] * s[j]
                    left += a[6 * j + k] * s[j]
                u[k], v[k] = right, left
                d += s[k] * right
            if not abs(d) > _LEAST_PIVOT * direct.own_pivot[item]:
                return False
            d = 1.0 / d
        direct.pivot[item] = d
        if above < 0:
            continue
        p = direct.inertia[above]
        if joint == RIGID:
            for k in range(36):
                p[k] += a[k]
            continue
        for k in range(6):
            scaled = d * u[k]
            for j in range(6):
                p[6 * k + j] += a[6 * k + j] - scaled * v[j]
    return True


@kernel
def factor_floating(own, a_inout):
    """Factor a floating body's inertia as L U; own: its pivots without contacts."""
    for k in range(6):
        pivot = a_inout[7 * k]
        if not abs(pivot) > _LEAST_PIVOT * own[k]:
            return False
        for i in range(k + 1, 6):
            share = a_inout[6 * i + k] / pivot
            a_inout[6 * i + k] = share
            for j in range(k + 1, 6):
                a_inout[6 * i + j] -= share * a_inout[6 * k + j]
    return True


@subroutine
def solve_trees(direct, tree, other, force_inout, twist_out):
    """
    Solve for the spatial velocities caused by forces on bodies and by joint efforts.

    tree, other: the only trees with forces, -1 for all. force_inout: overwritten.
    """
    count = direct.size[TREE_BODIES]
    for item in range(count - 1, -1, -1):
        if tree >= 0 and direct.tree_of[item] != tree and direct.tree_of[item] != other:
            continue
        above, f = direct.above[item], force_inout[item]
        if direct.joint_of[item] == ON_AXIS:
            s, u = direct.axis[item], direct.column[item]
            w = f[_EFFORT]
            for k in range(6):
                w += s[k] * f[k]
            w *= direct.pivot[item]
            f[_EFFORT] = w
            if above >= 0:
                for k in range(6):
                    force_inout[above, k] += f[k] - w * u[k]
        elif above >= 0:
            for k in range(6):
                force_inout[above, k] += f[k]
    for item in range(count):
        if tree >= 0 and direct.tree_of[item] != tree and direct.tree_of[item] != other:
            continue
        above, x, joint = direct.above[item], twist_out[item], direct.joint_of[item]
        if joint == FLOATING:
            solve_floating(direct.inertia[item], force_inout[item], x)
            continue
        if above >= 0:
            for k in range(6):
                x[k] = twist_out[above, k]
        else:
            for k in range(6):
                x[k] = 0.0
        if joint == ON_AXIS:
            v, s = direct.line[item], direct.axis[item]
            slip = 0.0
            for k in range(6):
                slip += v[k] * x[k]
            w = force_inout[item, _EFFORT] - direct.pivot[item] * slip
            for k in range(6):
                x[k] += w * s[k]
            x[_EFFORT] = w


@kernel
def solve_floating(a, force, x_out):
    """Solve for a floating body's spatial velocity by its factors."""
    for i in range(6):
        total = force[i]
        for j in range(i):
            total -= a[6 * i + j] * x_out[j]
        x_out[i] = total
    for i in range(5, -1, -1):
        total = x_out[i]
        for j in range(i + 1, 6):
            total -= a[6 * i + j] * x_out[j]
        x_out[i] = total / a[7 * i]


@kernel
def velocity_along(laws, direct, contact, row, twist):
    """Return a contact row's velocity, from the bodies' spatial velocities."""
    total = 0.0
    if direct.side[contact, 1] == ON_JOINT:
        return direct.arm[contact, 0] * twist[direct.side[contact, 0], _EFFORT]
    for side in range(2):
        item = direct.side[contact, side]
        if item >= 0:
            set_row(laws, direct, contact, side, row, 0)
            part = 0.0
            for k in range(6):
                part += direct.wrench[0, k] * twist[item, k]
            total += (1.0 - 2.0 * side) * part
    return total


@kernel
def find_changes_along_trees(laws, direct, at, end, first, change_out):
    """
    Find k - K J dv for one contact, dv from tree_twist.

    change_out: row i of the contact is in element first + i.
    """
    contact, width, local = direct.unknown[at, OF_CONTACT], end - at, direct.local
    kept = direct.linearized[contact]
    for i in range(width):
        local[i, 0] = velocity_along(
            laws, direct, contact, direct.unknown[at + i, OF_ROW], direct.tree_twist
        )
    for i in range(width):
        total = kept[COMPLIANCE_ROW * i + width]
        for j in range(width):
            total -= kept[COMPLIANCE_ROW * i + j] * local[j, 0]
        change_out[first + i] = total


@kernel
def push_along(laws, direct, contact, row, impulse, force_inout):
    """Add a contact row's impulse to the forces on both bodies."""
    for side in range(2):
        set_row(laws, direct, contact, side, row, 0)
        item, signed = direct.side[contact, side], (1.0 - 2.0 * side) * impulse
        for k in range(6):
            force_inout[item, k] += signed * direct.wrench[0, k]


@subroutine
def add_coupled(laws, direct, size, coupled):
    """
    Add the effect that contacts between moving bodies have on the spatial velocities.

    coupled: their row count. Returns False for a singular matrix.
    """
    force, answer, matrix = direct.probe_force, direct.probe_twist, direct.matrix
    count = direct.size[TREE_BODIES]
    force[:count] = 0.0
    column, at = 0, 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], end_of_contact(direct, at, size)
        if is_between(direct, contact):
            tree = direct.tree_of[direct.side[contact, 0]]
            other = direct.tree_of[direct.side[contact, 1]]
            for i in range(at, end):
                push_along(laws, direct, contact, direct.unknown[i, OF_ROW], 1.0, force)
                solve_trees(direct, tree, other, force, answer)
                for item in range(count):
                    if direct.tree_of[item] == tree or direct.tree_of[item] == other:
                        force[item, :] = 0.0
                fill_coupled_column(laws, direct, size, column, tree, other)
                column += 1
            first = column - (end - at)
            find_changes_along_trees(laws, direct, at, end, first, direct.coupled)
        at = end
    if not solve_banded(coupled, coupled, matrix, direct.coupled):
        return False
    column, at = 0, 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], end_of_contact(direct, at, size)
        if is_between(direct, contact):
            for i in range(at, end):
                push_along(
                    laws, direct, contact, direct.unknown[i, OF_ROW], direct.coupled[column], force
                )
                column += 1
        at = end
    solve_trees(direct, -1, -1, force, answer)
    for item in range(count):
        for k in range(_EFFORT + 1):
            direct.tree_twist[item, k] += answer[item, k]
    return True


@kernel
def fill_coupled_column(laws, direct, size, column, tree, other):
    """Write one column in 1 + K G; direct.probe_twist: velocities after a unit impulse."""
    matrix, local = direct.matrix, direct.local
    line, at = 0, 0
    while at < size:
        contact, end = direct.unknown[at, OF_CONTACT], end_of_contact(direct, at, size)
        if is_between(direct, contact):
            width, kept = end - at, direct.linearized[contact]
            for i in range(width):
                local[i, 0] = velocity_in(
                    laws, direct, contact, direct.unknown[at + i, OF_ROW], tree, other
                )
            for i in range(width):
                total = 1.0 if line + i == column else 0.0
                for j in range(width):
                    total += kept[COMPLIANCE_ROW * i + j] * local[j, 0]
                matrix[line + i, column] = total
            line += width
        at = end


@kernel
def velocity_in(laws, direct, contact, row, tree, other):
    """Return a row's velocity caused by impulses on two trees."""
    total = 0.0
    for side in range(2):
        item = direct.side[contact, side]
        if direct.tree_of[item] == tree or direct.tree_of[item] == other:
            set_row(laws, direct, contact, side, row, 0)
            part = 0.0
            for k in range(6):
                part += direct.wrench[0, k] * direct.probe_twist[item, k]
            total += (1.0 - 2.0 * side) * part
    return total
