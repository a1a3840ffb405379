"""
Connected bodies of a stage: one tree of joints each, and the joints that close loops.

A joint between two unconnected parts belongs to the tree. Joints between the same two bodies are
one series of motions where the articulation says so (`newton:jointsAddMobility`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from sim_bridge.description.usd.joints import DISTANCE, FIXED, UsdJoint, WORLD
from sim_bridge.description.usd.stage import Prim, Stage

ARTICULATION = 'PhysicsArticulationRootAPI'
_BODY = 'PhysicsRigidBodyAPI'
Series = tuple[UsdJoint, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """
    Connected bodies.

    bodies: in file order. root: path of the root body; WORLD if a joint with a motion connects
    it to the world. hold: the fixed joint to the world, None for none. edges: joints of the tree,
    root first, each from the parent to the child. loops: other joints. floating: bodies without a
    way to the root. articulation: its root prim, None for none.
    """

    bodies: tuple[Prim, ...]
    root: str
    hold: UsdJoint | None
    edges: tuple[Series, ...]
    loops: tuple[UsdJoint, ...]
    floating: tuple[str, ...]
    articulation: Prim | None

    @property
    def is_robot(self) -> bool:
        """Whether its bodies move relative to each other or about a place in the world."""
        return bool(self.loops or self.floating) or any(
            joint.kind != FIXED for series in self.edges for joint in series
        )

    @property
    def is_fixed(self) -> bool:
        """Whether its root stands still in the world."""
        return self.root == WORLD or self.hold is not None


def is_body(prim: Prim) -> bool:
    """Return whether a prim is an enabled rigid body."""
    return prim.has(_BODY) and prim.body == prim.path


def trees_of(stage: Stage, joints: Iterable[UsdJoint]) -> list[Tree]:
    """Return the stage's trees, by their first bodies in file order."""
    bodies = {prim.path: prim for prim in stage.prims.values() if is_body(prim)}
    parts = _Parts(bodies)
    given = list(joints)
    for joint in given:
        if WORLD not in (joint.body0, joint.body1):
            parts.join(joint.body0, joint.body1)
    roots = [prim for prim in stage.prims.values() if prim.has(ARTICULATION)]
    for root in roots:
        _join_through_world(root, given, parts)
    members: dict[str, list[Prim]] = {}
    for path, prim in bodies.items():
        members.setdefault(parts.top(path), []).append(prim)
    own: dict[str, list[UsdJoint]] = {}
    for joint in given:
        own.setdefault(parts.top(joint.body0 or joint.body1), []).append(joint)
    return [_grown(group, own.get(top, []), roots) for top, group in members.items()]


def _join_through_world(root: Prim, joints: list[UsdJoint], parts: _Parts) -> None:
    """Join the bodies below an articulation root that are connected by the world alone."""
    held = [
        joint.body0 or joint.body1
        for joint in joints
        if WORLD in (joint.body0, joint.body1)
        and (joint.body0 or joint.body1).startswith(f'{root.path}/')
    ]
    for one, other in pairwise(held):
        parts.join(one, other)


class _Parts:
    """Disjoint name sets."""

    def __init__(self, names: Iterable[str]):
        self._above = {name: name for name in names}

    def top(self, name: str) -> str:
        above = self._above
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(self, one: str, other: str) -> bool:
        """Join two sets; return whether they were apart."""
        first, second = self.top(one), self.top(other)
        self._above[second] = first
        return first != second


def _grown(bodies: list[Prim], joints: list[UsdJoint], roots: list[Prim]) -> Tree:
    """Return the body tree."""
    articulation = _articulation(bodies, joints, roots)
    stacked = articulation is not None and articulation.flag('newton:jointsAddMobility', False)
    hold = next((joint for joint in joints if _holds(joint)), None)
    parts = _Parts(prim.path for prim in bodies)
    if hold is not None:
        # the held body is the world's: further joints to the world close loops
        parts.join(WORLD, hold.body0 or hold.body1)
    series: list[Series] = []
    loops: list[UsdJoint] = []
    for group in _grouped((each for each in joints if each is not hold), stacked):
        first = group[0]
        if first.closes or first.kind == DISTANCE or not parts.join(first.body0, first.body1):
            loops += group
        else:
            series.append(group)
    root = _root(bodies, (*series, *((each,) for each in loops)), hold, articulation)
    edges = tuple(_outwards(root, series))
    # a body held by the world is its own root; the others of its part hang from it
    reached = {root} | {each[0].body1 for each in edges}
    floating: list[str] = []
    for prim in bodies:
        if prim.path not in reached:
            floating.append(prim.path)
            more = tuple(_outwards(prim.path, series))
            edges += more
            reached |= {prim.path} | {each[0].body1 for each in more}
    return Tree(tuple(bodies), root, hold, edges, tuple(loops), tuple(floating), articulation)


def _holds(joint: UsdJoint) -> bool:
    return joint.kind == FIXED and WORLD in (joint.body0, joint.body1) and not joint.closes


def _grouped(joints: Iterable[UsdJoint], stacked: bool) -> Iterator[Series]:
    """Yield the joints, those between the same two bodies together if they are stacked."""
    groups: dict[object, list[UsdJoint]] = {}
    for joint in joints:
        key = (joint.body0, joint.body1) if stacked and not joint.closes else joint.prim.path
        groups.setdefault(key, []).append(joint)
    yield from map(tuple, groups.values())


def _articulation(bodies: list[Prim], joints: list[UsdJoint], roots: list[Prim]) -> Prim | None:
    """Return the articulation root on a body, on a joint, or above the bodies."""
    own = {prim.path for prim in bodies} | {joint.prim.path for joint in joints}
    for prim in roots:
        if prim.path in own or bodies[0].path.startswith(f'{prim.path}/'):
            return prim
    return None


def _root(
    bodies: list[Prim], series: Iterable[Series], hold: UsdJoint | None, articulation: Prim | None
) -> str:
    """
    Return the root: the held body, the world, the articulation's root, or the first parent.

    series: all joints, those of loops too.
    """
    series = tuple(series)
    if hold is not None:
        return hold.body0 or hold.body1
    if any(WORLD in (each[0].body0, each[0].body1) for each in series):
        return WORLD
    paths = [prim.path for prim in bodies]
    if articulation is not None and articulation.path in paths:
        return articulation.path
    children = {each[0].body1 for each in series}
    return next((path for path in paths if path not in children), paths[0])


def _outwards(root: str, series: list[Series]) -> Iterator[Series]:
    """Yield the series from a root outwards, each turned from the parent to the child."""
    at: dict[str, list[Series]] = {}
    for each in series:
        at.setdefault(each[0].body0, []).append(each)
        at.setdefault(each[0].body1, []).append(each)
    reached, pending = {root}, [root]
    for name in pending:
        for each in at.get(name, ()):
            is_forward = each[0].body0 == name
            child = each[0].body1 if is_forward else each[0].body0
            if child in reached:
                continue
            reached.add(child)
            pending.append(child)
            yield each if is_forward else tuple(joint.reversed for joint in reversed(each))
