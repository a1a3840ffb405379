"""Surfaces along single lines between two points: shadows, and samples at edges."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import frame_in_world
from sim_bridge.engine.collision.ray.strike import strike
from sim_bridge.engine.data.geometry import (
    ENABLED,
    Geometry,
    HEIGHT_FIELD,
    LINE,
    MESH,
    SENSOR,
    SOLID,
)
from sim_bridge.engine.data.picture import NOTHING
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import load_pose, store_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, sub

CENTRE, SQUARE = 0, 3
"""Columns of a ball: centre [m] and squared radius [m²]."""


@entry
def place_visuals(
    geometry: Geometry, pose: FloatMatrix, placed_out: FloatMatrix, ball_out: FloatMatrix
):
    """
    Compute world poses and bounding balls.

    pose: (nb, 12) body poses. placed_out: (ng, 12) geometry poses. ball_out: (ng, 4) CENTRE and
    SQUARE; infinite around planes, negative for geometries that are never seen.
    """
    for g in range(geometry.body.shape[0]):
        R, p = frame_in_world(geometry, g, pose)
        store_pose(placed_out, g, R, p)
        centre, half = load3(geometry.bounds, g, 0), load3(geometry.bounds, g, 3)
        store3(ball_out, g, CENTRE, add(p, mul_mv(R, centre)))
        is_seen = geometry.flags[g] & (ENABLED | LINE | SENSOR) == ENABLED
        ball_out[g, SQUARE] = dot(half, half) if is_seen else -1.0


@subroutine
def nearest_along(geometry, placed, ball, start, way):
    """
    Return the way's share up to the first surface, its geometry and face.

    start, way: (3,) [m], world. Closed surfaces count from outside only. Without a surface: an
    infinite share, NOTHING.
    """
    least, item, found_face = math.inf, NOTHING, 0
    dd = dot(way, way)
    for g in range(ball.shape[0]):
        if not _is_passed(ball, g, start, way, dd):
            share, face = _strike_visual(geometry, g, placed, start, way, min(least, 1.0))
            if share < least:
                least, item, found_face = share, g, face
    return least, item, found_face


@subroutine
def is_open_between(geometry, placed, ball, start, end):
    """Return whether no surface is on the way from one point to another, as `nearest_along`."""
    way = sub(end, start)
    dd = dot(way, way)
    for g in range(ball.shape[0]):
        if not _is_passed(ball, g, start, way, dd):
            share, _ = _strike_visual(geometry, g, placed, start, way, 1.0)
            if share < 1.0:
                return False
    return True


@kernel
def _strike_visual(geometry, g, placed, start, way, limit):
    shape = geometry.shape[g]
    is_open = shape == HEIGHT_FIELD or (shape == MESH and geometry.flags[g] & SOLID == 0)
    return strike(geometry, g, load_pose(placed, g), start, way, limit, not is_open)


@kernel
def _is_passed(ball, g, start, way, dd):
    """Return whether a segment stays outside a geometry's bounding ball; dd: way · way."""
    square = ball[g, SQUARE]
    if not square < math.inf:
        return False
    aside = sub(load3(ball, g, CENTRE), start)
    t = min(max(dot(aside, way) / dd, 0.0), 1.0)
    gap = sub(aside, scale(t, way))
    return dot(gap, gap) > square * (1.0 + 1e-9)
