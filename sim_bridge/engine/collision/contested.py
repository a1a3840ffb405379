"""
Contacts ahead: the motion shows some contact normals to be wrong.

A contact is a half-space. Its normal, the least-distance direction at mid-step, may exclude places
the shapes reach without an overlap. At a seam between flush geometries, the side of the next one
is nearest until the shape reaches its top.

If the motion would violate a contact, its pair is searched once more, at the poses predicted for
the step's end. A contact found there is possible if the shapes do not overlap along its normal
now. If the possible contacts are violated much less than the present ones, they replace them.

A round shape grazing a face's edge has a normal slightly inclined to the face's normal. This
contact would be an arbitrarily thin wedge. If the shape is not below the face, it gets the face's
normal.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.support import margin_of, shape_of, support
from sim_bridge.engine.data.collision_scratch import PairClass, PairColumn, PairCount
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HEIGHT_FIELD,
    HULL,
    MESH,
    PLANE,
    SPHERE,
    STATIC,
)
from sim_bridge.engine.math.mat3 import column, mul_mm, mul_mv
from sim_bridge.engine.math.rotation import quat_exp, quat_to_matrix
from sim_bridge.engine.math.spatial import load_pose, store_pose
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, norm, scale, store3, sub

# predicted motion as a share of a step's motion: the second half of the step and a little more,
# for forces, and because edges often meet exactly at the end of a step
_AHEAD = 0.55
# greatest flush overlap: an absolute limit [m], and a share of the smaller geometry's size
_FLUSH, _FLUSH_SHARE = 1e-5, 1e-4
# share of the greatest gap; smaller violations are rounding
_ROUNDING = 1e-8
# a contact is replaced if the contacts ahead are violated by less than this share of its violation
_LESS = 0.5
FAST = 0.5
"""Motion in a step, as a share of a shape's least half side, above which it counts as fast."""
# greatest difference between two normals that are the same, and between two of one face; only a
# face's normal does not turn with the motion
_SAME, _EQUAL = 1.4e-3, 1e-9
# sine of the angle to a face's normal: least (more than rounding) and greatest for grazing
_LEVEL, _GRAZING = 1e-12, 0.02


@kernel
def mark_contested(geometry, scratch_inout, contacts_inout):
    """Level grazing normals; mark and count the contested pairs."""
    contested = 0
    for row in range(scratch_inout.counts[PairCount.PAIRS]):
        is_marked = False
        if scratch_inout.pair[row, PairColumn.ROW_COUNT] > 0:
            is_marked = _is_contested(geometry, scratch_inout, contacts_inout, row)
        scratch_inout.pair[row, PairColumn.IS_CONTESTED] = int(is_marked)
        contested += int(is_marked)
    scratch_inout.counts[PairCount.CONTESTED] = contested


@subroutine
def _is_contested(geometry, scratch, contacts_inout, row):
    """Return whether the predicted motion would violate a pair's contact."""
    pair = scratch.pair
    a, b = pair[row, PairColumn.GEOMETRY_A], pair[row, PairColumn.GEOMETRY_B]
    if pair[row, PairColumn.CLASS] == PairClass.LINE:
        return False
    if geometry.shape[a] == PLANE or geometry.shape[b] == PLANE:
        return False
    flush, rounding = _tolerances(geometry, scratch, a, b)
    if geometry.shape[a] <= HULL and geometry.shape[b] <= HULL:
        _level(geometry, scratch, contacts_inout, row, a, b, 1.0, flush)
        _level(geometry, scratch, contacts_inout, row, b, a, -1.0, flush)
    if not (_moves(scratch, a) or _moves(scratch, b)):
        return False
    first = pair[row, PairColumn.FIRST_ROW]
    for k in range(first, first + pair[row, PairColumn.ROW_COUNT]):
        closing = dot(
            load3(contacts_inout.normal, k, 0),
            _displacement(geometry, scratch, a, b, load3(contacts_inout.point, k, 0)),
        )
        if _is_violated(contacts_inout.gap[k], closing, flush, rounding):
            return True
    return False


@kernel
def _is_fast_at_surface(geometry, scratch, a, b):
    """Return whether a shape may cross several surface triangles in the step."""
    for g, surface in ((a, b), (b, a)):
        kind = geometry.shape[surface]
        if (kind == MESH or kind == HEIGHT_FIELD) and geometry.shape[g] < MESH:
            half, way = load3(geometry.bounds, g, 3), load3(scratch.motion, g, 0)
            way = sub(way, load3(scratch.motion, surface, 0))
            if norm(way) > FAST * min(half[0], half[1], half[2]):
                return True
    return False


@kernel
def _level(geometry, scratch, contacts_inout, row, round_one, faced, sign, flush):
    """Level a round shape's normals grazing an edge; sign: 1 if it is a."""
    kind = geometry.shape[round_one]
    is_round = kind == SPHERE or kind == CAPSULE or kind == ELLIPSOID or kind == CYLINDER
    if (is_round or kind == CONE) and geometry.shape[faced] >= CYLINDER:
        first = scratch.pair[row, PairColumn.FIRST_ROW]
        for k in range(first, first + scratch.pair[row, PairColumn.ROW_COUNT]):
            if contacts_inout.gap[k] >= -flush:
                _level_contact(geometry, scratch, contacts_inout, k, round_one, faced, sign, flush)


@subroutine
def _level_contact(geometry, scratch, contacts_inout, k, round_one, faced, sign, flush):
    """Give a grazing contact the face's normal and gap, unless the shape is below it."""
    n = scale(sign, load3(contacts_inout.normal, k, 0))
    pose = load_pose(scratch.pose, faced)
    f = _nearest_face(geometry, faced, pose[0], n)
    sine = norm(cross(n, f))
    if sine < _LEVEL or sine > _GRAZING or dot(n, f) < 0.0:
        return
    shape = shape_of(geometry, round_one, load_pose(scratch.pose, round_one), pose[1])
    base = shape_of(geometry, faced, pose, pose[1])
    low, _ = support(geometry, shape, shape[4], scale(-1.0, f))
    top, _ = support(geometry, base, base[4], f)
    height = dot(f, sub(low, top)) - margin_of(shape) - margin_of(base)
    if height >= -flush:
        contacts_inout.gap[k] = height
        store3(contacts_inout.normal, k, 0, scale(sign, f))


@kernel
def _nearest_face(geometry, g, R, n):
    """Return the outward normal nearest to n among a shape's flat faces, world; 0 without any."""
    kind, nearest, best = geometry.shape[g], (0.0, 0.0, 0.0), 0.0
    if kind == BOX or kind == CYLINDER or kind == CONE:
        for axis in range(3):
            if axis == 2 or kind == BOX:
                f = column(R, axis)
                along = dot(f, n)
                if abs(along) > best:
                    best, nearest = abs(along), scale(math.copysign(1.0, along), f)
    elif kind == HULL:
        for row in range(geometry.face_range[g, 0], geometry.face_range[g, 1]):
            f = mul_mv(R, load3(geometry.face_plane, row, 0))
            if dot(f, n) > best:
                best, nearest = dot(f, n), f
    return nearest


@kernel
def _moves(scratch, g):
    """Return whether a geometry moves in this step."""
    v, w = load3(scratch.motion, g, 0), load3(scratch.motion, g, 3)
    return dot(v, v) + dot(w, w) > 0.0


@kernel
def _tolerances(geometry, scratch, a, b):
    """Return the greatest flush overlap, and the greatest violation due to rounding [m]."""
    half_a, half_b = load3(geometry.bounds, a, 3), load3(geometry.bounds, b, 3)
    size = math.sqrt(min(dot(half_a, half_a), dot(half_b, half_b)))
    return min(_FLUSH, _FLUSH_SHARE * size), _ROUNDING * (scratch.reach[a] + scratch.reach[b])


@kernel
def _is_violated(gap, closing, flush, rounding):
    """Return whether a contact, not a deep one, is violated after `closing` along its normal."""
    return gap >= -flush and closing < -rounding and gap + closing < -rounding


@kernel
def _displacement(geometry, scratch, a, b, x):
    """Return a point's predicted displacement to the step's end, on a relative to b [m]."""
    return scale(
        _AHEAD, sub(displaced(geometry, scratch, a, x), displaced(geometry, scratch, b, x))
    )


@kernel
def displaced(geometry, scratch, g, x):
    """Return the whole step's displacement at a point fixed to a geometry [m]."""
    arm = sub(x, _centre(geometry, scratch, g))
    return add(load3(scratch.motion, g, 0), cross(load3(scratch.motion, g, 3), arm))


@kernel
def _centre(geometry, scratch, g):
    """Return the world centre for a geometry's bounds."""
    R, p = load_pose(scratch.pose, g)
    return add(p, mul_mv(R, load3(geometry.bounds, g, 0)))


@subroutine
def open_ahead(geometry, scratch_inout, row):
    """Move a contested pair's geometries to their predicted poses at the step's end."""
    for side in range(2):
        g = scratch_inout.pair[row, PairColumn.GEOMETRY_A + side]
        R, p = load_pose(scratch_inout.pose, g)
        store_pose(scratch_inout.left_pose, side, R, p)
        way = scale(_AHEAD, load3(scratch_inout.motion, g, 0))
        turn = scale(_AHEAD, load3(scratch_inout.motion, g, 3))
        if dot(turn, turn) > 0.0:
            centre = _centre(geometry, scratch_inout, g)
            R = mul_mm(quat_to_matrix(quat_exp(turn)), R)
            p = sub(centre, mul_mv(R, load3(geometry.bounds, g, 0)))
        store_pose(scratch_inout.pose, g, R, add(p, way))
        for k in range(6):
            scratch_inout.left_motion[side, k] = scratch_inout.motion[g, k]
            scratch_inout.motion[g, k] = 0.0


@subroutine
def close_ahead(geometry, scratch_inout, contacts_inout, row, first, count):
    """
    Move a pair's geometries back, and replace unreachable contacts.

    first, count: rows of the contacts at the predicted poses. Rows not used are released.
    """
    pair = scratch_inout.pair
    a, b = pair[row, PairColumn.GEOMETRY_A], pair[row, PairColumn.GEOMETRY_B]
    for k in range(6):
        scratch_inout.motion[a, k] = scratch_inout.left_motion[0, k]
        scratch_inout.motion[b, k] = scratch_inout.left_motion[1, k]
    flush, rounding = _tolerances(geometry, scratch_inout, a, b)
    share = 0.0 if _is_fast_at_surface(geometry, scratch_inout, a, b) else _LESS
    least, end = _date_back(geometry, scratch_inout, contacts_inout, a, b, first, count, flush)
    for side in range(2):
        R, p = load_pose(scratch_inout.left_pose, side)
        store_pose(scratch_inout.pose, pair[row, PairColumn.GEOMETRY_A + side], R, p)
    contacts_inout.size[COUNT] = first
    if least == -math.inf:
        return
    before, after = pair[row, PairColumn.FIRST_ROW], first + count
    last, kept = before + pair[row, PairColumn.ROW_COUNT], after
    room = first + 2 * scratch_inout.most_points[0]
    for k in range(before, last):
        closing = dot(
            load3(contacts_inout.normal, k, 0),
            _displacement(geometry, scratch_inout, a, b, load3(contacts_inout.point, k, 0)),
        )
        gap = contacts_inout.gap[k]
        allowed = min(-flush, share * (gap + closing))
        is_ghost = _is_violated(gap, closing, flush, rounding) and least > allowed
        is_ghost = is_ghost and not _is_listed(k, first, end, _SAME, contacts_inout)
        is_ghost = is_ghost and not _is_listed(k, end, after, _EQUAL, contacts_inout)
        if not is_ghost and kept < room:
            _copy_row(k, kept, contacts_inout)
            kept += 1
    if kept - after == last - before:
        return
    _merge(scratch_inout, contacts_inout, first, end, after, kept)
    to = contacts_inout.size[COUNT]
    for k in range(first, to):
        contacts_inout.geometry[k, 0], contacts_inout.geometry[k, 1] = a, b
    pair[row, PairColumn.FIRST_ROW], pair[row, PairColumn.ROW_COUNT] = first, to - first


@kernel
def _date_back(geometry, scratch, contacts_inout, a, b, first, count, flush):
    """
    Change contacts at the predicted poses to the present: their gaps and points.

    Contacts without touch at the predicted poses go to the last rows. A point moves with the
    moving geometry; between two moving ones, by their mean. Returns the least gap at the predicted
    poses (-inf without contacts, or if the shapes overlap along a normal now), and the first row
    without touch.
    """
    least, to = math.inf if count > 0 else -math.inf, first
    way_a, way_b = load3(scratch.motion, a, 0), load3(scratch.motion, b, 0)
    way = scale(0.5 * _AHEAD, add(way_a, way_b))
    if geometry.flags[b] & STATIC != 0:
        way = scale(_AHEAD, way_a)
    elif geometry.flags[a] & STATIC != 0:
        way = scale(_AHEAD, way_b)
    for k in range(first, first + count):
        n, x = load3(contacts_inout.normal, k, 0), load3(contacts_inout.point, k, 0)
        gap = contacts_inout.gap[k]
        present = gap - dot(n, _displacement(geometry, scratch, a, b, x))
        if present < -flush:
            return -math.inf, first
        least = min(least, gap)
        if gap <= 0.0:
            _swap_rows(k, to, contacts_inout)
            contacts_inout.gap[to] = present
            store3(contacts_inout.point, to, 0, sub(x, way))
            to += 1
    return least, to


@kernel
def _merge(scratch, contacts_inout, first, end, after, kept):
    """
    Join contacts ahead (rows from first to end) with kept contacts (from after to kept).

    A contact ahead with a kept contact's normal is dropped. Sets the row count.
    """
    to = first
    for k in range(first, end):
        if not _is_listed(k, after, kept, _SAME, contacts_inout):
            _copy_row(k, to, contacts_inout)
            to += 1
    for k in range(after, kept):
        if to < first + scratch.most_points[0]:
            _copy_row(k, to, contacts_inout)
            to += 1
    contacts_inout.size[COUNT] = to


@kernel
def _is_listed(k, first, end, near, contacts):
    """Return whether a row from first to end has a contact's normal, up to a difference `near`."""
    n = load3(contacts.normal, k, 0)
    for other in range(first, end):
        if norm(sub(n, load3(contacts.normal, other, 0))) < near:
            return True
    return False


@kernel
def _copy_row(source, target, contacts_inout):
    """Copy a contact point to another row."""
    contacts_inout.feature[target] = contacts_inout.feature[source]
    contacts_inout.gap[target] = contacts_inout.gap[source]
    for vectors in (contacts_inout.point, contacts_inout.normal):
        store3(vectors, target, 0, load3(vectors, source, 0))


@kernel
def _swap_rows(i, j, contacts_inout):
    """Exchange two contact points."""
    feature, gap = contacts_inout.feature[i], contacts_inout.gap[i]
    contacts_inout.feature[i] = contacts_inout.feature[j]
    contacts_inout.gap[i] = contacts_inout.gap[j]
    contacts_inout.feature[j], contacts_inout.gap[j] = feature, gap
    for vectors in (contacts_inout.point, contacts_inout.normal):
        v = load3(vectors, i, 0)
        store3(vectors, i, 0, load3(vectors, j, 0))
        store3(vectors, j, 0, v)
