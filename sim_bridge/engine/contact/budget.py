"""
Step budget: bound on the work for each island in one time step, in multiplications.

Work is counted instead of timed, so a step takes the same decisions on every machine. Once an
island has spent its budget, over all joint pivots, no further Newton step begins. Final sweeps
bring the impulses within their laws' bounds, and the next time step continues from them.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.contact_materials import SPLIT

MOST_WORK = 100_000_000
"""Upper bound on an island's multiplications, whatever its budget: about 0.1 s."""

BAD = 0.05
"""Residual limit [m/s]; above it, bodies visibly sink and more work is allowed."""

NEAR_REST = 3e-3
"""Greatest velocity of an island near rest [m/s, rad/s]."""

INVESTS = 2
"""Value in Islands.remembers: the island may take more work, see `contact.accuracy`."""

OF_ENTRY_PAIR = 4
"""Multiplications for one pair of a contact's row entries, as Newton's matrix is built."""

_OF_ENTRY = 12  # multiplications in a sweep for each entry in a contact's rows
_PILE = 150  # an island with more rows than this counts as a pile and gets a larger budget
_NEWTONS_OF_PILE = 10  # Newton step limit for a pile
# factor on the budget for piles, for joint laws solved with contacts instead of by pivots, and for
# solvers that alternate Newton's method with sweeps
_MORE = 6
_PLACED_AT_REST = 30  # bodies placed at rest: factor on the budget, or number of Newton steps
_INVESTED = 10  # factor on the budget for a slow island that missed its tolerance
_NEWTONS_AT_REST = 40  # Newton steps allowed for an island near rest, whatever the budget
_OF_VELOCITY = 1e-4  # residual relevant in a moving island, relative to its greatest velocity
_AIM_IN_MOTION = 1e-6  # the solver aims at smaller residuals [m/s]
_OF_CHANGE = 1e-3  # accepted residual relative to the velocity change in the step
_UNSEEN_AT_REST, _UNSEEN_IN_MOTION = 1e-7, 1e-2  # bounds for the accepted residual [m/s]


@kernel
def affordable_work(options, state, laws, islands, rows, solution, has_elements, a_newton, island):
    """
    Return the multiplications allowed for an island in one step.

    has_elements: whether joint laws are among the rows. a_newton: multiplications in one Newton
    step. An island near rest may take enough Newton steps to stay there: its impulses change
    little from step to step, so few steps solve it, and the next steps need none. With a smaller
    bound, a tower would begin to move, and cost the bound in every step.
    """
    most = budget = float(options.step_budget)
    size = island_rows(laws, islands, island)
    if is_placed_at_rest(state, islands, rows, solution, island):
        most = _PLACED_AT_REST * max(budget, a_newton)
    elif has_elements or options.solver == SPLIT or options.hybrid != 0:
        most = _MORE * budget
    elif size > _PILE:
        # a Newton step on a pile twice as large costs up to four times as much
        larger = size / _PILE
        most = min(budget * larger * larger, float(_NEWTONS_OF_PILE) * a_newton)
        most = max(budget, min(most, _MORE * budget))
    if islands.remembers[island] == INVESTS:
        most = max(most, _INVESTED * budget)
    if greatest_velocity(state, islands, rows, island) < NEAR_REST:
        most = max(most, _NEWTONS_AT_REST * float(a_newton))
    return int(min(most, float(MOST_WORK)))


@kernel
def island_tolerance(options, state, islands, rows, has_elements, island):
    """
    Return the residual sufficient in an island [m/s].

    At rest it is the solver's tolerance. In motion it is a share of the greatest velocity, up to
    the residual that moves a body in 1 ms by the gap that counts as closed. Smaller residuals are
    below a step's own error. Joint laws among the rows (has_elements) keep the solver's tolerance:
    small velocities of heavy bodies are large efforts there.
    """
    if has_elements:
        return options.contact_tolerance
    in_motion = _OF_VELOCITY * greatest_velocity(state, islands, rows, island)
    return max(options.contact_tolerance, min(in_motion, _AIM_IN_MOTION))


@kernel
def accepted_residual(options, state, islands, rows, has_elements, island, change):
    """
    Return the residual up to which an island counts as converged [m/s].

    change: greatest velocity change in the step. A user sees no smaller residuals: at rest they
    move bodies by 0.3 mm in an hour, in motion by 0.1 mm in a metre. In impacts the instant within
    the step is unknown, so positions are uncertain by half the change times the step; the residual
    adds a five-hundredth to this.
    """
    if has_elements:
        return options.contact_tolerance
    in_motion = _OF_VELOCITY * greatest_velocity(state, islands, rows, island)
    in_motion = min(max(in_motion, _OF_CHANGE * change), _UNSEEN_IN_MOTION)
    return max(options.contact_tolerance, max(_UNSEEN_AT_REST, in_motion))


@kernel
def greatest_change(state, islands, rows, v_next, island):
    """Return the greatest velocity change in an island; v_next: velocities at the step's end."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if at < state.v.shape[0]:
                greatest = max(greatest, abs(v_next[at] - state.v[at]))
    return greatest


@kernel
def greatest_velocity(state, islands, rows, island):
    """Return an island's greatest coordinate velocity before the step."""
    greatest = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            # compliant joint rows have no velocity; neither has a problem without a state
            if rows.support[entry] < state.v.shape[0]:
                greatest = max(greatest, abs(state.v[rows.support[entry]]))
    return greatest


@kernel
def is_placed_at_rest(state, islands, rows, solution, island):
    """
    Return whether the island's bodies were placed on each other at rest, before the first step.

    No body moves, and no contact pushed in the last step. The resting impulses have to be found
    from zero, once. With incomplete impulses the bodies would begin to move, and might fall.
    """
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for k in range(6):
            if solution.last[contact, k] != 0.0:
                return False
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if at < state.v.shape[0] and state.v[at] != 0.0:
                return False
    return state.v.shape[0] > 0


@kernel
def sweep_work(islands, rows, island):
    """Return the multiplications in one sweep over an island."""
    entries = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries += rows.first[contact + 1] - rows.first[contact]
    return _OF_ENTRY * entries


@kernel
def newton_work(islands, rows, island):
    """Return the approximate multiplications in one Newton step for velocities."""
    work = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        entries = rows.first[contact + 1] - rows.first[contact]
        work += OF_ENTRY_PAIR * entries * entries
    return work


@kernel
def island_rows(laws, islands, island):
    """Return an island's row count."""
    rows = 0
    for place in range(islands.first[island], islands.first[island + 1]):
        rows += laws.rows[islands.order[place]]
    return rows
