"""Broad-phase filters: pairs that may collide, and pair classes."""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.collision_scratch import PairClass
from sim_bridge.engine.data.geometry import (
    BOX,
    ENABLED,
    HOLLOW,
    HULL,
    KINEMATIC,
    LINE,
    MESH,
    PLANE,
    SENSOR,
    SPHERE,
    STATIC,
)


@kernel
def pair_key(body, other):
    """
    Return the key for two bodies in Geometry.excluded; -1 is the world.

    Two geometries have the negative key for their numbers.
    """
    return (min(body, other) + 1) << 32 | (max(body, other) + 1)


@kernel
def may_collide(
    body,  # model
    shape,  # model
    flags,  # model
    group,  # model
    mask,  # model
    excluded,  # model
    a,
    b,
):
    """
    Return whether two geometries may collide.

    The result is False for geometries on one body or on two static bodies, for an excluded pair of
    geometries or bodies, for disabled geometries, for two planes, and if the mask of one geometry
    lacks all groups of the other. Exception for static bodies: a sensor and a kinematic body
    collide.
    """
    if body[a] == body[b] or (flags[a] & flags[b] & ENABLED) == 0:
        return False
    if shape[a] == PLANE and shape[b] == PLANE:
        return False
    if (flags[a] & flags[b] & STATIC) != 0 and not is_watched(flags[a] | flags[b]):
        return False
    if (group[a] & mask[b]) == 0 or (group[b] & mask[a]) == 0:
        return False
    if excluded.shape[0] == 0:
        return True
    if excluded[0] < 0 and contains(excluded, -pair_key(a, b)):
        return False
    return not contains(excluded, pair_key(body[a], body[b]))


@kernel
def is_watched(flags):
    """Return whether these flags belong to a sensor and a kinematic body."""
    return (flags & SENSOR != 0) & (flags & KINEMATIC != 0)


@kernel
def contains(ascending, value):
    """Return whether an ascending array contains a value, by binary search."""
    low, high = 0, ascending.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < ascending.shape[0] and ascending[low] == value


@kernel
def is_closed(shape_a, shape_b):
    """
    Return whether `narrow.collide_closed` handles two shapes, in either order.

    Relies on the shape number order, see `geometry`.
    """
    low, high = min(shape_a, shape_b), max(shape_a, shape_b)
    if low == PLANE:
        return high != PLANE and high <= HULL
    if low == SPHERE:
        return high < HULL
    return high <= BOX


@kernel
def class_of(geometry, a, b):
    """Return a geometry pair's class, see `PairClass`."""
    shape_a, shape_b = geometry.shape[a], geometry.shape[b]
    if (geometry.flags[a] | geometry.flags[b]) & LINE != 0:
        return PairClass.LINE
    if shape_a == HOLLOW or shape_b == HOLLOW:
        return PairClass.HOLLOW
    if max(shape_a, shape_b) >= MESH:
        return PairClass.SURFACE
    return PairClass.CLOSED if is_closed(shape_a, shape_b) else PairClass.CONVEX
