"""A line segment against one geometry."""

import math

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.ray.hollow import hollow_crossing, hollow_normal, span_crossing
from sim_bridge.engine.collision.ray.meshes import surface_crossing, surface_normal
from sim_bridge.engine.collision.ray.spans import convex_normal, convex_span
from sim_bridge.engine.data.geometry import HOLLOW, MESH
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, scale, sub


@kernel
def strike(geometry, g, pose, start, way, limit, is_culled):
    """
    Return a segment's first crossing of a geometry's surface, and the face.

    start, way: start and vector to the end [m], world. limit: greatest share of the way, at most
    1. is_culled: whether to ignore crossings from inside to outside. Returns the share of the way
    from 0 to the limit, infinite without a crossing, and the face, or a surface's triangle.
    """
    R, p = pose
    o, d = mul_tv(R, sub(start, p)), mul_tv(R, way)
    dd = dot(d, d)
    nearest = -dot(o, d) / dd
    o = add(o, scale(nearest, d))
    low, high = -nearest, limit - nearest
    if geometry.shape[g] == HOLLOW:
        t, face = hollow_crossing(geometry, g, o, d, dd, low, high, is_culled)
    elif geometry.shape[g] >= MESH:
        t, face = surface_crossing(geometry, g, o, d, dd, low, high, is_culled)
    else:
        t, face = span_crossing(convex_span(geometry, g, o, d, dd), low, high, is_culled)
    return (share_of(nearest + t, limit), face) if t <= high else (math.inf, 0)


@kernel
def share_of(t, limit):
    """Return a share of the way, clamped to its range against rounding errors."""
    return min(max(t, 0.0), limit)


@kernel
def normal_at(geometry, g, pose, face, point):
    """Return a geometry's outward unit normal, world, at a point found on it by `strike`."""
    R, p = pose
    if geometry.shape[g] == HOLLOW:
        return mul_mv(R, hollow_normal(geometry, g, face, mul_tv(R, sub(point, p))))
    if geometry.shape[g] >= MESH:
        return mul_mv(R, surface_normal(geometry, g, face))
    return mul_mv(R, convex_normal(geometry, g, face, mul_tv(R, sub(point, p))))
