"""
Axis laws of constraint joints, written as contacts: see `law_rows`.

The row of an axis applies its wrench to both bodies, with the components along the loops' rigid
rows removed. The elements of the axis push the bodies with that wrench. Pivots keep the axes
rejected by `law_elements.is_left`, and axes whose friction grows with the joint load: this problem
has no unknowns for the loop forces.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.law_elements import (
    end_row,
    is_left,
    open_elements,
    pushed_by,
    read_elements,
    restore_law,
)
from sim_bridge.engine.contact.mimic_rows import respect_bonds
from sim_bridge.engine.contact.rows import add_side
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import ELEMENTS, OF_TREES, Row
from sim_bridge.engine.data.joint_laws import locked_velocity, share_effort
from sim_bridge.engine.data.loops import JOINT_ROWS, POWERLESS, RANK, RIGID_ROWS
from sim_bridge.engine.data.model import BEARING
from sim_bridge.engine.data.state import LOCKED, LOOSE
from sim_bridge.engine.dynamics.articulated import is_immobile
from sim_bridge.engine.dynamics.twists import row_velocity
from sim_bridge.engine.math.spatial import add_spatial, FORCE, ORIGIN, TORQUE, WRENCH_SIZE
from sim_bridge.engine.math.vec3 import cross, load3, scale, sub, ZERO


@subroutine
def open_axes(table):
    """Set axes free, and list their law elements after those of tree joints."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    elements, work = world.law_rows(table), world.loop_work(table)
    first, h = world.contacts(table).size[COUNT], world.options(table).time_step
    for axis in range(loops.axis_joint.shape[0]):
        body, owner = moved_body(ws.kind, loops, axis), model.q_of_v.shape[0] + axis
        if body < 0 or is_left_to_pivots(loops, work, axis):
            continue
        shares = share_effort(
            work.law[axis], work.mode[axis], work.v[axis], work.v_next[axis], work.held[axis]
        )
        elements.kept_given[owner] = work.given[axis]
        work.given[axis] += open_elements(
            model,
            world.laws(table),
            world.islands(table),
            world.solution(table),
            elements,
            owner,
            body,
            work.v[axis],
            work.law[axis],
            shares,
            first,
            h,
        )
        work.mode[axis] = LOOSE
    return 0


@kernel
def moved_body(kind, loops, axis):
    """Return a body moved by an axis, -1 for none."""
    for side in range(2):
        body = loops.body[loops.axis_joint[axis], side]
        if body >= 0 and not is_immobile(kind[body]):
            return body
    return -1


@kernel
def is_left_to_pivots(loops, work, axis):
    """Return whether pivots keep the law of an axis, instead of contact rows."""
    return loops.passive[axis, BEARING] > 0.0 or is_left(work.law[axis], work.mode[axis])


@subroutine
def build_axis_rows(table, bonds, end):
    """Build the rows for all axis elements; return the next free entry."""
    model, laws, rows = world.model(table), world.laws(table), world.rows(table)
    elements, first = world.law_rows(table), world.contacts(table).size[COUNT]
    rigid = count_rigid(world.loops(table), world.loop_work(table))
    for element in range(elements.size[OF_TREES], elements.size[ELEMENTS]):
        contact, axis = first + element, elements.owner[element] - model.q_of_v.shape[0]
        sign = elements.sign[element]
        row = Row.NORMAL if sign != 0.0 else Row.TANGENT
        rows.first[contact] = end
        end = add_axis(table, axis, row, sign if sign != 0.0 else 1.0, end)
        before = square_of_row(rows, row, contact, end)
        end = respect_bonds(bonds[:rigid], rows, rows.first[contact], end)
        if square_of_row(rows, row, contact, end) <= POWERLESS * POWERLESS * before:
            for entry in range(rows.first[contact], end):
                rows.linear[row, entry] = 0.0
        end = end_row(laws, rows, bonds[rigid:], contact, end)
    return end


@kernel
def count_rigid(loops, work):
    """Count the basis vectors from rigid rows; these come first in the basis."""
    count = 0
    for vector in range(work.counts[RANK]):
        if work.chosen[vector] < loops.size[RIGID_ROWS]:
            count += 1
    return count


@kernel
def add_axis(table, axis, row, scaling, end):
    """Add the whitened row of an axis, multiplied by `scaling`; return the next free entry."""
    model, ws, rows = world.model(table), world.workspace(table), world.rows(table)
    loops, arm = world.loops(table), world.loop_work(table).arm
    for side in range(2):
        body, at = loops.body[loops.axis_joint[axis], side], WRENCH_SIZE * side
        if body >= 0:
            n = scale(scaling, load3(arm, loops.size[JOINT_ROWS] + axis, at + TORQUE))
            f = scale(scaling, load3(arm, loops.size[JOINT_ROWS] + axis, at + FORCE))
            torques, forces = (n, ZERO, ZERO), (f, ZERO, ZERO)
            if row != Row.NORMAL:
                torques, forces = (ZERO, n, ZERO), (ZERO, f, ZERO)
            end = add_side(
                model, ws, body, torques, forces, end, False, rows, rows.linear, rows.angular
            )
    return end


@kernel
def square_of_row(rows, row, contact, end):
    """Return the squared norm of the last contact's row; its entries end at `end`."""
    total = 0.0
    for entry in range(rows.first[contact], end):
        total += rows.linear[row, entry] * rows.linear[row, entry]
    return total


@kernel
def axis_velocity(table, owner):
    """Return an axis velocity computed from response.twist."""
    loops, axis = world.loops(table), owner - world.model(table).q_of_v.shape[0]
    return row_velocity(
        loops,
        loops.axis_joint[axis],
        loops.size[JOINT_ROWS] + axis,
        world.loop_work(table).arm,
        world.response(table).twist,
    )


@subroutine
def gather_axis_wrenches(table):
    """Add the mean wrenches of all axis elements to response.wrench; middles are not included."""
    model, ws, loops = world.model(table), world.workspace(table), world.loops(table)
    elements, first = world.law_rows(table), world.contacts(table).size[COUNT]
    wrench, arm = world.response(table).wrench, world.loop_work(table).arm
    for element in range(elements.size[OF_TREES], elements.size[ELEMENTS]):
        axis = elements.owner[element] - model.q_of_v.shape[0]
        effort = (
            pushed_by(world.solution(table), first, elements, element)
            / world.options(table).time_step
        )
        for side in range(2):
            body, at = loops.body[loops.axis_joint[axis], side], WRENCH_SIZE * side
            if body >= 0:
                row = loops.size[JOINT_ROWS] + axis
                n = scale(effort, load3(arm, row, at + TORQUE))
                f = scale(effort, load3(arm, row, at + FORCE))
                p_OB = sub(load3(ws.pose, body, ORIGIN), load3(ws.pose, model.root[body], ORIGIN))
                add_spatial(wrench, body, sub(n, cross(p_OB, f)), f)
    return 0


@subroutine
def close_axes(table):
    """
    Restore the axes' laws, and write the piece found for each axis into work.mode.

    Adds the elements' impulses, measured from their middles, to work.impulse.
    """
    model, loops, work = world.model(table), world.loops(table), world.loop_work(table)
    elements, h = world.law_rows(table), world.options(table).time_step
    first, element = world.contacts(table).size[COUNT], elements.size[OF_TREES]
    while element < elements.size[ELEMENTS]:
        owner = elements.owner[element]
        axis = owner - model.q_of_v.shape[0]
        restore_law(elements.kept_law[owner], work.law[axis])
        mode, _, pushed, element = read_elements(
            world.laws(table), world.solution(table), elements, first, element, work.law[axis], h
        )
        work.given[axis], work.mode[axis] = elements.kept_given[owner], mode
        work.impulse[loops.size[JOINT_ROWS] + axis] += h * pushed
        if mode >= LOCKED:
            work.v_next[axis] = locked_velocity(work.law[axis], mode)
    return 0
