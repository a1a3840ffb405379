"""Contacts of two geoms, and whether two bodies are connected."""

from __future__ import annotations

from typing import Any

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ode.body import Body
from sim_bridge.ode.contact import Contact
from sim_bridge.ode.geoms import GeomObject
from sim_bridge.ode.shapes import GeomRay, GeomTransform
from sim_bridge.ode.world import World

# gap that counts as none, so that what rests does not lose contact by rounding [m]
_TOUCHING = 1e-6
_apart: list[World] = []


def collide(geom1: GeomObject, geom2: GeomObject) -> list[Contact]:
    """
    Return the contacts of two geoms, the corners of their contact patch; none if they are apart.

    Normals point into the first. Of a ray: where it first meets the other, with the distance from
    its start for depth.
    """
    for name, geom in (('geom1', geom1), ('geom2', geom2)):
        if not isinstance(geom, GeomObject) or geom.is_space:
            raise InvalidValueError(name, geom, 'a geom that is no space', 'collide')
    if geom1.body is not None and geom1.body is geom2.body:
        return []
    world = _world_of(geom1, geom2)
    if isinstance(geom1, GeomRay) or isinstance(geom2, GeomRay):
        return _meet(world, geom1, geom2)
    # all are made before any is asked for
    for geom in (geom1, geom2):
        geom.geometry_in(world)
    a, b = geom1.geometry_in(world), geom2.geometry_in(world)
    if a is None or b is None or a.shape.is_endless and b.shape.is_endless:
        return []
    return [_contact(each.position, each.normal, max(-each.gap, 0.0), geom1, geom2)
            for each in world.engine.find_contacts(_TOUCHING, pairs=[(a, b)])]


def areConnected(body1: Body | None, body2: Body | None) -> bool:
    """Return whether a joint connects two bodies."""
    if body1 is None or body2 is None:
        return False
    return any(body2 in joint.bodies for joint in body1.joints)


def _contact(
    position: Any, normal: Any, depth: float, geom1: GeomObject, geom2: GeomObject
) -> Contact:
    contact = Contact()
    contact.setContactGeomParams(position, normal, depth, _named(geom1), _named(geom2))
    return contact


def _named(geom: GeomObject) -> Any:
    is_inner = isinstance(geom, GeomTransform) and geom.getInfo() == 0
    return getattr(geom, 'geom', geom) if is_inner else geom


def _meet(world: World, geom1: GeomObject, geom2: GeomObject) -> list[Contact]:
    """Return where a ray meets a geom."""
    ray, other = (geom1, geom2) if isinstance(geom1, GeomRay) else (geom2, geom1)
    assert isinstance(ray, GeomRay)
    target = other.geometry_in(world)
    if target is None:
        return []
    world.sync()
    hit = world.engine.raycast(*ray.segment(), only=target)
    if hit is None:
        return []
    return [_contact(hit.point, hit.normal, hit.distance, geom1, geom2)]


def _world_of(geom1: GeomObject, geom2: GeomObject) -> World:
    """Return the world of their bodies; of geoms without, one that is kept for such."""
    for geom in (geom1, geom2):
        if geom.body is not None:
            geom.body.world.sync()
            return geom.body.world
    if not _apart:
        _apart.append(World())
    return _apart[0]
