"""
Contact points for shape pairs with a closed-form solution.

The shapes in a pair are ordered by kind, low before high. All normals point from the high shape to
the low one; `sign` flips them if the geometries are numbered the other way. points_out: (first
row, features, points, normals, gaps).
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.contact_manifold import store_points, WIDE
from sim_bridge.engine.collision.clip.polygon import (
    add_nearest,
    common_size,
    cut_segment,
    meet_polygons,
)
from sim_bridge.engine.collision.clip.support_face import lay_box, lay_capsule
from sim_bridge.engine.collision.narrow.box_pairs import part_boxes, part_capsule_and_box
from sim_bridge.engine.collision.narrow.nearest import (
    from_box,
    from_cone,
    from_cylinder,
    from_ellipsoid,
    from_segment,
)
from sim_bridge.engine.data.collision_scratch import FACE_A, FACE_B
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, SPHERE
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, norm, perpendicular, scale, store3, sub

# sine between axes, below which capsules count as parallel
_PARALLEL = 0.05
_SAME = 1e-9


@kernel
def store_point(k, feature, low, n, gap, origin, sign, points_out):
    """Store a pair's k-th contact point, given the nearest point on the low shape."""
    first_row, feature_out, point_out, normal_out, gap_out = points_out
    row = first_row + k
    feature_out[row] = feature
    store3(point_out, row, 0, add(origin, sub(low, scale(0.5 * gap, n))))
    store3(normal_out, row, 0, scale(sign, n))
    gap_out[row] = gap


@kernel
def store_normal(count, n, points_out):
    """Store the common normal of all contact points in a pair."""
    first_row, _, _, normal_out, _ = points_out
    for row in range(first_row, first_row + count):
        store3(normal_out, row, 0, n)


@kernel
def touch_balls(radius, p, other_radius, limit, origin, sign, points_out):
    """Store the contact between a ball at p and a ball at the origin; return 0 or 1 points."""
    distance = norm(p)
    gap = distance - radius - other_radius
    if gap > limit:
        return 0
    n = (0.0, 0.0, 1.0)
    if distance > 0.0:
        n = scale(1.0 / distance, p)
    store_point(0, 0, sub(p, scale(radius, n)), n, gap, origin, sign, points_out)
    return 1


@subroutine
def point_distance(shape, x):
    """Return the signed distance and normal from a shape (CAPSULE … ELLIPSOID) to a point."""
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    local = mul_tv(R, sub(x, p))
    if kind == BOX:
        distance, n = from_box(size, local)
    elif kind == CAPSULE or kind == SPHERE:
        distance, n = from_segment(size[1] if kind == CAPSULE else 0.0, local)
        distance -= size[0]
    elif kind == CYLINDER:
        distance, n = from_cylinder(size, local)
    elif kind == CONE:
        distance, n = from_cone(size, local)
    else:  # ELLIPSOID
        distance, n = from_ellipsoid(size, local)
    return distance, mul_mv(R, n)


@kernel
def touch_ball(radius, p, shape, limit, origin, sign, points_out):
    """Store the contact between a ball and a shape; return the point count."""
    distance, n = point_distance(shape, p)
    gap = distance - radius
    if gap > limit:
        return 0
    store_point(0, 0, sub(p, scale(radius, n)), n, gap, origin, sign, points_out)
    return 1


@kernel
def _clamp(x, bound):
    """Return x clamped to the interval from -bound to bound."""
    return min(max(x, -bound), bound)


@kernel
def nearest_on_axes(p, z, length, w, other_length):
    """
    Find the nearest points of two segments, p + s z and t w with |s| <= length, |t| <= other.

    Returns s and t. For parallel segments they give the middle of the overlap.
    """
    b, d, e = dot(z, w), dot(z, p), dot(w, p)
    square = 1.0 - b * b
    if square > 1e-14:
        s = _clamp((b * e - d) / square, length)
    else:
        # the other segment's ends along z, and the middle of the overlap
        middle, reach = -d, other_length * abs(b)
        lower, upper = max(middle - reach, -length), min(middle + reach, length)
        s = _clamp(0.5 * (lower + upper), length)
    t = b * s + e
    if abs(t) > other_length:
        t = _clamp(t, other_length)
        s = _clamp(b * t - d, length)
    return s, t


@subroutine
def axis_distance(p, z, length, w, other_length):
    """
    Return the distance between two segments, the normal to the first, s and t.

    Arguments as for `nearest_on_axes`.
    """
    s, t = nearest_on_axes(p, z, length, w, other_length)
    x = sub(add(p, scale(s, z)), scale(t, w))
    distance = norm(x)
    if distance > 0.0:
        return distance, scale(1.0 / distance, x), s, t
    # crossing segments: orthogonal to both, or to the one with a length
    n = cross(z, w)
    n_2 = dot(n, n)
    if n_2 > 1e-14:
        return 0.0, scale(1.0 / math.sqrt(n_2), n), s, t
    return 0.0, perpendicular(z if length >= other_length else w), s, t


@subroutine
def touch_capsules(size, p, z, other_size, w, limit, origin, sign, points_out):
    """
    Store the contacts between a capsule at p along z and a capsule at the origin along w.

    Parallel capsules touch at the ends of their overlap, and between the ends if that is nearer.
    Returns the point count.
    """
    margin = size[0] + other_size[0]
    distance, n, s, t = axis_distance(p, z, size[1], w, other_size[1])
    if distance - margin > limit:
        return 0
    count = 0
    turn = cross(z, w)
    nearest_end = math.inf
    if dot(turn, turn) < _PARALLEL * _PARALLEL:
        for end in range(4):
            side = 1.0 if end % 2 else -1.0
            if end < 2:
                s_end = side * size[1]
                t_end = dot(w, add(p, scale(s_end, z)))
                is_between = abs(t_end) <= other_size[1]
            else:
                t_end = side * other_size[1]
                s_end = dot(z, sub(scale(t_end, w), p))
                is_between = abs(s_end) < size[1] * (1.0 - _SAME)
            x = sub(add(p, scale(s_end, z)), scale(t_end, w))
            between = norm(x)
            if is_between and between - margin <= limit:
                m = scale(1.0 / between, x) if between > 0.0 else n
                store_point(
                    count,
                    end,
                    sub(add(p, scale(s_end, z)), scale(size[0], m)),
                    m,
                    between - margin,
                    origin,
                    sign,
                    points_out,
                )
                nearest_end = min(nearest_end, between)
                count += 1
    if distance < nearest_end - _SAME * margin:
        store_point(
            count,
            4,
            sub(add(p, scale(s, z)), scale(size[0], n)),
            n,
            distance - margin,
            origin,
            sign,
            points_out,
        )
        count += 1
    return count


@subroutine
def touch_boxes(scratch, low, high, limit, origin, sign, points_out):
    """Store the contacts between a capsule or box and a box; return the point count."""
    size, R, p = low[1], low[2], low[3]
    if low[0] == CAPSULE:
        local = mul_tv(high[2], sub(p, high[3]))
        z = mul_tv(high[2], column(R, 2))
        distance, n, x = part_capsule_and_box(high[1], local, z, size[1])
        distance -= size[0]
        nearest = add(high[3], mul_mv(high[2], sub(x, scale(size[0], n))))
        n = mul_mv(high[2], n)
    else:
        distance, n = part_boxes(size, R, high[1], high[2], sub(p, high[3]), limit)
        nearest = p
    if distance > limit:
        return 0
    polygon, t = scratch.polygon, perpendicular(n)
    axes = (t, cross(n, t), n)
    slope = lay_box(high[1], high[2], high[3], n, axes, FACE_B, polygon)
    down = scale(-1.0, n)
    if low[0] == CAPSULE:
        lay_capsule(size, R, p, down, axes, FACE_A, polygon)
        extent = common_size(2, 4, polygon)
        found = cut_segment(FACE_A, FACE_B, 4, slope, (False, extent, limit, WIDE), polygon)
        found = add_nearest(found, distance, nearest, axes, limit, extent, polygon)
    else:
        slope_low = lay_box(size, R, p, down, axes, FACE_A, polygon)
        extent = common_size(4, 4, polygon)
        found = meet_polygons(
            FACE_A, 4, slope_low, FACE_B, 4, slope, (False, extent, limit, WIDE), polygon
        )
    count = store_points(found, axes, origin, scratch, points_out)
    store_normal(count, scale(sign, n), points_out)
    return count
