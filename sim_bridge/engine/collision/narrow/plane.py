"""Contact points between convex shapes and a half-space, in closed form."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.clip.contact_manifold import MAX_FOUND, note, store_points
from sim_bridge.engine.collision.clip.support_face import lean
from sim_bridge.engine.collision.support import support
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, HULL, SPHERE
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, perpendicular, scale, store3, sub

# cosine between axis and plane normal above which a cylinder stands on its cap
_STANDING = 0.5


@subroutine
def collide_with_plane(geometry, scratch, shape, n, offset, limit, origin, points_out):
    """
    Store a shape's points at most `limit` above the plane n . x = offset.

    Returns their number; points_out: as for `store_points`. A corner's feature is its number; a
    rim has four anchors, fixed to the shape, and its lowest point.
    """
    kind, size, R, p = shape[0], shape[1], shape[2], shape[3]
    # in the shape's frame: height of its origin, and the downward direction
    height = dot(n, p) - offset
    c = mul_tv(R, (-n[0], -n[1], -n[2]))
    count = 0
    if kind == BOX:
        dx, dy, dz = size[0] * c[0], size[1] * c[1], size[2] * c[2]
        if height - abs(dx) - abs(dy) - abs(dz) > limit:
            return 0
        for corner in range(8):
            spot = (
                size[0] if corner & 1 else -size[0],
                size[1] if corner & 2 else -size[1],
                size[2] if corner & 4 else -size[2],
            )
            count = _put(
                count, corner, spot, height - dot(c, spot), shape, n, limit, origin, points_out
            )
    elif kind == CAPSULE:
        for end in range(2):
            z = size[1] if end else -size[1]
            tip = (size[0] * c[0], size[0] * c[1], z + size[0] * c[2])
            gap = height - z * c[2] - size[0]
            count = _put(count, end, tip, gap, shape, n, limit, origin, points_out)
    elif kind == CYLINDER or kind == CONE:
        x, y = lean(c)
        caps = 2 if kind == CYLINDER or size[2] > 0.0 else 1
        for cap in range(caps):
            z = size[1] if cap else -size[1]
            r = size[2] if cap == 1 and kind == CONE else size[0]
            down = c[2] if cap else -c[2]
            for k in range(5):
                if k == 0:
                    spot = (r * x, r * y, z)
                elif down < _STANDING:
                    continue
                else:
                    # the anchors at x, y, -x and -y
                    side = r if k < 3 else -r
                    spot = (side, 0.0, z) if k % 2 == 1 else (0.0, side, z)
                count = _put(
                    count,
                    8 * cap + k,
                    spot,
                    height - dot(c, spot),
                    shape,
                    n,
                    limit,
                    origin,
                    points_out,
                )
        if caps == 1:
            spot = (0.0, 0.0, size[1])
            count = _put(
                count, 8, spot, height - dot(c, spot), shape, n, limit, origin, points_out
            )
    elif kind == HULL:
        count = _put_hull(geometry, scratch, shape, n, offset, limit, origin, points_out)
    else:  # SPHERE, ELLIPSOID
        lowest, _ = support(geometry, shape, shape[4], (-n[0], -n[1], -n[2]))
        if kind == SPHERE:
            lowest = sub(lowest, scale(size[0], n))
        count = _put(
            0,
            0,
            mul_tv(R, sub(lowest, p)),
            dot(n, lowest) - offset,
            shape,
            n,
            limit,
            origin,
            points_out,
        )
    return count


@kernel
def _put(count, feature, x, gap, shape, n, limit, origin, points_out):
    """Store the point x in a shape's frame if it is low enough; return the point count."""
    if not gap <= limit:
        return count
    first_row, feature_out, point_out, _, gap_out = points_out
    row = first_row + count
    on_shape = add(shape[3], mul_mv(shape[2], x))
    feature_out[row] = feature
    store3(point_out, row, 0, add(origin, sub(on_shape, scale(0.5 * gap, n))))
    gap_out[row] = gap
    return count + 1


@subroutine
def _put_hull(geometry, scratch, shape, n, offset, limit, origin, points_out):
    """Store a hull's vertices within the limit, well spread if there are many."""
    R, p = shape[2], shape[3]
    t = perpendicular(n)
    s = cross(n, t)
    lowest, row = support(geometry, shape, shape[4], (-n[0], -n[1], -n[2]))
    if dot(n, lowest) - offset > limit:
        return 0
    # the lowest vertex first, so that there is always room for it
    found = note(
        0,
        dot(t, lowest),
        dot(s, lowest),
        dot(n, lowest),
        offset,
        limit,
        0.0,
        4 * (row - shape[4]),
        scratch.polygon,
    )
    for k in range(shape[4], shape[5]):
        if k == row or found == MAX_FOUND:
            continue
        x = add(p, mul_mv(R, load3(geometry.vertex, k, 0)))
        found = note(
            found,
            dot(t, x),
            dot(s, x),
            dot(n, x),
            offset,
            limit,
            0.0,
            4 * (k - shape[4]),
            scratch.polygon,
        )
    return store_points(found, (t, s, n), origin, scratch, points_out)
