"""
Auto-disable: trees at rest are neither moved nor solved until they are disturbed.

Uses ODE's parameters, set per body. All trees in a group, joined by contacts and joints, fall
asleep together, once each has been slower than its thresholds for long enough. A tree wakes when
it is pushed, written to, or touched by an awake tree or a moving kinematic body. All trees in
contact with each other wake together. Contacts of sleepers keep their impulses.

A disabled body rests likewise, but only touch and joints wake it, and it keeps its velocity.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.islands import bodies_of, find_leader, join_trees
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Row
from sim_bridge.engine.data.geometry import SENSOR, STATIC
from sim_bridge.engine.data.model import (
    FIRST_SAMPLE,
    FREE,
    GROUND,
    KINEMATIC,
    PRISMATIC,
    REST_STEPS,
    SAMPLES,
    SLOW,
    SLOW_TURN,
)
from sim_bridge.engine.data.state import ASLEEP, BY_EFFORT, TARGET_VELOCITY
from sim_bridge.engine.dynamics.articulated import coordinates_of


@subroutine
def wake_written(model, geometry, state):
    """
    Wake the trees whose state, efforts, controls or pushes have changed since they fell asleep.

    The trees touched by them in the last step wake too: a body on top may fall now.
    """
    any_woke, idle = False, state.idle
    for body in range(model.kind.shape[0]):
        root = model.root[body]
        if idle[root] != ASLEEP:
            continue
        positions, velocities = coordinates_of(model.kind[body])
        is_same = True
        for at in range(model.q_index[body], model.q_index[body] + positions):
            is_same = is_same and state.q[at] == state.rest[at]
        for at in range(model.v_index[body], model.v_index[body] + velocities):
            is_same = is_same and state.v[at] == 0.0 and not is_commanded(state, at)
        for k in range(6):
            is_same = is_same and state.wrench[body, k] == 0.0
        if not is_same:
            idle[root] = 0
            any_woke = True
    for actuator in range(model.actuator.shape[0]):
        root = model.root[model.actuator_body[actuator, 0]]
        is_same = state.actuator_control[actuator] == state.control_left[actuator]
        if idle[root] == ASLEEP and not is_same:
            idle[root] = 0
            any_woke = True
    while any_woke:
        any_woke = False
        for contact in range(state.contact_size[COUNT]):
            a, b = bodies_of(geometry, state.contact_geometry, contact)
            if a < 0 or b < 0:
                continue
            for side in range(2):
                root, other = model.root[a if side == 0 else b], model.root[b if side == 0 else a]
                flags = geometry.flags[state.contact_geometry[contact, 1 - side]]
                if idle[root] == ASLEEP and flags & STATIC == 0 and idle[other] >= 0:
                    idle[root] = 0
                    any_woke = True


@subroutine
def wake_tied(model, tied, state):
    """
    Wake the trees tied to an awake tree; return whether there are any.

    tied: bodies connected by joints outside the trees, as Loops.body, (nk, 2).
    """
    any_woke, goes_on, idle = False, True, state.idle
    while goes_on:
        goes_on = False
        for pair in range(tied.shape[0]):
            for side in range(2):
                body, other = tied[pair, side], tied[pair, 1 - side]
                if body < 0 or other < 0 or idle[model.root[body]] >= 0:
                    continue
                root = model.root[other]
                if (
                    model.kind[root] != GROUND
                    and model.kind[root] != KINEMATIC
                    and idle[root] >= 0
                ):
                    idle[model.root[body]] = 0
                    any_woke = goes_on = True
    return any_woke


@subroutine
def set_kinds(model, state, ws):
    """Write ws.kind, with sleeping bodies as ground, and ws.still (1 for their coordinates)."""
    for body in range(model.kind.shape[0]):
        asleep, at = state.idle[model.root[body]] < 0, model.v_index[body]
        ws.kind[body] = GROUND if asleep else model.kind[body]
        ws.still[at : at + coordinates_of(model.kind[body])[1]] = int(asleep)


@subroutine
def wake_touched(model, geometry, contacts, state):
    """Wake the sleepers touched by an awake tree; return whether there are any."""
    any_woke, goes_on, idle = False, True, state.idle
    while goes_on:
        goes_on = False
        for contact in range(contacts.size[COUNT]):
            a, b = contacts.geometry[contact, 0], contacts.geometry[contact, 1]
            if (geometry.flags[a] | geometry.flags[b]) & SENSOR != 0:
                continue
            for side in range(2):
                across = contacts.geometry[contact, 1 - side]
                body = geometry.body[contacts.geometry[contact, side]]
                other = geometry.body[across]
                if body < 0 or other < 0 or idle[model.root[body]] >= 0:
                    continue
                is_static = geometry.flags[across] & STATIC != 0
                if is_stirring(model, state, model.root[other], is_static):
                    idle[model.root[body]] = 0
                    any_woke = goes_on = True
    return any_woke


@kernel
def is_stirring(model, state, tree, is_static):
    """Return whether a tree's mobile part is awake, or its kinematic base moves."""
    total = 0.0
    if model.kind[tree] == KINEMATIC:
        for at in range(model.v_index[tree], model.v_index[tree] + 6):
            total += abs(state.v[at])
    return total > 0.0 or not is_static and state.idle[tree] >= 0


@subroutine
def fall_asleep(table, touching):
    """
    Count slow trees' steps, and put groups to sleep after enough slow steps.

    Trees sleep only if something holds them: a contact, a joint to another body, or a fixed base.
    Without one of them they could be at the top of a flight. touching: number of contacts in this
    step. Stores the sleepers' positions in state.rest.
    """
    model, ws, state = world.model(table), world.workspace(table), world.state(table)
    islands, tied = world.islands(table), world.loops(table).body
    root, kind, idle = model.root, ws.kind, state.idle
    if touching == 0:
        geometry, contacts = world.geometry(table), world.contacts(table)
        join_trees(model, ws, geometry, contacts, tied, world.laws(table), islands)
    mark_held(model, tied, islands)
    for body in range(kind.shape[0]):
        if root[body] == body and idle[body] >= 0:
            idle[body] += 1
    for body in range(kind.shape[0]):
        if idle[root[body]] >= 0:
            is_held = islands.rests[find_leader(islands.leader, root[body])] != 0
            # evaluated first, because it stores the velocity
            moves = is_moving(model, state, kind[body], body, is_held)
            first, count = model.v_index[body], coordinates_of(kind[body])[1]
            if moves or is_driven(state, first, count) or is_pushed(state.wrench, body):
                idle[root[body]] = 0
    keep_carried_awake(table, touching)
    for body in range(kind.shape[0]):
        steps = model.sleep[body, REST_STEPS]
        if steps == 0.0 or 0 <= idle[root[body]] < steps:
            islands.rests[find_leader(islands.leader, root[body])] = 0
    for body in range(kind.shape[0]):
        is_awake = root[body] == body and idle[body] >= 0
        if is_awake and islands.rests[find_leader(islands.leader, body)] != 0:
            idle[body] = ASLEEP
    for body in range(kind.shape[0]):
        if idle[root[body]] == ASLEEP:
            positions, velocities = coordinates_of(kind[body])
            at, at_v = model.q_index[body], model.v_index[body]
            state.rest[at : at + positions] = state.q[at : at + positions]
            state.v[at_v : at_v + velocities] = 0.0


@kernel
def mark_held(model, tied, islands):
    """Write into islands.rests whether a contact, a joint or a fixed base holds each group."""
    leader, rests = islands.leader, islands.rests
    for body in range(rests.shape[0]):
        rests[body] = int(islands.of_tree[body] >= 0)
    for body in range(rests.shape[0]):
        if model.kind[model.root[body]] < FREE and coordinates_of(model.kind[body])[1] > 0:
            rests[find_leader(leader, model.root[body])] = 1
    for pair in range(tied.shape[0]):
        for side in range(2):
            body = tied[pair, side]
            if body >= 0 and model.kind[body] != GROUND and model.kind[body] != KINEMATIC:
                rests[find_leader(leader, model.root[body])] = 1


@subroutine
def keep_carried_awake(table, touching):
    """Keep trees awake on running belts, however slow, and during position correction."""
    model, state, geometry = world.model(table), world.state(table), world.geometry(table)
    contacts, laws = world.contacts(table), world.laws(table)
    root, idle = model.root, state.idle
    for contact in range(touching):
        target = laws.target[contact]
        is_carried = laws.rows[contact] > 1 and (
            target[Row.TANGENT] != 0.0 or target[Row.TANGENT2] != 0.0
        )
        speed = separation_speed(
            world.options(table), world.contact_materials(table), contacts, laws, contact
        )
        for side in range(2):
            body = geometry.body[contacts.geometry[contact, side]]
            if (
                body >= 0
                and idle[root[body]] >= 0
                and (is_carried or speed > model.sleep[body, SLOW])
            ):
                idle[root[body]] = 0


@kernel
def separation_speed(options, contact_materials, contacts, laws, contact):
    """Return the speed at which position correction separates a hard contact [m/s]."""
    if laws.rows[contact] == 0:
        return 0.0
    law = contact_materials.law[laws.law[contact]]
    is_soft = law[material.CFM] > 0.0 or law[material.STIFFNESS] > 0.0
    depth = -law[material.LAYER] - contacts.gap[contact]
    speed = min(law[material.ERP] * depth / options.time_step, law[material.MAX_VELOCITY])
    return 0.0 if is_soft else speed


@kernel
def is_driven(state, first, count):
    """Return whether an effort or a motor acts on any of a joint's coordinates."""
    driven = False
    for at in range(first, first + count):
        driven = driven or (
            is_commanded(state, at)
            or state.motor[at] != 0.0
            or state.target[at, TARGET_VELOCITY] != 0.0
        )
    return driven


@kernel
def is_commanded(state, at):
    """Return whether a joint coordinate has an effort command or an active motor."""
    return state.u[at] != 0.0 or state.control[at] != BY_EFFORT


@kernel
def is_pushed(wrench, body):
    """Return whether an external wrench acts on a body."""
    pushed = False
    for k in range(6):
        pushed = pushed or wrench[body, k] != 0.0
    return pushed


@kernel
def is_moving(model, state, kind, body, is_held):
    """
    Return whether a body's velocity exceeds its thresholds.

    With SAMPLES above 1, the mean velocity over the last SAMPLES steps counts. is_held: whether
    anything holds the body; as in ODE, velocities are sampled only while it does.
    """
    limits, at = model.sleep[body], model.v_index[body]
    count, samples, first = coordinates_of(kind)[1], int(limits[SAMPLES]), 0
    if samples > 1:
        first = int(limits[FIRST_SAMPLE])
        if is_held:
            row = first + state.sampled[body] % samples
            for k in range(count):
                state.sample[row, k] = state.v[at + k]
            state.sampled[body] += 1
        if state.sampled[body] < samples:
            return True
    linear, angular = 0.0, 0.0
    for k in range(count):
        v = state.v[at + k]
        if samples > 1:
            v = 0.0
            for row in range(samples):
                v += state.sample[first + row, k]
            v /= samples
        if k >= 3 if count == 6 else kind != PRISMATIC:
            angular += v * v
        else:
            linear += v * v
    slow, slow_turn = limits[SLOW], limits[SLOW_TURN]
    return linear > slow * slow or angular > slow_turn * slow_turn
