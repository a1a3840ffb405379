"""Cameras in batches, beside cameras in single worlds."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.cameras import CameraDescription, CameraNoise

N = 5


def watched(**settings):
    """Return a world with a camera looking down at a falling ball on the ground."""
    world = sb.World(gravity=(0, 0, -9.81))
    world.add_ground()
    world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.add_camera(
        (0.0, -0.5, 2.0),
        (0.0, 0.0, 0.0),
        'eye',
        camera=CameraDescription(size=(33, 25), **settings),
        update_rate=100.0,
    )
    return world


def moved(world, draw):
    """Move the ball."""
    world.robots['ball'].set_base_pose(draw.uniform((-0.3, -0.3, 0.5), (0.3, 0.3, 1.0)))


def camera_of(batch):
    return batch.robots['eye'].devices['eye']


@pytest.mark.parametrize('threads', [1, 2])
def test_pictures_are_those_of_the_single_worlds(threads):
    """Equal the images from `batch.world(k)` to the bit, at samples and now."""
    noise = {'image_noise': CameraNoise(stddev=0.05), 'depth_noise': CameraNoise(stddev=0.01)}
    batch = sb.Batch(watched(**noise), N, seed=3, vary=moved, threads=threads)
    batch.step(17)
    camera, mask = camera_of(batch), np.array([0, 1, 0, 1, 1], bool)
    assert camera.image.shape == (N, 25, 33, 3) and camera.depth.dtype == np.float32
    assert len(np.unique(camera.depth, axis=0)) == N
    for output in camera.outputs:
        sampled = camera.render(output)
        present = camera.render(output, mask, now=True)
        assert present.shape[0] == 3 and not np.array_equal(present, sampled[mask])
        for k in range(N):
            alone = batch.world(k).robots['eye'].device('eye')
            assert np.array_equal(sampled[k], getattr(alone, output), equal_nan=True)
            if mask[k]:
                row = int(mask[:k].sum())
                assert np.array_equal(present[row], alone.render(output), equal_nan=True)


def test_the_depth_is_that_of_each_worlds_ball():
    """See the top of a falling ball straight below, at its closed-form distance."""
    world = sb.World(gravity=(0, 0, -9.81))
    ball = world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.add_camera((0, 0, 3.0), (0, 0, 0), 'eye', camera=CameraDescription(size=(3, 3)))
    heights = np.linspace(0.5, 1.5, N)
    batch = sb.Batch(world, N)
    batch.robots['ball'].base_position = np.outer(heights, (0.0, 0.0, 1.0))
    batch.step(100)
    fallen = heights - 0.5 * 9.81 * (100 * world.time_step) ** 2
    seen = camera_of(batch).render('depth', now=True)[:, 1, 1]
    assert seen == pytest.approx(3.0 - 0.2 - fallen, abs=1e-6)
    assert ball.root_link.p[2] == 1.0


def test_worlds_that_differ_in_shapes_differ_in_pictures():
    """Move a shape within its body: each picture is its world's."""

    def shifted(world, draw):
        (shape,) = world.robots['ball'].root_link.geometries
        shape.position = draw.uniform((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0))

    batch = sb.Batch(watched(), N, vary=shifted)
    batch.step(10)
    depth = camera_of(batch).depth
    assert len(np.unique(depth, axis=0)) == N
    for k in range(N):
        assert np.array_equal(depth[k], batch.world(k).robots['eye'].device('eye').depth)


def test_worlds_without_a_sample_are_named():
    """Refuse pictures before a first sample, unknown outputs, empty masks."""
    batch = sb.Batch(watched(outputs=('depth',)), N)
    camera = camera_of(batch)
    with pytest.raises(sb.StateError, match=r"'eye' has no sample yet in 5 worlds: 0, 1, 2, 3, 4"):
        camera.depth  # noqa: B018
    assert np.isfinite(camera.render('depth', now=True)).all()
    batch.step(10)
    batch.reset(np.arange(N) == 2)
    with pytest.raises(sb.StateError, match='1 world: 2; step the batch'):
        camera.render('depth')
    assert len(camera.render('depth', np.arange(N) != 2)) == N - 1
    with pytest.raises(sb.UnknownNameError, match="output 'image' in camera 'eye'"):
        camera.render('image', now=True)
    with pytest.raises(sb.InvalidValueError, match='at least one world'):
        camera.render('depth', np.zeros(N, bool))
