"""
Pairs of bodies excluded from collision within one robot.

Always excluded: bodies connected by a joint. MoveIt's setup assistant and SDF exclude them, too;
their shapes overlap at the joint by design. Bodies without mass and shape count as part of the
joint, such as those in a ball joint made from three hinges.

Excluded by default: bodies overlapping in the initial configuration. An initially overlapping
robot would burst apart. Mesh hulls often overlap even if the meshes do not, and overlaps in this
configuration are mostly intended (MoveIt's 'collision by default'). Pairs that can really hit each
other are apart there. Gazebo goes further: robots have no self-collision unless they set
`selfCollide`. Choose this if a robot's shapes still disturb each other. An SRDF lists the
excluded pairs exactly; its list replaces the overlap test.
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
    Return the pairs of bodies connected by a joint, lower number first.

    has_shape: (nb,) whether the body has collision shapes. Bodies welded to each other count as
    one.
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
    Return the pairs that do not collide by Gazebo's `selfCollide`; None if no link has the tag.

    Two links collide if either has the tag with the value true (SDF, link.sdf). A missing tag
    counts as false. body_of: body number by link name, for all links with shapes.
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
    Return the body pairs for pairs of links.

    Links fixed to each other are one body: excluding one of them from another link excludes all of
    them.
    """
    pairs = set()
    for names in separated:
        bodies = {body_of[name] for name in names if name in body_of}
        if len(bodies) == 2:
            pairs.add((min(bodies), max(bodies)))
    return frozenset(pairs)
