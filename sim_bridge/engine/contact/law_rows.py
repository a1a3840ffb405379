"""
The laws of joints as contacts: friction, motors and stops solved in one problem with what touches.

Pivoting over the pieces of the joints' laws (`dynamics.active_set`) ends soon where the matrix of
the problem is positive definite. Contacts with friction make it another: pivots around them can
cycle, and each costs a factorization and a contact problem. So after a few of them all joints of
one axis are set free, and each element of their laws becomes a contact of its elements kind:

    rigid stop     a normal, whose impulse has one bound
    elastic stop   likewise, and yields
    friction       friction of a constant bound
    hard motor     likewise, about the middle of its bounds, which acts as a given effort
    servo          likewise, and yields

The solvers of contacts solve all of them together. Where legs share a load in many ways, so do
their motors: what is found fits all bounds, though pivots, which let the contacts alone choose,
would not confirm it. So velocities and efforts are taken as they are found.
"""


import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import push
from sim_bridge.engine.contact.islands import find_leader, sort_contacts
from sim_bridge.engine.contact.mimic_rows import respect_bonds
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.rows import fill_block, invert_block
from sim_bridge.engine.data import surfaces as surface
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import (
    Bound,
    ELEMENTS,
    ISLANDS,
    ISLANDS_BEFORE,
    NATURAL,
    NO_LAW,
    OF_ELASTIC_STOP,
    OF_FRICTION,
    OF_LOWER_STOP,
    OF_MOTOR,
    OF_UPPER_STOP,
    Row,
)
from sim_bridge.engine.data.joint_laws import (
    BACK_COULOMB,
    clear_law,
    COULOMB,
    HARD,
    HIGH,
    INERTIA,
    LAW_SIZE,
    LEAST,
    locked_velocity,
    LOW,
    MOST,
    MOTOR,
    rubs,
    SERVO,
    SERVO_BASE,
    SERVO_EFFORT,
    SERVO_SLOPE,
    share_effort,
    STOP,
    STOP_EFFORT,
    STOP_SLOPE,
    TARGET,
)
from sim_bridge.engine.data.model import PRISMATIC, REVOLUTE
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_TARGET,
    AT_UPPER,
    FRICTION_SIDE,
    HELD,
    LOCKED,
    LOOSE,
    MOTOR_SIDE,
    STOP_SIDE,
    STUCK,
)
from sim_bridge.engine.dynamics.articulated import is_immobile
from sim_bridge.engine.dynamics.whitening import add_effort

_AT_BOUND = 1.0 - 1e-12  # share of a bound from which on an impulse is at it
_INFINITY = float('inf')


@subroutine
def open_laws(table):
    """Set the joints free, and list the elements of their laws as contacts, island by island."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    laws, elements = world.laws(table), world.law_rows(table)
    islands, solution = world.islands(table), world.solution(table)
    count, h = world.contacts(table).size[COUNT], world.options(table).time_step
    elements.size[ELEMENTS], elements.size[ISLANDS_BEFORE] = 0, solution.effort[ISLANDS]
    elements.kept_given[:] = ws.given
    for body in range(model.kind.shape[0]):
        if ws.kind[body] != REVOLUTE and ws.kind[body] != PRISMATIC:
            continue
        joint = model.v_index[body]
        elements.kept_law[joint, :] = ws.law[joint]
        if is_left(ws.law[joint], ws.mode[joint]):
            continue
        before = elements.size[ELEMENTS]
        list_elements(state.v[joint], ws.law[joint], h, joint, elements)
        shares = share_effort(ws.law[joint], ws.mode[joint], state.v[joint], ws.v_next[joint],
                              ws.constraint[joint])
        for element in range(before, elements.size[ELEMENTS]):
            ws.given[joint] += elements.middle[element] / h
            set_element_law(laws, solution, elements, element, count + element,
                            elements.kept_law[joint], h)
            guess_impulse(laws, solution, elements, element, count + element, shares, h)
            islands.number[count + element] = island_of_tree(model, islands, solution, body)
        set_free(elements.kept_law[joint], ws.law[joint])
        ws.mode[joint] = LOOSE
    islands.spent[: solution.effort[ISLANDS]] = 0
    sort_into_islands(count + elements.size[ELEMENTS], solution.effort[ISLANDS], islands)
    return 0


@kernel
def is_left(law, mode):
    """Return whether a joint stays on its piece: it is held, or no bounded motor holds it."""
    if mode == HELD:
        return True
    unlimited_up, unlimited_down = law[MOST] == _INFINITY, law[LEAST] == -_INFINITY
    if law[MOTOR] == HARD:
        return unlimited_up and unlimited_down
    # a servo with one bound is left to pivots
    return law[MOTOR] == SERVO and unlimited_up != unlimited_down


@kernel
def is_free_servo(law):
    """Return whether a joint has a servo without bounds, which stays in the inertia."""
    return law[MOTOR] == SERVO and law[MOST] == _INFINITY


@kernel
def set_free(law, law_out):
    """Write the law of a joint without the elements that are contacts."""
    clear_law(law_out)
    law_out[INERTIA] = law[INERTIA]
    if is_free_servo(law):
        law_out[MOTOR], law_out[MOST], law_out[LEAST] = SERVO, _INFINITY, -_INFINITY
        for column in range(SERVO_BASE, SERVO_SLOPE + 1):
            law_out[column] = law[column]


@kernel
def list_elements(v, law, h, joint, elements):
    """List the elements of a joint's law; v: its velocity before the step."""
    if rubs(law):
        middle = 0.5 * h * (law[BACK_COULOMB] - law[COULOMB])
        add_element(OF_FRICTION, joint, 0.0, 0.0, middle, elements)
    if law[MOTOR] == HARD:
        if law[MOST] == _INFINITY:
            add_element(OF_MOTOR, joint, 1.0, law[TARGET], h * law[LEAST], elements)
        elif law[LEAST] == -_INFINITY:
            add_element(OF_MOTOR, joint, -1.0, law[TARGET], h * law[MOST], elements)
        else:
            middle = 0.5 * h * (law[MOST] + law[LEAST])
            add_element(OF_MOTOR, joint, 0.0, law[TARGET], middle, elements)
    elif law[MOTOR] == SERVO and not is_free_servo(law):
        middle = 0.5 * h * (law[MOST] + law[LEAST])
        if law[SERVO_SLOPE] > 0.0:
            # effort SERVO_EFFORT - SERVO_SLOPE (v⁺ - v), less the middle
            target = v + (law[SERVO_EFFORT] - middle / h) / law[SERVO_SLOPE]
            add_element(OF_MOTOR, joint, 0.0, target, middle, elements)
        else:
            steady = min(max(law[SERVO_EFFORT], law[LEAST]), law[MOST])
            add_element(OF_MOTOR, joint, 0.0, 0.0, h * steady, elements)
    if law[HIGH] < _INFINITY:
        add_element(OF_UPPER_STOP, joint, -1.0, law[HIGH], 0.0, elements)
    if law[LOW] > -_INFINITY:
        add_element(OF_LOWER_STOP, joint, 1.0, law[LOW], 0.0, elements)
    if law[STOP] != 0.0 and law[STOP_SLOPE] > 0.0:
        target = v + law[STOP_EFFORT] / law[STOP_SLOPE]
        add_element(OF_ELASTIC_STOP, joint, -law[STOP], target, 0.0, elements)


@kernel
def add_element(element, joint, sign, target, middle, elements):
    """Append an element."""
    at = elements.size[ELEMENTS]
    elements.element[at], elements.joint[at] = element, joint
    elements.sign[at], elements.target[at], elements.middle[at] = sign, target, middle
    elements.size[ELEMENTS] = at + 1


@kernel
def set_element_law(laws, solution, elements, element, contact, law, h):
    """
    Write an element as a contact.

    An impulse with one bound is that of a normal. One with two is friction of a constant bound, of
    a contact whose normal moves nothing and has an impulse of 1.
    """
    laws.law[contact], laws.model[contact] = NO_LAW, surface.CONSTANT
    laws.pull[contact] = laws.approach[contact] = laws.wanted[contact] = laws.gap[contact] = 0.0
    laws.softness[contact, :] = 0.0
    laws.radius[contact, :] = 0.0
    solution.impulse[contact, :] = 0.0
    solution.bias[contact, :] = 0.0
    kind = elements.element[element]
    if elements.sign[element] != 0.0:
        laws.rows[contact] = 1
        if kind == OF_ELASTIC_STOP:
            laws.softness[contact, Row.NORMAL] = 1.0 / (h * law[STOP_SLOPE])
        return
    laws.rows[contact] = 3
    solution.impulse[contact, Row.NORMAL] = 1.0
    laws.softness[contact, Row.NORMAL] = 1.0
    if kind == OF_FRICTION:
        laws.radius[contact, Bound.TANGENT] = 0.5 * h * (law[BACK_COULOMB] + law[COULOMB])
    elif law[MOTOR] == HARD or law[SERVO_SLOPE] > 0.0:
        laws.radius[contact, Bound.TANGENT] = 0.5 * h * (law[MOST] - law[LEAST])
        if law[MOTOR] == SERVO:
            laws.softness[contact, Row.TANGENT] = 1.0 / (h * law[SERVO_SLOPE])


@kernel
def guess_impulse(laws, solution, elements, element, contact, shares, h):
    """Start an element from what the last pivot gave it, within its bounds."""
    friction, motor, stop = shares
    effort = stop
    if elements.element[element] == OF_FRICTION:
        effort = friction
    elif elements.element[element] == OF_MOTOR:
        effort = motor
    impulse = h * effort - elements.middle[element]
    if elements.sign[element] != 0.0:
        solution.impulse[contact, Row.NORMAL] = max(elements.sign[element] * impulse, 0.0)
    else:
        bound = laws.radius[contact, Bound.TANGENT]
        solution.impulse[contact, Row.TANGENT] = min(max(impulse, -bound), bound)


@kernel
def island_of_tree(model, islands, solution, body):
    """Return the island of a body's tree; a new one where nothing touches the tree."""
    leader = find_leader(islands.leader, model.root[body])
    if islands.of_tree[leader] < 0:
        islands.of_tree[leader] = solution.effort[ISLANDS]
        solution.effort[ISLANDS] += 1
    return islands.of_tree[leader]


@kernel
def sort_into_islands(count, number, islands):
    """List the first `count` contacts by their islands, of which there are `number`."""
    islands.first[: number + 1] = 0
    for contact in range(count):
        if islands.number[contact] >= 0:
            islands.first[islands.number[contact]] += 1
    sort_contacts(count, number, islands)


@subroutine
def build_law_rows(model, ws, contacts, laws, bonds, rows, direct, elements):
    """Build the rows of the elements, behind those of the contacts."""
    dense = direct.dense
    first = contacts.size[COUNT]
    end = rows.first[first]
    for body in range(model.kind.shape[0]):
        joint = model.v_index[body]
        element = first_element(model, ws, body, elements)
        if element < 0:
            continue
        add_effort(model, ws, rows.whitening, body, 1.0, dense, rows.column)
        while element < elements.size[ELEMENTS] and elements.joint[element] == joint:
            contact = first + element
            rows.first[contact] = end
            end = fill_element(dense, elements.sign[element], end, rows)
            if bonds.shape[0] > 0:
                end = respect_bonds(bonds, rows, rows.first[contact], end)
            for entry in range(rows.first[contact], end):
                rows.place[rows.support[entry]] = -1
            fill_block(rows.first[contact], end, rows.linear, rows.angular, False,
                       laws.softness[contact], rows.block[contact])
            invert_block(rows.block[contact], rows.inverse[contact])
            element += 1
        dense[:] = 0.0
    rows.first[first + elements.size[ELEMENTS]] = end
    return 0


@kernel
def first_element(model, ws, body, elements):
    """Return the first element of a body's joint, -1 without one."""
    if ws.kind[body] != REVOLUTE and ws.kind[body] != PRISMATIC:
        return -1
    joint = model.v_index[body]
    for element in range(elements.size[ELEMENTS]):
        if elements.joint[element] == joint:
            return element
    return -1


@kernel
def fill_element(dense, sign, end, rows):
    """Write an element's whitened row; return the end of its entries."""
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


@kernel
def set_law_biases(v, first, elements, bias_out):
    """Set the elements' velocities without impulses; v: (nv,) of the joints."""
    for element in range(elements.size[ELEMENTS]):
        own_v = v[elements.joint[element]] - elements.target[element]
        if elements.sign[element] != 0.0:
            bias_out[first + element, Row.NORMAL] = elements.sign[element] * own_v
        else:
            bias_out[first + element, Row.NORMAL] = -1.0
            bias_out[first + element, Row.TANGENT] = own_v


@kernel
def push_elements(laws, rows, solution, first, elements):
    """Add the impulses of the elements to the whitened velocity."""
    for element in range(elements.size[ELEMENTS]):
        impulse = solution.impulse[first + element]
        push(laws, rows, first + element,
             (impulse[Row.NORMAL], impulse[Row.TANGENT], 0.0), (0.0, 0.0, 0.0), solution.z)


@kernel
def gather_efforts(solution, first, h, elements, effort_out):
    """Add the mean efforts of the elements over the step, beside their middles, to effort_out."""
    for element in range(elements.size[ELEMENTS]):
        effort_out[elements.joint[element]] += pushed_by(solution, first, elements, element) / h


@kernel
def pushed_by(solution, first, elements, element):
    """Return the impulse of an element on its joint, less its middle."""
    if elements.sign[element] != 0.0:
        return elements.sign[element] * solution.impulse[first + element, Row.NORMAL]
    return solution.impulse[first + element, Row.TANGENT]


@subroutine
def close_laws(table):
    """
    Restore the laws, and write into ws.mode on which piece of its law each joint was found.

    Sets the velocities of locked joints exactly, and writes their efforts into ws.constraint.
    """
    model, ws = world.model(table), world.workspace(table)
    solution, islands = world.solution(table), world.islands(table)
    elements, laws = world.law_rows(table), world.laws(table)
    first, h = world.contacts(table).size[COUNT], world.options(table).time_step
    for island in range(solution.effort[ISLANDS]):
        natural, _ = island_residual(laws, islands, world.rows(table), solution, island)
        solution.residual[NATURAL] = max(solution.residual[NATURAL], natural)
        # of the contacts alone it is another
        islands.residual[island, NATURAL] = math.nan
    for body in range(model.kind.shape[0]):
        if ws.kind[body] != REVOLUTE and ws.kind[body] != PRISMATIC:
            continue
        joint = model.v_index[body]
        law, kept = ws.law[joint], elements.kept_law[joint]
        if is_left(kept, ws.mode[joint]):
            continue
        for column in range(LAW_SIZE):
            is_new = (column == INERTIA or is_free_servo(kept)
                      and (column == SERVO_EFFORT or column == SERVO_SLOPE))
            if not is_new:
                law[column] = kept[column]
        ws.given[joint] = elements.kept_given[joint]
        element, effort, mode = first_element(model, ws, body, elements), 0.0, LOOSE
        while 0 <= element < elements.size[ELEMENTS] and elements.joint[element] == joint:
            push_of_element = pushed_by(solution, first, elements, element)
            effort += (elements.middle[element] + push_of_element) / h
            mode = with_element(mode, law, elements, element, solution.impulse[first + element],
                                laws.radius[first + element, Bound.TANGENT])
            element += 1
        ws.mode[joint] = mode
        ws.constraint[joint] = effort if mode >= LOCKED else 0.0
        if mode >= LOCKED:
            ws.v_next[joint] = locked_velocity(law, mode)
    for body in range(model.kind.shape[0]):
        if model.root[body] == body and not is_immobile(ws.kind[body]):
            leader = find_leader(islands.leader, body)
            if islands.of_tree[leader] >= elements.size[ISLANDS_BEFORE]:
                islands.of_tree[leader] = -1
    solution.effort[ISLANDS], elements.size[ELEMENTS] = elements.size[ISLANDS_BEFORE], 0
    sort_into_islands(first, solution.effort[ISLANDS], islands)
    return 0


@kernel
def with_element(mode, law, elements, element, impulse, radius):
    """
    Return a joint's mode with what an element says of it.

    Rigid stops come last in the order of elements, and hold whatever the others do.
    """
    kind = elements.element[element]
    if elements.sign[element] != 0.0:
        pushes = impulse[Row.NORMAL] > 0.0
        if kind == OF_UPPER_STOP:
            return AT_UPPER if pushes else mode
        if kind == OF_LOWER_STOP:
            return AT_LOWER if pushes else mode
        if kind == OF_ELASTIC_STOP:
            return mode + STOP_SIDE * int(law[STOP]) if pushes and mode < LOCKED else mode
        if pushes:
            return mode if mode >= LOCKED else AT_TARGET
        return mode + MOTOR_SIDE * int(elements.sign[element]) if mode < LOCKED else mode
    t = impulse[Row.TANGENT]
    side = 0
    if abs(t) >= _AT_BOUND * radius:
        # what pushes backwards is passed forwards
        side = -1 if t > 0.0 else 1
    if kind == OF_FRICTION:
        return STUCK if side == 0 else mode + FRICTION_SIDE * side
    if law[MOTOR] == HARD and side == 0:
        return mode if mode >= LOCKED else AT_TARGET
    return mode + MOTOR_SIDE * side if mode < LOCKED else mode
