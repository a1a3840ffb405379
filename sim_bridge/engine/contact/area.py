"""
Contact area: stiffness of an elastic foundation under each contact point.

The contact points between two geometries span an area, and each point gets an equal share. The
stiffness at a point is Young's modulus times its area over the rest length. The rest length is the
thickness along the normal of the thinner geometry, within the law's limits. Points on spheres,
edges and corners span no area; they get the overlap volume divided by the depth (Winkler's
foundation).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.body_pairs import bits_of, REACH
from sim_bridge.engine.contact.prepare import any_tangent, to_world
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Row
from sim_bridge.engine.data.geometry import CAPSULE, CYLINDER, PLANE, SPHERE
from sim_bridge.engine.math.vec3 import cross, dot, load3, load_v, sub

_FLAT = 1e-9  # area of collinear points, relative to their squared perimeter
_AHEAD = 1e-12  # rounding error of a product of two lengths, relative to this product


@subroutine
def share_areas(table):
    """Divide each contact stiffness by rest length over area: multiply the compliance by it."""
    contact_materials, laws, contacts = (
        world.contact_materials(table),
        world.laws(table),
        world.contacts(table),
    )
    first, count = 0, contacts.size[COUNT]
    while first < count:
        a, b = contacts.geometry[first, 0], contacts.geometry[first, 1]
        end = first + 1
        while end < count and contacts.geometry[end, 0] == a and contacts.geometry[end, 1] == b:
            end += 1
        points = 0
        for contact in range(first, end):
            if is_spread(contact_materials, contacts, laws, contact):
                points += 1
        if points > 0:
            scaling = share_of_each(table, first, end, points)
            for contact in range(first, end):
                if bits_of(contact_materials, laws, contact) & material.SPREADS != 0:
                    laws.softness[contact, Row.NORMAL] *= scaling
        first = end


@kernel
def is_spread(contact_materials, contacts, laws, contact):
    """Return whether a point counts for the area of its pair."""
    is_near = contacts.gap[contact] < REACH
    return is_near and bits_of(contact_materials, laws, contact) & material.SPREADS != 0


@kernel
def share_of_each(table, first, end, points):
    """Return rest length over area for each point from `first` to `end` [1/m]."""
    contact_materials, laws, contacts = (
        world.contact_materials(table),
        world.laws(table),
        world.contacts(table),
    )
    ws, geometry = world.workspace(table), world.geometry(table)
    start, depth = first, 0.0
    for contact in range(end - 1, first - 1, -1):
        if is_spread(contact_materials, contacts, laws, contact):
            start, depth = contact, max(depth, -contacts.gap[contact])
    a, b = contacts.geometry[start, 0], contacts.geometry[start, 1]
    law, normal = contact_materials.refined[laws.law[start]], load3(contacts.normal, start, 0)
    length = min(thickness(ws, geometry, a, normal), thickness(ws, geometry, b, normal))
    length = min(max(length, law[material.LEAST_LENGTH]), law[material.MOST_LENGTH])
    area, perimeter = hull_of(contact_materials, contacts, laws, first, end, start)
    if area <= _FLAT * perimeter * perimeter:
        curvature = curvature_of(geometry, a) + curvature_of(geometry, b)
        reach = math.sqrt(2.0 * depth / curvature) if curvature > 0.0 else 0.0
        reach = max(reach, max(depth, law[material.LEAST_LENGTH]))
        area = 2.0 / 3.0 * perimeter * reach + 0.5 * math.pi * reach * reach
    return length * points / area


@kernel
def thickness(ws, geometry, number, normal):
    """Return a geometry's extent along a normal [m]."""
    half = load_v(geometry.bounds[number], 3)
    if geometry.shape[number] == PLANE:
        return math.inf
    x = dot(normal, to_world(ws, geometry, number, (1.0, 0.0, 0.0)))
    y = dot(normal, to_world(ws, geometry, number, (0.0, 1.0, 0.0)))
    z = dot(normal, to_world(ws, geometry, number, (0.0, 0.0, 1.0)))
    return 2.0 * (abs(x) * half[0] + abs(y) * half[1] + abs(z) * half[2])


@kernel
def curvature_of(geometry, number):
    """Return the surface curvature of a round geometry [1/m], 0 for other shapes."""
    shape = geometry.shape[number]
    is_round = shape == SPHERE or shape == CAPSULE or shape == CYLINDER
    return 1.0 / geometry.size[number, 0] if is_round else 0.0


@kernel
def hull_of(contact_materials, contacts, laws, first, end, start):
    """Return area [m²] and perimeter [m] of the points' convex hull in the tangent plane."""
    n = load3(contacts.normal, start, 0)
    t = any_tangent(n)
    s = cross(n, t)
    # first corner: the point farthest along t, then farthest along s
    corner, along, across = start, -math.inf, -math.inf
    for contact in range(first, end):
        if is_spread(contact_materials, contacts, laws, contact):
            arm = sub(load3(contacts.point, contact, 0), load3(contacts.point, start, 0))
            u, v = dot(arm, t), dot(arm, s)
            if u > along or (u == along and v > across):
                corner, along, across = contact, u, v
    origin, at, double, perimeter = corner, corner, 0.0, 0.0
    for _ in range(first, end):
        # next corner: the point with all other points on its left
        following, u, v = -1, 0.0, 0.0
        for contact in range(first, end):
            if contact == at or not is_spread(contact_materials, contacts, laws, contact):
                continue
            arm = sub(load3(contacts.point, contact, 0), load3(contacts.point, at, 0))
            x, y = dot(arm, t), dot(arm, s)
            side, size, own = u * y - v * x, x * x + y * y, u * u + v * v
            if size == 0.0:
                continue
            slack = _AHEAD * math.sqrt(size * own)
            if following < 0 or side < -slack or (side <= slack and size > own):
                following, u, v = contact, x, y
        if following < 0:
            break
        arm = sub(load3(contacts.point, at, 0), load3(contacts.point, origin, 0))
        double += dot(arm, t) * (dot(arm, s) + v) - dot(arm, s) * (dot(arm, t) + u)
        perimeter += math.sqrt(u * u + v * v)
        at = following
        if at == origin:
            break
    return 0.5 * abs(double), perimeter
