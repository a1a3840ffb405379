"""Optical flow, beside closed forms."""

from __future__ import annotations

import numpy as np
from picturing import looking
import pytest

import sim_bridge as sb
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual

WIDTH, HEIGHT, FOCAL = 48, 36, 40.0
LENSES = {
    'pinhole': make_lens(PINHOLE, (FOCAL, FOCAL, 23.5, 17.5)),
    'plumb_bob': make_lens(BROWN, intrinsics_of(WIDTH, HEIGHT, 1.1), (-0.2, 0.05, 0.001, -0.001)),
    'fisheye': make_lens(EQUIDISTANT, (14.0, 14.0, 23.5, 17.5)),
}
AHEAD = np.append(np.eye(3).ravel(), np.zeros(3))


def posed(position, turn=0.0):
    """Return a pose (12,), turned about z."""
    c, s = np.cos(turn), np.sin(turn)
    return np.array([c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0, *position])


def rendered(lens, visuals, camera, poses):
    """Return a renderer with its picture."""
    found = Renderer(Scenery(visuals), Optics(WIDTH, HEIGHT, lens))
    found.render(camera, poses)
    return found


def wall():
    """Return a box as a wall, 2 m ahead of `AHEAD`, wider than the picture, on body 0."""
    return Visual(sb.Box((20.0, 20.0, 0.5)), 0, position=np.array([0.0, 0.0, 2.25]))


def test_a_sideways_step_moves_all_pixels_by_focal_length_over_depth():
    """Shift a wall by f dx / z, if the camera or the wall moves."""
    renderer = rendered(LENSES['pinhole'], [wall()], AHEAD, posed((0.0, 0.0, 0.0))[None])
    shift = np.array([0.1, -0.05]) * FOCAL / 2.0
    by_wall = renderer.flow(AHEAD, posed((-0.1, 0.05, 0.0))[None])
    by_camera = renderer.flow(posed((0.1, -0.05, 0.0)), posed((0.0, 0.0, 0.0))[None])
    assert by_wall.shape == (HEIGHT, WIDTH, 2)
    np.testing.assert_allclose(by_wall, np.broadcast_to(shift, by_wall.shape), atol=1e-5)
    np.testing.assert_allclose(by_camera, by_wall, atol=1e-5)


def test_a_turn_about_the_axis_turns_the_pixels():
    """Turn the wall about the optical axis: each pixel's way is a chord."""
    renderer = rendered(LENSES['pinhole'], [wall()], AHEAD, posed((0.0, 0.0, 0.0))[None])
    found = renderer.flow(AHEAD, posed((0.0, 0.0, 0.0), -0.2)[None])
    u, v = np.meshgrid(np.arange(WIDTH) - 23.5, np.arange(HEIGHT) - 17.5)
    c, s = np.cos(0.2), np.sin(0.2)
    np.testing.assert_allclose(found[..., 0], u - (c * u + s * v), atol=1e-4)
    np.testing.assert_allclose(found[..., 1], v - (c * v - s * u), atol=1e-4)


@pytest.mark.parametrize('lens', LENSES)
def test_what_rests_has_no_flow_and_the_sky_has_none_at_all(lens):
    """Return zero on a resting ball, nan beside it, through all lenses."""
    ball = Visual(sb.Sphere(0.5), position=np.array([0.2, 0.1, 0.0]))
    camera = looking((2.0, -1.0, 0.8), (0.0, 0.0, 0.0))[0]
    renderer = rendered(LENSES[lens], [ball], camera, np.zeros((0, 12)))
    found, is_ball = renderer.flow(camera, np.zeros((0, 12))), renderer.visual == 0
    assert 20 < is_ball.sum() < WIDTH * HEIGHT
    np.testing.assert_allclose(found[is_ball], 0.0, atol=1e-6)
    assert np.isnan(found[~is_ball]).all()


def test_what_was_behind_the_camera_has_no_flow():
    """Return nan where the earlier place has no pixel."""
    renderer = rendered(LENSES['pinhole'], [wall()], AHEAD, posed((0.0, 0.0, 0.0))[None])
    assert np.isnan(renderer.flow(AHEAD, posed((0.0, 0.0, -9.0))[None])).all()
