"""
Joint laws as contacts: friction, motors and stops solved together with the contacts.

Pivoting over the joint law pieces (`dynamics.active_set`) ends soon while the problem matrix is
positive definite. Contacts with friction change the matrix: pivots around them can cycle, and each
pivot costs a factorization and a contact problem. So after a few pivots all joints with one axis
are set free, and each law element becomes a contact (`law_elements`). The axes of constraint
joints are treated alike (`axis_law_rows`).

The contact solvers solve them all together. If legs can share a load in many ways, so can their
motors. The solution satisfies all bounds, but pivots would not confirm it, because they let the
contacts alone choose the shares. So velocities and efforts are accepted as solved.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.axis_law_rows import (
    axis_velocity,
    build_axis_rows,
    close_axes,
    open_axes,
)
from sim_bridge.engine.contact.gauss_seidel import push
from sim_bridge.engine.contact.islands import find_leader, sort_contacts
from sim_bridge.engine.contact.law_elements import (
    end_row,
    is_left,
    open_elements,
    pushed_by,
    read_elements,
    restore_law,
)
from sim_bridge.engine.contact.residual import island_residual, note_residual
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import (
    ELEMENTS,
    ISLANDS,
    ISLANDS_BEFORE,
    NATURAL,
    OF_TREES,
    Row,
)
from sim_bridge.engine.data.joint_laws import locked_velocity, share_effort
from sim_bridge.engine.data.model import PRISMATIC, REVOLUTE
from sim_bridge.engine.data.state import LOCKED, LOOSE
from sim_bridge.engine.dynamics.whitening import add_effort


@subroutine
def open_laws(table):
    """Set joints and axes free, and list their law elements, island by island."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    elements, islands = world.law_rows(table), world.islands(table)
    laws, solution = world.laws(table), world.solution(table)
    first, h = world.contacts(table).size[COUNT], world.options(table).time_step
    elements.size[ELEMENTS], elements.size[ISLANDS_BEFORE] = 0, solution.effort[ISLANDS]
    for body in range(model.kind.shape[0]):
        joint = model.v_index[body]
        if not has_law(ws.kind[body]) or is_left(ws.law[joint], ws.mode[joint]):
            continue
        shares = share_effort(
            ws.law[joint], ws.mode[joint], state.v[joint], ws.v_next[joint], ws.constraint[joint]
        )
        elements.kept_given[joint] = ws.given[joint]
        ws.given[joint] += open_elements(
            model,
            laws,
            islands,
            solution,
            elements,
            joint,
            body,
            state.v[joint],
            ws.law[joint],
            shares,
            first,
            h,
        )
        ws.mode[joint] = LOOSE
    elements.size[OF_TREES] = elements.size[ELEMENTS]
    open_axes(table)
    sort_into_islands(first + elements.size[ELEMENTS], solution.effort[ISLANDS], islands)
    return 0


@kernel
def has_law(joint):
    """Return whether a joint kind has laws."""
    return joint == REVOLUTE or joint == PRISMATIC


@kernel
def sort_into_islands(count, number, islands):
    """
    List the first `count` contacts by island.

    number: number of islands.
    """
    islands.first[: number + 1] = 0
    for contact in range(count):
        if islands.number[contact] >= 0:
            islands.first[islands.number[contact]] += 1
    sort_contacts(count, number, islands)


@subroutine
def build_law_rows(table, bonds):
    """Build the element rows, after the contact rows."""
    model, ws, laws = world.model(table), world.workspace(table), world.laws(table)
    rows, elements, dense = world.rows(table), world.law_rows(table), world.direct(table).dense
    first = world.contacts(table).size[COUNT]
    element, end = 0, rows.first[first]
    for body in range(model.kind.shape[0]):
        joint = model.v_index[body]
        if not has_law(ws.kind[body]) or not is_next(elements, element, joint):
            continue
        add_effort(model, ws, rows.whitening, body, 1.0, dense, rows.column)
        while is_next(elements, element, joint):
            contact = first + element
            rows.first[contact] = end
            end = fill_element(dense, elements.sign[element], end, rows)
            end = end_row(laws, rows, bonds, contact, end)
            element += 1
        dense[:] = 0.0
    end = build_axis_rows(table, bonds, end)
    rows.first[first + elements.size[ELEMENTS]] = end
    return 0


@kernel
def is_next(elements, element, joint):
    """Return whether an element belongs to a tree joint."""
    return element < elements.size[OF_TREES] and elements.owner[element] == joint


@kernel
def fill_element(dense, sign, end, rows):
    """Write an element's whitened row; return the next free entry."""
    row = Row.NORMAL if sign != 0.0 else Row.TANGENT
    scaling = sign if sign != 0.0 else 1.0
    for at in range(dense.shape[0]):
        if dense[at] != 0.0:
            for k in range(3):
                rows.linear[k, end] = rows.angular[k, end] = 0.0
            rows.linear[row, end] = scaling * dense[at]
            rows.support[end] = at
            rows.place[at] = end
            end += 1
    return end


@subroutine
def set_law_biases(table):
    """Set the elements' velocities without impulses, from ws.v_next and response.twist."""
    ws, elements = world.workspace(table), world.law_rows(table)
    first, bias = world.contacts(table).size[COUNT], world.solution(table).bias
    for element in range(elements.size[ELEMENTS]):
        if element < elements.size[OF_TREES]:
            own_v = ws.v_next[elements.owner[element]]
        else:
            own_v = axis_velocity(table, elements.owner[element])
        own_v -= elements.target[element]
        if elements.sign[element] != 0.0:
            bias[first + element, Row.NORMAL] = elements.sign[element] * own_v
        else:
            bias[first + element, Row.NORMAL] = -1.0
            bias[first + element, Row.TANGENT] = own_v


@kernel
def push_elements(laws, rows, solution, first, elements):
    """Add all element impulses to the whitened velocity."""
    for element in range(elements.size[ELEMENTS]):
        impulse = solution.impulse[first + element]
        push(
            laws,
            rows,
            first + element,
            (impulse[Row.NORMAL], impulse[Row.TANGENT], 0.0),
            (0.0, 0.0, 0.0),
            solution.z,
        )


@kernel
def gather_efforts(solution, first, h, elements, effort_out):
    """Add the mean efforts of all tree joint elements to effort_out; middles are not included."""
    for element in range(elements.size[OF_TREES]):
        effort_out[elements.owner[element]] += pushed_by(solution, first, elements, element) / h


@subroutine
def close_laws(table):
    """
    Restore the laws, and write the piece found for each joint and axis into the modes.

    Sets locked joint velocities exactly, and writes their efforts into ws.constraint.
    """
    model, ws = world.model(table), world.workspace(table)
    solution, islands = world.solution(table), world.islands(table)
    elements, laws = world.law_rows(table), world.laws(table)
    options, state, rows = world.options(table), world.state(table), world.rows(table)
    first, h = world.contacts(table).size[COUNT], options.time_step
    for island in range(solution.effort[ISLANDS]):
        natural, _ = island_residual(laws, islands, rows, solution, island)
        note_residual(options, state, islands, rows, solution, True, island, natural, 0.0)
        # the contacts alone have another residual
        islands.residual[island, NATURAL] = math.nan
    element = 0
    for body in range(model.kind.shape[0]):
        joint = model.v_index[body]
        if not has_law(ws.kind[body]) or is_left(ws.law[joint], ws.mode[joint]):
            continue
        restore_law(elements.kept_law[joint], ws.law[joint])
        ws.given[joint] = elements.kept_given[joint]
        mode, effort = LOOSE, 0.0
        if is_next(elements, element, joint):
            mode, effort, _, element = read_elements(
                laws, solution, elements, first, element, ws.law[joint], h
            )
        ws.mode[joint] = mode
        ws.constraint[joint] = effort if mode >= LOCKED else 0.0
        if mode >= LOCKED:
            ws.v_next[joint] = locked_velocity(ws.law[joint], mode)
    close_axes(table)
    for body in range(model.kind.shape[0]):
        # including trees with a fixed base, whose roots are immobile
        if model.root[body] == body:
            leader = find_leader(islands.leader, body)
            if islands.of_tree[leader] >= elements.size[ISLANDS_BEFORE]:
                islands.of_tree[leader] = -1
    solution.effort[ISLANDS] = elements.size[ISLANDS_BEFORE]
    elements.size[ELEMENTS] = elements.size[OF_TREES] = 0
    sort_into_islands(first, solution.effort[ISLANDS], islands)
    return 0
