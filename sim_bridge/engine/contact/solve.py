"""Contact solvers: islands are solved one after the other until their laws hold."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.accuracy import (
    find_level,
    FINE,
    is_slow_island,
    last_missed,
    level_tolerance,
    MORE,
    note_result,
    ROUGH,
)
from sim_bridge.engine.contact.budget import (
    affordable_work,
    greatest_velocity,
    island_rows,
    island_tolerance,
    newton_work,
    sweep_work,
)
from sim_bridge.engine.contact.gauss_seidel import push, sweep, sweep_friction
from sim_bridge.engine.contact.impacts import unbounced_velocity
from sim_bridge.engine.contact.islands import affordable_sweeps, bodies_of
from sim_bridge.engine.contact.law_rows import push_elements
from sim_bridge.engine.contact.prepare import directions, IMPACT, restores
from sim_bridge.engine.contact.proximal import greatest_gain
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.solver_calls import (
    share_impulses,
    solve_by_newton,
    solve_by_pair_types,
    solve_normals,
)
from sim_bridge.engine.contact.tree_newton import lay_out_trees, work_along_trees
from sim_bridge.engine.contact.warm_start import estimate_new_pairs, SHIFTS
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_materials import DIRECT, ITERATIVE, SPLIT
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import (
    COMPLEMENTARITY,
    ELEMENTS,
    ISLANDS,
    NATURAL,
    NEWTONS,
    Row,
    SWEEPS,
)
from sim_bridge.engine.data.model import GROUND
from sim_bridge.engine.data.state import RESTS
from sim_bridge.engine.dynamics.twists import (
    common_turn,
    relative_gain,
    relative_turn,
    relative_velocity,
)
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.math.vec3 import add, dot, load3, load_v, sub

_FEW_SWEEPS = 12
_FEWEST_SWEEPS, _CHEAP = 2, 0.3  # for islands where trees reduce a Newton step to this share
_CLOSE = 0.01  # share of the tolerance needed for heavy bodies on light ones to stay in place
_MOVING = 1e-2  # above this velocity nothing in an island has to stay in place [m/s, rad/s]
_SLOW = 0.7  # relative to the last change; above it, friction and normals are solved together
_UNSHARED_SWEEPS = 3  # number of sweeps that hardly change redundant contacts' shares
_FAST = 0.3  # relative to the last change; below it, sweeps converge fast
_ROUNDING = 2e-13  # greatest velocity change in a step due to rounding [m/s, rad/s]
_NOISE = 1e-15  # rounding in a sweep, relative to the velocities given by the impulses
_CREEPS = 1e-5  # below this velocity loads are not shared at coarse levels [m/s, rad/s]
# velocities in this range are errors of a solution: the least one, relative to the greatest
# velocity ignored by positions, and the greatest one [m/s, rad/s]
_CREEP, _UNSOLVED = 0.7, 1e-11
_MOVES = 1e-7  # velocity, or velocity change, above this is motion [m/s, rad/s]
_NEWTONS = 2  # sweeps are abandoned once they cost as much as this many Newton steps
_SWEEPS_PER_ROW_2 = 0.02  # sweeps as costly as Newton steps for impulses, per squared row count
_INFINITY = float('inf')
_FRICTION_SWEEPS = 5  # sweeps of the split solver between solutions for the normals


@kernel
def set_biases(table):
    """
    Compute solution.bias: row velocities without contact impulses, minus their targets.

    response.twist: bodies' spatial velocities at the step's end without contacts.
    """
    model, options = world.model(table), world.options(table)
    state, ws = world.state(table), world.workspace(table)
    geometry, contacts = world.geometry(table), world.contacts(table)
    material_law = world.contact_materials(table).law
    laws, twist, bias = world.laws(table), world.response(table).twist, world.solution(table).bias
    for contact in range(contacts.size[0]):
        if laws.rows[contact] == 0:
            continue
        a, b = bodies_of(geometry, contacts.geometry, contact)
        point = load3(contacts.point, contact, 0)
        relative = relative_velocity(model, ws, twist, a, b, point)
        n, t, s = directions(laws, contact)
        u_n = dot(n, relative)
        target = laws.target[contact]
        laws.wanted[contact] = target[Row.NORMAL] + least_velocity(
            material_law[laws.law[contact]],
            laws.softness[contact, Row.NORMAL],
            laws.gap[contact],
            laws.approach[contact],
            u_n,
            options.time_step,
            options.touching,
            passes_by(model, ws, twist, a, b, n, u_n - laws.approach[contact]),
        )
        bias[contact, Row.NORMAL] = u_n - laws.wanted[contact]
        if laws.rows[contact] > 1:
            relative = add(relative, common_turn(model, twist, a, b, options.time_step))
            relative = add(relative, relative_gain(model, state, ws, a, b, point))
            bias[contact, Row.TANGENT] = dot(t, relative) - target[Row.TANGENT]
            bias[contact, Row.TANGENT2] = dot(s, relative) - target[Row.TANGENT2]
        if laws.rows[contact] > 3:
            turn = relative_turn(twist, a, b)
            bias[contact, Row.SPIN] = dot(n, turn)
            bias[contact, Row.ROLL], bias[contact, Row.ROLL2] = dot(t, turn), dot(s, turn)


@kernel
def passes_by(model, ws, twist, a, b, n, gain):
    """
    Return whether a body rather passes by another than meets it.

    Its origin is faster along the contact than towards it, and than `gain`, the velocity due to
    the forces in the step [m/s].
    """
    moves_a = a >= 0 and model.kind[a] != GROUND
    origin = load3(ws.pose, a if moves_a else b, ORIGIN)
    v = relative_velocity(model, ws, twist, a, b, origin)
    along = dot(v, n)
    speed_2 = dot(v, v) - along * along
    return speed_2 > along * along and speed_2 > gain * gain


@kernel
def least_velocity(law, softness, gap, approach, u_n, h, touching, passes):
    """
    Return the least normal velocity allowed at the step's end [m/s].

    softness: of the normal row, 0 for a rigid contact or impact. gap: at mid-step [m]. approach:
    normal velocity at the step's start. u_n: normal velocity at the end without contact. Bodies
    separated by more than rounding may approach until they touch at the step's end. Touching
    bodies must not approach. Bodies that come to touch faster than the law's bounce velocity, and
    faster than rounding, separate at the restitution times their approach velocity at the start.
    Bodies passing by each other without restitution come to touch by their velocity at the start:
    another contact may carry their weight.
    A spring that leaves impacts to the restitution does not brake the approach before them.
    """
    start = gap - 0.5 * h * approach
    wanted = (
        soft_velocity(law, start, h) if softness > 0.0 else unbounced_velocity(gap, h, touching)
    )
    is_fast = -approach > max(law[material.BOUNCE_VELOCITY], IMPACT)
    if restores(law):
        # forces can bring a body from rest to this velocity within a step: it lands on its spring
        is_fast = is_fast and u_n > 2.0 * approach
        if softness > 0.0:
            return min(wanted, u_n) if is_fast and start > 0.0 else wanted
    end = max(u_n, approach) if passes and law[material.RESTITUTION] == 0.0 else u_n
    if is_fast and gap + 0.5 * h * end <= 0.0:
        wanted = max(wanted, -law[material.RESTITUTION] * approach)
    return wanted


@kernel
def soft_velocity(law, gap, h):
    """
    Return a soft contact's separation velocity [m/s]; gap: at the step's start.

    As in ODE: the velocity is ERP / h times the depth beyond the surface layer, less CFM times the
    force. A spring and a damper determine both (ODE manual, 3.8.2), without a limit; the spring
    begins at the surface.
    """
    if gap > 0.0:
        return -gap / h
    if law[material.STIFFNESS] > 0.0:
        stiffness = law[material.STIFFNESS]
        return -stiffness * gap / (h * stiffness + law[material.DAMPING])
    depth = max(-gap - law[material.LAYER], 0.0)
    return min(law[material.ERP] * depth / h, law[material.MAX_VELOCITY])


@kernel
def solve_contacts(table):
    """Find the impulses for the current rows and biases; solution.impulse holds a guess."""
    contacts, laws, rows = world.contacts(table), world.laws(table), world.rows(table)
    solution = world.solution(table)
    solution.z[:] = 0.0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            impulse, pull = solution.impulse[contact], (laws.pull[contact], 0.0, 0.0)
            push(
                laws,
                rows,
                contact,
                sub(load_v(impulse, Row.NORMAL), pull),
                load_v(impulse, Row.SPIN),
                solution.z,
            )
    push_elements(laws, rows, solution, contacts.size[COUNT], world.law_rows(table))
    is_new = estimate_new_pairs(contacts, laws, rows, solution)
    for island in range(solution.effort[ISLANDS]):
        solve_island(table, island, is_new)


@kernel
def solve_island(table, island, is_new):
    """Solve one island; is_new: some impulses are estimates."""
    options, solution = world.options(table), world.solution(table)
    residual, effort = world.islands(table).residual, solution.effort
    residual[island, NATURAL] = math.nan
    if options.hybrid != 0 and solve_by_pair_types(options, table, island) != 0:
        return
    has_elements = world.law_rows(table).size[ELEMENTS] > 0
    # motors couple friction and normals too much for separate solutions
    is_direct = options.solver == DIRECT or options.solver == SPLIT and has_elements
    if is_direct or not has_elements and needs_rest(table, island):
        sweeps, newtons, unshared = solve_direct(table, island, has_elements)
    elif options.solver == SPLIT:
        sweeps, newtons = solve_split(table, island)
        unshared = sweeps
    else:
        sweeps, newtons = solve_iteratively(table, island)
        unshared = sweeps
    is_seen = is_sharing_seen(table, island)
    # Newton steps of `direct` begin about zero impulses, and share loads themselves
    is_swept = newtons == 0 or options.solver != DIRECT
    if is_seen and is_swept and (is_new or unshared > _UNSHARED_SWEEPS):
        share_impulses(options, table, island)
        residual[island, NATURAL] = math.nan
    effort[SWEEPS], effort[NEWTONS] = max(effort[SWEEPS], sweeps), max(effort[NEWTONS], newtons)


@kernel
def needs_rest(table, island):
    """
    Return whether `iterative` solves an island as `direct` does: a large one that hardly moves.

    Its few sweeps would let it sink. Given iterations are kept.
    """
    options, islands, rows = world.options(table), world.islands(table), world.rows(table)
    if options.solver != ITERATIVE or options.newton_rows == 0:
        return False
    if island_rows(world.laws(table), islands, island) <= options.newton_rows:
        return False
    return is_slow_island(options, world.state(table), islands, rows, island)


@kernel
def is_sharing_seen(table, island):
    """
    Return whether an island's loads are shared: always in `direct`, except at coarse levels.

    There, and in `iterative`, large islands keep the loads left by sweeps. So do islands at rest
    at coarse levels, where loads do not change the motion.
    """
    options, islands = world.options(table), world.islands(table)
    is_coarse = islands.level[island] > FINE
    if options.solver != ITERATIVE and not is_coarse:
        return True
    if island_rows(world.laws(table), islands, island) > options.newton_rows:
        return False
    state, rows = world.state(table), world.rows(table)
    return not is_coarse or greatest_velocity(state, islands, rows, island) > _CREEPS


@kernel
def enough_change(options):
    """Return the velocity change in a sweep that leaves a residual below the tolerance."""
    return 0.5 * options.contact_tolerance


@subroutine
def solve_direct(table, island, has_elements):
    """
    Sweep an island while sweeps converge, then take Newton steps.

    has_elements: joint laws are among the rows. Returns the numbers of sweeps, of Newton steps,
    and of sweeps that can change the shares of redundant contacts.
    """
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    state, rows, solution = world.state(table), world.rows(table), world.solution(table)
    size, newtons = island_rows(laws, islands, island), 0
    a_newton = newton_work(islands, rows, island)
    lay_out_trees(table, island, a_newton)
    along_trees = work_along_trees(islands, rows, world.direct(table), island, a_newton)
    interval = _FEWEST_SWEEPS if along_trees < _CHEAP * a_newton else _FEW_SWEEPS
    a_newton = along_trees
    affordable = affordable_work(
        options, state, laws, islands, rows, solution, has_elements, a_newton, island
    )
    level = FINE if has_elements else find_level(options, state, islands, rows, island)
    is_settling = level < ROUGH and settles(
        state, world.contacts(table), islands, rows, options.time_step, island
    )
    tolerance = level_tolerance(options, state, islands, rows, has_elements, island)
    missed = last_missed(state, islands, rows, island) if level == ROUGH else 0.0
    aim = max(tolerance, missed)
    if level == ROUGH and is_slow_island(options, state, islands, rows, island):
        aim = tolerance
    sweeps, unshared, is_solved = sweep_while_worthwhile(
        laws,
        islands,
        rows,
        solution,
        island,
        size,
        0.5 * aim,
        affordable,
        interval,
        a_newton,
        is_settling,
    )
    if level == ROUGH and not is_solved:
        sweeps, is_solved = sweep_roughly(table, island, sweeps, aim, missed)
    if not is_solved and has_elements:
        newtons = solve_by_newton(options, table, island)
    elif not is_solved:
        newtons = take_newton_steps(table, island, tolerance, is_settling)
    return sweeps, newtons, unshared


@kernel
def take_newton_steps(table, island, tolerance, is_settling):
    """
    Solve an island by Newton steps, record their result, and return their number.

    tolerance: aim at the island's level [m/s]. is_settling: see `settles`.
    """
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    state, rows, solution = world.state(table), world.rows(table), world.solution(table)
    spent = islands.spent[island]
    before, _ = island_residual(laws, islands, rows, solution, island)
    newtons = solve_by_newton(options, table, island)
    after, _ = island_residual(laws, islands, rows, solution, island)
    note_result(
        islands,
        island,
        before,
        after,
        tolerance,
        island_tolerance(options, state, islands, rows, False, island),
        (islands.spent[island] - spent) / max(sweep_work(islands, rows, island), 1),
        is_settling,
        island_rows(laws, islands, island) > options.newton_rows,
    )
    return newtons


@kernel
def sweep_roughly(table, island, sweeps, tolerance, missed):
    """
    Sweep as `iterative` does; return the sweep count, and whether the residual is accepted.

    missed: residual left when Newton steps missed the tolerance. Sweeps may leave a little more.
    """
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    rows, solution = world.rows(table), world.solution(table)
    most, change = affordable_sweeps(options, islands, island), _INFINITY
    while sweeps < most and change > 0.5 * tolerance:
        change = sweep(laws, islands, rows, solution, island)
        sweeps += 1
    left, _ = island_residual(laws, islands, rows, solution, island)
    islands.left[island] = left
    return sweeps, left <= max(tolerance, MORE * missed)


@subroutine
def solve_split(table, island):
    """
    Solve an island's normal impulses by Newton steps and its friction by sweeps, in turns.

    Returns the numbers of sweeps and Newton steps.
    """
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    rows, solution = world.rows(table), world.solution(table)
    enough, sweeps, newtons = enough_change(options), 0, 0
    change, before = 0.0, _INFINITY
    # bodies at rest start with the last step's impulses
    is_solved = (
        island_residual(laws, islands, rows, solution, island)[0]
        <= _CLOSE * options.contact_tolerance
    )
    while not is_solved and sweeps < options.max_sweeps:
        newtons += solve_normals(options, table, island)
        change = 0.0
        for _ in range(_FRICTION_SWEEPS):
            change = max(change, sweep_friction(laws, islands, rows, solution, island))
            sweeps += 1
        if change <= enough or change > _SLOW * before:
            break
        before = change
    if change > enough:
        # friction and normals drive each other up, or hardly settle: solve them together
        newtons += solve_by_newton(options, table, island)
    return sweeps, newtons


@subroutine
def solve_iteratively(table, island):
    """
    Sweep an island; complete small islands by Newton steps.

    Returns the numbers of sweeps and Newton steps.
    """
    options, laws, islands = world.options(table), world.laws(table), world.islands(table)
    rows, solution = world.rows(table), world.solution(table)
    enough, sweeps, newtons = enough_change(options), 0, 0
    most, change = affordable_sweeps(options, islands, island), _INFINITY
    while sweeps < most and change > enough:
        change = sweep(laws, islands, rows, solution, island)
        sweeps += 1
    if island_rows(laws, islands, island) <= options.newton_rows:
        wanted = options.contact_tolerance
        if greatest_velocity(world.state(table), islands, rows, island) < _MOVING:
            # heavy bodies on light ones have to stay in place
            wanted *= _CLOSE
        if not island_residual(laws, islands, rows, solution, island)[0] <= wanted:
            newtons = solve_by_newton(options, table, island)
    return sweeps, newtons


@kernel
def settles(state, contacts, islands, rows, h, island):
    """
    Return whether an island hardly moves, but its velocities change by more than rounding.

    Sweeps begin with the last step's impulses, including those that changed the velocities then.
    In a stack, sweeps with small changes do not compensate for them: a slow wave with 1e-9 m/s
    continues for ever. Newton steps in two time steps end it. Bodies creeping at a constant
    velocity are left alone, unless it is below the solver's tolerance: then it is the error of an
    earlier step, and would keep positions changing.
    """
    velocity, change = 0.0, 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        # contacts of one pair are adjacent, and have the same coordinates
        if place > islands.first[island] and is_same_pair(contacts, contact):
            continue
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            # compliant joint rows have no velocity; neither has a problem without a state
            if at < state.v.shape[0]:
                velocity = max(velocity, abs(state.v[at]))
                change = max(change, h * abs(state.acceleration[at]))
    is_error = _CREEP * RESTS < velocity < _UNSOLVED
    return is_error or _ROUNDING < change < _MOVES and velocity < _MOVES


@kernel
def is_same_pair(contacts, contact):
    """Return whether a contact has the same geometries as the previous one; elements do not."""
    pairs = contacts.geometry
    return (
        0 < contact < contacts.size[COUNT]
        and (pairs[contact, 0] == pairs[contact - 1, 0])
        and pairs[contact, 1] == pairs[contact - 1, 1]
    )


@kernel
def sweep_while_worthwhile(
    laws,
    islands,
    rows,
    solution,
    island,
    size,
    enough,
    affordable,
    interval,
    a_newton,
    is_settling,
):
    """
    Sweep until the changes are small.

    Returns the sweep count, the number of sweeps with changes that can shift loads, and whether
    the changes are small.

    At regular intervals, the convergence rate predicts the sweeps left. Sweeping stops if these
    would cost more than Newton steps, or more than is affordable. interval: in sweeps. a_newton:
    multiplications in a Newton step. is_settling: small changes do not suffice if sweeps converge
    slowly, see `settles`.
    """
    before, sweeps, change, noise = 0.0, 0, _INFINITY, 0.0
    unshared = 0
    if is_settling:
        noise = _NOISE * greatest_gain(islands, rows, solution, island)
    work = sweep_work(islands, rows, island)
    most_of_rows = _SWEEPS_PER_ROW_2 * size * size
    most = _NEWTONS * a_newton / max(work, 1)
    while True:
        last, change = change, sweep(laws, islands, rows, solution, island)
        sweeps += 1
        if change > SHIFTS:
            unshared = sweeps
        islands.spent[island] += work
        # the convergence rate needs two sweeps
        if change <= enough and not (is_settling and sweeps == 1):
            if is_settling and change > max(_FAST * last, noise):
                return sweeps, unshared, False
            # with different inertias, a small change may be a large one for other contacts
            natural, complementarity = island_residual(laws, islands, rows, solution, island)
            if natural <= 2.0 * enough:
                islands.residual[island, NATURAL] = natural
                islands.residual[island, COMPLEMENTARITY] = complementarity
                return sweeps, unshared, True
            change = 2.0 * enough
        if sweeps == 1:
            before = change
        if sweeps % interval == 0:
            rate = change / before
            left = math.pow(rate, min(most, most_of_rows - sweeps) / interval)
            if not (rate < 1.0 and change * left <= enough):
                return sweeps, unshared, False
            before = change
        if islands.spent[island] > affordable:
            return sweeps, unshared, False
