"""
Hard shadows: lines from a lamp to the points seen.

`light_points` tells which points face a lamp, and gathers the lines that may meet a surface before
their point. The pencil of these lines is walked; `darken` then takes the light from the points
whose lines have met a surface.
"""

from __future__ import annotations

from sim_bridge.compiler.arrays import (
    Float32Cube,
    FloatCube,
    FloatMatrix,
    FloatVector,
    Int32Matrix,
    Int32Vector,
    IntVector,
)
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.data.lighting import DIRECTIONAL, Lighting
from sim_bridge.engine.data.pencil import Mask, Pencil
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.lamp import lamp_strength
from sim_bridge.engine.image.mask import is_under_plane, may_meet
from sim_bridge.engine.image.pencil import begin_span, give_line, is_own
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, load3, scale, sub

_LIFT = 1e-6
"""Distance by which a point is lifted off its surface, per metre from the camera and 1 m."""


@entry
def light_points(
    placed: FloatMatrix,
    plane: IntVector,
    lighting: Lighting,
    lamp: int,
    frame: FloatMatrix,
    number: int,
    mask: Mask,
    camera: FloatMatrix,
    ray: FloatCube,
    first_row: int,
    end_row: int,
    picture: Picture,
    flat: Float32Cube,
    normal: Float32Cube,
    given_out: FloatMatrix,
    source_out: Int32Vector,
    span_out: FloatVector,
    lit_inout: Int32Matrix,
):
    """
    Set a lamp's bit on the points that face it; return the count of lines to walk.

    placed: (ng, 12) geometry poses. plane: numbers of the planes among the casters. lamp: row in
    `lighting`, and its bit. frame: (n, 12) the lamp's pencils. number: row in `frame`, 0 first;
    points belong to the pencil with the greatest depth. mask: of the casters; without cells: no
    shadows. given_out, source_out: lines, and pixels by number.
    span_out: bounds of the lines, as in `Pencil`.
    """
    count, width = 0, ray.shape[1]
    R, eye = load_pose(camera, 0)
    is_parallel, has_shadows = lighting.kind[lamp] == DIRECTIONAL, mask.depth.shape[0] > 0
    L, p = load_pose(frame, number)
    begin_span(span_out)
    for v in range(first_row, end_row):
        for u in range(width):
            if picture.item[v, u] != NOTHING:
                t = picture.distance[v, u]
                point = add(eye, scale(t, mul_mv(R, load3(ray[v], u, 0))))
                up = load3(flat[v], u, 0)
                if lamp_strength(lighting, lamp, point, load3(normal[v], u, 0), up) > 0.0:
                    if number == 0:
                        lit_inout[v, u] = lit_inout[v, u] | (1 << lamp)
                    if has_shadows:
                        point = add(point, scale(_LIFT * (1.0 + t), up))
                        x, y, z = mul_tv(L, sub(point, p))
                        is_here = is_parallel or is_own(frame, number, point, z)
                        if not is_parallel:
                            x, y = x / z, y / z
                        if is_here and (
                            may_meet(mask, x, y, z) or is_under_plane(placed, plane, point)
                        ):
                            give_line(x, y, z, given_out, span_out, count)
                            source_out[count] = v * width + u
                            count += 1
    return count


@entry
def darken(count: int, pencil: Pencil, lamp: int, lit_inout: Int32Matrix):
    """Clear a lamp's bit on the points whose lines have met a surface; count: lines."""
    width = lit_inout.shape[1]
    for k in range(count):
        if pencil.item[k] != NOTHING:
            v, u = pencil.source[k] // width, pencil.source[k] % width
            lit_inout[v, u] = lit_inout[v, u] & ~(1 << lamp)
