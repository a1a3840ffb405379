"""Carriers and named frames of cameras, and cameras standing in scenes."""

from __future__ import annotations

import numpy as np
import pytest
from robots import link, robot
import yaml

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping
from sim_bridge.description.report import SceneError

OPTICAL = '-1.5708 0 -1.5708'


def findings(carrier, frame, rpy=OPTICAL, kind='fixed'):
    """Return the codes for a camera with a named frame; rpy: of the link `other`."""
    text = robot(
        link('head', 1.0)
        + link('optical_head', 1.0)
        + link('other', 1.0)
        + '<joint name="a" type="fixed"><parent link="head"/><child link="optical_head"/>'
        + f'<origin rpy="{OPTICAL}"/></joint>'
        + f'<joint name="b" type="{kind}"><parent link="head"/><child link="other"/>'
        + f'<origin rpy="{rpy}"/></joint>'
    )
    camera = {'type': 'camera', 'link': carrier, 'frame_id': frame}
    description = sb.load_description(text, extra_sensors=sensors_from_mapping({'eye': camera}))
    codes = [(each.code, each.value) for each in description.report.findings]
    return [each for each in codes if each[0] in ('camera-frame', 'optical-link')]


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (('head', ''), []),
        (('head', 'elsewhere'), []),
        (('head', 'other'), []),
        (('head', 'other', '-1.5708 0 -1.5'), [('camera-frame', 'other')]),
        (('head', 'other', OPTICAL, 'continuous'), [('camera-frame', 'other')]),
        (('head', 'head'), [('camera-frame', 'head')]),
        (('optical_head', ''), [('optical-link', 'optical_head')]),
    ],
    ids=['own', 'unknown', 'optical', 'turned', 'moving', 'body', 'carrier'],
)
def test_frames_without_optical_axes_are_named(arguments, expected):
    """Warn of axes other than z ahead, x right, y down, and of cameras looking to the right."""
    assert findings(*arguments) == expected


SCENE = """
world:
  sensors:
    eye: {type: camera, position: [2, 0, 1], look_at: [0, 0, 1], size: [33, 25]}
  objects: {ball: {sphere: 0.5, motion: static, position: [0, 0, 1]}}
  sky: {horizon: [0, 0, 1], zenith: [0, 0, 1]}
"""


def picture(changes):
    """Return the scene's picture with more keys of `world`."""
    content = yaml.safe_load(SCENE)
    content['world'] |= yaml.safe_load(changes) or {}
    world = sb.World()
    world.load_scene(content)
    world.step(100)
    return world.robots['eye'].device('eye').image, world


def test_cameras_stand_in_scenes():
    """See the ball in the middle of the picture, at its depth, before the declared sky."""
    image, world = picture('')
    device = world.robots['eye'].device('eye')
    assert device.depth[12, 16] == pytest.approx(1.5, abs=1e-6)
    assert image[0, 0].tolist() == [0, 0, 255]
    copied = world.copy().robots['eye'].device('eye')
    assert np.array_equal(copied.image, image)


def test_scenes_declare_their_light():
    """Light the ball by ambient light alone, or by lamps; name a defect's place."""
    base, _ = picture('{lights: {}, ambient: [1, 1, 1]}')
    # Lambert's law: a lamp behind the camera adds its colour times the base, clipped at white
    lit, _ = picture(
        '{lights: {a: {type: point, position: [2, 0, 1], color: [0.5, 0, 0]}}, ambient: [0, 0, 0]}'
    )
    assert (lit[12, 16, 1:] == 0).all() and lit[12, 16, 0] > 0
    linear = [((each / 255 + 0.055) / 1.055) ** 2.4 for each in (base[12, 16, 0], lit[12, 16, 0])]
    assert linear[1] / linear[0] == pytest.approx(0.5, abs=0.01)
    for keys, message in (
        ('{lights: {a: {type: sun}}}', 'directional, point, spot'),
        ('{lights: {a: {type: spot, inner: 2, outer: 1}}}', 'lights.a'),
        ('{sensors: {b: {type: camera, link: arm}}}', "'world'"),
        ('{sky: {top: [0, 0, 0]}}', 'horizon, zenith'),
    ):
        with pytest.raises(SceneError, match=message):
            picture(keys)
