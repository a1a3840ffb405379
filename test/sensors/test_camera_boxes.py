"""Labels, instances and boxes in the library."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix

SIZE = (160, 120)
OUTPUTS = ('labels', 'instances', 'boxes')
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def seeing(world, **settings):
    """Return a camera at the world's origin, looking along x, after its first sample."""
    settings = {'size': SIZE, 'outputs': OUTPUTS, **settings}
    camera = world.add_camera(
        (0, 0, 0), (1, 0, 0), 'eye', camera=sb.CameraDescription(**settings), update_rate=100.0
    )
    world.step(10)
    return camera


def turned_box(world, **keys):
    """Add a box, 0.2 x 0.4 x 0.6 m, turned about two axes, in front of the camera."""
    quaternion = np.array([0.2, 0.1, 0.4, 0.9])
    return world.add_body(
        sb.Box((0.2, 0.4, 0.6)),
        motion='static',
        position=(2.0, 0.1, 0.05),
        orientation=quaternion / np.linalg.norm(quaternion),
        **keys,
    )


@pytest.mark.parametrize(
    'lens', [{}, {'lens': 'plumb_bob', 'distortion': (-0.2, 0.05, 1e-3, -2e-3, 0.0)}]
)
def test_boxes_are_around_opencvs_projection(lens):
    """Bound the corners as OpenCV projects them, within a pixel, and have them in space."""
    world = sb.World(gravity=(0, 0, 0))
    body = turned_box(world, name='crate', label=9)
    camera = seeing(world, **lens)
    (box,) = camera.boxes
    assert (box.name, box.label, box.instance) == ('crate', 9, 1)
    assert box.visible == box.full
    corners = CORNERS * [0.2, 0.4, 0.6] @ body.root_link.R.T + body.root_link.p
    # the camera looks along x, z is up
    optical = np.stack([-corners[:, 1], -corners[:, 2], corners[:, 0]], 1)
    pixels = cv2.projectPoints(optical, np.zeros(3), np.zeros(3), camera.K, camera.D)[0][:, 0]
    expected = [*(pixels.min(axis=0)), *(pixels.max(axis=0))]
    # corners between two pixel centres cover neither
    assert box.full == pytest.approx(expected, abs=1.0)
    found = CORNERS * box.size @ matrix_from_quaternion(box.orientation).T + box.position
    assert box.size == pytest.approx((0.2, 0.4, 0.6), abs=1e-12)
    assert found == pytest.approx(optical, abs=1e-12)


def test_hidden_parts_are_in_the_whole_box_alone():
    """Cut the visible box where another object begins; leave out what is hidden altogether."""
    world = sb.World(gravity=(0, 0, 0))
    turned_box(world, name='crate', label=9)
    world.add_body(sb.Sphere(0.05), name='ball', motion='static', position=(3.0, -0.4, 0), label=1)
    (alone,) = (each for each in seeing(world).boxes if each.name == 'crate')
    world.add_body(sb.Box((0.1, 1, 2)), name='wall', motion='static', position=(1.0, -0.5, 0))
    world.step(10)
    camera = world.robots['eye'].device('eye')
    (box,) = camera.boxes
    rows, columns = np.nonzero(camera.labels == 9)
    assert box.visible == (
        columns.min() - 0.5,
        rows.min() - 0.5,
        columns.max() + 0.5,
        rows.max() + 0.5,
    )
    assert box.visible[2] < box.full[2] and box.full == alone.full
    # the ball is behind the wall
    assert set(np.unique(camera.labels)) == {0, 9}
    names = list(world.robots)
    assert {names[each - 1] for each in np.unique(camera.instances) if each} == {'crate', 'wall'}


def test_round_shapes_have_tight_boxes_on_a_robot():
    """Unite the visuals on all links, in the first link's axes."""
    cylinder = '<geometry><cylinder radius="0.1" length="0.4"/></geometry>'
    body = (
        f'<visual><origin rpy="{math.pi / 2} 0 0"/>{cylinder}</visual>'
        '<visual><origin xyz="0 0 0.3"/><geometry><sphere radius="0.05"/></geometry></visual>'
    )
    world = sb.World(gravity=(0, 0, 0))
    found = world.load_urdf(
        robot(link('head', 1.0).replace('</link>', f'{body}</link>')),
        base='fixed',
        position=(2.0, 0.0, 0.0),
        orientation=quaternion_from_matrix(cv2.Rodrigues(np.array([0.0, 0.0, 0.5]))[0]),
        label=300,
    )
    (box,) = seeing(world).boxes
    assert box.label == 300
    assert box.size == pytest.approx((0.2, 0.4, 0.1 + 0.35), abs=1e-12)
    top, low = found.root_link.R[:, 2], -0.1
    middle = found.root_link.p + top * 0.5 * (0.35 + low)
    assert box.position == pytest.approx((-middle[1], -middle[2], middle[0]), abs=1e-12)


def test_the_ground_can_have_a_label():
    """See labelled ground, whose box in space has no end."""
    world = sb.World(gravity=(0, 0, 0))
    world.add_ground(height=-1.0, label=2)
    camera = seeing(world)
    (box,) = camera.boxes
    assert np.isinf(box.size).all() and np.isnan(box.position).all()
    assert box.visible[2:] == (SIZE[0] - 0.5, SIZE[1] - 0.5)
    assert not camera.labels[0].any() and (camera.labels[-1] == 2).all()


def test_nothing_has_a_box_without_a_label():
    """Have instances, but no boxes."""
    world = sb.World(gravity=(0, 0, 0))
    turned_box(world)
    camera = seeing(world)
    assert camera.boxes == () and camera.instances.max() == 1


def test_boxes_need_the_output():
    """Name a camera's outputs without boxes, and refuse wrong labels."""
    world = sb.World()
    camera = seeing(world, outputs=('labels',))
    with pytest.raises(UnknownNameError, match="'boxes'.*labels"):
        _ = camera.boxes
    with pytest.raises(UnknownNameError, match="'instances'"):
        _ = camera.instances
    for label in (-1, 65536, 1.5, True, 'a'):
        with pytest.raises(InvalidValueError, match='label'):
            world.add_body(sb.Sphere(0.1), label=label)
        with pytest.raises(InvalidValueError, match='label'):
            world.load_urdf('arm', label=label)


def test_copies_and_pictures_keep_labels():
    """See the same labels in a copied world."""
    world = sb.World(gravity=(0, 0, 0))
    turned_box(world, label=4)
    camera = seeing(world)
    copied = world.copy()
    copied.step(10)
    assert np.array_equal(copied.robots['eye'].device('eye').labels, camera.labels)
    assert 'labels' in camera.settings.outputs and camera.render('labels').max() == 4
