"""Contact handling in a step, compiled separately; see `compiler.stage`."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.contact.accuracy import FINE, is_slow_island, keep_levels, level_tolerance
from sim_bridge.engine.contact.alternating import alternate, is_large, penalty_of
from sim_bridge.engine.contact.axis_law_rows import gather_axis_wrenches
from sim_bridge.engine.contact.blocked import find_blocked
from sim_bridge.engine.contact.budget import (
    affordable_work,
    BAD,
    greatest_change,
    greatest_velocity,
    island_rows,
    island_tolerance,
    newton_work,
    sweep_work,
)
from sim_bridge.engine.contact.central_path import follow_path, has_path, path_work
from sim_bridge.engine.contact.gauss_seidel import sweep
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
from sim_bridge.engine.contact.load_sharing import share_load
from sim_bridge.engine.contact.mimic_rows import build_mimic_rows
from sim_bridge.engine.contact.positions import find_missing, gather_shifts, solve_positions
from sim_bridge.engine.contact.prepare import set_laws, world_impulse
from sim_bridge.engine.contact.proximal import go_back, keep_impulses, MOST_NEWTONS, solve_proximal
from sim_bridge.engine.contact.residual import island_residual, note_residual
from sim_bridge.engine.contact.respond import gather_wrenches, respond
from sim_bridge.engine.contact.rows import build_rows
from sim_bridge.engine.contact.sleep import set_kinds, wake_tied, wake_touched
from sim_bridge.engine.contact.solve import set_biases, solve_contacts
from sim_bridge.engine.contact.solver_calls import island_of_phase
from sim_bridge.engine.contact.tree_newton import lay_out_trees, work_along_trees
from sim_bridge.engine.contact.velocity_newton import order_coordinates
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
    ORDER_WORK,
    PENETRATION,
)
from sim_bridge.engine.data.loops import RANK
from sim_bridge.engine.data.phases import ContactPhase, UserContactPhase
from sim_bridge.engine.data.state import ANGULAR_IMPULSE, LINEAR_IMPULSE
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.dynamics.whitening import find_whitening
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import load3, store3, ZERO

_NORMAL_SWEEPS = 10
_LAST_SWEEPS = 5  # after Newton's method was abandoned: they bring forces within their bounds
_NEWTONS_BEFORE_PATH = 8  # Newton steps, before the central path is followed
_PATH = 6  # steps on the path that must fit into the budget where the path comes first
_OF_VELOCITY = 1e-5  # residual where the path comes first, relative to the island's velocity
_TRIAL = 10  # a trial of the level FINE has this fraction of the work
_SWEEPS_FOR_BAD = 50  # for a residual above BAD, if affordable


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


def newton(table, phase):
    """
    Solve an island directly, starting from its impulses; return the number of Newton steps.

    phase: the island's number, or its encoding by `normals_alone`.
    """
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, direct = world.solution(table), world.direct(table)
    # the subsequent load sharing adds its own rounding
    island, is_without_friction = island_of_phase(phase)
    tolerance = 0.5 * tolerance_of(table, island)
    if is_without_friction:
        for place in range(islands.first[island], islands.first[island + 1]):
            contact = islands.order[place]
            direct.rows[contact] = laws.rows[contact]
            laws.rows[contact] = 1
        for _ in range(_NORMAL_SWEEPS):
            if sweep(laws, islands, rows, solution, island) <= 0.5 * tolerance:
                break
    order_coordinates(islands, rows, direct, island)
    a_newton = newton_work(islands, rows, island) + max(direct.size[ORDER_WORK], 0)
    lay_out_trees(table, island, a_newton)
    a_newton = work_along_trees(islands, rows, direct, island, a_newton)
    most = most_work(table, island, a_newton)
    newtons, is_ready = 0, True
    coarse = 0.5 * coarse_tolerance(table, island)
    is_slow = is_slow_island(world.options(table), world.state(table), islands, rows, island)
    on_path = not is_without_friction and not (is_slow and is_pile(table, island))
    on_path = on_path and has_path(laws, islands, rows, direct, island)
    is_first = (
        on_path
        and islands.remembers[island] == 1
        and not is_slow
        and islands.spent[island] + _PATH * path_work(islands, rows, direct, island) <= most
    )
    if is_first:
        tolerance = tolerance_on_path(table, island, tolerance)
        newtons = follow_path(laws, islands, rows, solution, direct, island, tolerance, most)
        is_ready = islands.spent[island] <= most
    elif is_large(laws, islands, direct, island):
        share = penalty_of(world.state(table), islands, rows, direct, island, most)
        left = alternate(laws, islands, rows, solution, direct, island, share, tolerance, most)
        # one factorization is a Newton step's work
        newtons, is_ready = 1, left <= tolerance or islands.spent[island] <= most
    is_trial = islands.level[island] == FINE and islands.remembers[island] != 0
    if is_ready and is_trial and coarse > tolerance:
        # after failures, the coarse tolerance suffices beyond a small share of the work
        newtons += solve_proximal(
            laws, islands, rows, solution, direct, island, tolerance, most // _TRIAL, MOST_NEWTONS
        )
        tolerance = coarse
    if is_ready:
        newtons += solve_proximal(
            laws,
            islands,
            rows,
            solution,
            direct,
            island,
            tolerance,
            most,
            _NEWTONS_BEFORE_PATH if on_path else MOST_NEWTONS,
        )
        left, _ = island_residual(laws, islands, rows, solution, island)
        if on_path and not is_first and left > tolerance:
            newtons += follow_path(laws, islands, rows, solution, direct, island, tolerance, most)
            newtons += solve_proximal(
                laws,
                islands,
                rows,
                solution,
                direct,
                island,
                tolerance,
                most,
                MOST_NEWTONS - newtons,
            )
    left, _ = island_residual(laws, islands, rows, solution, island)
    if left > tolerance:
        keep_impulses(islands, solution, island, direct.kept)
        sweeps = _LAST_SWEEPS
        if left > BAD:
            affordable = most // max(sweep_work(islands, rows, island), 1)
            sweeps = max(min(affordable, _SWEEPS_FOR_BAD), sweeps)
        for _ in range(sweeps):
            sweep(laws, islands, rows, solution, island)
        # sweeps diverge if friction and normal forces drive each other up
        if not island_residual(laws, islands, rows, solution, island)[0] <= left:
            go_back(laws, islands, rows, solution, direct.kept, island)
    if is_without_friction:
        for place in range(islands.first[island], islands.first[island + 1]):
            contact = islands.order[place]
            laws.rows[contact] = direct.rows[contact]
    return newtons


def share(table, island):
    """Share an island's load among redundant contacts."""
    islands, rows = world.islands(table), world.rows(table)
    spent = islands.spent[island]
    lay_out_trees(table, island, newton_work(islands, rows, island))
    share_load(
        world.laws(table),
        islands,
        rows,
        world.solution(table),
        world.direct(table),
        island,
        world.contacts(table).geometry,
        tolerance_of(table, island),
        spent + most_work(table, island, newton_work(islands, rows, island)),
    )
    # further pivots get as much work as without load sharing
    islands.spent[island] = spent
    return 0


@kernel
def coarse_tolerance(table, island):
    """Return the solver's aim for the residual in an island at level COARSE [m/s]."""
    return island_tolerance(
        world.options(table),
        world.state(table),
        world.islands(table),
        world.rows(table),
        world.law_rows(table).size[ELEMENTS] > 0,
        island,
    )


@kernel
def tolerance_of(table, island):
    """Return the solver's aim for the residual in an island [m/s]."""
    return level_tolerance(
        world.options(table),
        world.state(table),
        world.islands(table),
        world.rows(table),
        world.law_rows(table).size[ELEMENTS] > 0,
        island,
    )


@kernel
def is_pile(table, island):
    """Return whether an island has more rows than Newton steps of `iterative` complete."""
    size = island_rows(world.laws(table), world.islands(table), island)
    return size > world.options(table).newton_rows


@kernel
def tolerance_on_path(table, island, tolerance):
    """
    Return the residual sought where the central path comes first [m/s].

    tolerance: aim at the island's level. Piles take a share of their velocity, if it is greater.
    """
    islands, rows = world.islands(table), world.rows(table)
    if not is_pile(table, island):
        return tolerance
    velocity = greatest_velocity(world.state(table), islands, rows, island)
    return max(tolerance, _OF_VELOCITY * velocity)


@kernel
def most_work(table, island, a_newton):
    """Return the multiplications allowed for an island; a_newton: those in one Newton step."""
    return affordable_work(
        world.options(table),
        world.state(table),
        world.laws(table),
        world.islands(table),
        world.rows(table),
        world.solution(table),
        world.law_rows(table).size[ELEMENTS] > 0,
        a_newton,
        island,
    )


CONTACT, NEWTON, SHARE = map(Stage, (contact, newton, share))
