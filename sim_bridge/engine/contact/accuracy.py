"""
Accuracy levels for the solver `direct`, chosen for each island by the measured work.

Most islands are solved to the solver's tolerance by sweeps and a few Newton steps. Some moving
islands need many Newton steps for digits below a step's own error, and in some jams these steps
miss the tolerance. Such an island is solved at a coarser level for some steps:

    FINE    the solver's tolerance
    COARSE  a share of the island's velocity; the same tolerance at rest
    ROUGH   a larger share, reached by sweeps alone; Newton steps follow if sweeps leave more

After WAIT steps the next finer level is tried. Each failure doubles the wait. The state holds the
level at an island's coordinates, so a copied world takes the same decisions.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.contact.budget import (
    greatest_velocity,
    INVESTS,
    island_tolerance,
    MOST_WORK,
    NEAR_REST,
)
from sim_bridge.engine.data.contact_problem import ISLANDS
from sim_bridge.engine.data.state import FAILURES, LEVEL, WAIT

FINE, COARSE, ROUGH = range(3)

# results of an island in a step: no Newton steps, few, steps to bring it to rest, many, missed
# tolerance
SWEPT, CHEAP, SETTLING, COSTLY, MISSED = range(5)

_COSTLY = 30  # Newton steps are costly above the work for this many sweeps
_SETTLES = 100  # so many steps in a row may bring an island to rest by Newton steps
_WAIT, _LONGEST = 1, 8  # shortest wait, in steps, and how often it doubles at most
_PAYS = 0.1  # Newton steps have missed the tolerance if they leave more than this share
MORE = 10.0  # sweeps at level ROUGH may leave this multiple of State.missed
# bounds for this residual, since larger ones would move bodies visibly: [m/s], and relative to the
# island's velocity
_MOST_MISSED, _OF_VELOCITY = 2e-5, 1e-5
_SLOW = 1.0  # slow islands: velocity per time step below this acceleration [m/s², rad/s²]
_SLOW_WAIT = 16  # longest wait in slow islands, in steps
_SLOWLY = 0.9  # State.missed falls in a step to this share at most


@kernel
def find_level(options, state, islands, rows, island):
    """Write the island's level in this step into islands.level, and return it."""
    level, wait, failures = FINE, 0, 0
    # a world without a budget is solved exactly, a problem without a state has no past
    if options.step_budget < MOST_WORK and state.v.shape[0] > 0:
        level, wait, failures = stored_level(state, islands, rows, island)
    islands.remembers[island] = int(level > FINE or failures > 0)
    if level == ROUGH and is_slow_island(options, state, islands, rows, island):
        wait = min(wait, _SLOW_WAIT)
        # a solution brings a slow island to rest, and later steps need no Newton steps
        if wait == 0:
            islands.remembers[island] = INVESTS
    # near rest every solution brings the island closer to it
    if level == ROUGH and greatest_velocity(state, islands, rows, island) < NEAR_REST:
        wait = 0
    islands.wait[island] = wait
    if wait == 0 and level > FINE:
        level -= 1
    islands.level[island] = level
    return level


@kernel
def is_slow_island(options, state, islands, rows, island):
    """Return whether an island moves slower than weight changes its velocity in a step."""
    return greatest_velocity(state, islands, rows, island) < _SLOW * options.time_step


@kernel
def stored_level(state, islands, rows, island):
    """Return the greatest level, wait and failure count among the island's coordinates."""
    level, wait, failures = FINE, 0, 0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if at < state.v.shape[0]:
                level = max(level, state.accuracy[at, LEVEL])
                wait = max(wait, state.accuracy[at, WAIT])
                failures = max(failures, state.accuracy[at, FAILURES])
    return level, wait, failures


@kernel
def level_tolerance(options, state, islands, rows, has_elements, island):
    """Return the solver's aim for the residual in an island [m/s]."""
    if islands.level[island] == FINE or has_elements:
        return options.contact_tolerance
    return island_tolerance(options, state, islands, rows, has_elements, island)


@kernel
def last_missed(state, islands, rows, island):
    """
    Return the greatest residual in State.missed among the island's coordinates [m/s].

    Its bound is a share in the island's velocity, or a residual too small to move bodies visibly.
    """
    left = 0.0
    for place in range(islands.first[island], islands.first[island + 1]):
        contact = islands.order[place]
        for entry in range(rows.first[contact], rows.first[contact + 1]):
            at = rows.support[entry]
            if at < state.v.shape[0]:
                left = max(left, state.missed[at])
    moving = _OF_VELOCITY * greatest_velocity(state, islands, rows, island)
    return min(left, max(_MOST_MISSED, moving))


@kernel
def note_result(islands, island, before, residual, tolerance, coarse, work, is_settling, is_pile):
    """
    Record an island's Newton steps in islands.result and islands.left.

    before, residual: before and after them [m/s]. tolerance: aim at this level; coarse: at level
    COARSE [m/s]. work: relative to the work of a sweep. is_settling: they bring it to rest.
    is_pile: the island is large; in small ones sweeps replace no Newton steps.
    """
    result = SETTLING if is_settling else CHEAP
    if is_pile and not residual <= max(coarse, _PAYS * before):
        result = MISSED
    elif coarse > tolerance and (work > _COSTLY or not residual <= tolerance):
        result = COSTLY
    islands.result[island] = max(islands.result[island], result)
    islands.left[island] = residual


@kernel
def keep_levels(state, islands, rows, solution):
    """Store the islands' levels for the next step."""
    for island in range(solution.effort[ISLANDS]):
        level, result = islands.level[island], islands.result[island]
        if islands.remembers[island] == 0 and result <= CHEAP:
            continue
        old, _, failures = stored_level(state, islands, rows, island)
        wait = islands.wait[island]
        level, wait, failures = next_level(level, result, old, wait, failures)
        for place in range(islands.first[island], islands.first[island + 1]):
            contact = islands.order[place]
            for entry in range(rows.first[contact], rows.first[contact + 1]):
                at = rows.support[entry]
                if at < state.v.shape[0]:
                    state.accuracy[at, LEVEL] = level
                    state.accuracy[at, WAIT] = wait
                    state.accuracy[at, FAILURES] = failures
                    state.missed[at] = next_missed(state.missed[at], islands.left[island], result)


@kernel
def next_missed(last, left, result):
    """Return State.missed after this step; left: residual in this step [m/s]."""
    return left if result == MISSED else min(last, max(left, _SLOWLY * last))


@kernel
def next_level(level, result, stored, wait, failures):
    """
    Return level, wait and failure count for the next step.

    level: in this step. stored: before it; greater than `level` if this step has tried a finer
    one.
    """
    if result == SETTLING:
        if failures < _SETTLES:
            return FINE, 0, failures + 1
        return ROUGH, _WAIT << _LONGEST, 0
    if result == MISSED or result == COSTLY and level == FINE:
        failures = min(failures + 1, _LONGEST)
        return ROUGH if result == MISSED else COARSE, _WAIT << failures, failures
    if result == CHEAP and level == ROUGH:
        return COARSE, 0, max(failures - 1, 0)
    if wait > 0:
        return stored, wait - 1, failures
    if level == FINE:
        return FINE, 0, max(failures - 1, 0)
    return level, _WAIT << failures, failures
