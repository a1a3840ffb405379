"""Pictures of camera sensors on the page, beside those of the library."""

from __future__ import annotations

import threading
import time

import numpy as np
from shipped import path_of

import sim_bridge as sb
from sim_bridge.description.cameras import CameraNoise
from sim_bridge.page.painter import Painter, Wish
from sim_bridge.view.seen import cameras_of, Pictures, SeenScene
from sim_bridge.world.visuals import link_poses

NOISY = sb.CameraDescription(
    size=(48, 36),
    horizontal_fov=1.2,
    outputs=('image', 'depth'),
    image_noise=CameraNoise(0.0, 0.1),
)


def made_world():
    """Return a world with a moving rover, a box and two cameras, and its rows of links."""
    world = sb.World()
    world.add_ground()
    world.load_urdf(path_of('rover'), name='rover', position=(0.0, 0.0, 0.2))
    world.add_body(sb.Box((0.3, 0.3, 0.3)), name='box', position=(1.5, 0.2, 0.15))
    world.add_camera((2.0, 1.0, 1.5), (0.0, 0.0, 0.2), 'above', camera=NOISY)
    world.step(100)
    sites = [link.slot.site for robot in world.robots.values() for link in robot.links]
    # another order than in the world
    return world, {site: row for row, site in enumerate(reversed(sites))}


def poses_of(world, places):
    """Return the link poses by row."""
    found = np.zeros((len(places), 12))
    for site, row in places.items():
        found[row] = link_poses(world)[site]
    return found


def test_the_page_shows_the_pictures_of_the_library():
    """Equal all bits of the devices' images, with noise."""
    world, places = made_world()
    records, scene = cameras_of(world, places)
    pictures = Pictures(SeenScene.of(scene))
    assert [each.name for each in records] == ['camera', 'above']
    for record in records:
        device = world.robots[record.robot].device(record.name)
        drawn = pictures.draw(
            (record.robot, record.name), 'image', poses_of(world, places), world.time
        )
        np.testing.assert_array_equal(drawn, device.render('image'))


def test_frustums_lie_on_the_rays():
    """Place the optical frame and its angles as the camera's corner pixels."""
    world, places = made_world()
    for record in cameras_of(world, places)[0]:
        device = world.robots[record.robot].device(record.name)
        link = poses_of(world, places)[record.link]
        R = link[:9].reshape(3, 3)
        pose = np.append(R @ record.rotation, link[9:] + R @ record.position)
        expected = device.optical_pose if record.name == 'above' else None
        if expected is not None:
            np.testing.assert_allclose(pose, expected, atol=1e-12)
        height, width = device.settings.height, device.settings.width
        top = np.tan(0.5 * record.angle)
        # outer edges are half a pixel beyond the pixels' centres
        x, y, _ = device.rays[0, 0]
        np.testing.assert_allclose(-y * height / (height - 1), top, rtol=1e-9)
        np.testing.assert_allclose(-x * width / (width - 1), top * record.aspect, rtol=1e-9)


def test_depths_are_white_near_and_black_for_nothing():
    """Show grey values that fall with depth."""
    world, places = made_world()
    _, scene = cameras_of(world, places)
    [name] = [
        robot for robot in world.robots if world.robots[robot].devices() and robot != 'rover'
    ]
    grey = Pictures(SeenScene.of(scene)).draw(
        (name, 'above'), 'depth', poses_of(world, places), world.time
    )
    depth = world.robots[name].device('above').render('depth')
    assert grey.shape == (36, 48, 3)
    assert not grey[~np.isfinite(depth)].any()
    order = np.argsort(depth[np.isfinite(depth)])
    assert (np.diff(grey[np.isfinite(depth)][order, 0].astype(int)) <= 0).all()
    assert grey.max() == 255


def test_a_world_without_cameras_sends_no_visuals():
    """Send nothing."""
    world = sb.World()
    world.add_ground()
    assert cameras_of(world, {0: 0}) == ((), b'')


def test_the_painter_draws_the_newest_wish():
    """Draw in another process, and again after a new scene."""
    world, places = made_world()
    records, scene = cameras_of(world, places)
    failed: list[str] = []
    painter = Painter(failed.append)
    camera, poses = (records[0].robot, records[0].name), poses_of(world, places)
    expected = world.robots[camera[0]].device(camera[1]).render('image')
    for _ in range(2):
        painter.show(scene)
        assert painter.take() is None
        painter.wish(Wish(camera, 'image', poses, world.time))
        while (found := painter.take()) is None:
            assert not failed
            time.sleep(0.01)
        np.testing.assert_array_equal(found[1], expected)
    painter.close()


def test_the_painter_says_when_its_process_ends():
    """Name a camera that the scene lacks: the process fails, the page goes on."""
    world, places = made_world()
    _, scene = cameras_of(world, places)
    texts, has_failed = [], threading.Event()

    def failed(text):
        texts.append(text)
        has_failed.set()

    painter = Painter(failed)
    painter.show(scene)
    painter.wish(Wish(('nobody', 'eye'), 'image', poses_of(world, places), 0.0))
    assert has_failed.wait(60.0)
    painter.close()
    assert 'ended' in texts[0]
