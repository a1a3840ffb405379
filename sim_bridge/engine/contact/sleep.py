"""
Auto-disable: trees that have come to rest are neither moved nor solved for until something stirs.

With ODE's parameters. All trees of an island fall asleep together, once each has been slower than
the thresholds for long enough; one wakes when it is pushed, written to, or touched by a tree that
is awake or by a kinematic body that moves, and with it all that touch each other. Contacts of
sleepers keep the impulses that they had.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.contact_problem import FIRST, ISLANDS, SECOND
from sim_bridge.engine.data.geometry import SENSOR, STATIC
from sim_bridge.engine.data.model import BALL, BALL_STAGE, FREE, GROUND, KINEMATIC, PRISMATIC, WELD

# State.idle of a tree's first body counts its steps at rest; ASLEEP once it sleeps
ASLEEP = -1


@kernel
def coordinates_of(kind):
    """Return how many position and velocity coordinates a body's joint has."""
    if kind >= FREE:
        return 7, 6
    if kind == BALL_STAGE or kind == BALL:
        return (4, 1) if kind == BALL else (0, 1)
    return (1, 1) if kind > WELD else (0, 0)


@subroutine
def wake_written(
    root, kind, q_index, v_index,  # model
    q, v, u, wrench, rest, count, geometry, geometry_body, flags,  # state (read)
    idle_inout,
):
    """
    Wake the trees whose state, efforts or pushes are not those of a sleeper.

    With them those that they touched in the last step: what lay on them may fall now.
    """
    any_woke = False
    for body in range(kind.shape[0]):
        if idle_inout[root[body]] != ASLEEP:
            continue
        positions, velocities = coordinates_of(kind[body])
        is_same = True
        for at in range(q_index[body], q_index[body] + positions):
            is_same = is_same and q[at] == rest[at]
        for at in range(v_index[body], v_index[body] + velocities):
            is_same = is_same and v[at] == 0.0 and u[at] == 0.0
        for k in range(6):
            is_same = is_same and wrench[body, k] == 0.0
        if not is_same:
            idle_inout[root[body]] = 0
            any_woke = True
    while any_woke:
        any_woke = False
        for contact in range(count):
            a, b = geometry_body[geometry[contact, 0]], geometry_body[geometry[contact, 1]]
            if a >= 0 and b >= 0:
                for side in range(2):
                    body, other = (a, b) if side == 0 else (b, a)
                    if (idle_inout[root[body]] == ASLEEP
                            and flags[geometry[contact, 1 - side]] & STATIC == 0
                            and idle_inout[root[other]] != ASLEEP):
                        idle_inout[root[body]] = 0
                        any_woke = True


@subroutine
def wake_tied(root, kind, tied, idle_inout):
    """Wake the trees that are tied to one that is awake; tell whether there are any."""
    any_woke, goes_on = False, True
    while goes_on:
        goes_on = False
        for pair in range(tied.shape[0]):
            for side in range(2):
                body, other = tied[pair, side], tied[pair, 1 - side]
                if body < 0 or other < 0 or idle_inout[root[body]] != ASLEEP:
                    continue
                if (kind[root[other]] != GROUND and kind[root[other]] != KINEMATIC
                        and idle_inout[root[other]] != ASLEEP):
                    idle_inout[root[body]] = 0
                    any_woke = goes_on = True
    return any_woke


@subroutine
def set_kinds(root, kind, v_index, idle, kind_out, still_out):
    """Let sleepers count as ground; still_out: 1 for their velocity coordinates."""
    for body in range(kind.shape[0]):
        asleep = idle[root[body]] == ASLEEP
        kind_out[body] = GROUND if asleep else kind[body]
        for at in range(v_index[body], v_index[body] + coordinates_of(kind[body])[1]):
            still_out[at] = 1 if asleep else 0


@subroutine
def wake_touched(root, kind, v_index, v, count, geometry, geometry_body, flags, idle_inout):
    """Wake the sleepers that something awake touches; tell whether there are any."""
    any_woke, goes_on = False, True
    while goes_on:
        goes_on = False
        for contact in range(count):
            a, b = geometry[contact, 0], geometry[contact, 1]
            if (flags[a] | flags[b]) & SENSOR != 0:
                continue
            for side in range(2):
                body = geometry_body[geometry[contact, side]]
                other = geometry_body[geometry[contact, 1 - side]]
                is_static = flags[geometry[contact, 1 - side]] & STATIC != 0
                if (body >= 0 and other >= 0 and idle_inout[root[body]] == ASLEEP
                        and is_stirring(kind, v_index, v, idle_inout, root[other], is_static)):
                    idle_inout[root[body]] = 0
                    any_woke = goes_on = True
    return any_woke


@kernel
def is_stirring(kind, v_index, v, idle, tree, is_static):
    """Return whether what can move of a tree is awake, or its kinematic base moves."""
    total = 0.0
    if kind[tree] == KINEMATIC:
        for at in range(v_index[tree], v_index[tree] + 6):
            total += abs(v[at])
    return total > 0.0 or not is_static and idle[tree] != ASLEEP


@subroutine
def fall_asleep(
    root, kind, q_index, v_index, steps, slow, slow_turn,  # model
    q, u, motor, target, wrench,  # state (read)
    islands, effort, count, geometry, geometry_body, laws,
    v_inout, idle_inout, rest_out, minimum_out,
):
    """
    Count how long trees have been slow, and let the islands sleep that have been long enough.

    minimum_out: (nc,) scratch, one entry per island.
    """
    for body in range(kind.shape[0]):
        if root[body] == body and idle_inout[body] != ASLEEP:
            idle_inout[body] += 1
    for body in range(kind.shape[0]):
        if idle_inout[root[body]] == ASLEEP:
            continue
        velocities = coordinates_of(kind[body])[1]
        for k in range(velocities):
            at = v_index[body] + k
            turns = k >= 3 if velocities == 6 else kind[body] != PRISMATIC
            is_driven = u[at] != 0.0 or motor[at] != 0.0 or target[at, 1] != 0.0
            if abs(v_inout[at]) > (slow_turn if turns else slow) or is_driven:
                idle_inout[root[body]] = 0
        for k in range(6):
            if wrench[body, k] != 0.0:
                idle_inout[root[body]] = 0
    for contact in range(count):
        # on a belt that runs, be it ever so slowly
        if (laws.rows[contact] > 1
                and (laws.target[contact, FIRST] != 0.0 or laws.target[contact, SECOND] != 0.0)):
            for side in range(2):
                body = geometry_body[geometry[contact, side]]
                if body >= 0 and idle_inout[root[body]] != ASLEEP:
                    idle_inout[root[body]] = 0

    for island in range(effort[ISLANDS]):
        minimum_out[island] = steps
    for body in range(kind.shape[0]):
        island = island_of(islands, root[body])
        if island >= 0:
            minimum_out[island] = min(minimum_out[island], idle_inout[root[body]])
    for body in range(kind.shape[0]):
        island = island_of(islands, root[body])
        if root[body] == body and island >= 0 and minimum_out[island] >= steps:
            idle_inout[body] = ASLEEP
    for body in range(kind.shape[0]):
        if idle_inout[root[body]] == ASLEEP:
            positions, velocities = coordinates_of(kind[body])
            for at in range(q_index[body], q_index[body] + positions):
                rest_out[at] = q[at]
            for at in range(v_index[body], v_index[body] + velocities):
                v_inout[at] = 0.0


@kernel
def island_of(islands, tree):
    """Return the island of a tree in this step, -1 where it touches nothing."""
    leader = islands.leader
    while leader[tree] != tree:
        tree = leader[tree]
    return islands.of_tree[tree]
