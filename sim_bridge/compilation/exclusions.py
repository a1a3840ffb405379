"""
Which bodies of one robot never touch each other.

Always: bodies that a joint connects. MoveIt's setup assistant and SDF leave those out too; their
shapes overlap at the joint by design. Bodies without mass and shape, such as those of a ball joint
made of three hinges, count as part of the joint.

By default: bodies that overlap in the initial configuration as well. A robot that begins inside
itself would burst, and hulls of meshes often overlap where the meshes do not; what overlaps there
is mostly made to (MoveIt's 'collision by default'). Pairs that a robot can really hit itself with
are apart in it. Gazebo goes further and lets no robot touch itself unless it says `selfCollide`;
that is the choice for a robot whose shapes still disturb each other. An SRDF says exactly which
pairs are left out, and its list takes the place of the overlap test.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from sim_bridge.description.model import RobotDescription
from sim_bridge.engine.data import model as engine

Pairs = frozenset[tuple[int, int]]


def adjacent_bodies(model: engine.Model, has_shape: np.ndarray) -> Pairs:
    """
    Return the pairs of bodies that a joint connects, the lower number first.

    has_shape: (nb,) whether anything of the body collides. Bodies that are welded to each other
    count as one.
    """
    welded: dict[int, list[int]] = {}
    head = np.arange(len(model.parent))
    for body, kind in enumerate(model.kind):
        if kind == engine.WELD and model.parent[body] >= 0:
            head[body] = head[model.parent[body]]
        welded.setdefault(int(head[body]), []).append(body)

    def is_something(group: int) -> bool:
        return any(model.inertia[body, 0] > 0.0 or has_shape[body] for body in welded[group])

    pairs: set[tuple[int, int]] = set()
    for group, bodies in welded.items():
        pairs.update(combinations(bodies, 2))
        above = model.parent[group]
        while above >= 0 and not is_something(head[above]):
            above = model.parent[head[above]]
        if above >= 0:
            pairs.update((one, other) for one in welded[head[above]] for other in bodies)
    return frozenset((min(pair), max(pair)) for pair in pairs)


def kept_by_tags(description: RobotDescription, body_of: dict[str, int]) -> Pairs | None:
    """
    Return the pairs of bodies that Gazebo's `selfCollide` keeps apart; None where no link has it.

    Links touch each other where either asks for it (SDF, link.sdf); links without the tag do not.
    body_of: the body of every link that has shapes.
    """
    wishes: dict[int, bool] = {}
    if all(link.contact.self_collide is None for link in description.links.values()):
        return None
    for name, body in body_of.items():
        wish = bool(description.links[name].contact.self_collide)
        wishes[body] = wishes.get(body, False) or wish
    return frozenset(
        (one, other)
        for one, other in combinations(sorted(wishes), 2)
        if not wishes[one] and not wishes[other]
    )


def pairs_of_links(separated: Iterable[frozenset[str]], body_of: dict[str, int]) -> Pairs:
    """
    Return the pairs of bodies that hold pairs of links.

    Links that are fixed to each other are one body: where one of them is kept from another link,
    all of them are.
    """
    pairs = set()
    for names in separated:
        bodies = {body_of[name] for name in names if name in body_of}
        if len(bodies) == 2:
            pairs.add((min(bodies), max(bodies)))
    return frozenset(pairs)
