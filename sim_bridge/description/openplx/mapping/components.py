"""Division of bodies into robots: each robot's tree, and the mates closing loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sim_bridge.description.openplx.assembly import Mate

# mates accepted as tree joints, by preference
_IN_TREES = ('lock', 'hinge', 'prismatic', 'cylindrical', 'ball')


@dataclass(frozen=True, eq=False)
class Component:
    """
    Bodies connected by mates.

    root: the root body's path, '' for the world. bodies: paths in definition order, including
    the root except the world. joints: mates of the tree, parents first, each with whether the
    second side is the child. floating: bodies beginning a tree of their own, since only mates
    unfit for trees hold them. loops: the other mates between these bodies.
    """

    root: str
    bodies: tuple[str, ...]
    joints: tuple[tuple[Mate, bool], ...]
    floating: tuple[str, ...]
    loops: tuple[Mate, ...]

    @property
    def mates(self) -> tuple[Mate, ...]:
        """All mates between its bodies."""
        return (*(mate for mate, _ in self.joints), *self.loops)


class _Sets:
    """Disjoint path sets."""

    def __init__(self, items: Iterable[str]):
        self._leader = {item: item for item in items}

    def leader(self, item: str) -> str:
        while self._leader[item] != item:
            self._leader[item] = item = self._leader[self._leader[item]]
        return item

    def join(self, one: str, other: str) -> bool:
        """Join two sets; return whether they were separate."""
        one, other = self.leader(one), self.leader(other)
        self._leader[other] = one
        return one != other


def components(
    bodies: Sequence[str],
    kinematic: Collection[str],
    mates: Sequence[Mate],
    compliant: Collection[str],
    driven: Collection[str],
) -> tuple[list[Component], list[Mate]]:
    """
    Return the components in definition order, and the mates between two components.

    kinematic: paths of kinematic bodies. compliant: paths of mates that are not rigid. driven:
    paths of mates with springs, motors or other effects on their axes. The world is the root of a
    component connected to it. A kinematic body is the root of a component if no other kinematic
    body holds it. Mates between kinematic bodies or the world have no effect and are left out.
    """
    moved = [body for body in bodies if body not in kinematic]
    sets = _Sets(moved)
    for mate in mates:
        one, other = _bodies(mate)
        if one in sets._leader and other in sets._leader:
            sets.join(one, other)
    members: dict[str, list[str]] = {}
    for body in moved:
        members.setdefault(sets.leader(body), []).append(body)
    anchors = _anchors(mates, sets, set(moved))
    order = {body: number for number, body in enumerate(bodies)}
    roots: dict[str, str] = {}
    for leader, group in members.items():
        held_by = anchors.get(leader, {})
        root = '' if '' in held_by else group[0]
        if len(held_by) == 1 and '' not in held_by and not set(held_by) & set(roots.values()):
            root = next(iter(held_by))
        roots[leader] = root
        if root in kinematic:
            group.insert(0, root)
    made = {
        leader: _component(roots[leader], group, mates, compliant, driven)
        for leader, group in members.items()
    }
    alone = [body for body in bodies if body in kinematic and body not in roots.values()]
    known = [*made.values(), *(Component(body, (body,), (), (), ()) for body in alone)]
    known.sort(key=lambda each: min(order[body] for body in each.bodies))
    inside = {mate.path for each in known for mate in each.mates}
    cross = [
        mate
        for mate in mates
        if mate.path not in inside and any(body in sets._leader for body in _bodies(mate))
    ]
    return known, cross


def _bodies(mate: Mate) -> tuple[str, str]:
    return mate.sides[0].body, mate.sides[1].body


def _anchors(
    mates: Sequence[Mate], sets: _Sets, moved: Collection[str]
) -> dict[str, dict[str, None]]:
    """Return the world and the kinematic bodies holding each set, by the set's leader."""
    found: dict[str, dict[str, None]] = {}
    for mate in mates:
        one, other = _bodies(mate)
        for own, anchor in ((one, other), (other, one)):
            if own in moved and anchor not in moved:
                found.setdefault(sets.leader(own), {})[anchor] = None
    return found


def _component(
    root: str,
    group: list[str],
    mates: Sequence[Mate],
    compliant: Collection[str],
    driven: Collection[str],
) -> Component:
    """Return a component; its tree consists of rigid and closed mates, driven ones first."""
    nodes = dict.fromkeys([root, *group])
    own = [mate for mate in mates if set(_bodies(mate)) <= nodes.keys()]
    # a tree joint always holds: an open mate as tree joint would move its bodies
    fitting = [
        mate
        for mate in own
        if mate.kind in _IN_TREES and mate.path not in compliant and not mate.is_open
    ]
    fitting.sort(
        key=lambda mate: (
            mate.path not in driven and mate.kind != 'lock',
            _IN_TREES.index(mate.kind),
        )
    )
    trees = _Sets(nodes)
    chosen = {id(mate): mate for mate in fitting if trees.join(*_bodies(mate))}
    neighbours: dict[str, list[Mate]] = {node: [] for node in nodes}
    for mate in own:
        if id(mate) in chosen:
            for body in _bodies(mate):
                neighbours[body].append(mate)
    joints, floating, reached = [], [], set[str]()
    for start in nodes:
        if start in reached:
            continue
        if start != root:
            floating.append(start)
        reached.add(start)
        waiting = [start]
        while waiting:
            parent = waiting.pop(0)
            for mate in neighbours[parent]:
                one, other = _bodies(mate)
                child = other if one == parent else one
                if child not in reached:
                    reached.add(child)
                    waiting.append(child)
                    joints.append((mate, child == other))
    loops = tuple(mate for mate in own if id(mate) not in chosen)
    return Component(root, tuple(group), tuple(joints), tuple(floating), loops)


def common_system(bodies: Sequence[str], parents: Mapping[str, Sequence[str]]) -> str:
    """Return the path of the innermost system containing all bodies. parents: for each body."""
    first, *others = [list(parents[body]) for body in bodies]
    shared = [path for path in first if all(path in other for other in others)]
    return shared[0] if shared else ''
