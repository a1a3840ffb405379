"""Contacts between two geoms, and joints between two bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode.body import Body
from sim_bridge.ode.contact import Contact
from sim_bridge.ode.geoms import GeomObject, make_all, Touch
from sim_bridge.ode.joints import Joint
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.ode.shapes import GeomRay, GeomTransform
from sim_bridge.ode.world import World

Found = tuple[Triple, Triple, float]
"""Point [m], normal into the first geom, depth [m]."""
# gap counted as touching, so that resting bodies do not lose contact by rounding [m]
_TOUCHING = 1e-6
_apart: list[World] = []


def collide(geom1: GeomObject, geom2: GeomObject) -> list[Contact]:
    """
    Return the contacts between two geoms, the corners of their contact patch; none if apart.

    Normals point into the first geom. A ray has one contact, its first hit, with the distance from
    its start as depth.
    """
    for name, geom in (('geom1', geom1), ('geom2', geom2)):
        if not isinstance(geom, GeomObject) or geom.is_space:
            raise InvalidValueError(name, geom, 'a geom that is no space', 'collide')
    if geom1.body is not None and geom1.body is geom2.body:
        return []
    own = _user_contacts(geom1, geom2)
    if own is not None:
        return [_contact(point, normal, depth, geom1, geom2) for point, normal, depth in own]
    world = _world_of(geom1, geom2)
    if isinstance(geom1, GeomRay) or isinstance(geom2, GeomRay):
        return _meet(world, geom1, geom2)
    found = world.found.get((geom1.number, geom2.number))
    if found is None:
        found = _find(world, [(geom1, geom2)])[geom1.number, geom2.number]
    if not found:
        return []
    one, other = _named(geom1), _named(geom2)
    return [Contact.at(point, normal, depth, one, other) for point, normal, depth in found]


def find_together(pairs: list[tuple[GeomObject, GeomObject]]) -> list[World]:
    """Find the contacts for geom pairs in advance, for `collide`; return the worlds that know."""
    asked: dict[World, list[tuple[GeomObject, GeomObject]]] = {}
    for geom1, geom2 in pairs:
        if geom1.body is not None or geom2.body is not None:
            asked.setdefault(_world_of(geom1, geom2), []).append((geom1, geom2))
    for world, own in asked.items():
        found = _find(world, own)
        world.found.update(found)
    return list(asked)


def _find(
    world: World, pairs: list[tuple[GeomObject, GeomObject]]
) -> dict[tuple[int, int], list[Found]]:
    """Return the contacts for each pair."""
    make_all(world, [geom for pair in pairs for geom in pair])
    found: dict[tuple[int, int], list[Found]] = {
        (one.number, other.number): [] for one, other in pairs
    }
    rows: dict[int, tuple[int, bool]] = {}
    for geom in dict.fromkeys(geom for pair in pairs for geom in pair):
        geometry = geom.geometry_in(world)
        if geometry is not None:
            rows[geom.number] = geometry.index, geometry.shape.is_endless
    of_numbers: dict[tuple[int, int], tuple[int, int]] = {}
    for one, other in pairs:
        a, b = rows.get(one.number), rows.get(other.number)
        if a is not None and b is not None and not (a[1] and b[1]):
            of_numbers[a[0], b[0]] = one.number, other.number
    if not of_numbers:
        return found
    asked = np.sort(np.array([*of_numbers]), axis=1)
    points = world.engine.simulation.cache.handles.search.between(
        asked[np.lexsort((asked[:, 1], asked[:, 0]))], _TOUCHING
    )
    middles = (0.5 * (points.points_a + points.points_b)).tolist()
    for (a, b), middle, normal, gap in zip(
        points.pairs.tolist(), middles, points.normals.tolist(), points.gaps.tolist(), strict=True
    ):
        own = of_numbers.get((a, b))
        if own is None:
            own, normal = of_numbers[b, a], [-each for each in normal]
        found[own].append((tuple(middle), tuple(normal), max(-gap, 0.0)))
    return found


def _user_contacts(geom1: GeomObject, geom2: GeomObject) -> list[Touch] | None:
    """Return the contacts from a user-defined geom class, None if neither geom has one."""
    own = geom1.meet(geom2)
    if own is not None:
        return own
    other = geom2.meet(geom1)
    if other is None:
        return None
    return [(point, -np.array(normal), depth) for point, normal, depth in other]


def areConnected(body1: Body | None, body2: Body | None) -> bool:
    """Return whether a joint connects two bodies."""
    return body1 is not None and body2 is not None and bool(connectingJoints(body1, body2))


def areConnectedExcluding(body1: Body | None, body2: Body | None, joint_type: int) -> bool:
    """Return whether a joint of a type other than joint_type (JointType…) connects two bodies."""
    return any(joint.getType() != joint_type for joint in connectingJoints(body1, body2))


def connectingJoints(body1: Body | None, body2: Body | None) -> list[Joint]:
    """Return all joints between two bodies; one may be None, the environment."""
    one, other = (body2, body1) if body1 is None else (body1, body2)
    if one is None:
        return []
    return [
        joint
        for joint in one.joints
        if other in joint.bodies and (other is not None or None in joint.bodies)
    ]


def _contact(
    position: Vector, normal: Vector, depth: float, geom1: GeomObject, geom2: GeomObject
) -> Contact:
    return Contact.at(triple(position), triple(normal), depth, _named(geom1), _named(geom2))


def _named(geom: GeomObject) -> Any:
    is_inner = isinstance(geom, GeomTransform) and geom.getInfo() == 0
    return getattr(geom, 'geom', geom) if is_inner else geom


def _meet(world: World, geom1: GeomObject, geom2: GeomObject) -> list[Contact]:
    """Return the contact of a ray with a geom, if it hits."""
    ray, other = (geom1, geom2) if isinstance(geom1, GeomRay) else (geom2, geom1)
    assert isinstance(ray, GeomRay)
    target = other.geometry_in(world)
    if target is None:
        return []
    world.sync()
    hit = world.engine.raycast(*ray.segment(), only=target, cull=ray.getBackfaceCull())
    if hit is None:
        return []
    return [_contact(hit.point, hit.normal, hit.distance, geom1, geom2)]


def _world_of(geom1: GeomObject, geom2: GeomObject) -> World:
    """Return the world of the geoms' bodies; geoms without bodies share an extra world."""
    for geom in (geom1, geom2):
        if geom.body is not None:
            geom.body.world.sync()
            return geom.body.world
    if not _apart:
        _apart.append(World())
    return _apart[0]
