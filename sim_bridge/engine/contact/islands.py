"""Islands: the groups of trees that contacts connect."""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.contact_problem import ISLANDS
from sim_bridge.engine.dynamics.articulated import is_immobile

_LEAST_SWEEPS = 8
_UPDATES = 2000  # of contacts, that a step can afford for each island


@subroutine
def find_islands(
    root, kind, geometry_body,  # model
    count, geometry, tied,  # state (read)
    rows_inout, islands, effort_out,
):
    """
    Give islands numbers by their first contact, and list each one's contacts.

    Union-find over the trees' first bodies; what cannot move connects nothing. A contact between
    bodies that cannot move loses its rows. tied: pairs of bodies whose trees depend on each other,
    whatever touches.
    """
    leader = islands.leader
    for body in range(leader.shape[0]):
        leader[body] = body
        islands.of_tree[body] = -1
    for contact in range(count):
        a, b = trees_of(root, kind, geometry_body, geometry, contact)
        if a >= 0 and b >= 0 and rows_inout[contact] > 0:
            a, b = find_leader(leader, a), find_leader(leader, b)
            leader[max(a, b)] = min(a, b)

    for pair in range(tied.shape[0]):
        a, b = tied[pair, 0], tied[pair, 1]
        if a >= 0 and b >= 0 and not is_immobile(kind[a]) and not is_immobile(kind[b]):
            a, b = find_leader(leader, root[a]), find_leader(leader, root[b])
            leader[max(a, b)] = min(a, b)

    number = 0
    for contact in range(count):
        a, b = trees_of(root, kind, geometry_body, geometry, contact)
        islands.number[contact] = -1
        if a < 0 and b < 0:
            rows_inout[contact] = 0
        if rows_inout[contact] == 0:
            continue
        a = find_leader(leader, max(a, b))
        if islands.of_tree[a] < 0:
            islands.of_tree[a] = number
            islands.first[number] = 0
            number += 1
        islands.number[contact] = islands.of_tree[a]
        islands.first[islands.of_tree[a]] += 1
    effort_out[ISLANDS] = number
    for island in range(number):
        islands.spent[island] = 0
    sort_contacts(count, number, islands)


@kernel
def affordable_sweeps(islands, island, most):
    """Return how often to sweep an island at most: large ones less often, but for a few times."""
    size = islands.first[island + 1] - islands.first[island]
    return min(most, max(_LEAST_SWEEPS, _UPDATES // size))


@kernel
def trees_of(root, kind, geometry_body, geometry, contact):
    """Return the first bodies of the two trees that a contact can move, -1 for none."""
    a, b = geometry_body[geometry[contact, 0]], geometry_body[geometry[contact, 1]]
    return (root[a] if a >= 0 and not is_immobile(kind[a]) else -1,
            root[b] if b >= 0 and not is_immobile(kind[b]) else -1)


@kernel
def find_leader(leader_inout, body):
    """Return a tree's representative, halving the path to it."""
    while leader_inout[body] != body:
        leader_inout[body] = leader_inout[leader_inout[body]]
        body = leader_inout[body]
    return body


@kernel
def sort_contacts(count, number, islands):
    """List the contacts by island, by counting; `first` holds how many each island has."""
    total = 0
    for island in range(number):
        size = islands.first[island]
        islands.first[island] = total
        total += size
    for contact in range(count):
        island = islands.number[contact]
        if island >= 0:
            islands.order[islands.first[island]] = contact
            islands.first[island] += 1
    for island in range(number, 0, -1):
        islands.first[island] = islands.first[island - 1]
    islands.first[0] = 0
