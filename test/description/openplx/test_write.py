"""Robots written as OpenPLX load to equal models: dynamics, frames, limits, motion, shapes."""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path

from conftest import example_urdfs
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge import dynamics
from sim_bridge.cli.convert import separated_links
from sim_bridge.description import find_robot, load_description
from sim_bridge.description.model import JointDynamics
from sim_bridge.description.openplx.load import examine_openplx
from sim_bridge.description.openplx.write.robot import openplx_text

SHIPPED = ('arm', 'quadruped', 'rover', 'double_pendulum', 'floating_box')
OTHERS = (
    'ur/ur5_robot',
    'anymal_b_simple/anymal',
    'hyq/hyq_no_sensors',
    'double_pendulum/double_pendulum',
)


def source(name):
    """Return a robot's URDF: a shipped one, or one from example-robot-data."""
    return example_urdfs()[name] if '/' in name else find_robot(name)


def robot_of(body, name='bot'):
    """Return the description for a URDF with these elements."""
    return load_description(f'<robot name="{name}">{body}</robot>')


def link(name, more='', mass=2.0):
    """Return a URDF link with mass properties in rotated axes."""
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        '<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 0.6"/>'
        '<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="-0.02" iyz="0.03"/></inertial>'
        f'{more}</link>'
    )


def joint(name, kind, parent, child, more=''):
    """Return a URDF joint about an oblique axis."""
    axis = '' if kind in ('fixed', 'floating') else '<axis xyz="1 2 -3"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.5 -0.25 0.125" rpy="0.3 -0.2 0.1"/>{axis}{more}</joint>'
    )


def written(description, **options):
    """Return a robot's text without errors."""
    text, report = openplx_text(description, **options)
    assert text is not None, report.to_text()
    return text


def pair(description, is_fixed=False):
    """Return a robot and its written copy, each in its own world."""
    text = written(description, fixed_base=is_fixed, apart=separated_links(description, is_fixed))
    one = sb.World().add_robot(description, base='fixed' if is_fixed else 'file')
    [other] = sb.World().load_openplx(text).robots
    return one, other


def order(one, other):
    """Return the indices of a robot's velocities among the other's, matched by name."""
    base = 0 if one.fixed_base else 6
    assert sorted(one.joint_names) == sorted(other.joint_names)
    return [*range(base), *(base + other.joint_names.index(name) for name in one.joint_names)]


def assert_equal_dynamics(one, other, seed=4):
    """Compare mass matrix, bias and all link frames at random states."""
    random = np.random.default_rng(seed)
    at = order(one, other)
    for _ in range(4):
        if not one.fixed_base:
            turn = random.normal(size=4)
            for robot in (one, other):
                robot.set_base_pose((1.0, 2.0, 3.0), turn / np.linalg.norm(turn))
        for name in one.joint_names:
            own, its = one.joint(name), other.joint(name)
            lower, upper = max(own.lower, -2.0), min(own.upper, 2.0)
            own.q = its.q = random.uniform(lower, upper)
            own.dq = its.dq = random.uniform(-1.0, 1.0)
        first, second = (dynamics.mass_matrix(robot) for robot in (one, other))
        np.testing.assert_allclose(
            second[np.ix_(at, at)],
            first,
            rtol=0.0,
            atol=1e-12 * max(np.abs(first).max(initial=0), 1e-3),
        )
        first, second = (dynamics.bias_forces(robot) for robot in (one, other))
        np.testing.assert_allclose(
            second[at], first, rtol=0.0, atol=1e-12 * max(np.abs(first).max(initial=0), 1.0)
        )
        for own in one.links:
            if own.name != 'world':
                its = other.link(own.name)
                np.testing.assert_allclose(its.p, own.p, rtol=0.0, atol=1e-12)
                np.testing.assert_allclose(its.R, own.R, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize('name', [*SHIPPED, *OTHERS])
@pytest.mark.parametrize('is_fixed', [False, True])
def test_a_written_robot_is_equal(name, is_fixed):
    """Compare dynamics and frames to rounding, joint limits and dynamics to the bit."""
    description = load_description(source(name))
    one, other = pair(description, is_fixed)
    assert one.fixed_base == other.fixed_base
    assert_equal_dynamics(one, other)
    for joint_name in one.joint_names:
        own, its = one.joint(joint_name), other.joint(joint_name)
        for what in (
            'lower',
            'upper',
            'effort_limit',
            'lower_effort_limit',
            'damping',
            'friction',
            'stiffness',
        ):
            assert getattr(its, what) == getattr(own, what), (joint_name, what)


@pytest.mark.parametrize('name', ['arm', 'quadruped', 'rover'])
def test_a_written_robot_moves_alike(name):
    """Compare the states step by step under equal efforts."""
    one, other = pair(load_description(source(name)))
    for robot in (one, other):
        for number, joint_name in enumerate(sorted(robot.joint_names)):
            robot.joint(joint_name).u = 0.3 * math.cos(number)
    for _ in range(100):
        for robot in (one, other):
            robot.world.step()
    names = one.joint_names
    for what in ('q', 'dq'):
        np.testing.assert_allclose(
            [getattr(other.joint(each), what) for each in names],
            [getattr(one.joint(each), what) for each in names],
            rtol=0.0,
            atol=1e-9,
        )
    assert max(abs(one.joint(each).q) for each in names) > 1e-3
    np.testing.assert_allclose(other.links[-1].p, one.link(other.links[-1].name).p, atol=1e-9)


LIMIT = '<limit lower="-0.5" upper="1.5" effort="7" velocity="3"/>'


def test_joints_of_all_kinds_with_oblique_axes():
    """Write stops, efforts, damping and friction; massless frames; a root called world."""
    description = robot_of(
        '<link name="world"/>'
        + ''.join(map(link, 'abcde'))
        + '<link name="tool"/>'
        + joint('base', 'revolute', 'world', 'a', LIMIT + '<dynamics damping="2" friction="3"/>')
        + joint('lift', 'prismatic', 'a', 'b', LIMIT + '<dynamics damping="4"/>')
        + joint('spin', 'continuous', 'b', 'c', '<limit effort="5" velocity="0"/>')
        + joint('weld', 'fixed', 'c', 'd')
        + joint('flange', 'fixed', 'd', 'tool')
        + joint('tilt', 'revolute', 'd', 'e', LIMIT + '<dynamics friction="1"/>')
    )
    one, other = pair(description)
    assert other.fixed_base
    assert 'world' in [each.name for each in other.links]
    assert_equal_dynamics(one, other)
    for name in one.joint_names:
        own, its = one.joint(name), other.joint(name)
        for what in (
            'lower',
            'upper',
            'effort_limit',
            'lower_effort_limit',
            'damping',
            'friction',
            'stiffness',
        ):
            assert getattr(its, what) == getattr(own, what), (name, what)
    for robot in (one, other):
        robot.world.step(100)
    np.testing.assert_allclose(
        [other.joint(name).q for name in one.joint_names],
        [one.joint(name).q for name in one.joint_names],
        rtol=0.0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    'friction',
    [{'friction': 3.0, 'back_friction': 1.0}, {'back_friction': 2.0}, {'bearing': 0.25}],
)
def test_laws_of_friction_are_written(friction):
    """Write two limits for an axis, or load-dependent friction; not both on an axis."""
    description = robot_of(link('a') + link('b') + joint('hinge', 'continuous', 'a', 'b'))
    own = description.joints['hinge']
    given = replace(own, dynamics=JointDynamics(**friction))
    description = replace(description, joints={'hinge': given})
    scene = sb.World().load_openplx(written(description))
    axis = scene.joint('hinge').axes[0]
    assert (axis.friction, axis.back_friction) == given.dynamics.frictions
    assert (axis.bearing_friction if given.dynamics.bearing else 0.0) == given.dynamics.bearing
    both = replace(given, dynamics=replace(given.dynamics, friction=1.0, bearing=0.5))
    text, report = openplx_text(replace(description, joints={'hinge': both}))
    assert text is None
    assert 'two kinds of friction' in report.errors[0].message


def test_the_root_is_the_root_again():
    """Keep the root, even if another link comes first in the file."""
    one, other = pair(robot_of(link('b') + link('a') + joint('turn', 'continuous', 'a', 'b')))
    assert other.root_link.name == 'a'
    assert_equal_dynamics(one, other)


def test_a_loop_is_closed_by_a_mate():
    """Move the four-bar linkage as from its URDF."""
    one, other = pair(load_description(source('four_bar')))
    for robot in (one, other):
        robot.world.step(100)
    for own in one.links:
        if own.name != 'world':
            np.testing.assert_allclose(other.link(own.name).p, own.p, rtol=0.0, atol=1e-7)


def test_shapes_are_where_they_were(tmp_path):
    """Compare all shapes' sizes and frames; write meshes in the file's folder by relative path."""
    (tmp_path / 'part.stl').write_bytes(
        bytes(80)
        + (1).to_bytes(4, 'little')
        + np.array([0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0], np.float32).tobytes()
        + bytes(2)
    )
    shapes = ''.join(
        '<collision><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
        f'<geometry>{each}</geometry></collision>'
        for each in (
            '<box size="1 2 3"/>',
            '<sphere radius="0.5"/>',
            '<cylinder radius="0.2" length="0.7"/>',
            '<capsule radius="0.3" length="0.8"/>',
            f'<mesh filename="file://{tmp_path}/part.stl" scale="1 2 3"/>',
        )
    )
    description = robot_of(link('a', shapes))
    text = written(description, folder=tmp_path)
    assert 'path: @"part.stl"' in text
    path = tmp_path / 'bot.openplx'
    path.write_text(text, encoding='utf-8')
    scene, report = examine_openplx(path)
    assert report.ok, report.to_text()
    found = [placed for _, placed in scene.robots[0].shapes]
    kinds = [type(placed.shape).__name__ for placed in found]
    assert kinds == ['Box', 'Sphere', 'Cylinder', 'Capsule', 'TriangleMesh']
    assert found[0].shape.size == (1.0, 2.0, 3.0)
    assert (found[2].shape.radius, found[2].shape.length) == (0.2, 0.7)
    [shape, *_] = description.links['a'].collisions
    for placed in found:
        assert placed.position == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(placed.rotation, shape.pose.rotation, rtol=0.0, atol=1e-15)


def test_names_are_those_of_the_urdf(tmp_path):
    """Keep names that are invalid or reserved in OpenPLX; prefix them with the system's path."""
    description = robot_of(
        link('is')
        + link('fore arm')
        + link('Math')
        + link('elbow')
        + joint('elbow', 'continuous', 'is', 'fore arm')
        + joint('wrist-1', 'continuous', 'fore arm', 'Math')
        + joint('local_transform', 'fixed', 'Math', 'elbow'),
        name='7 dof',
    )
    text = written(description)
    for name in ('7 dof', 'is', 'fore arm', 'Math', 'wrist-1', 'local_transform'):
        assert f'source_name is String: "{name}"' in text
    scene = sb.World().load_openplx(text)
    [robot] = scene.robots
    assert sorted(robot.joint_names) == ['elbow', 'wrist-1']
    assert {each.name for each in robot.links} == {'is', 'fore arm', 'Math', 'elbow'}
    assert scene.joint('elbow_joint').name == 'elbow'
    (tmp_path / 'bot.openplx').write_text(text, encoding='utf-8')
    (tmp_path / 'two.openplx').write_text(
        'import @"bot.openplx"\nTwo is Physics3D.System:\n    left is _7_dof\n'
        '    right is _7_dof\n',
        encoding='utf-8',
    )
    left, right = sb.World().load_openplx(tmp_path / 'two.openplx').robots
    assert sorted(left.joint_names) == ['left_elbow', 'left_wrist-1']
    assert {each.name for each in right.links} == {
        'right_is',
        'right_fore arm',
        'right_Math',
        'right_elbow',
    }


@pytest.mark.parametrize('kind', ['hinge', 'ball', 'fixed', 'slider', 'piston', 'distance'])
def test_loop_joints_keep_their_compliance(kind):
    """Compare springs and dampers in each direction, along oblique axes."""
    axis = '' if kind in ('ball', 'fixed', 'distance') else '<axis xyz="1 2 2"/>'
    place = ' xyz="0.2 0 0"' if kind == 'distance' else ''
    one, other = pair(
        robot_of(
            link('a')
            + link('b')
            + link('c')
            + joint('first', 'continuous', 'a', 'b')
            + joint('second', 'continuous', 'b', 'c')
            + f'<sim_bridge><joint name="loop" type="{kind}">'
            f'<link1 name="a" xyz="0.1 0 0"/><link2 name="c"{place}/>{axis}'
            '<compliance stiffness="1e4 2e4 3e4 300 400 500" damping="20 30 40 1 2 3"/>'
            '</joint></sim_bridge>'
        ),
        is_fixed=True,
    )
    assert one.loop_joints.keys() == other.loop_joints.keys() == {'loop'}
    for robot in (one, other):
        robot.world.step(200)
    for own in one.links:
        np.testing.assert_allclose(other.link(own.name).p, own.p, rtol=0.0, atol=1e-8)
    assert abs(one.joint('first').q) > 1e-4


@pytest.mark.parametrize(
    ('body', 'where', 'what'),
    [
        (link('a') + link('b') + joint('slide', 'planar', 'a', 'b'), 'slide', 'planar'),
        (
            ''.join(map(link, 'abc'))
            + joint('lead', 'continuous', 'a', 'b')
            + joint('follow', 'continuous', 'b', 'c', '<mimic joint="lead"/>'),
            'follow',
            'mimic',
        ),
        (
            link('a')
            + link('b')
            + joint('heavy', 'continuous', 'a', 'b', '<dynamics armature="0.1"/>'),
            'heavy',
            'armature',
        ),
    ],
)
def test_properties_that_would_change_the_motion_are_refused(body, where, what):
    """Return no text, and an error naming the joint."""
    text, report = openplx_text(robot_of(body))
    assert text is None
    [error] = report.errors
    assert (error.code, error.name) == ('unsupported', where)
    assert what in error.message


def test_omissions_are_warnings():
    """Name visuals, velocity limits, contact parameters and missing meshes."""
    visual = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    text, report = openplx_text(
        robot_of(
            link('a', visual)
            + link('b')
            + joint('turn', 'revolute', 'a', 'b', LIMIT)
            + '<gazebo reference="a"><mu1>0.3</mu1></gazebo>'
        )
    )
    assert text is not None
    assert {(each.severity, each.name) for each in report.findings} == {
        ('warning', 'bot'),
        ('warning', 'turn'),
        ('warning', 'a'),
    }


def test_a_robot_without_links_is_refused():
    """Report that there is nothing to write."""
    text, report = openplx_text(load_description('<robot name="empty"/>'))
    assert text is None
    assert [finding.code for finding in report.errors] == ['no-links']


def test_a_floating_link_becomes_a_separate_robot():
    """Start it at its pose, with a warning."""
    description = robot_of(link('a') + link('b') + joint('free', 'floating', 'a', 'b'))
    text, report = openplx_text(description)
    assert [each.name for each in report.findings] == ['free']
    scene = sb.World().load_openplx(text)
    assert len(scene.robots) == 2
    np.testing.assert_allclose(scene.link('b').p, (0.5, -0.25, 0.125), rtol=0.0, atol=1e-15)


def test_links_that_overlap_do_not_collide():
    """Keep an overlap between links two joints apart."""
    ball = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    one, other = pair(
        robot_of(
            link('a', ball)
            + link('b')
            + link('c', ball)
            + joint('first', 'continuous', 'a', 'b')
            + joint('second', 'continuous', 'b', 'c')
        ),
        is_fixed=True,
    )
    for robot in (one, other):
        robot.world.step()
        assert not robot.world.contacts
    assert other.joint('first').q == pytest.approx(one.joint('first').q, rel=1e-9)


def test_a_written_robot_is_a_part_of_scenes(tmp_path):
    """Place two copies at their systems' poses."""
    path = Path(tmp_path, 'arm.openplx')
    path.write_text(written(load_description(source('arm'))), encoding='utf-8')
    scene_file = tmp_path / 'two.openplx'
    scene_file.write_text(
        'import @"arm.openplx" as lib\nTwo is Physics3D.System:\n'
        '    left is lib.arm:\n        local_transform.position.x: 1\n'
        '    right is lib.arm:\n        local_transform.position.x: -1\n',
        encoding='utf-8',
    )
    scene = sb.World().load_openplx(scene_file)
    shift = scene.link('left.link_7').p - scene.link('right.link_7').p
    np.testing.assert_allclose(shift, (2.0, 0.0, 0.0), rtol=0.0, atol=1e-12)
