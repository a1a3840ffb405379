"""Segmentation and bounding box cameras, and labels, in URDF and scenes."""

from __future__ import annotations

import pytest

import sim_bridge as sb
from sim_bridge.description.report import SceneError


def robot_with(gazebo):
    """Return a robot with two links and further elements."""
    return (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
        f'<parent link="a"/><child link="b"/></joint>{gazebo}</robot>'
    )


def load(text, **keys):
    """Return the robot, welded to the world."""
    return sb.World().load_urdf(text, base='fixed', **keys)


def camera_of(kind, inner='', topic=''):
    """Return the camera of a sensor in SDF's words, and the findings."""
    text = robot_with(
        f'<gazebo reference="a"><sensor name="eye" type="{kind}">{topic}<camera>'
        f'<horizontal_fov>1</horizontal_fov>{inner}</camera></sensor></gazebo>'
    )
    robot = load(text)
    devices = robot.devices(sb.CameraSensor)
    return (devices[0].settings if devices else None), robot.description.report


def label_plugin(label, *, tag='label'):
    """Return gz-sim's plugin."""
    return (
        '<plugin filename="gz-sim-label-system" name="gz::sim::systems::Label">'
        f'<{tag}>{label}</{tag}></plugin>'
    )


@pytest.mark.parametrize('kind', ['segmentation_camera', 'segmentation'])
@pytest.mark.parametrize(
    ('word', 'outputs'),
    [
        ('', ('labels',)),
        ('Semantic', ('labels',)),
        ('instance', ('labels', 'instances')),
        ('panoptic', ('labels', 'instances')),
    ],
)
def test_segmentation_cameras_are_read(kind, word, outputs):
    """Have instances beside labels for Gazebo's two words, and its topics with a topic."""
    inner = f'<segmentation_type>{word}</segmentation_type>' if word else ''
    camera, report = camera_of(kind, inner, '<topic>seg</topic>')
    assert (camera.outputs, camera.layout) == (outputs, 'gazebo')
    assert not report.findings


@pytest.mark.parametrize('kind', ['boundingbox_camera', 'boundingbox'])
@pytest.mark.parametrize(
    ('word', 'expected'),
    [
        ('', 'visible_2d'),
        ('2d', 'visible_2d'),
        ('visible_box_2d', 'visible_2d'),
        ('full_2d', 'full_2d'),
        ('full_box_2d', 'full_2d'),
        ('3d', '3d'),
    ],
)
def test_bounding_box_cameras_are_read(kind, word, expected):
    """Read all of Gazebo's words for the three kinds of boxes."""
    inner = f'<box_type>{word}</box_type>' if word else ''
    camera, report = camera_of(kind, inner, '<topic>boxes</topic>')
    assert (camera.outputs, camera.box_type) == (('image', 'boxes'), expected)
    assert camera.layout == 'gazebo_boxes' and not report.findings
    assert camera_of(kind, inner)[0].layout == 'ros'


@pytest.mark.parametrize(
    ('kind', 'inner'),
    [
        ('segmentation', '<segmentation_type>depth</segmentation_type>'),
        ('boundingbox', '<box_type>4d</box_type>'),
    ],
)
def test_unknown_kinds_are_defects(kind, inner):
    """Leave the camera out, and name the known words."""
    camera, report = camera_of(kind, inner)
    assert camera is None
    assert any('must be one of' in str(each) for each in report.findings)


def test_labels_of_links_count_before_the_robots():
    """Read the plugin in a visual, in a link and on the robot."""
    robot = load(
        robot_with(
            f'<gazebo>{label_plugin(7)}</gazebo>'
            f'<gazebo reference="b"><visual>{label_plugin(9)}</visual></gazebo>'
        )
    )
    assert {name: each.label for name, each in robot.description.links.items()} == {'a': 7, 'b': 9}
    assert not robot.description.report.findings
    own = load(robot_with(f'<gazebo reference="a">{label_plugin(2)}</gazebo>'))
    assert [each.label for each in own.description.links.values()] == [2, 0]
    given = load(robot_with(f'<gazebo>{label_plugin(7)}</gazebo>'), label=1)
    assert [each.label for each in given.description.links.values()] == [1, 1]


@pytest.mark.parametrize('label', ['-1', '65536', '1.5', 'cat', '', 'nan'])
def test_wrong_labels_are_named(label):
    """Ignore a wrong label with a warning."""
    robot = load(robot_with(f'<gazebo>{label_plugin(label)}</gazebo>'))
    assert [each.code for each in robot.description.report.warnings] == ['bad-label']
    assert robot.description.links['a'].label == 0


def test_scenes_have_labels():
    """Read the labels of objects, robots and ground; refuse wrong ones."""
    world = sb.World()
    scene = {
        'world': {
            'ground': {'label': 1},
            'objects': {'box': {'box': [1, 1, 1], 'motion': 'static', 'label': 2}},
            'robots': {'arm': {'urdf': 'arm', 'label': 3}},
        }
    }
    world.load_scene(scene)
    found = [next(iter(each.description.links.values())).label for each in world.robots.values()]
    assert found == [1, 2, 3]
    scene['world']['objects']['box']['label'] = 70000
    with pytest.raises(SceneError, match='label'):
        sb.World().load_scene(scene)
