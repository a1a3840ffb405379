"""Surfaces seen by pixels, beside ray casts and closed forms."""

from __future__ import annotations

import math
from pathlib import Path

from meshes import lumpy_ball
import numpy as np
from picturing import cast_picture, looking, picture_of, scene_of
import pytest
from ray_shapes import CONVEX, HOLLOW, surfaces

import sim_bridge as sb
from sim_bridge.compiler.reference import Reference
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, PINHOLE
from sim_bridge.engine.data.picture import NOTHING
from sim_bridge.engine.image import cover as cover_kernels
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.engine.image.make_view import make_corners, make_picture, make_views
from sim_bridge.sight.cones import cones_of

URDF = Path(__file__).resolve().parents[3] / 'urdf'
SIZE = (72, 55)
LENSES = {
    'pinhole': make_lens(PINHOLE, intrinsics_of(*SIZE, 1.2), skew=0.3),
    'plumb_bob': make_lens(
        BROWN, intrinsics_of(*SIZE, 1.2), (-0.28, 0.09, 0.0011, -0.0007, -0.01)
    ),
    'fisheye': make_lens(EQUIDISTANT, (18.0, 18.0, 35.5, 27.0), (0.02, -0.01)),
}
EYES = {
    'aside': ((0.0, -5.0, 6.0), (0.0, 0.0, 0.5)),
    'near': ((0.3, -3.0, 0.9), (0.2, 0.0, 0.2)),
    'amidst': ((0.1, 0.3, 0.9), (2.0, 2.0, 0.2)),
}


@pytest.fixture(scope='module')
def world():
    """Return a world with a static body for each shape."""
    made, place = sb.World(), 0
    made.add_ground()
    for shapes in (CONVEX, HOLLOW, surfaces()):
        for name, (shape, _) in shapes.items():
            if name != 'plane':
                position = (1.6 * (place % 5) - 3.0, 1.6 * (place // 5) - 2.0, 0.5 + 0.1 * place)
                made.add_body(shape, motion='static', position=position)
                place += 1
    return made


def assert_equal_to_casts(world, camera, lens, size):
    """Compare all pixels with ray casts: hits and distances; return the share with equal items."""
    picture = picture_of(scene_of(world), camera, lens, size)
    distance, item = cast_picture(world, camera, lens, size)
    seen = item != NOTHING
    assert np.array_equal(picture.item != NOTHING, seen)
    assert np.array_equal(np.isinf(picture.distance), ~seen)
    np.testing.assert_allclose(picture.distance[seen], distance[seen], rtol=1e-9, atol=1e-10)
    assert seen.any()
    return (picture.item == item).mean()


@pytest.mark.parametrize('eye', EYES)
@pytest.mark.parametrize('lens', LENSES)
def test_pictures_show_the_surfaces_that_rays_hit(world, lens, eye):
    """See the same geometry at the same depth as `raycasts`, in every pixel."""
    assert assert_equal_to_casts(world, looking(*EYES[eye]), LENSES[lens], SIZE) == 1.0


@pytest.mark.parametrize('name', sorted(path.stem for path in URDF.glob('*.urdf')))
def test_robots_are_seen_as_by_rays(name):
    """Compare shipped robots, in motion, from two sides."""
    made = sb.World()
    made.add_ground()
    made.load_urdf(URDF / f'{name}.urdf', position=(0.0, 0.0, 0.5))
    made.step(20)
    for eye in ((1.1, -0.9, 0.8), (-0.4, 0.7, 1.3)):
        # if surfaces from two links coincide, either may be named
        camera = looking(eye, (0, 0, 0.4))
        assert assert_equal_to_casts(made, camera, LENSES['plumb_bob'], SIZE) > 0.95


@pytest.mark.long
def test_example_robots_are_seen_as_by_rays(example_robot):
    """Compare robots by many makers, with their meshes, from two sides."""
    made = sb.World()
    made.add_ground()
    made.load_urdf(example_robot, position=(0.0, 0.0, 1.0))
    _, pose = scene_of(made)
    # a robot without links, such as ur3, shows the ground alone
    origins = pose[1:, 9:] if len(pose) > 1 else np.zeros((1, 3))
    middle, size = origins.mean(axis=0), max(np.ptp(origins, axis=0).max(), 0.3)
    for way in ((1.0, -0.8, 0.5), (-0.6, 0.9, 0.3)):
        camera = looking(middle + size * np.array(way), middle)
        assert_equal_to_casts(made, camera, LENSES['plumb_bob'], SIZE)


@pytest.mark.parametrize('lens', LENSES)
def test_bands_of_rows_have_the_bits_of_the_whole(world, lens):
    """Give each thread any rows: no bit in distance, geometry or face changes."""
    scene, camera = scene_of(world), looking(*EYES['aside'])
    whole = picture_of(scene, camera, LENSES[lens], SIZE)
    banded = picture_of(scene, camera, LENSES[lens], SIZE, rows=(1, 2, 17, 40))
    for one, other in zip(whole, banded, strict=True):
        assert np.array_equal(one, other)


def test_reversed_triangles_give_the_same_depths():
    """Find the same distances and misses for another triangle order."""
    vertices, triangles = lumpy_ball()
    pictures = []
    for order in (triangles, triangles[::-1]):
        made = sb.World()
        made.add_body(sb.TriangleMesh(vertices, order.copy()), motion='static')
        camera = looking((0.9, -1.7, 0.6), (0, 0, 0))
        pictures.append(picture_of(scene_of(made), camera, LENSES['plumb_bob'], SIZE))
    assert np.array_equal(*(each.item for each in pictures))
    np.testing.assert_allclose(*(each.distance for each in pictures), rtol=1e-13)


def flat_world(width, height, focal, z, *, shift=0.0):
    """Return a world with a triangle grid at depth z; its corners project to pixel centres."""
    u, v = np.meshgrid(np.arange(-1, width + 1) + shift, np.arange(-1, height + 1) + shift)
    x, y = (u - 0.5 * (width - 1)) / focal * z, (v - 0.5 * (height - 1)) / focal * z
    vertices = np.stack([x, y, np.full_like(x, z)], -1).reshape(-1, 3)
    corner = np.arange(len(vertices)).reshape(u.shape)
    a, b, c, d = (
        each.ravel()
        for each in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1])
    )
    triangles = np.concatenate([np.stack([a, c, b], -1), np.stack([a, d, c], -1)])
    made = sb.World()
    made.add_body(sb.TriangleMesh(vertices, triangles), motion='static')
    return made


@pytest.mark.parametrize('shift', [0.0, 0.5, 0.25])
def test_no_ray_passes_between_triangles(shift):
    """Hit a sheet in every pixel, with rays along its edges and through its corners."""
    width, height, focal, z = 40, 30, 37.3, 1.7
    camera = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
    lens = make_lens(PINHOLE, (focal, focal, 0.5 * (width - 1), 0.5 * (height - 1)))
    scene = scene_of(flat_world(width, height, focal, z, shift=shift))
    picture = picture_of(scene, camera, lens, (width, height))
    assert (picture.item == 0).all()
    np.testing.assert_allclose(picture.distance, z, rtol=1e-12)


def test_a_triangle_around_the_camera_is_seen_as_a_plane():
    """Clip triangles behind the camera too: the depth follows from their plane."""
    made = sb.World()
    corners = np.array([(-90.0, -70.0, 0.0), (90.0, -70.0, 0.0), (0.0, 120.0, 0.0)])
    made.add_body(sb.TriangleMesh(corners, np.array([[0, 1, 2]])), motion='static')
    camera = looking((0.2, 0.1, 1.3), (3.0, 1.0, 0.4))
    for name in ('pinhole', 'plumb_bob', 'fisheye'):
        lens = LENSES[name]
        picture = picture_of(scene_of(made), camera, lens, SIZE, far=40.0)
        rise = np.full((SIZE[1], SIZE[0]), np.nan)
        length = np.ones_like(rise)
        for view in make_views(lens, *SIZE):
            ray = np.concatenate([view.ray, np.ones((*view.ray.shape[:2], 1))], -1) @ view.turn
            own = ~np.isnan(ray[..., 0])
            rise[own] = (ray @ camera[0, 6:9])[own]
            if name == 'fisheye':
                length[own] = np.linalg.norm(ray[own], axis=1)
        expected = -1.3 / rise
        near = (rise < 0.0) & (expected < 30.0)
        np.testing.assert_allclose(picture.distance[near], (expected * length)[near], rtol=1e-12)
        assert near.mean() > 0.3 and np.isinf(picture.distance[rise >= 0.0]).all()


def test_a_sphere_has_the_depths_of_its_equation():
    """Solve |t d - c| = r for each pixel."""
    made = sb.World()
    made.add_body(sb.Sphere(0.4), motion='static', position=(0.1, -0.2, 2.0))
    camera = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
    picture = picture_of(scene_of(made), camera, LENSES['pinhole'], SIZE)
    (view,) = make_views(LENSES['pinhole'], *SIZE)
    d = np.concatenate([view.ray, np.ones((*view.ray.shape[:2], 1))], -1)
    c = np.array([0.1, -0.2, 2.0])
    square, half = (d * d).sum(-1), d @ c
    room = half * half - square * (c @ c - 0.16)
    hit = room > 0.0
    assert np.array_equal(picture.item == 0, hit) and hit.any()
    expected = (half - np.sqrt(np.where(hit, room, 0.0))) / square
    np.testing.assert_allclose(picture.distance[hit], expected[hit], rtol=1e-12)


def test_closed_surfaces_do_not_blind_a_camera_inside():
    """See through the housing around a camera, but not through an open mesh."""
    vertices, triangles = lumpy_ball()
    camera = looking((0.05, 0.0, 0.02), (1.0, 0.3, 0.1))
    for shape, is_seen in [
        (sb.TriangleMesh(vertices, triangles), False),
        (sb.Box((1.0, 1.0, 1.0)), False),
        (sb.TriangleMesh(vertices, triangles[20:]), True),
    ]:
        made = sb.World()
        made.add_body(shape, motion='static')
        picture = picture_of(scene_of(made), camera, LENSES['pinhole'], SIZE)
        assert (picture.item != NOTHING).any() == is_seen


def test_far_and_ignored_surfaces_are_not_seen(world):
    """End at the far plane; leave out geometries that are not asked for."""
    scene, camera = scene_of(world), looking(*EYES['aside'])
    whole = picture_of(scene, camera, LENSES['pinhole'], SIZE)
    near = picture_of(scene, camera, LENSES['pinhole'], SIZE, far=7.0)
    is_near = whole.distance < 7.0
    assert is_near.any() and not is_near.all()
    assert np.array_equal(near.distance, np.where(is_near, whole.distance, np.inf))
    seen = np.ones(len(scene[0].body), np.int64)
    seen[0] = 0
    without = picture_of(scene, camera, LENSES['pinhole'], SIZE, seen=seen)
    assert (without.item != 0).all() and np.array_equal(without.item == NOTHING, whole.item <= 0)


def test_the_reference_gives_the_same_picture(world):
    """Compare compiled code with the reference interpreter, bit by bit."""
    size, lens = (9, 7), make_lens(BROWN, intrinsics_of(9, 7, 1.2), (-0.28, 0.09, 0.001, 0.002))
    scene, camera = scene_of(world), looking(*EYES['near'])
    found = picture_of(scene, camera, lens, size)
    wanted, reference = make_picture(*size), Reference()
    (view,) = make_views(lens, *size)
    reference(cover_kernels.clear)(0, 7, 1e4, wanted)
    reference(cover_kernels.cover)(
        *scene,
        camera,
        np.zeros(0, np.int64),
        cones_of(scene[0]),
        lens,
        view,
        0,
        7,
        wanted,
        make_corners(scene[0]),
    )
    reference(cover_kernels.finish)(0, 7, lens, view, wanted)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)


def test_a_picture_of_one_pixel_is_drawn(world):
    """Draw images without any extent across."""
    for lens in (make_lens(BROWN, (1.0, 1.0, 0.0, 0.0), (0.1,)), make_lens(PINHOLE, (1, 1, 0, 0))):
        assert_equal_to_casts(world, looking(*EYES['aside']), lens, (1, 1))
        assert math.isfinite(
            picture_of(scene_of(world), looking(*EYES['aside']), lens, (1, 1)).distance[0, 0]
        )
