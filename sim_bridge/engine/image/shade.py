"""
Light that surfaces send to the camera, in linear colours.

A surface sends base × (ambient + Σ lamp × cosine × attenuation) + emissive. Shadows are exact: a
line from the lamp to the point meets no surface. Reflections and soft shadows are left out.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import Float32Cube, FloatCube, FloatMatrix, Int32Matrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.mesh.mesh import mesh_corners
from sim_bridge.engine.collision.ray.strike import normal_at
from sim_bridge.engine.data.geometry import Geometry, MESH
from sim_bridge.engine.data.lens import Lens
from sim_bridge.engine.data.lighting import (
    AMBIENT,
    Appearance,
    CONSTANT,
    DIRECTION,
    DIRECTIONAL,
    FALLOFF,
    HORIZON,
    INNER,
    Lighting,
    LINEAR,
    OUTER,
    POSITION,
    QUADRATIC,
    RANGE,
    SECOND,
    SIDE,
    SPOT,
    ZENITH,
)
from sim_bridge.engine.data.paint import Paint
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.lens import ray_of
from sim_bridge.engine.image.paint import is_painted, paint_at, weights_at
from sim_bridge.engine.image.sightline import is_open_between, nearest_along
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, norm, scale, store3, sub, ZERO

_AWAY = 1e3
"""Distance from which a directional lamp's light begins [m]."""
_LIFT = 1e-6
"""Distance by which a point is lifted off its surface, per metre from the camera and 1 m."""
_BITS = (1 << 31) - 1
_SHARP = 0.95
"""Cosine between neighbours' normals below which their border is an edge."""


@entry
def shade(
    geometry: Geometry,
    placed: FloatMatrix,
    ball: FloatMatrix,
    appearance: Appearance,
    paint: Paint,
    lighting: Lighting,
    camera: FloatMatrix,
    ray: FloatCube,
    first_row: int,
    end_row: int,
    picture: Picture,
    light_out: Float32Cube,
    normal_out: Float32Cube,
    lit_out: Int32Matrix,
):
    """
    Compute light and normals in some rows, from the finished picture.

    placed, ball: from `place_visuals`. camera: (1, 12) camera frame in the world. ray: (height,
    width, 3) from `lens.fill_rays`. light_out: (height, width, 3) linear red, green, blue, black
    for pixels without ray. normal_out: (height, width, 3) unit normal towards the camera, world,
    0 without surface. lit_out: (height, width) one bit for each of the first 31 lamps with light
    on the surface.
    """
    scene = (geometry, placed, ball, appearance, paint, lighting)
    R, eye = load_pose(camera, 0)
    for v in range(first_row, end_row):
        for u in range(ray.shape[1]):
            light, n, lit = ZERO, ZERO, 0
            if not math.isnan(ray[v, u, 0]):
                d = mul_mv(R, load3(ray[v], u, 0))
                found = (picture.distance[v, u], picture.item[v, u], picture.face[v, u])
                spread = (_beside(ray, R, d, v, u, 0, 1), _beside(ray, R, d, v, u, 1, 0))
                light, n, lit = light_from(scene, eye, d, spread, found)
            store3(light_out[v], u, 0, light)
            store3(normal_out[v], u, 0, n)
            lit_out[v, u] = lit


@entry
def smooth_edges(
    geometry: Geometry,
    placed: FloatMatrix,
    ball: FloatMatrix,
    appearance: Appearance,
    paint: Paint,
    lighting: Lighting,
    camera: FloatMatrix,
    lens: Lens,
    ray: FloatCube,
    first_row: int,
    end_row: int,
    picture: Picture,
    normal: Float32Cube,
    lit: Int32Matrix,
    samples: int,
    far: float,
    light_inout: Float32Cube,
):
    """
    Average the light from several directions in pixels at edges; other arguments as for `shade`.

    normal, lit: the whole image's, from `shade`. samples: 2 to 4; samples² directions form a grid
    over the pixel. far: a ray's greatest multiple. Returns how many pixels are at edges.
    """
    scene, count = (geometry, placed, ball, appearance, paint, lighting), 0
    R, eye = load_pose(camera, 0)
    for v in range(first_row, end_row):
        for u in range(ray.shape[1]):
            if not math.isnan(ray[v, u, 0]) and _is_edge(picture, normal, lit, v, u):
                count += 1
                centre, total, seen = mul_mv(R, load3(ray[v], u, 0)), ZERO, 0
                spread = (_beside(ray, R, centre, v, u, 0, 1), _beside(ray, R, centre, v, u, 1, 0))
                for k in range(samples * samples):
                    across = (float(k % samples) + 0.5) / float(samples) - 0.5
                    down = (float(k // samples) + 0.5) / float(samples) - 0.5
                    d = mul_mv(R, ray_of(lens, float(u) + across, float(v) + down))
                    if not math.isnan(d[0]):
                        share, item, face = nearest_along(
                            geometry, placed, ball, eye, scale(far, d)
                        )
                        light, _, _ = light_from(scene, eye, d, spread, (far * share, item, face))
                        total, seen = add(total, light), seen + 1
                if seen > 0:
                    store3(light_inout[v], u, 0, scale(1.0 / float(seen), total))
    return count


@kernel
def _is_edge(picture, normal, lit, v, u):
    """Return whether a neighbour shows another geometry, direction, or light and shadow."""
    for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        row = min(max(v + down, 0), picture.item.shape[0] - 1)
        column = min(max(u + across, 0), picture.item.shape[1] - 1)
        if picture.item[row, column] != picture.item[v, u] or lit[row, column] != lit[v, u]:
            return True
        if picture.item[v, u] != NOTHING and (
            dot(load3(normal[row], column, 0), load3(normal[v], u, 0)) < _SHARP
        ):
            return True
    return False


@kernel
def _beside(ray, R, d, v, u, down, across):
    """Return the difference to the next pixel's ray, world; to the previous one at the end."""
    row = v + down if v + down < ray.shape[0] else max(v - down, 0)
    column = u + across if u + across < ray.shape[1] else max(u - across, 0)
    difference = sub(mul_mv(R, load3(ray[row], column, 0)), d)
    return ZERO if math.isnan(difference[0]) else difference


@subroutine
def light_from(scene, eye, d, spread, found):
    """
    Return the light along a ray, the unit normal towards the camera, and the lamps, see `shade`.

    d: (3,) ray from `eye`. spread: differences to the rays of the pixels beside and below. found:
    multiple of the ray, geometry and face.
    """
    geometry, placed, ball, appearance, paint, lighting = scene
    t, g, face = found
    if g == NOTHING:
        return _sky(lighting, d), ZERO, 0
    pose = load_pose(placed, g)
    point = add(eye, scale(t, d))
    flat = normal_at(geometry, g, pose, face, point)
    side = 1.0 if dot(flat, d) <= 0.0 else -1.0
    flat = scale(side, flat)
    n, base = flat, load3(appearance.base, g, 0)
    if geometry.shape[g] == MESH:
        corners, x = mesh_corners(geometry, face), mul_tv(pose[0], sub(point, pose[1]))
        weights = weights_at(corners, x)
        smooth = _smooth_normal(appearance, pose, face, weights)
        n = scale(side, smooth) if dot(smooth, smooth) > 0.0 else flat
        if is_painted(paint, g):
            beside, below = _footprint(eye, point, flat, d, spread)
            here = paint_at(
                paint,
                g,
                face,
                weights,
                weights_at(corners, mul_tv(pose[0], sub(beside, pose[1]))),
                weights_at(corners, mul_tv(pose[0], sub(below, pose[1]))),
            )
            base = (base[0] * here[0], base[1] * here[1], base[2] * here[2])
    elif appearance.checker[g, SIDE] > 0.0:
        base = _checkered(appearance, g, pose, point, base, _footprint(eye, point, n, d, spread))
    light, lit = load3(lighting.sky, AMBIENT, 0), 0
    lifted = add(point, scale(_LIFT * (1.0 + t), flat))
    for lamp in range(lighting.kind.shape[0]):
        start, strength = _lamp_at(lighting, lamp, point, n, flat)
        if strength > 0.0 and (
            lighting.casts[lamp] == 0 or is_open_between(geometry, placed, ball, start, lifted)
        ):
            light = add(light, scale(strength, load3(lighting.color, lamp, 0)))
            lit = lit | (1 << min(lamp, 31))
    own = load3(appearance.emissive, g, 0)
    total = (base[0] * light[0] + own[0], base[1] * light[1] + own[1], base[2] * light[2] + own[2])
    return total, n, lit & _BITS


@kernel
def _sky(lighting, d):
    """Return the sky's colour: from horizon to zenith by the ray's rise; horizon below."""
    share = min(max(d[2] / norm(d), 0.0), 1.0)
    low = load3(lighting.sky, HORIZON, 0)
    return add(low, scale(share, sub(load3(lighting.sky, ZENITH, 0), low)))


@kernel
def _lamp_at(lighting, lamp, point, n, flat):
    """Return a lamp's place and its light on a point, over its colour; 0 on the far side."""
    direction = load3(lighting.place, lamp, DIRECTION)
    start, gain = sub(point, scale(_AWAY, direction)), 1.0
    if lighting.kind[lamp] != DIRECTIONAL:
        start = load3(lighting.place, lamp, POSITION)
        way = sub(point, start)
        distance = norm(way)
        if not 0.0 < distance <= lighting.attenuation[lamp, RANGE]:
            return start, 0.0
        along = scale(1.0 / distance, way)
        falloff = lighting.attenuation[lamp, CONSTANT] + distance * (
            lighting.attenuation[lamp, LINEAR] + distance * lighting.attenuation[lamp, QUADRATIC]
        )
        gain = 1.0 / falloff
        if lighting.kind[lamp] == SPOT:
            gain = gain * _cone_gain(lighting, lamp, dot(along, direction))
        direction = along
    cosine = -dot(n, direction)
    # smooth normals must not light a triangle's back
    return start, gain * cosine if cosine > 0.0 and dot(flat, direction) < 0.0 else 0.0


@kernel
def _cone_gain(lighting, lamp, cosine):
    """Return a spot's share at an angle from its axis."""
    inner, outer = lighting.cone[lamp, INNER], lighting.cone[lamp, OUTER]
    if cosine >= inner:
        return 1.0
    if cosine <= outer:
        return 0.0
    return math.pow((cosine - outer) / (inner - outer), lighting.cone[lamp, FALLOFF])


@kernel
def _smooth_normal(appearance, pose, face, weights):
    """Return the corner normals' mean at a point on a triangle, world; 0 if undefined."""
    if math.isnan(weights[0]):
        return ZERO
    wb = min(max(weights[1], 0.0), 1.0)
    wc = min(max(weights[2], 0.0), 1.0 - wb)
    n = scale(1.0 - wb - wc, load3(appearance.corner_normal, face, 0))
    n = add(n, scale(wb, load3(appearance.corner_normal, face, 3)))
    n = add(n, scale(wc, load3(appearance.corner_normal, face, 6)))
    length = norm(n)
    return mul_mv(pose[0], scale(1.0 / length, n)) if length > 0.0 else ZERO


@kernel
def _checkered(appearance, g, pose, point, base, footprint):
    """Return the base colour on checker squares, averaged over the pixel's footprint."""
    side = appearance.checker[g, SIDE]
    beside = mul_tv(pose[0], sub(footprint[0], point))
    below = mul_tv(pose[0], sub(footprint[1], point))
    x = scale(1.0 / side, mul_tv(pose[0], sub(point, pose[1])))
    across = _stripes(x[0], (abs(beside[0]) + abs(below[0])) / side)
    along = _stripes(x[1], (abs(beside[1]) + abs(below[1])) / side)
    share = 0.5 - 0.5 * across * along
    return add(base, scale(share, sub(load3(appearance.checker, g, SECOND), base)))


@kernel
def _footprint(eye, point, n, d, spread):
    """Return the points seen one pixel right and one pixel down, on the tangent plane."""
    beside = _on_tangent(eye, point, n, add(d, spread[0]))
    return beside, _on_tangent(eye, point, n, add(d, spread[1]))


@kernel
def _on_tangent(eye, point, n, d):
    """Return the point on the tangent plane hit by a ray; the point itself for steep rays."""
    height, rate = dot(n, sub(point, eye)), dot(n, d)
    return add(eye, scale(height / rate, d)) if height * rate > 0.0 else point


@kernel
def _stripes(x, width):
    """Average stripes, 1 and -1 in turn with length 1, over a width around x."""
    wide = max(width, 1e-6)
    if not wide < 1e6:
        return 0.0
    return (_stripe_integral(x + 0.5 * wide) - _stripe_integral(x - 0.5 * wide)) / wide


@kernel
def _stripe_integral(x):
    """Integrate the stripes from 0 to x: a triangle wave."""
    half = 0.5 * x
    return 1.0 - abs(2.0 * (half - float(math.floor(half))) - 1.0)
