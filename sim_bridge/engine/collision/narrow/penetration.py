"""
Penetration depth of two convex cores by the expanding polytope algorithm.

After van den Bergen (2001). A polytope inside the Minkowski difference w = a - b is expanded at
its face nearest to the origin, until it touches the surface there. Its corners are rows (w, a).
Its faces are planes (outward unit normal, offset) with three corners and three neighbours, one
across the edge from each corner to the next.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.narrow.gjk import nearest_on_triangle
from sim_bridge.engine.collision.support import is_curved, separation
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    dot,
    load3,
    norm,
    perpendicular,
    scale,
    store3,
    sub,
)

# first columns of a face: its three corners, and the faces across the edges from these corners
_CORNER, _ACROSS = 0, 3
# behind them, columns that hold lists: faces seen; the new face beginning at each corner; for each
# horizon edge its ends, the face beyond and the new face
_SEEN, _FACE_FROM, _EDGE_FROM, _EDGE_TO, _BEYOND, _NEW = range(6, 12)

# relative to the extent
_FLAT = 1e-12  # thickness below which the difference has no inside
_COPLANAR = 1e-13
_CURVED_TOLERANCE = 1e-7
_FLAT_TOLERANCE = 1e-14


@subroutine
def penetrate(geometry, scratch, shape_a, shape_b, count, extent, hint_a, hint_b):
    """
    Compute the penetration depth of two cores, starting from the final simplex of `gjk`.

    Returns (signed distance, n from b to a, nearest point on a). The distance is negative unless
    the cores only touch.
    """
    points, planes, faces_of = scratch.expand_point, scratch.expand_plane, scratch.expand_face
    count, extent, flat_normal = _make_tetrahedron(
        geometry, shape_a, shape_b, count, extent, hint_a, hint_b, points
    )
    if count < 4:
        # a flat Minkowski difference has a surface on both sides of its plane
        here, a, _, _, _ = separation(geometry, shape_a, shape_b, hint_a, hint_b, flat_normal)
        n = scale(-1.0, flat_normal)
        there, a_there, _, _, _ = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
        if here >= there:
            return here, flat_normal, load3(points, 0, 3)
        return there, n, load3(points, 0, 3)
    tolerance = _FLAT_TOLERANCE
    if is_curved(shape_a[0]) or is_curved(shape_b[0]):
        tolerance = _CURVED_TOLERANCE
    tolerance *= extent
    _open_tetrahedron(points, planes, faces_of)
    faces = 4
    best, best_n, nearest_a = -math.inf, (0.0, 0.0, 1.0), load3(points, 0, 3)
    while True:
        nearest = 0
        for f in range(1, faces):
            if planes[f, 3] < planes[nearest, 3]:
                nearest = f
        offset = planes[nearest, 3]
        n = (-planes[nearest, 0], -planes[nearest, 1], -planes[nearest, 2])
        parted, a, b, hint_a, hint_b = separation(geometry, shape_a, shape_b, hint_a, hint_b, n)
        if parted > best:
            best, best_n = parted, n
            nearest_a = _point_on_face(nearest, faces_of, points)
        # the polytope lies inside the difference: the depth is between `offset` and `-best`
        if -best - offset <= tolerance or count == points.shape[0]:
            break
        store3(points, count, 0, sub(a, b))
        store3(points, count, 3, a)
        count += 1
        grown = _grow(count - 1, nearest, faces, _COPLANAR * extent, points, planes, faces_of)
        if grown == 0:
            break
        faces = grown
    return best, best_n, nearest_a


@kernel
def _point_on_face(f, face, point):
    """Return the witness point on a for the point of a face nearest to the origin."""
    i, j, k = load3(face, f, _CORNER)
    (r, s, t), _ = nearest_on_triangle(load3(point, i, 0), load3(point, j, 0), load3(point, k, 0))
    return add(
        scale(r, load3(point, i, 3)),
        add(scale(s, load3(point, j, 3)), scale(t, load3(point, k, 3))),
    )


@subroutine
def _make_tetrahedron(geometry, shape_a, shape_b, count, extent, hint_a, hint_b, point_inout):
    """
    Extend a simplex to a tetrahedron with volume, if the difference set has volume.

    Returns the number of corners, the extent, and, for fewer than 4 corners, the normal of the
    plane that contains the whole difference set.
    """
    # a tetrahedron without volume becomes a triangle, a triangle without area a segment
    if count == 4:
        p, q, r, s = (
            load3(point_inout, 0, 0),
            load3(point_inout, 1, 0),
            load3(point_inout, 2, 0),
            load3(point_inout, 3, 0),
        )
        n = cross(sub(q, p), sub(r, p))
        if abs(dot(n, sub(s, p))) <= _FLAT * extent * norm(n):
            count = 3
    if count == 3:
        e = sub(load3(point_inout, 1, 0), load3(point_inout, 0, 0))
        n = cross(e, sub(load3(point_inout, 2, 0), load3(point_inout, 0, 0)))
        if norm(n) <= _FLAT * extent * norm(e):
            count = 2
    if count == 2:
        e = sub(load3(point_inout, 1, 0), load3(point_inout, 0, 0))
        if norm(e) <= _FLAT * extent:
            count = 1
    normal = (0.0, 0.0, 1.0)
    while count < 4:
        # search both ways along up to three directions orthogonal to the present simplex
        p = load3(point_inout, 0, 0)
        u, v = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
        tries = 3
        normal = (0.0, 0.0, 1.0)
        if count == 2:
            e = sub(load3(point_inout, 1, 0), p)
            normal = perpendicular(e)
            u = cross(scale(1.0 / norm(e), e), normal)
            tries = 2
        elif count == 3:
            n = cross(sub(load3(point_inout, 1, 0), p), sub(load3(point_inout, 2, 0), p))
            normal = scale(1.0 / norm(n), n)
            tries = 1
        farthest = _FLAT * extent
        found = False
        for attempt in range(2 * tries):
            direction = (normal, u, v)[attempt // 2]
            if attempt % 2 == 1:
                direction = scale(-1.0, direction)
            _, a, b, hint_a, hint_b = separation(
                geometry, shape_a, shape_b, hint_a, hint_b, direction
            )
            w = sub(a, b)
            extent = max(extent, norm(w))
            off = abs(dot(direction, sub(w, p)))
            if off > farthest:
                farthest, found = off, True
                store3(point_inout, count, 0, w)
                store3(point_inout, count, 3, a)
        if not found:
            return count, extent, normal
        count += 1
    return count, extent, normal


@kernel
def _write_face(f, i, j, k, point, plane_out, face_out):
    """Write a face's corners and plane; a degenerate face is excluded from the search."""
    p = load3(point, i, 0)
    n = cross(sub(load3(point, j, 0), p), sub(load3(point, k, 0), p))
    length, offset = norm(n), math.inf
    if length > 0.0:
        n = scale(1.0 / length, n)
        offset = dot(n, p)
    store3(plane_out, f, 0, n)
    plane_out[f, 3] = offset
    store3(face_out, f, _CORNER, (i, j, k))


@kernel
def _open_tetrahedron(point_inout, plane_out, face_out):
    """Write the four faces of the tetrahedron with the corners 0 to 3."""
    p = load3(point_inout, 0, 0)
    n = cross(sub(load3(point_inout, 1, 0), p), sub(load3(point_inout, 2, 0), p))
    if dot(n, sub(load3(point_inout, 3, 0), p)) > 0.0:
        # corner 3 belongs below the face 0 1 2
        for column in range(6):
            kept = point_inout[1, column]
            point_inout[1, column] = point_inout[2, column]
            point_inout[2, column] = kept
    for f, (i, j, k, x, y, z) in enumerate(
        ((0, 1, 2, 1, 2, 3), (0, 3, 1, 3, 2, 0), (1, 3, 2, 1, 3, 0), (0, 2, 3, 0, 2, 1))
    ):
        _write_face(f, i, j, k, point_inout, plane_out, face_out)
        store3(face_out, f, _ACROSS, (x, y, z))


@subroutine
def _grow(new, seen, faces, coplanar, point, plane_inout, face_inout):
    """
    Add a corner: replace the faces visible from it by a cone to it, starting at face `seen`.

    Returns the new face count, 0 without room or without a clean horizon.
    """
    w = load3(point, new, 0)
    # flood over all neighbours visible from the corner or coplanar with it
    face_inout[0, _SEEN] = seen
    face_inout[seen, _CORNER] = -1 - face_inout[seen, _CORNER]
    looked, found, edges = 0, 1, 0
    while looked < found:
        f = face_inout[looked, _SEEN]
        looked += 1
        for side in range(3):
            g = face_inout[f, _ACROSS + side]
            if face_inout[g, _CORNER] < 0:
                continue
            base = load3(point, face_inout[g, _CORNER], 0)
            if dot(load3(plane_inout, g, 0), sub(w, base)) >= -coplanar:
                face_inout[g, _CORNER] = -1 - face_inout[g, _CORNER]
                face_inout[found, _SEEN] = g
                found += 1
            elif edges < face_inout.shape[0]:
                begin, end = face_inout[f, _CORNER + side], face_inout[f, _CORNER + (side + 1) % 3]
                face_inout[edges, _EDGE_FROM] = begin if begin >= 0 else -1 - begin
                face_inout[edges, _EDGE_TO] = end if end >= 0 else -1 - end
                face_inout[edges, _BEYOND] = g
                edges += 1
    total = faces + max(edges - found, 0)
    if edges < 3 or total > face_inout.shape[0]:
        return 0
    for k in range(edges, found):
        plane_inout[face_inout[k, _SEEN], 3] = math.inf
    # write a new face on each horizon edge, in the rows of the old faces and behind
    for k in range(edges):
        row = face_inout[k, _SEEN] if k < found else faces + k - found
        i, j, g = face_inout[k, _EDGE_FROM], face_inout[k, _EDGE_TO], face_inout[k, _BEYOND]
        _write_face(row, i, j, new, point, plane_inout, face_inout)
        face_inout[row, _ACROSS] = g
        for side in range(3):
            if face_inout[g, _CORNER + side] == j:
                face_inout[g, _ACROSS + side] = row
        face_inout[k, _NEW] = row
        face_inout[i, _FACE_FROM] = row
    # join the new faces around the corner
    for k in range(edges):
        row = face_inout[k, _NEW]
        after = face_inout[face_inout[row, _CORNER + 1], _FACE_FROM]
        corner, _, last = load3(face_inout, after, _CORNER)
        if corner != face_inout[row, _CORNER + 1] or last != new:
            return 0
        face_inout[row, _ACROSS + 1] = after
        face_inout[after, _ACROSS + 2] = row
    return total
