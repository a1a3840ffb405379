"""Islands: groups of trees connected by contacts."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import ISLANDS, NEWTONS, SWEEPS
from sim_bridge.engine.dynamics.articulated import is_immobile

_LEAST_SWEEPS = 8
_WORK_OF_UPDATE = 250  # multiplications counted for one contact update in a sweep


@subroutine
def find_islands(model, ws, geometry, contacts, tied, laws, islands, solution):
    """
    Find the islands, ordered by their first contact, and list each island's contacts.

    A contact between immobile bodies loses its rows. tied: as for `join_trees`.
    """
    join_trees(model, ws, geometry, contacts, tied, laws, islands)
    leader, number = islands.leader, 0
    for contact in range(contacts.size[COUNT]):
        a, b = trees_of(model, ws, geometry, contacts, contact)
        islands.number[contact] = -1
        if a < 0 and b < 0:
            laws.rows[contact] = 0
        if laws.rows[contact] == 0:
            continue
        a = find_leader(leader, max(a, b))
        if islands.of_tree[a] < 0:
            islands.of_tree[a] = number
            islands.first[number] = 0
            number += 1
        islands.number[contact] = islands.of_tree[a]
        islands.first[islands.of_tree[a]] += 1
    solution.effort[ISLANDS], solution.effort[SWEEPS], solution.effort[NEWTONS] = number, 0, 0
    islands.spent[:number] = 0
    islands.left[:number] = 0.0
    islands.level[:number] = islands.remembers[:number] = islands.result[:number] = 0
    islands.wait[:number] = 0
    sort_contacts(contacts.size[COUNT], number, islands)


@kernel
def join_trees(model, ws, geometry, contacts, tied, laws, islands):
    """
    Join the trees that depend on each other, in no island yet.

    Union-find over the trees' first bodies; immobile bodies connect nothing. tied: pairs of bodies
    whose trees depend on each other, with or without contact.
    """
    leader = islands.leader
    for body in range(leader.shape[0]):
        leader[body] = body
        islands.of_tree[body] = -1
    for contact in range(contacts.size[COUNT]):
        a, b = trees_of(model, ws, geometry, contacts, contact)
        if a >= 0 and b >= 0 and laws.rows[contact] > 0:
            a, b = find_leader(leader, a), find_leader(leader, b)
            leader[max(a, b)] = min(a, b)

    for pair in range(tied.shape[0]):
        a, b = tied[pair, 0], tied[pair, 1]
        if a >= 0 and b >= 0 and not is_immobile(ws.kind[a]) and not is_immobile(ws.kind[b]):
            a, b = find_leader(leader, model.root[a]), find_leader(leader, model.root[b])
            leader[max(a, b)] = min(a, b)


@kernel
def affordable_sweeps(options, islands, island):
    """
    Return the sweep limit for an island: few, but never none, for large ones.

    A given number of iterations is the limit for every island, whatever its work.
    """
    if options.newton_rows == 0:
        return options.max_sweeps
    updates = options.step_budget // _WORK_OF_UPDATE
    size = islands.first[island + 1] - islands.first[island]
    return min(options.max_sweeps, max(_LEAST_SWEEPS, updates // size))


@kernel
def bodies_of(geometry, pairs, contact):
    """Return a contact's two bodies, -1 for the world; pairs: its geometries, (nc, 2)."""
    return geometry.body[pairs[contact, 0]], geometry.body[pairs[contact, 1]]


@kernel
def trees_of(model, ws, geometry, contacts, contact):
    """Return the two trees (first bodies) moved by a contact, -1 for none."""
    a, b = bodies_of(geometry, contacts.geometry, contact)
    return (
        model.root[a] if a >= 0 and not is_immobile(ws.kind[a]) else -1,
        model.root[b] if b >= 0 and not is_immobile(ws.kind[b]) else -1,
    )


@kernel
def find_leader(leader_inout, body):
    """Return a tree's representative, with path halving."""
    while leader_inout[body] != body:
        leader_inout[body] = leader_inout[leader_inout[body]]
        body = leader_inout[body]
    return body


@kernel
def sort_contacts(count, number, islands):
    """List contacts by island with a counting sort; `first` holds each island's count."""
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
