"""Depth images and points, beside numpy and the conventions of REP 117."""

from __future__ import annotations

import numpy as np
from picturing import looking, picture_of, QUIET, scene_of
import pytest

import sim_bridge as sb
from sim_bridge.compiler.reference import Reference
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, PINHOLE
from sim_bridge.engine.image.depth import fill_depth, fill_millimetres, fill_points
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.engine.image.make_view import make_picture

SIZE = (40, 31)
NEAR = 0.9
LENSES = {
    'pinhole': make_lens(PINHOLE, (30.0, 31.0, 20.2, 14.7)),
    'plumb_bob': make_lens(BROWN, (30.0, 31.0, 20.2, 14.7), (-0.1, 0.02, 0.001, 0.002)),
    'fisheye': make_lens(EQUIDISTANT, (22.0, 22.0, 19.5, 15.0)),
}


def seen_through(lens):
    """Return picture and rays: a sphere before the near plane, a box, the ground and the sky."""
    world = sb.World()
    world.add_ground()
    world.add_body(sb.Sphere(0.1), motion='static', position=(-0.2, -0.9, 1.2))
    world.add_body(sb.Box((0.5, 0.5, 0.5)), motion='static', position=(0.2, 0.4, 0.6))
    picture = picture_of(scene_of(world), looking((0, -1.5, 1.0), (0, 0.5, 0.9)), lens, SIZE)
    rays = np.zeros((SIZE[1], SIZE[0], 3))
    fill_rays(lens, rays)
    return picture, rays


@pytest.mark.parametrize('name', LENSES)
def test_depths_are_along_the_axis(name):
    """Give float32 metres; -inf for what is too near, inf for nothing."""
    picture, rays = seen_through(LENSES[name])
    found = np.zeros(picture.item.shape, np.float32)
    fill_depth(0, SIZE[1], picture, rays, NEAR, QUIET, found)
    with np.errstate(invalid='ignore'):
        depth = np.where(picture.item >= 0, picture.distance * rays[..., 2], np.inf)
    expected = np.where(depth < NEAR, -np.inf, depth).astype(np.float32)
    assert np.array_equal(found, expected)
    assert (found == -np.inf).any() and (found == np.inf).any() and np.isfinite(found).any()
    assert (found[picture.item == 1] == -np.inf).all()


@pytest.mark.parametrize('name', LENSES)
def test_millimetres_are_rounded_and_0_where_unknown(name):
    """Give 16-bit millimetres, 0 beyond their range too."""
    picture, rays = seen_through(LENSES[name])
    metres = np.zeros(picture.item.shape, np.float32)
    found = np.zeros(picture.item.shape, np.uint16)
    fill_depth(0, SIZE[1], picture, rays, NEAR, QUIET, metres)
    fill_millimetres(0, SIZE[1], picture, rays, NEAR, QUIET, found)
    is_known = np.isfinite(metres) & (metres < 65.535)
    assert (found[~is_known] == 0).all() and (found[is_known] > 0).all()
    np.testing.assert_allclose(found[is_known], 1e3 * metres[is_known], atol=0.5 + 1e-3)


def test_millimetres_end_at_16_bits():
    """Round 65.5354 m down to the last number, and leave out 65.5356 m."""
    picture, rays = make_picture(4, 1), np.zeros((1, 4, 3))
    picture.distance[0], picture.item[0], rays[..., 2] = [65.5354, 65.5356, 1.4996, 1e300], 0, 1.0
    found = np.zeros((1, 4), np.uint16)
    fill_millimetres(0, 1, picture, rays, NEAR, QUIET, found)
    assert found.tolist() == [[65535, 0, 1500, 0]]


@pytest.mark.parametrize('name', LENSES)
def test_points_lie_on_their_surfaces(name):
    """Put the points of a box's and the ground's pixels on these; nan elsewhere."""
    picture, rays = seen_through(LENSES[name])
    found = np.full((SIZE[1], SIZE[0], 4), 7.0, np.float32)
    fill_points(0, SIZE[1], picture, rays, NEAR, QUIET, found)
    assert (found[..., 3] == 7.0).all()
    camera = looking((0, -1.5, 1.0), (0, 0.5, 0.9))
    world = found[..., :3].astype(float) @ camera[0, :9].reshape(3, 3).T + camera[0, 9:]
    near = (picture.item == 0) & (np.abs(picture.distance) < 5.0)
    assert np.nanmax(np.abs(world[near][:, 2])) < 2e-6 and near.any()
    outside = np.abs(world[picture.item == 2] - (0.2, 0.4, 0.6)).max(axis=1)
    np.testing.assert_allclose(outside, 0.25, atol=1e-6)
    assert np.isnan(found[..., :3][picture.item == 1]).all()
    assert np.isnan(found[..., :3][picture.item < 0]).all()


def test_a_pinhole_cloud_is_that_of_depth_image_proc():
    """Equal the cloud computed from depth and intrinsics: x = (u - cx) z / fx."""
    picture, rays = seen_through(LENSES['pinhole'])
    depth, points = np.zeros(picture.item.shape, np.float32), np.zeros((SIZE[1], SIZE[0], 3), 'f4')
    fill_depth(0, SIZE[1], picture, rays, NEAR, QUIET, depth)
    fill_points(0, SIZE[1], picture, rays, NEAR, QUIET, points)
    v, u = np.indices(depth.shape)
    z = np.where(np.isfinite(depth), depth, np.nan)
    expected = np.stack([(u - 20.2) * z / 30.0, (v - 14.7) * z / 31.0, z], -1)
    np.testing.assert_allclose(points, expected, rtol=1e-6, atol=1e-6)


def test_the_reference_gives_the_same_bits():
    """Compare compiled code with the reference interpreter, over some rows only."""
    picture, rays = seen_through(LENSES['plumb_bob'])
    for kernel, shape, dtype in [
        (fill_depth, SIZE[::-1], np.float32),
        (fill_millimetres, SIZE[::-1], np.uint16),
        (fill_points, (*SIZE[::-1], 3), np.float32),
    ]:
        found, wanted = np.full(shape, 3, dtype), np.full(shape, 3, dtype)
        kernel(12, 18, picture, rays, NEAR, QUIET, found)
        Reference()(kernel)(12, 18, picture, rays, NEAR, QUIET, wanted)
        assert np.array_equal(found, wanted, equal_nan=dtype is np.float32)
        assert (found[:12] == 3).all() and (found[18:] == 3).all()
