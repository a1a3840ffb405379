"""Signed distance between convex shapes: GJK, EPA and normal refinement on cores, then margins."""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.narrow.gjk import APART, FAR, gjk, weigh_points
from sim_bridge.engine.collision.narrow.penetration import penetrate
from sim_bridge.engine.collision.narrow.refine_normal import refine_normal
from sim_bridge.engine.collision.support import margin_of, separation
from sim_bridge.engine.data.geometry import CONE, CYLINDER, ELLIPSOID, SPHERE
from sim_bridge.engine.math.vec3 import add, dot, scale, sub

# [rad] angle around edges and cylinder or cone sides that counts as flat
_SHARP = 1e-2


@subroutine
def measure_shapes(geometry, scratch, shape_a, shape_b, reach):
    """
    Return the signed distance, the nearest points on a and b, and the normal from b to a.

    Beyond `reach` the distance is only a lower bound, and the points are arbitrary.
    """
    margin_a, margin_b = margin_of(shape_a), margin_of(shape_b)
    margin = margin_a + margin_b
    outcome, count, distance, n, extent, hint_a, hint_b = gjk(
        geometry, shape_a, shape_b, reach + margin, scratch.expand_point
    )
    if outcome == FAR:
        return distance - margin, shape_a[3], shape_b[3], n
    if outcome == APART:
        a = weigh_points(count, scratch.expand_point)
    else:
        distance, n, a = penetrate(
            geometry, scratch, shape_a, shape_b, count, extent, hint_a, hint_b
        )
    n, distance = refine_normal(geometry, shape_a, shape_b, hint_a, hint_b, extent, n)
    a, b = _settle(geometry, shape_a, shape_b, hint_a, hint_b, n, distance, a)
    return (distance - margin, sub(a, scale(margin_a, n)), add(b, scale(margin_b, n)), n)


@kernel
def _settle(geometry, shape_a, shape_b, hint_a, hint_b, n, distance, a):
    """
    Move two cores' nearest points along n until they are `distance` apart.

    `a` is less accurate than n. If a core touches with one point on a curved surface, this point
    follows from n; otherwise `a` is projected to the height of its core's surface.
    """
    _, top_a, top_b, _, _ = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
    if _is_round(shape_a, scale(-1.0, n)):
        a = top_a
    elif _is_round(shape_b, n):
        a = add(top_b, scale(distance, n))
    else:
        a = add(a, scale(dot(n, sub(top_a, a)), n))
    return a, sub(a, scale(distance, n))


@kernel
def _is_round(shape, m):
    """Return whether a core has a unique support point along m and all nearby directions."""
    kind, size, R = shape[0], shape[1], shape[2]
    if kind != CYLINDER and kind != CONE:
        return kind == SPHERE or kind == ELLIPSOID
    along = R[0][2] * m[0] + R[1][2] * m[1] + R[2][2] * m[2]
    radial = math.sqrt(max(1.0 - along * along, 0.0))
    if kind == CYLINDER:
        return abs(along) > _SHARP and radial > _SHARP
    lead = 2.0 * size[1] * along - (size[0] - size[2]) * radial
    return radial > _SHARP and abs(lead) > _SHARP * (size[0] + 2.0 * size[1])
