"""
Law elements along joints and axes, written as contacts.

    rigid stop     a normal row, with an impulse bounded on one side
    elastic stop   the same, compliant
    friction       a friction row with a constant bound
    hard motor     the same, about the middle of its bounds; the middle acts as a given effort
    servo          the same as a hard motor, compliant

Each element has an *owner*: a tree joint, or an axis of a constraint joint. The kind of owner
determines the rows, see `law_rows` and `axis_law_rows`.
"""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.contact.islands import find_leader
from sim_bridge.engine.contact.mimic_rows import respect_bonds
from sim_bridge.engine.contact.rows import fill_block, invert_block
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data.contact_problem import (
    Bound,
    ELEMENTS,
    ISLANDS,
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
    DRIVE_DAMPING,
    DRIVE_STIFFNESS,
    HARD,
    HIGH,
    INERTIA,
    LAW_SIZE,
    LEAST,
    LOW,
    MOST,
    MOTOR,
    rubs,
    SERVO,
    SERVO_BASE,
    SERVO_EFFORT,
    SERVO_SLOPE,
    STOP,
    STOP_EFFORT,
    STOP_SLOPE,
    TARGET,
)
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

_AT_BOUND = 1.0 - 1e-12  # share of a bound above which an impulse is at the bound
_INFINITY = float('inf')


@kernel
def is_left(law, mode):
    """Return whether pivots keep an owner's law: its hold, friction or motor has no bound."""
    if mode == HELD or law[COULOMB] == _INFINITY or law[BACK_COULOMB] == _INFINITY:
        return True
    unlimited_up, unlimited_down = law[MOST] == _INFINITY, law[LEAST] == -_INFINITY
    if law[MOTOR] == HARD:
        return unlimited_up and unlimited_down
    # a servo bounded on one side is left to pivots as well
    return law[MOTOR] == SERVO and unlimited_up != unlimited_down


@kernel
def is_free_servo(law):
    """Return whether a joint has a servo without bounds; its gains stay in the joint's inertia."""
    return law[MOTOR] == SERVO and law[MOST] == _INFINITY


@kernel
def open_elements(
    model, laws, islands, solution, elements, owner, body, v, law_inout, shares, first, h
):
    """
    Set an owner free: list its law elements as contacts, and clear them from the law.

    body: a body moved by the owner. v: velocity before the step. shares: initial efforts of
    friction, motor and stop. first: number of touching contacts, before the elements. Returns the
    summed effort of the elements' middles.
    """
    elements.kept_law[owner, :] = law_inout
    law, before, middle = elements.kept_law[owner], elements.size[ELEMENTS], 0.0
    list_elements(v, law, h, owner, elements)
    for element in range(before, elements.size[ELEMENTS]):
        middle += elements.middle[element] / h
        set_element_law(laws, solution, elements, element, first + element, law, h)
        guess_impulse(laws, solution, elements, element, first + element, shares, h)
        islands.number[first + element] = island_of_tree(model, islands, solution, body)
    set_free(law, law_inout)
    return middle


@kernel
def set_free(law, law_out):
    """Write the law without the elements handled as contacts."""
    clear_law(law_out)
    law_out[INERTIA] = law[INERTIA]
    law_out[DRIVE_STIFFNESS] = law[DRIVE_STIFFNESS]
    law_out[DRIVE_DAMPING] = law[DRIVE_DAMPING]
    if is_free_servo(law):
        law_out[MOTOR], law_out[MOST], law_out[LEAST] = SERVO, _INFINITY, -_INFINITY
        for column in range(SERVO_BASE, SERVO_SLOPE + 1):
            law_out[column] = law[column]


@kernel
def list_elements(v, law, h, owner, elements):
    """List an owner's law elements; v: velocity before the step."""
    if rubs(law):
        middle = 0.5 * h * (law[BACK_COULOMB] - law[COULOMB])
        add_element(OF_FRICTION, owner, 0.0, 0.0, middle, elements)
    if law[MOTOR] == HARD:
        if law[MOST] == _INFINITY:
            add_element(OF_MOTOR, owner, 1.0, law[TARGET], h * law[LEAST], elements)
        elif law[LEAST] == -_INFINITY:
            add_element(OF_MOTOR, owner, -1.0, law[TARGET], h * law[MOST], elements)
        else:
            middle = 0.5 * h * (law[MOST] + law[LEAST])
            add_element(OF_MOTOR, owner, 0.0, law[TARGET], middle, elements)
    elif law[MOTOR] == SERVO and not is_free_servo(law):
        middle = 0.5 * h * (law[MOST] + law[LEAST])
        if law[SERVO_SLOPE] > 0.0:
            # effort SERVO_EFFORT - SERVO_SLOPE (v⁺ - v), less the middle
            target = v + (law[SERVO_EFFORT] - middle / h) / law[SERVO_SLOPE]
            add_element(OF_MOTOR, owner, 0.0, target, middle, elements)
        else:
            steady = min(max(law[SERVO_EFFORT], law[LEAST]), law[MOST])
            add_element(OF_MOTOR, owner, 0.0, 0.0, h * steady, elements)
    if law[HIGH] < _INFINITY:
        add_element(OF_UPPER_STOP, owner, -1.0, law[HIGH], 0.0, elements)
    if law[LOW] > -_INFINITY:
        add_element(OF_LOWER_STOP, owner, 1.0, law[LOW], 0.0, elements)
    if law[STOP] != 0.0 and law[STOP_SLOPE] > 0.0:
        target = v + law[STOP_EFFORT] / law[STOP_SLOPE]
        add_element(OF_ELASTIC_STOP, owner, -law[STOP], target, 0.0, elements)


@kernel
def add_element(element, owner, sign, target, middle, elements):
    """Append an element."""
    at = elements.size[ELEMENTS]
    elements.element[at], elements.owner[at] = element, owner
    elements.sign[at], elements.target[at], elements.middle[at] = sign, target, middle
    elements.size[ELEMENTS] = at + 1


@kernel
def set_element_law(laws, solution, elements, element, contact, law, h):
    """
    Write an element as a contact.

    An impulse bounded on one side becomes a normal row. An impulse bounded on both sides becomes
    friction with a constant bound; the normal row of this contact moves nothing and has impulse 1.
    """
    laws.law[contact], laws.model[contact] = NO_LAW, material.CONSTANT
    laws.pull[contact] = laws.approach[contact] = laws.wanted[contact] = laws.gap[contact] = 0.0
    laws.softness[contact, :] = 0.0
    laws.radius[contact, :] = 0.0
    solution.impulse[contact, :] = solution.last[contact, :] = 0.0
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
    """
    Guess an element's impulse from its effort in `shares`, clamped to the element's bounds.

    shares: efforts of friction, motor and stop.
    """
    friction, motor, stop = shares
    effort = stop
    if elements.element[element] == OF_FRICTION:
        effort = friction
    elif elements.element[element] == OF_MOTOR:
        effort = motor
    impulse = h * effort - elements.middle[element]
    if not math.isfinite(impulse):
        # motor bounded on one side whose piece has just changed
        impulse = 0.0
    if elements.sign[element] != 0.0:
        solution.impulse[contact, Row.NORMAL] = max(elements.sign[element] * impulse, 0.0)
    else:
        bound = laws.radius[contact, Bound.TANGENT]
        solution.impulse[contact, Row.TANGENT] = min(max(impulse, -bound), bound)


@kernel
def island_of_tree(model, islands, solution, body):
    """Return the island containing a body's tree; a new one if nothing touches the tree."""
    leader = find_leader(islands.leader, model.root[body])
    if islands.of_tree[leader] < 0:
        number = solution.effort[ISLANDS]
        islands.of_tree[leader] = number
        islands.spent[number], islands.left[number] = 0, 0.0
        islands.level[number] = islands.remembers[number] = islands.result[number] = 0
        islands.wait[number] = 0
        solution.effort[ISLANDS] = number + 1
    return islands.of_tree[leader]


@kernel
def end_row(laws, rows, bonds, contact, end):
    """Complete an element's row after its entries are written; return the next free entry."""
    if bonds.shape[0] > 0:
        end = respect_bonds(bonds, rows, rows.first[contact], end)
    for entry in range(rows.first[contact], end):
        rows.place[rows.support[entry]] = -1
    fill_block(
        rows.first[contact],
        end,
        rows.linear,
        rows.angular,
        False,
        laws.softness[contact],
        rows.block[contact],
    )
    invert_block(rows.block[contact], rows.inverse[contact])
    return end


@kernel
def pushed_by(solution, first, elements, element):
    """Return an element's impulse on its owner, measured from the element's middle."""
    if elements.sign[element] != 0.0:
        return elements.sign[element] * solution.impulse[first + element, Row.NORMAL]
    return solution.impulse[first + element, Row.TANGENT]


@kernel
def restore_law(kept, law_inout):
    """Restore an owner's law, except the columns rewritten by the elimination."""
    for column in range(LAW_SIZE):
        is_new = (
            column == INERTIA
            or is_free_servo(kept)
            and (column == SERVO_EFFORT or column == SERVO_SLOPE)
        )
        if not is_new:
            law_inout[column] = kept[column]


@kernel
def read_elements(laws, solution, elements, first, element, law, h):
    """
    Read an owner's solution; its elements begin with `element`.

    Returns the owner's mode, its elements' mean effort, the same effort measured from their
    middles, and the first element of the next owner.
    """
    owner, mode, effort, pushed = elements.owner[element], LOOSE, 0.0, 0.0
    while element < elements.size[ELEMENTS] and elements.owner[element] == owner:
        push = pushed_by(solution, first, elements, element)
        pushed += push / h
        effort += (elements.middle[element] + push) / h
        mode = with_element(
            mode,
            law,
            elements,
            element,
            solution.impulse[first + element],
            laws.radius[first + element, Bound.TANGENT],
        )
        element += 1
    return mode, effort, pushed, element


@kernel
def with_element(mode, law, elements, element, impulse, radius):
    """
    Return an owner's mode after including one element.

    Rigid stops come last in the order of elements, and override all others.
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
        # backward friction means forward motion
        side = -1 if t > 0.0 else 1
    if kind == OF_FRICTION:
        return STUCK if side == 0 else mode + FRICTION_SIDE * side
    if law[MOTOR] == HARD and side == 0:
        return mode if mode >= LOCKED else AT_TARGET
    return mode + MOTOR_SIDE * side if mode < LOCKED else mode
