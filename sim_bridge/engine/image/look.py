"""Pencils of the rays in an image: samples at edges, and layers behind translucent surfaces."""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, Int32Vector
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.data.pencil import DEPTH, Mask, PAST_DEPTH, PAST_FACE, PAST_ITEM, Pencil
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.mask import may_meet
from sim_bridge.engine.image.pencil import begin_span, give_line, is_own
from sim_bridge.engine.math.mat3 import mul_tv
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import load3


@entry
def gather_rays(
    ray: FloatCube,
    first_row: int,
    end_row: int,
    frame: FloatMatrix,
    number: int,
    far: float,
    ahead: Picture,
    past: Picture,
    mask: Mask,
    given_out: FloatMatrix,
    source_out: Int32Vector,
    span_out: FloatVector,
):
    """
    Gather the lines along rays; return their count.

    ray: (height, width, 3), camera frame. frame: (n, 12) views in the camera frame, without
    offset. number: row in `frame`; rays belong to the view with the greatest depth. far: greatest
    depth. ahead: surfaces that end the lines. past: surfaces passed, without rows for none; lines
    then need six columns, and only rays with such a surface are gathered. mask: of the surfaces
    looked for; without cells: all. given_out, source_out, span_out: as in `shadow.light_points`.
    """
    count, width, has_past = 0, ray.shape[1], past.item.shape[0] > 0
    V, _ = load_pose(frame, number)
    begin_span(span_out)
    for v in range(first_row, end_row):
        for u in range(width):
            d = load3(ray[v], u, 0)
            if not math.isnan(d[0]) and (not has_past or past.item[v, u] != NOTHING):
                x, y, z = mul_tv(V, d)
                if is_own(frame, number, d, z):
                    limit = min(far, ahead.distance[v, u] * z)
                    x, y = x / z, y / z
                    if mask.depth.shape[0] == 0 or may_meet(mask, x, y, limit):
                        give_line(x, y, limit, given_out, span_out, count)
                        source_out[count] = v * width + u
                        if has_past:
                            given_out[count, PAST_DEPTH] = past.distance[v, u] * z
                            given_out[count, PAST_ITEM] = float(past.item[v, u])
                            given_out[count, PAST_FACE] = float(past.face[v, u])
                        count += 1
    return count


@entry
def see(
    count: int,
    pencil: Pencil,
    ray: FloatCube,
    frame: FloatMatrix,
    number: int,
    picture_out: Picture,
):
    """Write the surfaces met by lines from `gather_rays`; return how many lines have met one."""
    found, width = 0, ray.shape[1]
    V, _ = load_pose(frame, number)
    for k in range(count):
        if pencil.item[k] != NOTHING:
            v, u = pencil.source[k] // width, pencil.source[k] % width
            z = mul_tv(V, load3(ray[v], u, 0))[2]
            picture_out.distance[v, u] = pencil.line[k, DEPTH] / z
            picture_out.item[v, u] = pencil.item[k]
            picture_out.face[v, u] = pencil.face[k]
            found += 1
    return found
