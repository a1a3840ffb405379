"""
Newton steps for an island, and the methods before and after them, as stages of their own.

An island is solved in this order, until the residual is within the tolerance or the work is spent:

1. A large island iterates with one factorization (`alternating`). An island that failed before
   follows the central path instead (`central_path`).
2. Newton steps (`proximal`). If a few of them do not suffice, the central path and further steps.
3. Sweeps, which bring the impulses within their laws.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.contact.accuracy import FINE, is_slow_island, level_tolerance
from sim_bridge.engine.contact.alternating import alternate, is_large, penalty_of
from sim_bridge.engine.contact.budget import (
    affordable_work,
    BAD,
    greatest_velocity,
    island_rows,
    island_tolerance,
    newton_work,
    sweep_work,
)
from sim_bridge.engine.contact.central_path import follow_path, has_path, path_work
from sim_bridge.engine.contact.gauss_seidel import sweep
from sim_bridge.engine.contact.load_sharing import share_load
from sim_bridge.engine.contact.proximal import go_back, keep_impulses, MOST_NEWTONS, solve_proximal
from sim_bridge.engine.contact.residual import island_residual
from sim_bridge.engine.contact.solver_calls import island_of_phase
from sim_bridge.engine.contact.tree_newton import lay_out_trees, work_along_trees
from sim_bridge.engine.contact.velocity_newton import order_coordinates
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_problem import ELEMENTS, ORDER_WORK

_NORMAL_SWEEPS = 10
_LAST_SWEEPS = 5  # after Newton's method was abandoned: they bring forces within their bounds
_NEWTONS_BEFORE_PATH = 8  # Newton steps, before the central path is followed
_PATH = 6  # steps on the path that must fit into the budget where the path comes first
_OF_VELOCITY = 1e-5  # residual where the path comes first, relative to the island's velocity
_TRIAL = 10  # a trial of the level FINE has this fraction of the work
_SWEEPS_FOR_BAD = 50  # for a residual above BAD, if affordable


def newton(table, phase):
    """
    Solve an island directly, starting from its impulses; return the number of Newton steps.

    phase: the island's number, or its encoding by `normals_alone`.
    """
    island, is_without_friction = island_of_phase(phase)
    if not is_without_friction:
        return solve_by_methods(table, island, False)
    leave_normals(table, island)
    newtons = solve_by_methods(table, island, True)
    restore_friction(world.laws(table), world.islands(table), world.direct(table), island)
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


@subroutine
def leave_normals(table, island):
    """Remove an island's friction rows until `restore_friction`, and sweep over its normals."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, direct = world.solution(table), world.direct(table)
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        direct.rows[contact] = laws.rows[contact]
        laws.rows[contact] = 1
    enough = 0.5 * aim_of(table, island)
    for _ in range(_NORMAL_SWEEPS):
        if sweep(laws, islands, rows, solution, island) <= enough:
            break


@kernel
def restore_friction(laws, islands, direct, island):
    """Restore the rows removed by `leave_normals`."""
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        laws.rows[contact] = direct.rows[contact]


@subroutine
def solve_by_methods(table, island, is_without_friction):
    """Solve an island by the methods listed above; return the number of Newton steps."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    state, solution, direct = world.state(table), world.solution(table), world.direct(table)
    tolerance = aim_of(table, island)
    order_coordinates(islands, rows, direct, island)
    a_newton = newton_work(islands, rows, island) + max(direct.size[ORDER_WORK], 0)
    lay_out_trees(table, island, a_newton)
    a_newton = work_along_trees(islands, rows, direct, island, a_newton)
    most = most_work(table, island, a_newton)
    newtons, is_ready, is_first = 0, True, False
    on_path = not is_without_friction and can_follow(table, island)
    if on_path and is_path_first(table, island, most):
        is_first, tolerance = True, tolerance_on_path(table, island, tolerance)
        newtons = follow_path(laws, islands, rows, solution, direct, island, tolerance, most)
        is_ready = islands.spent[island] <= most
    elif is_large(laws, islands, direct, island):
        penalty = penalty_of(state, islands, rows, direct, island, most)
        left = alternate(laws, islands, rows, solution, direct, island, penalty, tolerance, most)
        # one factorization is a Newton step's work
        newtons, is_ready = 1, left <= tolerance or islands.spent[island] <= most
    if is_ready:
        own, tolerance = try_finely(table, island, tolerance, most)
        newtons += own
        newtons += step_beside_path(table, island, tolerance, most, on_path, is_first)
    sweep_last(table, island, tolerance, most)
    return newtons


@kernel
def can_follow(table, island):
    """Return whether an island has a central path."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    return has_path(laws, islands, rows, world.direct(table), island)


@kernel
def is_path_first(table, island, most):
    """Return whether an island follows the path before Newton steps: it failed before."""
    islands, rows = world.islands(table), world.rows(table)
    if islands.remembers[island] != 1 or moves_slowly(table, island):
        return False
    a_path = _PATH * path_work(islands, rows, world.direct(table), island)
    return islands.spent[island] + a_path <= most


@subroutine
def try_finely(table, island, tolerance, most):
    """
    Try the level FINE after failures, with little work; return Newton steps, and the tolerance.

    Beyond this work the coarse tolerance suffices.
    """
    islands, coarse = world.islands(table), 0.5 * coarse_tolerance(table, island)
    is_trial = islands.level[island] == FINE and islands.remembers[island] != 0
    if not (is_trial and coarse > tolerance):
        return 0, tolerance
    newtons = solve_proximal(
        world.laws(table),
        islands,
        world.rows(table),
        world.solution(table),
        world.direct(table),
        island,
        tolerance,
        most // _TRIAL,
        MOST_NEWTONS,
    )
    return newtons, coarse


@subroutine
def step_beside_path(table, island, tolerance, most, on_path, is_first):
    """
    Take Newton steps, and follow the central path where few do not suffice; return their number.

    on_path: whether the island has a path. is_first: whether it followed the path already.
    """
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, direct = world.solution(table), world.direct(table)
    few = _NEWTONS_BEFORE_PATH if on_path else MOST_NEWTONS
    newtons = solve_proximal(laws, islands, rows, solution, direct, island, tolerance, most, few)
    left, _ = island_residual(laws, islands, rows, solution, island)
    if on_path and not is_first and left > tolerance:
        newtons += follow_path(laws, islands, rows, solution, direct, island, tolerance, most)
        further = MOST_NEWTONS - newtons
        newtons += solve_proximal(
            laws, islands, rows, solution, direct, island, tolerance, most, further
        )
    return newtons


@subroutine
def sweep_last(table, island, tolerance, most):
    """Sweep over an island above its tolerance, unless the sweeps diverge."""
    laws, islands, rows = world.laws(table), world.islands(table), world.rows(table)
    solution, direct = world.solution(table), world.direct(table)
    left, _ = island_residual(laws, islands, rows, solution, island)
    if not left > tolerance:
        return
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


@kernel
def moves_slowly(table, island):
    """Return whether an island is slow, see `accuracy.is_slow_island`."""
    return is_slow_island(
        world.options(table), world.state(table), world.islands(table), world.rows(table), island
    )


@kernel
def is_pile(table, island):
    """Return whether an island has more rows than Newton steps of `iterative` complete."""
    size = island_rows(world.laws(table), world.islands(table), island)
    return size > world.options(table).newton_rows


@kernel
def aim_of(table, island):
    """Return half the solver's aim for the residual: load sharing adds its own rounding [m/s]."""
    return 0.5 * tolerance_of(table, island)


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


NEWTON, SHARE = map(Stage, (newton, share))
