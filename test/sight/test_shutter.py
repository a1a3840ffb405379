"""Motion blur and rolling shutters, beside closed forms and pictures at single instants."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.data.lens import PINHOLE
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sight.exposure import Exposure
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.shutter import Motion, moved
from sim_bridge.sight.visual import Visual

WIDTH, HEIGHT, FOCAL = 64, 48, 40.0
OPTICS = Optics(WIDTH, HEIGHT, make_lens(PINHOLE, (FOCAL, FOCAL, 31.5, 23.5)))
AHEAD = np.append(np.eye(3).ravel(), np.zeros(3))
SPEED = 2.0  # wall [m/s]: 40 pixels a second
DEPTH = 2.0
TIME, READOUT = 0.2, 0.4
BRIGHT = Surroundings(lamps=(), ambient=(1.0,) * 3, horizon=(0.0,) * 3, zenith=(0.0,) * 3)
"""Light from all sides, and a black sky: pixels are white or black."""


def wall():
    """Return a white wall on body 0, whose left edge is in the middle of the picture."""
    return Visual(
        sb.Box((20.0, 40.0, 0.002)),
        0,
        position=np.array([10.0, 0.0, DEPTH + 0.001]),
        color=(1.0, 1.0, 1.0, 1.0),
    )


def sideways(speed=SPEED):
    """Return a motion: a wall moving right before a camera at rest."""
    return Motion(np.zeros(6), np.array([[0.0, 0.0, 0.0, speed, 0.0, 0.0]]))


def renderer_with(exposure, threads=1, visuals=None, samples=16):
    """Return a renderer for the wall, or for other visuals."""
    scenery = Scenery([wall()] if visuals is None else visuals)
    return Renderer(scenery, OPTICS, threads, BRIGHT, samples, exposure)


def light_of(exposure, motion, **options):
    """Return the light in a picture with the wall."""
    renderer = renderer_with(exposure, **options)
    renderer.render(AHEAD, AHEAD[None], 0, motion)
    return renderer.light().copy()


def edge_columns(light):
    """Return the wall's left edge in each row, from the white pixels [px]."""
    return WIDTH - 0.5 - light[..., 0].astype(float).sum(axis=1)


def test_blur_spreads_an_edge_over_its_way():
    """Find a linear ramp, as long as the edge's way in the exposure: speed f / z T, 8 pixels."""
    light = light_of(Exposure(time=TIME, blur_samples=64), sideways())[..., 0]
    way = SPEED * FOCAL / DEPTH * TIME
    # the edge is at 31.5 at mid-exposure
    ramp = np.clip((np.arange(WIDTH) - 31.5) / way + 0.5, 0.0, 1.0)
    np.testing.assert_allclose(light, np.broadcast_to(ramp, light.shape), atol=0.06)
    # the mean stays
    np.testing.assert_allclose(edge_columns(light[..., None]), 31.5, atol=0.05)


def test_blur_is_the_mean_of_pictures_at_its_instants():
    """Average sharp pictures with moved walls, for a turning camera too, to rounding."""
    exposure = Exposure(time=TIME, blur_samples=5)
    velocities = np.array([[0.1, 0.3, -0.2, 0.0, 0.4, 0.1], [0.0, 0.0, 0.5, SPEED, 0.0, 0.0]])
    found = light_of(exposure, Motion(velocities[0], velocities[1:]))
    total, sharp = np.zeros(found.shape), renderer_with(Exposure())
    for number in range(5):
        time = TIME * ((number + 0.5) / 5 - 0.5)
        camera, body = moved(np.stack([AHEAD, AHEAD]), velocities, time)
        sharp.render(camera, body[None])
        total += sharp.light()
    np.testing.assert_allclose(found, total / 5, atol=1e-6)


def test_depths_and_labels_do_not_blur():
    """Equal the sharp picture's, before and after the colours were read."""
    sharp = renderer_with(Exposure())
    sharp.render(AHEAD, AHEAD[None])
    blurred = renderer_with(Exposure(time=TIME, blur_samples=4))
    blurred.render(AHEAD, AHEAD[None], 0, sideways())
    for _ in range(2):
        assert np.array_equal(blurred.depth(), sharp.depth())
        assert np.array_equal(blurred.instances(), sharp.instances())
        blurred.light()


@pytest.mark.parametrize('speed', [SPEED, -SPEED])
def test_a_rolling_shutter_slants_a_moving_edge(speed):
    """Shift each row by f v / z times its time from the middle row."""
    light = light_of(Exposure(readout=READOUT), sideways(speed))
    rows = np.arange(HEIGHT)
    times = READOUT * ((rows + 0.5) / HEIGHT - 0.5)
    expected = 31.5 + speed * FOCAL / DEPTH * times
    # 8 rows make a band, and samples at edges are 0.25 pixels apart
    band = 0.5 * 8 * READOUT / HEIGHT * abs(speed) * FOCAL / DEPTH
    np.testing.assert_allclose(edge_columns(light), expected, atol=band + 0.2)
    np.testing.assert_allclose(edge_columns(light).mean(), 31.5, atol=0.05)


def test_rows_of_a_rolling_shutter_equal_pictures_at_their_instants():
    """Take depths, colours, normals and flow band by band from sharp pictures."""
    velocities = np.array([[0.0, 0.2, -0.2, 0.0, 0.4, 0.1], [0.0, 0.0, 0.5, SPEED, 0.0, 0.0]])
    rolling = renderer_with(Exposure(readout=READOUT), samples=1)
    rolling.render(AHEAD, AHEAD[None], 0, Motion(velocities[0], velocities[1:]))
    sharp = renderer_with(Exposure(), samples=1)
    before = moved(np.stack([AHEAD, AHEAD]), velocities, -1.0)
    for first in range(0, HEIGHT, 8):
        rows = slice(first, first + 8)
        time = READOUT * ((first + 4) / HEIGHT - 0.5)
        camera, body = moved(np.stack([AHEAD, AHEAD]), velocities, time)
        sharp.render(camera, body[None])
        for read in (
            lambda each: each.depth(),
            lambda each: each.light(),
            lambda each: each.normals(),
            lambda each: each.flow(before[0], before[1:]),
        ):
            np.testing.assert_array_equal(read(rolling)[rows], read(sharp)[rows])


@pytest.mark.parametrize(
    'exposure', [Exposure(time=TIME, blur_samples=3), Exposure(0.8, readout=READOUT, time=TIME)]
)
def test_threads_change_no_bit(exposure):
    """Give the same depths and light on 1 and 3 threads, with layers."""
    visuals = [
        wall(),
        Visual(sb.Sphere(0.4), 0, position=np.array([0.0, 0.1, 1.4]), color=(0.2, 0.5, 0.9, 0.4)),
    ]
    found = []
    for threads in (1, 3):
        renderer = renderer_with(exposure, threads, visuals)
        renderer.render(AHEAD, AHEAD[None], 0, sideways())
        found.append((renderer.light().copy(), renderer.depth()))
        renderer.close()
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_motion_changes_no_bit_without_exposure_time():
    """Give the same light with and without a motion, and with blur at rest."""
    plain = light_of(Exposure(), None)
    assert np.array_equal(light_of(Exposure(), sideways()), plain)
    assert np.array_equal(light_of(Exposure(time=TIME, readout=READOUT), sideways(0.0)), plain)


def test_poses_move_along_lines_and_turn_about_their_velocity():
    """Equal quarter turns about each axis, and a line; small and no turns stay rotations."""
    quarter = 0.5 * np.pi
    for axis in range(3):
        velocity = np.zeros((1, 6))
        velocity[0, axis] = quarter / 0.1
        velocity[0, 3:] = 1.0, 2.0, 3.0
        (found,) = moved(AHEAD[None], velocity, 0.1)
        expected = np.zeros((3, 3))
        expected[axis, axis] = 1.0
        expected[(axis + 2) % 3, (axis + 1) % 3] = 1.0
        expected[(axis + 1) % 3, (axis + 2) % 3] = -1.0
        np.testing.assert_allclose(found[:9].reshape(3, 3), expected, atol=1e-15)
        np.testing.assert_allclose(found[9:], [0.1, 0.2, 0.3])
    for turn in (0.0, 1e-9, 1e-4):
        (found,) = moved(AHEAD[None], np.array([[turn, 0.0, 0.0, 0.0, 0.0, 0.0]]), 1.0)
        np.testing.assert_allclose(found[7], turn, rtol=1e-8)
        np.testing.assert_allclose(found[8], 1.0 - 0.5 * turn**2, rtol=1e-15)


def test_wrong_motions_are_refused():
    """Name arrays with too few bodies."""
    with pytest.raises(InvalidValueError, match='motion'):
        renderer_with(Exposure(time=TIME, blur_samples=2)).render(
            AHEAD, AHEAD[None], 0, Motion(np.zeros(6), np.zeros((0, 6)))
        )


def test_a_camera_blurs_by_the_velocities_in_its_world():
    """Blur a drifting box by its way in the exposure, for a camera at rest in the world."""
    world = sb.World(time_step=0.001, gravity=(0.0, 0.0, 0.0))
    world.surroundings = BRIGHT
    ball = world.add_body(sb.Box((0.1, 0.2, 0.2)), position=(2.0, 0.0, 0.0))
    ball.set_base_velocity((0.0, 0.0, 1.0))
    heights = {}
    for time in (0.0, 0.1):
        camera = sb.CameraDescription(
            outputs=('image',),
            size=(64, 64),
            intrinsics=(40.0, 40.0, 31.5, 31.5, 0.0),
            exposure_time=time,
            blur_samples=32,
        )
        name = f'eye{round(1000 * time)}'
        heights[time] = world.add_camera((0, 0, 0), (1, 0, 0), name, camera=camera)
    world.step(40)
    sharp, blurred = (
        np.count_nonzero(each.image[..., 0].max(axis=1) > 0) for each in heights.values()
    )
    # at 1 m/s, over the depth of the near face
    way = 0.1 * 40.0 / 1.95
    assert blurred - sharp == pytest.approx(way, abs=1.01)
