"""SDF frames with sdformat's own numbers, references refused by sdformat, included URDF."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge import DescriptionError
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.scene.load import read_scene
from sim_bridge.foundation.rotation import matrix_from_rpy

LINK = """<link name="{name}">{pose}<inertial><mass>1</mass>
  <inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>"""
HINGE = """<joint name="j" type="revolute"><parent>a</parent><child>b</child>
  <axis><xyz{attributes}>0 0 1</xyz></axis></joint>"""


def link(name, pose=''):
    """Return a link of 1 kg, with an optional pose element."""
    return LINK.format(name=name, pose=pose)


def model(body, attributes=''):
    """Return an SDF file with one model."""
    return f'<sdf version="1.11"><model name="m"{attributes}>{body}</model></sdf>'


def pair(attributes='', pose='', more='', of_model=''):
    """Return a model with two links and a hinge."""
    hinge = HINGE.format(attributes=attributes)
    return model(link('a') + link('b', pose) + hinge + more, of_model)


def test_merged_frames_and_axes_are_those_of_sdformat(tmp_path):
    """Have the poses and the axis in `IncludesTest, MergeInclude` of sdformat's tests."""
    wheel = '<pose>0.554282 {} -0.025 -1.5707 0 0</pose>'
    (tmp_path / 'robot.sdf').write_text(
        '<sdf version="1.9"><model name="merge_robot">'
        + link('chassis', '<pose>-0.151427 0 0.175 0 0 0</pose>')
        + link('top', '<pose>0.6 0 0.7 0 0 0</pose>')
        + link('left_wheel', wheel.format('0.625029'))
        + link('right_wheel', wheel.format('-0.625029'))
        + '<joint name="left_wheel_joint" type="revolute"><parent>chassis</parent>'
        '<child>left_wheel</child><axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>'
        '<joint name="right_wheel_joint" type="revolute">'
        '<pose relative_to="__model__">1 0 0 0 0 0</pose><parent>chassis</parent>'
        '<child>right_wheel</child><axis><xyz>0 0 1</xyz></axis></joint>'
        '<joint name="lid" type="fixed"><parent>chassis</parent><child>top</child></joint>'
        '</model></sdf>'
    )
    path = tmp_path / 'world.sdf'
    path.write_text(
        '<sdf version="1.9"><model name="robot1"><include merge="true"><uri>robot.sdf</uri>'
        f'<pose>100 0 0 {math.pi / 4!r} 0 0</pose></include></model></sdf>'
    )
    description = sb.load_description(path)
    poses = link_poses(description)
    turn = matrix_from_rpy([math.pi / 4, 0.0, 0.0])
    at_wheel = matrix_from_rpy([-1.5707, 0.0, 0.0])
    for name, position, rotation in (
        ('chassis', (-0.151427, 0.0, 0.175), np.eye(3)),
        ('top', (0.6, 0.0, 0.7), np.eye(3)),
        ('left_wheel', (0.554282, 0.625029, -0.025), at_wheel),
        ('right_wheel', (0.554282, -0.625029, -0.025), at_wheel),
    ):
        expected = (100.0, 0.0, 0.0) + turn @ position
        pose = description.base_pose @ poses[name]
        np.testing.assert_allclose(pose.position, expected, atol=1e-12)
        np.testing.assert_allclose(pose.rotation, turn @ rotation, atol=1e-12)
    left, right = (description.joints[f'{side}_wheel_joint'] for side in ('left', 'right'))
    np.testing.assert_allclose(left.axis, at_wheel.T @ (0.0, 0.0, 1.0), atol=1e-12)
    # X_MRw.Inverse() * X_MJr: the joint in its child link
    its = right.child_pose.inverse
    position = at_wheel.T @ np.subtract((1.0, 0.0, 0.0), (0.554282, -0.625029, -0.025))
    np.testing.assert_allclose(its.position, position, atol=1e-12)
    np.testing.assert_allclose(its.rotation, at_wheel.T, atol=1e-12)


@pytest.mark.parametrize('frame', ['a', 'b', 'j', 'f', '__model__', 'inner', 'inner::c'])
def test_axes_are_turned_from_any_frame(frame):
    """Turn an axis from a link, joint, frame, model or nested link into the joint frame."""
    turns = {
        'a': (0.0, 0.0, 0.0),
        'b': (0.3, -0.2, 0.5),
        'f': (0.1, 0.7, -0.4),
        'inner': (-0.6, 0.2, 0.9),
        '__model__': (0.0, 0.0, 0.0),
    }
    words = {name: ' '.join(map(str, turn)) for name, turn in turns.items()}
    more = (
        f'<frame name="f"><pose>1 2 3 {words["f"]}</pose></frame>'
        f'<model name="inner"><pose>0 0 1 {words["inner"]}</pose>'
        f'{link("c", "<pose>0 1 0 0.2 0.3 0.4</pose>")}</model>'
    )
    text = pair(f' expressed_in="{frame}"', f'<pose>0 0 0 {words["b"]}</pose>', more)
    joint = sb.load_description(text).joints['j']
    in_model = {name: matrix_from_rpy(turn) for name, turn in turns.items()}
    in_model['j'] = in_model['b']
    in_model['inner::c'] = in_model['inner'] @ matrix_from_rpy((0.2, 0.3, 0.4))
    expected = in_model['b'].T @ in_model[frame] @ (0.0, 0.0, 1.0)
    np.testing.assert_allclose(joint.axis, expected, atol=1e-12)


REFUSED = {
    'relative_to="world"': pair(pose='<pose relative_to="world">1 0 0 0 0 0</pose>'),
    'attached_to="world"': pair(more='<frame name="f" attached_to="world"/>'),
    'expressed_in="world"': pair(' expressed_in="world"'),
    'canonical_link="c"': pair(of_model=' canonical_link="c"'),
    'rotation_format="rpy"': pair(pose='<pose rotation_format="rpy">0 0 0 0 0 0</pose>'),
    'the world can only be the parent': pair().replace('<child>b', '<child>world'),
    'needs a collision with a volume': pair().replace('<inertial>', '<inertial auto="true">', 1),
}


@pytest.mark.parametrize('words', REFUSED)
def test_references_without_meaning_are_refused(words):
    """Name the attribute and its value, as sdformat refuses them."""
    with pytest.raises(DescriptionError) as caught:
        sb.load_description(REFUSED[words])
    assert words in str(caught.value)
    assert len(caught.value.report.errors) == 1, str(caught.value)


def test_an_unknown_frame_lists_the_known_ones():
    """List the names where no close one exists."""
    with pytest.raises(DescriptionError, match="there are 'a', 'b', 'j', '__model__'"):
        sb.load_description(pair(' expressed_in="nowhere"'))


def test_degrees_of_a_quaternion_are_named():
    """Warn, and read the quaternion."""
    text = pair(pose='<pose degrees="true" rotation_format="quat_xyzw">0 0 0 0 0 0.6 0.8</pose>')
    description = sb.load_description(text)
    assert 'degrees="true">: has no effect' in description.report.to_text()
    turned = description.joints['j'].origin.rotation @ (1.0, 0.0, 0.0)
    np.testing.assert_allclose(turned, (0.28, 0.96, 0.0), atol=1e-12)


def test_collisions_of_one_line_keep_their_densities():
    """Weigh two boxes of one line, each by its own density."""
    collision = (
        '<collision name="{0}"><density>{1}</density><geometry><box><size>1 1 1</size></box>'
        '</geometry></collision>'
    )
    body = collision.format('one', 100) + collision.format('two', 300)
    text = model(f'<link name="a"><inertial auto="true"/>{body}</link>')
    assert sb.load_description(text).links['a'].inertial.mass == pytest.approx(400.0)


URDF = """<robot name="bot">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="arm"><inertial><origin xyz="0 0 0.2" rpy="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0.01"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.3"/></joint>
  <gazebo reference="arm"><sensor name="imu" type="imu"><update_rate>50</update_rate></sensor>
  </gazebo>
  <gazebo reference="base"><mu1>0.3</mu1></gazebo>
</robot>"""


def test_an_included_urdf_is_a_model_at_its_pose(tmp_path):
    """Compare motion, sensor and friction with the URDF; name the URDF's defects by its lines."""
    (tmp_path / 'bot.urdf').write_text(URDF)
    path = tmp_path / 'world.sdf'
    path.write_text(
        '<sdf version="1.9"><world name="w"><include><name>mine</name><uri>bot.urdf</uri>'
        '<pose>1 2 3 0 0 0.5</pose></include></world></sdf>'
    )
    world = sb.World(gravity=(0.0, 0.0, -9.8))
    world.load_scene(path)
    own = world.robots['mine']
    other = sb.World(gravity=(0.0, 0.0, -9.8)).load_urdf(URDF)
    turn = matrix_from_rpy([0.0, 0.0, 0.5])
    other.set_base_pose((1.0, 2.0, 3.0), (0.0, 0.0, math.sin(0.25), math.cos(0.25)))
    for robot in (own, other):
        robot.joint('swing').q, robot.joint('swing').dq = 0.4, -0.7
    np.testing.assert_allclose(own.link('base').R, turn, atol=1e-12)
    for function in (sb.dynamics.mass_matrix, sb.dynamics.bias_forces):
        np.testing.assert_allclose(function(own), function(other), atol=1e-12)
    limits = own.joint('swing')
    assert (limits.lower, limits.upper, limits.damping) == (-1.0, 1.0, 0.3)
    assert [each.name for each in own.devices()] == ['imu']
    [shape] = own.slot.description.links['base'].collisions
    assert shape.contact.friction == 0.3

    (tmp_path / 'bot.urdf').write_text(URDF.replace('<child link="arm"/>', '<child link="leg"/>'))
    findings = read_scene(path).report.findings
    [error] = [each for each in findings if each.value == 'leg']
    assert (Path(error.file).name, error.line) == ('bot.urdf', 7)
