"""Contact handling in a step, compiled separately; see `compiler.stage`."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.contact.accuracy import keep_levels
from sim_bridge.engine.contact.axis_law_rows import gather_axis_wrenches
from sim_bridge.engine.contact.blocked import find_blocked
from sim_bridge.engine.contact.budget import greatest_change
from sim_bridge.engine.contact.impacts import begin_impacts, propagate_impacts
from sim_bridge.engine.contact.islands import find_islands
from sim_bridge.engine.contact.keep_wrenches import keep_wrenches
from sim_bridge.engine.contact.kept_rows import are_rows_kept, keep_rows_of
from sim_bridge.engine.contact.law_rows import (
    build_law_rows,
    close_laws,
    gather_efforts,
    open_laws,
    set_law_biases,
)
from sim_bridge.engine.contact.mimic_rows import build_mimic_rows
from sim_bridge.engine.contact.positions import find_missing, gather_shifts, solve_positions
from sim_bridge.engine.contact.prepare import set_laws, world_impulse
from sim_bridge.engine.contact.residual import island_residual, note_residual
from sim_bridge.engine.contact.respond import gather_wrenches, respond
from sim_bridge.engine.contact.rows import build_rows
from sim_bridge.engine.contact.sleep import set_kinds, wake_tied, wake_touched
from sim_bridge.engine.contact.solve import set_biases, solve_contacts
from sim_bridge.engine.contact.warm_start import reuse_impulses
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_materials import SPLIT
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import (
    COMPLEMENTARITY,
    ELEMENTS,
    ISLANDS,
    NATURAL,
    NO_LAW,
    PENETRATION,
)
from sim_bridge.engine.data.loops import RANK
from sim_bridge.engine.data.phases import ContactPhase, UserContactPhase
from sim_bridge.engine.data.state import ANGULAR_IMPULSE, LINEAR_IMPULSE
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.dynamics.whitening import find_whitening
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import load3, store3, ZERO


def contact(table, phase):
    """Run one contact phase; only PREPARE and PROJECT_POSITIONS return a result."""
    if phase == ContactPhase.PREPARE:
        return prepare(table)
    if phase == ContactPhase.BUILD:
        return build(table)
    if phase == ContactPhase.SOLVE:
        return resolve(table)
    if phase == ContactPhase.OPEN_LAWS:
        return open_laws(table)
    if phase == ContactPhase.CLOSE_LAWS:
        return close_laws(table)
    if phase == ContactPhase.PROJECT_POSITIONS:
        return project_positions(table)
    return keep(table)


@subroutine
def prepare(table):
    """
    Set up the problem for the contacts found; response.twist: at the step's start.

    Returns -1 if a Python function has failed.
    """
    model, geometry, contacts = world.model(table), world.geometry(table), world.contacts(table)
    state, ws, laws = world.state(table), world.workspace(table), world.laws(table)
    solution = world.solution(table)
    if world.options(table).sleeps != 0:
        tied = world.loops(table).body
        wake_touched(model, geometry, contacts, state)
        while wake_tied(model, tied, state):
            wake_touched(model, geometry, contacts, state)
        set_kinds(model, state, ws)
    set_laws(
        model,
        ws,
        geometry,
        world.contact_materials(table),
        contacts,
        world.response(table).twist,
        world.options(table).time_step,
        laws,
    )
    making, refining = world.options(table).user_contacts, world.options(table).refine
    if making != 0:
        call_stage(making, table, UserContactPhase.SET_LAWS)
    if refining != 0 and call_stage(refining, table, 0) < 0:
        return -1
    find_islands(
        model,
        ws,
        geometry,
        contacts,
        world.loops(table).body,
        laws,
        world.islands(table),
        solution,
    )
    reuse_impulses(state, contacts, laws, solution)
    begin_impacts(
        world.contact_materials(table), contacts, world.options(table).time_step, laws, solution
    )
    return 0


@subroutine
def build(table):
    """Build the rows, after each tree factorization, unless they are unchanged."""
    model, ws, rows = world.model(table), world.workspace(table), world.rows(table)
    contacts, laws, elements = world.contacts(table), world.laws(table), world.law_rows(table)
    counts = world.collision(table).counts
    find_whitening(model, ws, rows.whitening)
    if rows.mimic.shape[0] > 0:
        build_mimic_rows(model, ws, rows)
    work = world.loop_work(table)
    bonds = rows.mimic if world.options(table).loops == 0 else work.basis[: work.counts[RANK]]
    is_plain = bonds.shape[0] == 0 and elements.size[ELEMENTS] == 0
    if is_plain and are_rows_kept(ws, contacts, laws, rows, counts):
        return 0
    build_rows(model, ws, world.geometry(table), contacts, laws, bonds, rows)
    rows.of_search[0] = 0
    if is_plain:
        keep_rows_of(ws, contacts, laws, rows, counts)
    if elements.size[ELEMENTS] > 0:
        build_law_rows(table, bonds)
    return 0


@subroutine
def resolve(table):
    """Solve the contacts, given velocities ws.v_next without them; results go to response."""
    model, ws, options = world.model(table), world.workspace(table), world.options(table)
    contacts, laws, rows = world.contacts(table), world.laws(table), world.rows(table)
    solution, response = world.solution(table), world.response(table)
    own, h = world.law_rows(table), options.time_step
    find_twists(model, model.kind, ws, ws.v_next, response.twist)
    set_biases(table)
    propagate_impacts(table)
    set_law_biases(table)
    solve_contacts(table)
    find_blocked(
        model,
        ws,
        world.geometry(table),
        contacts,
        laws,
        rows,
        solution,
        options.contact_tolerance,
        response.blocked,
    )
    gather_wrenches(ws, world.geometry(table), contacts, laws, solution, h, response)
    response.mean_wrench[:, :] = response.wrench
    gather_axis_wrenches(table)
    gather_efforts(solution, contacts.size[COUNT], h, own, response.rhs)
    respond(model, ws, response)
    response.rhs[:] = 0.0
    return 0


@subroutine
def project_positions(table):
    """
    Find the velocity that keeps bodies apart in the second half of the step.

    Returns 1 if this velocity is in response.v_drift, 0 if ws.v_next already keeps them apart.
    """
    model, ws, options = world.model(table), world.workspace(table), world.options(table)
    contacts, laws, rows = world.contacts(table), world.laws(table), world.rows(table)
    islands, solution = world.islands(table), world.solution(table)
    response, h = world.response(table), options.time_step
    update_residuals(
        options, world.state(table), contacts, laws, islands, rows, solution, ws.v_next
    )
    for body in range(response.origin.shape[0]):
        store3(response.origin, body, 0, load3(ws.pose, body, ORIGIN))
    if not find_missing(options, world.contact_materials(table), contacts, laws, rows, solution):
        return 0
    solve_positions(table)
    gather_shifts(ws, world.geometry(table), contacts, laws, solution, h, response)
    respond(model, ws, response)
    for joint in range(ws.v_next.shape[0]):
        response.v_drift[joint] = ws.v_next[joint] + h * response.ddq[joint]
    return 1


@subroutine
def keep(table):
    """Store the contacts and their impulses in the state."""
    state, contacts, laws = world.state(table), world.contacts(table), world.laws(table)
    model, solution = world.model(table), world.solution(table)
    count = contacts.size[COUNT]
    state.contact_size[COUNT] = count
    # without contacts the islands are those of an earlier step
    if count > 0 and world.options(table).solver != SPLIT:
        keep_levels(state, world.islands(table), world.rows(table), solution)
    keep_wrenches(model, count > 0, world.response(table), state)
    state.contact_geometry[:count] = contacts.geometry[:count]
    state.contact_feature[:count] = contacts.feature[:count]
    state.contact_point[:count] = contacts.point[:count]
    state.contact_normal[:count] = contacts.normal[:count]
    state.contact_gap[:count] = contacts.gap[:count]
    for contact in range(count):
        push, twist = ZERO, ZERO
        if laws.rows[contact] > 0:
            push, twist = world_impulse(laws, solution, contact)
        elif laws.law[contact] != NO_LAW:
            push = load3(solution.last, contact, LINEAR_IMPULSE)
            twist = load3(solution.last, contact, ANGULAR_IMPULSE)
        store3(state.contact_impulse, contact, LINEAR_IMPULSE, push)
        store3(state.contact_impulse, contact, ANGULAR_IMPULSE, twist)
    return 0


@kernel
def update_residuals(options, state, contacts, laws, islands, rows, solution, v_next):
    """
    Record the bodies' penetration depth, and the contact solution's residuals.

    v_next: velocities at the step's end.
    """
    residual = solution.residual
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            start = laws.gap[contact] - 0.5 * options.time_step * laws.approach[contact]
            residual[PENETRATION] = max(residual[PENETRATION], -start)
    for island in range(solution.effort[ISLANDS]):
        natural = islands.residual[island, NATURAL]
        complementarity = islands.residual[island, COMPLEMENTARITY]
        if not natural >= 0.0:
            natural, complementarity = island_residual(laws, islands, rows, solution, island)
        change = greatest_change(state, islands, rows, v_next, island)
        note_residual(options, state, islands, rows, solution, False, island, natural, change)
        residual[COMPLEMENTARITY] = max(residual[COMPLEMENTARITY], complementarity)


CONTACT = Stage(contact)
