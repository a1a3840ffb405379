"""
Light that surfaces send to the camera, in linear colours.

A surface sends base × (ambient + Σ lamp × cosine × attenuation) + emissive. Shadows are found
before, see `shadow`. Reflections and soft shadows are left out.

The kernels take an image, or samples at edges, which are an image with a block of rows for each
pixel, see `edge`.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import (
    Float32Cube,
    Float32Matrix,
    FloatCube,
    FloatMatrix,
    Int32Matrix,
)
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.mesh.mesh import mesh_corners
from sim_bridge.engine.collision.ray.strike import normal_at
from sim_bridge.engine.data.geometry import Geometry, MESH, PLANE
from sim_bridge.engine.data.lighting import (
    AMBIENT,
    Appearance,
    HORIZON,
    Lighting,
    SECOND,
    SIDE,
    ZENITH,
)
from sim_bridge.engine.data.paint import Paint
from sim_bridge.engine.data.picture import NOTHING, Picture
from sim_bridge.engine.image.lamp import lamp_strength
from sim_bridge.engine.image.paint import is_painted, paint_at, weights_at
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.spatial import load_pose
from sim_bridge.engine.math.vec3 import add, dot, load3, norm, scale, store3, sub, ZERO


@entry
def orient(
    geometry: Geometry,
    placed: FloatMatrix,
    appearance: Appearance,
    camera: FloatMatrix,
    ray: FloatCube,
    first_row: int,
    end_row: int,
    picture: Picture,
    flat_out: Float32Cube,
    normal_out: Float32Cube,
):
    """
    Compute the unit normals in some rows, world, towards the camera; 0 without surface.

    placed: (ng, 12) geometry poses. camera: (1, 12) camera frame in the world. ray: (height,
    width, 3) from `lens.fill_rays`. flat_out: the surface's own. normal_out: smooth on meshes.
    """
    R, eye = load_pose(camera, 0)
    for v in range(first_row, end_row):
        for u in range(ray.shape[1]):
            flat, n = ZERO, ZERO
            g = picture.item[v, u]
            if g != NOTHING and geometry.shape[g] == PLANE:
                # seen from above only
                flat = (placed[g, 2], placed[g, 5], placed[g, 8])
                n = flat
            elif g != NOTHING:
                d = mul_mv(R, load3(ray[v], u, 0))
                point = add(eye, scale(picture.distance[v, u], d))
                place = (picture.item[v, u], picture.face[v, u])
                flat, n = _normals(geometry, placed, appearance, d, point, place)
            store3(flat_out[v], u, 0, flat)
            store3(normal_out[v], u, 0, n)


@entry
def shade(
    geometry: Geometry,
    placed: FloatMatrix,
    appearance: Appearance,
    paint: Paint,
    lighting: Lighting,
    camera: FloatMatrix,
    ray: FloatCube,
    block: int,
    first_row: int,
    end_row: int,
    picture: Picture,
    flat: Float32Cube,
    normal: Float32Cube,
    lit: Int32Matrix,
    light_out: Float32Cube,
):
    """
    Compute the light in some rows; other arguments as for `orient`.

    block: rows that are neighbours in the image. lit: (height, width) a bit for each lamp with
    light on the surface, from `shadow`. light_out: (height, width, 3) linear red, green, blue,
    black for pixels without ray.
    """
    scene = (geometry, placed, appearance, paint)
    R, eye = load_pose(camera, 0)
    for v in range(first_row, end_row):
        for u in range(ray.shape[1]):
            light, d = ZERO, mul_mv(R, load3(ray[v], u, 0))
            if picture.item[v, u] != NOTHING:
                point = add(eye, scale(picture.distance[v, u], d))
                n, up = load3(normal[v], u, 0), load3(flat[v], u, 0)
                light = load3(lighting.sky, AMBIENT, 0)
                for lamp in range(lighting.kind.shape[0]):
                    if lit[v, u] & (1 << lamp) != 0:
                        strength = lamp_strength(lighting, lamp, point, n, up)
                        light = add(light, scale(strength, load3(lighting.color, lamp, 0)))
                place = (picture.item[v, u], picture.face[v, u])
                base, _ = _color_at(scene, (R, eye), (ray, block, v, u), point, up, place)
                own = load3(appearance.emissive, picture.item[v, u], 0)
                light = (
                    base[0] * light[0] + own[0],
                    base[1] * light[1] + own[1],
                    base[2] * light[2] + own[2],
                )
            elif not math.isnan(d[0]):
                light = _sky(lighting, d)
            store3(light_out[v], u, 0, light)


@entry
def find_opacity(
    geometry: Geometry,
    placed: FloatMatrix,
    appearance: Appearance,
    paint: Paint,
    camera: FloatMatrix,
    ray: FloatCube,
    block: int,
    first_row: int,
    end_row: int,
    picture: Picture,
    flat: Float32Cube,
    opacity_out: Float32Matrix,
):
    """Compute the opacity of the surfaces in some rows, 0 without surface; as for `shade`."""
    scene = (geometry, placed, appearance, paint)
    R, eye = load_pose(camera, 0)
    for v in range(first_row, end_row):
        for u in range(ray.shape[1]):
            opacity = 0.0
            if picture.item[v, u] != NOTHING:
                d = mul_mv(R, load3(ray[v], u, 0))
                point = add(eye, scale(picture.distance[v, u], d))
                up, place = load3(flat[v], u, 0), (picture.item[v, u], picture.face[v, u])
                _, opacity = _color_at(scene, (R, eye), (ray, block, v, u), point, up, place)
            opacity_out[v, u] = opacity


@entry
def settle(
    first_row: int, end_row: int, layer: Picture, opacity: Float32Matrix, picture_inout: Picture
):
    """Write a layer's surfaces with an opacity of at least a half to the picture."""
    for v in range(first_row, end_row):
        for u in range(opacity.shape[1]):
            if layer.item[v, u] != NOTHING and opacity[v, u] >= 0.5:
                picture_inout.distance[v, u] = layer.distance[v, u]
                picture_inout.item[v, u] = layer.item[v, u]
                picture_inout.face[v, u] = layer.face[v, u]


@entry
def blend(
    first_row: int,
    end_row: int,
    layer: Float32Cube,
    opacity: Float32Matrix,
    light_inout: Float32Cube,
):
    """Lay a layer's light over the light behind it."""
    for v in range(first_row, end_row):
        for u in range(opacity.shape[1]):
            share = opacity[v, u]
            if share > 0.0:
                behind = load3(light_inout[v], u, 0)
                mixed = add(behind, scale(share, sub(load3(layer[v], u, 0), behind)))
                store3(light_inout[v], u, 0, mixed)


@kernel
def _footprint(camera, pixel, point, n):
    """Return the points seen one pixel right and one pixel down, on the tangent plane."""
    R, eye = camera
    beside = _on_tangent(eye, point, n, mul_mv(R, _next_ray(pixel, 0, 1)))
    return beside, _on_tangent(eye, point, n, mul_mv(R, _next_ray(pixel, 1, 0)))


@kernel
def _next_ray(pixel, down, across):
    """Return the next pixel's ray; at the end of a block, the previous one's; else its own."""
    ray, block, v, u = pixel
    row = v + down if v % block + down < block else max(v - down, 0)
    column = u + across if u + across < ray.shape[1] else max(u - across, 0)
    found = load3(ray[row], column, 0)
    return load3(ray[v], u, 0) if math.isnan(found[0]) else found


@subroutine
def _normals(geometry, placed, appearance, d, point, place):
    """Return the surface's own unit normal and the smooth one, towards the camera."""
    g, face = place
    pose = load_pose(placed, g)
    flat = normal_at(geometry, g, pose, face, point)
    side = 1.0 if dot(flat, d) <= 0.0 else -1.0
    flat = scale(side, flat)
    n = flat
    if geometry.shape[g] == MESH:
        x = mul_tv(pose[0], sub(point, pose[1]))
        weights = weights_at(mesh_corners(geometry, face), x)
        smooth = _smooth_normal(appearance, pose, face, weights)
        n = scale(side, smooth) if dot(smooth, smooth) > 0.0 else flat
    return flat, n


@subroutine
def _color_at(scene, camera, pixel, point, flat, place):
    """
    Return the base colour and the opacity at a point.

    pixel: ray array, block, row and column. flat: unit normal. place: geometry and face.
    """
    geometry, placed, appearance, paint = scene
    g, face = place
    base, opacity = load3(appearance.base, g, 0), appearance.opacity[g]
    if geometry.shape[g] == MESH:
        if is_painted(paint, g):
            pose, corners = load_pose(placed, g), mesh_corners(geometry, face)
            beside, below = _footprint(camera, pixel, point, flat)
            here = paint_at(
                paint,
                g,
                face,
                weights_at(corners, mul_tv(pose[0], sub(point, pose[1]))),
                weights_at(corners, mul_tv(pose[0], sub(beside, pose[1]))),
                weights_at(corners, mul_tv(pose[0], sub(below, pose[1]))),
            )
            base = (base[0] * here[0], base[1] * here[1], base[2] * here[2])
            opacity = opacity * here[3]
    elif appearance.checker[g, SIDE] > 0.0:
        footprint = _footprint(camera, pixel, point, flat)
        base = _checkered(appearance, g, load_pose(placed, g), point, base, footprint)
    return base, opacity


@kernel
def _sky(lighting, d):
    """Return the sky's colour: from horizon to zenith by the ray's rise; horizon below."""
    share = min(max(d[2] / norm(d), 0.0), 1.0)
    low = load3(lighting.sky, HORIZON, 0)
    return add(low, scale(share, sub(load3(lighting.sky, ZENITH, 0), low)))


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
    rotation, origin = pose
    per_side = 1.0 / appearance.checker[g, SIDE]
    beside, below = sub(footprint[0], point), sub(footprint[1], point)
    x_axis = scale(per_side, (rotation[0][0], rotation[1][0], rotation[2][0]))
    y_axis = scale(per_side, (rotation[0][1], rotation[1][1], rotation[2][1]))
    x = sub(point, origin)
    across = _stripes(dot(x_axis, x), abs(dot(x_axis, beside)) + abs(dot(x_axis, below)))
    along = _stripes(dot(y_axis, x), abs(dot(y_axis, beside)) + abs(dot(y_axis, below)))
    share = 0.5 - 0.5 * across * along
    return add(base, scale(share, sub(load3(appearance.checker, g, SECOND), base)))


@kernel
def _on_tangent(eye, point, n, d):
    """Return the point on the tangent plane hit by a ray; the point itself for steep rays."""
    height, rate = dot(n, sub(point, eye)), dot(n, d)
    return add(eye, scale(height / rate, d)) if height * rate > 0.0 else point


@kernel
def _stripes(x, width):
    """Average stripes, 1 and -1 in turn with length 1, over a width around x."""
    cell = math.floor(x)
    within = x - float(cell)
    if 0.5 * width < within < 1.0 - 0.5 * width:
        return 1.0 if (cell & 1) == 0 else -1.0
    wide = max(width, 1e-6)
    if not wide < 1e6:
        return 0.0
    return (_stripe_integral(x + 0.5 * wide) - _stripe_integral(x - 0.5 * wide)) / wide


@kernel
def _stripe_integral(x):
    """Integrate the stripes from 0 to x: a triangle wave."""
    half = 0.5 * x
    return 1.0 - abs(2.0 * (half - float(math.floor(half))) - 1.0)
