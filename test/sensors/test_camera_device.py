"""Camera devices in the library: pictures at the sample's poses."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping

SIZE = (32, 24)


def eye(**keys):
    """Return a camera on a body's only link."""
    keys = {'type': 'camera', 'size': list(SIZE), 'update_rate': 100.0, **keys}
    return sensors_from_mapping({'eye': {'link': 'head', **keys}})


def watching(*, height=2.0, **keys):
    """Return a world with ground, a body that carries a camera looking down, and the device."""
    world = sb.World(gravity=(0, 0, -9.81))
    world.add_ground()
    head = world.load_urdf(
        robot(link('head', 1.0)), sensors=eye(look_at=[0, 0, -1], **keys), base='fixed'
    )
    head.set_base_pose((0.0, 0.0, height))
    return world, head.device('eye')


def test_the_ground_is_at_the_height_of_the_camera():
    """Give the depth along the axis in each pixel, and points on the plane."""
    world, camera = watching()
    world.step(10)
    assert np.allclose(camera.depth, 2.0, atol=1e-6)
    assert camera.depth.dtype == np.float32
    assert camera.time == pytest.approx(world.time)
    u, v = np.meshgrid(np.arange(32), np.arange(24))
    expected = np.stack([u, v, np.ones_like(u)], -1) @ np.linalg.inv(camera.K).T * 2.0
    assert camera.points == pytest.approx(expected, abs=1e-6)
    assert camera.rays * 2.0 == pytest.approx(expected, abs=1e-9)


def test_the_axes_are_those_of_rep_103():
    """See a ball on the left on the left of the picture, and one above at its top."""
    world = sb.World(gravity=(0, 0, 0))
    body = world.load_urdf(robot(link('head', 1.0)), sensors=eye(), base='fixed')
    for number, (y, z) in enumerate([(0.8, 0.0), (0.0, 0.6)]):
        world.add_body(sb.Sphere(0.1), name=f'ball{number}', motion='static', position=(3.0, y, z))
    world.step(10)
    camera = body.device('eye')
    rows, columns = np.nonzero(np.isfinite(camera.depth))
    left = columns < 10
    assert left.any() and (rows[left] < 16).all() and (rows[left] > 7).all()
    above = ~left
    assert above.any() and (rows[above] < 8).all()
    center = np.nanmean(camera.points[rows[left], columns[left]], axis=0)
    assert center == pytest.approx((-0.8, 0.0, 2.92), abs=0.03)


def test_a_picture_is_that_of_its_sample():
    """Render later than sampled, and see the sample's poses, at its time."""
    world, camera = watching(update_rate=10.0)
    world.step(100)
    ball = world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.step(100)
    fallen = float(ball.root_link.p[2])
    assert camera.time == pytest.approx(0.2)
    world.step(50)
    assert ball.root_link.p[2] < fallen - 0.05
    centre = camera.depth[11:13, 15:17]
    assert centre == pytest.approx(2.0 - (fallen + 0.2), abs=2e-3)
    assert camera.depth is camera.depth


def test_other_bodies_end_the_sample():
    """Have no picture before the first sample, nor between a new body and the next sample."""
    world, camera = watching()
    with pytest.raises(sb.StateError, match='step the world'):
        camera.depth  # noqa: B018
    assert math.isnan(camera.time)
    world.step(10)
    assert np.isfinite(camera.depth).all()
    world.add_body(sb.Sphere(0.2), name='ball', motion='static', position=(0.0, 0.0, 1.0))
    world.state_hash()
    with pytest.raises(sb.StateError, match='step the world'):
        camera.depth  # noqa: B018
    world.step(10)
    assert camera.depth[12, 16] == pytest.approx(0.8, abs=2e-3)


def test_snapshots_copies_and_pickles_keep_the_picture():
    """Return to a saved state's picture; a copy has it too."""
    world, camera = watching()
    ball = world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.step(100)
    before, saved, state = camera.depth.copy(), world.save(), world.state_hash()
    others = [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(100)
    assert not np.array_equal(camera.depth, before)
    world.restore(saved)
    assert world.state_hash() == state
    assert np.array_equal(camera.depth, before)
    for other in others:
        assert np.array_equal(other.robots[camera.link.robot.name].device('eye').depth, before)
    assert ball.root_link.p[2] < 1.0
    world.reset()
    with pytest.raises(sb.StateError):
        camera.depth  # noqa: B018


def test_millimetres_are_whole_numbers():
    """Give 16UC1 as uint16."""
    world, camera = watching(height=1.2344, depth_format='16UC1')
    world.step(10)
    assert (camera.depth == 1234).all() and camera.depth.dtype == np.uint16


def test_the_range_is_along_the_axis():
    """Give inf beyond the far plane, -inf before the near plane, and no points there."""
    world, camera = watching(clip=[0.5, 1.5])
    world.step(10)
    assert (camera.depth == math.inf).all() and np.isnan(camera.points).all()
    world, camera = watching(clip=[2.5, 9.0])
    world.step(10)
    assert (camera.depth == -math.inf).all() and np.isnan(camera.points).all()


def test_an_output_that_is_not_declared_is_named():
    """Refuse points from a camera with depth alone."""
    world, camera = watching(outputs=['depth'])
    world.step(10)
    with pytest.raises(sb.UnknownNameError, match='points'):
        camera.points  # noqa: B018


def test_a_camera_without_a_rate_has_30_hz():
    """Sample at a rate of pictures, not in every step."""
    _, camera = watching(update_rate=0.0)
    assert camera.update_rate == pytest.approx(30.0, rel=0.02)
    assert repr(camera).startswith("<CameraSensor 'eye' on 'head', 30.")


def test_a_camera_stands_in_the_world():
    """Look from one point at another, upright, with the camera's own settings."""
    world = sb.World()
    world.add_ground()
    settings = sb.CameraDescription(size=SIZE, clip=(0.1, 50.0))
    camera = world.add_camera((3.0, 0.0, 4.0), (0.0, 0.0, 0.0), 'tower', camera=settings)
    assert camera is world.robots['tower'].device('tower')
    world.step(100)
    # the axis through the middle meets the ground at the target, 5 m away
    middle = camera.depth[11:13, 15:17].mean()
    assert middle == pytest.approx(5.0, rel=1e-3)
    other = world.add_camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    assert other.name == 'camera'
    with pytest.raises(sb.InvalidValueError, match='another point'):
        world.add_camera((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))


def test_visuals_are_seen_instead_of_collisions():
    """See a link's visual, not its larger collision; a link without visuals shows its shape."""
    world = sb.World(gravity=(0, 0, 0))
    both = (
        '<link name="base"><visual><geometry><sphere radius="0.2"/></geometry></visual>'
        '<collision><geometry><sphere radius="0.5"/></geometry></collision></link>'
    )
    world.load_urdf(robot(both), base='fixed')
    settings = sb.CameraDescription(size=(33, 25))
    camera = world.add_camera((3.0, 0.0, 0.0), (0.0, 0.0, 0.0), camera=settings)
    world.step(100)
    assert camera.depth[12, 16] == pytest.approx(2.8)
    world.add_body(sb.Box((0.2, 0.2, 0.2)), motion='static', position=(2.0, 0.0, 0.0))
    world.step(100)
    assert camera.depth[12, 16] == pytest.approx(0.9)


def test_worlds_in_a_batch_step_with_a_camera():
    """Keep a sample for each world in a batch, with the single world's picture."""
    world, camera = watching()
    world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.step(10)
    batch = sb.Batch(world, 3)
    batch.step(100)
    world.step(100)
    seen = batch.world(1).robots[camera.link.robot.name].device('eye')
    assert seen.time == camera.time
    assert np.array_equal(seen.depth, camera.depth)


@pytest.mark.parametrize('encoding', ['rgb8', 'bgra8', 'mono16'])
def test_an_image_has_the_colours_of_the_visuals(encoding):
    """See a red ball in front of the ground, in the camera's encoding."""
    world = sb.World(gravity=(0, 0, 0))
    red = (
        '<link name="base"><visual><geometry><sphere radius="0.5"/></geometry>'
        '<material name="red"><color rgba="1 0 0 1"/></material></visual></link>'
    )
    world.load_urdf(robot(red), base='fixed')
    settings = sb.CameraDescription(size=(33, 25), format=encoding)
    camera = world.add_camera((3.0, 0.0, 0.5), (0.0, 0.0, 0.0), camera=settings)
    world.step(100)
    image, middle = camera.image, camera.image[12, 16]
    if encoding == 'mono16':
        assert (image.dtype, image.shape) == (np.uint16, (25, 33))
        assert middle > 0
    else:
        channels = dict(zip(encoding.removesuffix('8'), middle.tolist(), strict=True))
        assert channels['r'] > 100 and channels['g'] < 30 and channels['b'] < 30


def test_the_world_is_rendered_as_a_camera_there_sees_it():
    """Equal a camera's pictures by those without a camera, at the present state."""
    world = sb.World(gravity=(0, 0, -9.81))
    world.add_ground()
    world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    settings = sb.CameraDescription(size=SIZE)
    camera = world.add_camera(
        (2.0, 0.5, 1.0), (0.0, 0.0, 0.5), camera=settings, update_rate=1000.0
    )
    world.step(100)
    for output in settings.outputs:
        seen = world.render((2.0, 0.5, 1.0), (0.0, 0.0, 0.5), settings, output)
        assert np.array_equal(seen, camera.render(output), equal_nan=True)
        assert np.array_equal(seen, getattr(camera, output), equal_nan=True)
    assert world.render((2.0, 0.5, 1.0), (0.0, 0.0, 0.5)).shape == (480, 640, 3)
    with pytest.raises(sb.InvalidValueError, match='another point'):
        world.render((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    with pytest.raises(sb.UnknownNameError, match='heat'):
        world.render((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), settings, 'heat')


def test_a_present_picture_is_no_sample():
    """Keep the sample's picture after a picture of the present state."""
    world, camera = watching(update_rate=10.0)
    world.add_body(sb.Sphere(0.2), name='ball', position=(0.0, 0.0, 1.0))
    world.step(100)
    sampled = camera.depth.copy()
    world.step(50)
    present = camera.render('depth')
    assert present[12, 16] > sampled[12, 16] + 0.05
    assert np.array_equal(camera.depth, sampled)


def test_a_failed_addition_keeps_the_sample():
    """Show the same picture after a call that added a robot and failed."""
    world, camera = watching()
    arm = world.load_urdf('arm', position=(2.0, 0.0, 0.0))
    world.step(10)
    before, state = camera.depth.copy(), world.state_hash()
    with pytest.raises(sb.InvalidValueError):
        world.add_copy(arm, position='x')
    assert world.state_hash() == state
    assert np.array_equal(camera.depth, before)
