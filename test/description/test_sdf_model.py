"""Models in SDF: links, joints and frames, beside URDF files and values of sdformat's tests."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest
from support.sdf_writing import sdf_of_urdf

import sim_bridge as sb
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.model import JointType
from sim_bridge.description.resources import shipped_robots
from sim_bridge.foundation.rotation import matrix_from_rpy

ROBOTS = sorted(name for name, path in shipped_robots().items() if path.suffix == '.urdf')
MASS = '<inertial><mass>1</mass></inertial>'
QUARTER = math.pi / 2.0


def model(content, version='1.11', attributes=''):
    return f'<sdf version="{version}"><model name="m" {attributes}>{content}</model></sdf>'


def link(name, pose='', more=''):
    return f'<link name="{name}">{pose}{MASS}{more}</link>'


def joint(name, kind, parent, child, more=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f'{more}</joint>'
    )


def codes(description):
    return [finding.code for finding in description.report.findings]


@pytest.mark.parametrize('name', ROBOTS)
def test_a_urdf_written_as_sdf_is_the_same_robot(name):
    """Compare mass matrix and link poses at random positions with the URDF's, to 1e-12."""
    path = shipped_robots()[name]
    written = sb.load_description(sdf_of_urdf(path.read_text()))
    of_urdf = sb.load_description(path)
    assert not written.report.findings
    assert list(written.joints) == list(of_urdf.joints)
    # SDF has no armature
    bare = {
        name: replace(joint, dynamics=replace(joint.dynamics, armature=0.0))
        for name, joint in of_urdf.joints.items()
    }
    # loops are declared beside the tree
    of_urdf = replace(of_urdf, joints=bare, constraints=())
    first, second = (sb.World().add_robot(each, 'r') for each in (of_urdf, written))
    assert first.fixed_base == second.fixed_base
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, len(first.joint_names))
        first.q = second.q = q
        matrices = [sb.dynamics.mass_matrix(robot) for robot in (first, second)]
        np.testing.assert_allclose(*matrices, rtol=0.0, atol=1e-12)
        for each in first.links:
            other = second.link(each.name)
            np.testing.assert_allclose(each.p, other.p, rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(each.R, other.R, rtol=0.0, atol=1e-12)


def test_poses_count_from_frames_and_joints_as_in_sdformat():
    """Place links on frames as in sdformat's test frame.cc, relative to a joint."""
    content = (
        link('P', '<pose>1 0 0 0 0 0</pose>')
        + link('C', '<pose>2 0 0 0 1.5707963267948966 0</pose>')
        + '<joint name="J" type="fixed"><pose>0 3 0 0 -1.5707963267948966 0</pose>'
        '<parent>P</parent><child>C</child></joint>'
        '<frame name="F1" attached_to="P"><pose>0 0 1 0 0 0</pose></frame>'
        '<frame name="F2" attached_to="C"><pose>0 0 2 0 0 0</pose></frame>'
        '<frame name="F3" attached_to="J"><pose>0 0 3 0 1.5707963267948966 0</pose></frame>'
        '<frame name="F4" attached_to="F3"><pose>0 0 4 0 -1.5707963267948966 0</pose></frame>'
    )
    expected = {
        'F1': (1, 0, 1, 0),
        'F2': (4, 0, 0, QUARTER),
        'J': (2, 3, 0, 0),
        'F3': (2, 3, 3, QUARTER),
        'F4': (6, 3, 3, 0),
    }
    content += ''.join(link(f'at_{name}', f'<pose relative_to="{name}"/>') for name in expected)
    poses = link_poses(sb.load_description(model(content)))
    base = poses['P'].position - [1, 0, 0]
    for name, (x, y, z, pitch) in expected.items():
        pose = poses[f'at_{name}']
        np.testing.assert_allclose(pose.position - base, [x, y, z], atol=1e-12)
        np.testing.assert_allclose(pose.rotation, matrix_from_rpy((0, pitch, 0)), atol=1e-12)


def test_nested_frames_lead_to_their_links():
    """Attach a joint to frames in nested models, as in sdformat's nested_frame_attached_to."""
    inner = (
        link('L')
        + f'<model name="M2">{link("L", "<pose>0 0 1 0 0 0</pose>")}</model>'
        + '<frame name="F" attached_to="M2"/>'
        + joint('J1', 'fixed', 'L', 'F')
    )
    content = (
        link('L')
        + f'<model name="M1"><pose>0 2 0 0 0 0</pose>{inner}</model>'
        + '<frame name="F3" attached_to="M1::F"/>'
        + joint('J2', 'fixed', 'L', 'F3')
    )
    description = sb.load_description(model(content))
    assert list(description.links) == ['L', 'M1::L', 'M1::M2::L']
    assert description.joints['J2'].child == 'M1::M2::L'
    poses = link_poses(description)
    np.testing.assert_allclose(poses['M1::L'].position, [0, 2, 0], atol=1e-12)
    np.testing.assert_allclose(poses['M1::M2::L'].position, [0, 2, 1], atol=1e-12)
    # the second of two joints between the same links closes a ring or is turned around
    assert set(description.joints) == {'J2', 'M1::J1'}


def test_a_placement_frame_is_placed_instead_of_the_model():
    """Place frame F2 of a model: its pose is then the model's pose."""
    content = (
        link('L', '<pose>1 2 3 0 0 0</pose>')
        + '<frame name="F2" attached_to="L"><pose>0 0 1 0.3 0.2 0.1</pose></frame>'
        + link('here', '<pose relative_to="F2"/>')
        + '<pose>0 10 0 1.5707963267948966 0 0</pose>'
    )
    description = sb.load_description(model(content, attributes='placement_frame="F2"'))
    poses = link_poses(description)
    placed = description.base_pose @ poses['here']
    np.testing.assert_allclose(placed.position, [0, 10, 0], atol=1e-12)
    np.testing.assert_allclose(placed.rotation, matrix_from_rpy((QUARTER, 0, 0)), atol=1e-12)


def test_poses_in_degrees_as_quaternions_and_in_old_attributes_are_equal():
    """Read one pose in several versions' formats."""
    angle = math.radians(90.0)
    half = math.sqrt(0.5)
    forms = {
        '1.11': [
            f'<pose>1 2 3 0 0 {angle!r}</pose>',
            '<pose degrees="true">1 2 3 0 0 90</pose>',
            f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {half!r} {half!r}</pose>',
        ],
        '1.2': [f'<origin pose="1 2 3 0 0 {angle!r}"/>'],
    }
    for version, poses in forms.items():
        for pose in poses:
            text = model(link('a') + link('b', pose), version)
            found = link_poses(sb.load_description(text))['b']
            np.testing.assert_allclose(found.position, [1, 2, 3], atol=1e-12)
            np.testing.assert_allclose(found.rotation, matrix_from_rpy((0, 0, angle)), atol=1e-12)


@pytest.mark.parametrize(
    ('version', 'axis', 'expected'),
    [
        ('1.4', '<xyz>1 0 0</xyz>', (0, -1, 0)),
        ('1.6', '<xyz>1 0 0</xyz>', (1, 0, 0)),
        ('1.6', '<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>', (0, -1, 0)),
        ('1.8', '<xyz expressed_in="__model__">1 0 0</xyz>', (0, -1, 0)),
        ('1.8', '<xyz expressed_in="P">0 1 0</xyz>', (1, 0, 0)),
    ],
)
def test_axes_are_in_the_frame_of_their_version(version, axis, expected):
    """Express an axis in the joint's frame: by default from SDF 1.5 on, before in the model's."""
    content = link('P') + link('C', '<pose>0 0 0 0 0 1.5707963267948966</pose>')
    content += joint('j', 'revolute', 'P', 'C', f'<axis>{axis}</axis>')
    found = sb.load_description(model(content, version)).joints['j']
    np.testing.assert_allclose(found.axis, expected, atol=1e-12)


@pytest.mark.parametrize(
    ('word', 'kind'),
    [
        ('revolute', JointType.CONTINUOUS),
        ('continuous', JointType.CONTINUOUS),
        ('prismatic', JointType.PRISMATIC),
        ('fixed', JointType.FIXED),
        ('ball', JointType.BALL),
        ('universal', JointType.UNIVERSAL),
        ('revolute2', JointType.HINGE2),
    ],
)
def test_joint_types_are_those_of_the_engine(word, kind):
    """Map each joint word to its type."""
    axes = '<axis><xyz>1 0 0</xyz></axis>'
    axes += '<axis2><xyz>0 1 0</xyz></axis2>' if word in ('universal', 'revolute2') else ''
    axes = '' if word in ('fixed', 'ball') else axes
    content = link('a') + link('b') + joint('j', word, 'a', 'b', axes)
    assert sb.load_description(model(content)).joints['j'].type is kind


def test_limits_and_dynamics_belong_to_their_axis():
    """Read the numbers for both axes in a universal joint."""
    axes = ''.join(
        f'<axis{n}><xyz>{xyz}</xyz><limit><lower>-{k}</lower><upper>{k}</upper><effort>{5 * k}'
        f'</effort><velocity>-1</velocity></limit><dynamics><damping>{k}</damping>'
        f'<friction>0.{k}</friction><spring_stiffness>7</spring_stiffness>'
        f'<spring_reference>0.5</spring_reference></dynamics></axis{n}>'
        for n, k, xyz in (('', 1, '1 0 0'), ('2', 2, '0 1 0'))
    )
    content = link('a') + link('b') + joint('j', 'universal', 'a', 'b', axes)
    found = sb.load_description(model(content)).joints['j']
    assert (found.limits.lower, found.limits2.upper, found.limits2.effort) == (-1, 2, 10)
    assert found.limits.velocity == math.inf
    assert (found.dynamics2.damping, found.dynamics.friction) == (2, 0.1)
    assert (found.dynamics.stiffness, found.dynamics.reference) == (7, 0.5)


def test_a_screw_travels_by_its_pitch():
    """Turn a screw once: it travels 0.3 m, to the other side for the old left-handed pitch."""
    for tag, travel in (
        ('<screw_thread_pitch>0.3</screw_thread_pitch>', 0.3),
        (f'<thread_pitch>{2 * math.pi / 0.3!r}</thread_pitch>', -0.3),
    ):
        content = (
            link('a')
            + link('b')
            + joint('j', 'screw', 'a', 'b', f'<axis><xyz>0 0 1</xyz></axis>{tag}')
        )
        robot = sb.World().add_robot(
            sb.load_description(model(content)), base='fixed', joint_positions={'j': 2.0 * math.pi}
        )
        assert robot.link('b').p[2] == pytest.approx(travel, abs=1e-12)


def test_a_gearbox_couples_the_joints_of_its_links():
    """Couple two wheels on a base: the angles have the ratio of the reference, opposite signs."""
    axis = '<axis><xyz>0 0 1</xyz></axis>'
    content = (
        link('base')
        + link('a', '<pose>1 0 0 0 0 0</pose>')
        + link('b', '<pose>-1 0 0 0 0 0</pose>')
        + joint('ja', 'revolute', 'base', 'a', axis)
        + joint('jb', 'revolute', 'base', 'b', axis)
        + joint(
            'gear',
            'gearbox',
            'a',
            'b',
            '<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>'
            '<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 -1</xyz></axis2>',
        )
    )
    mimic = sb.load_description(model(content)).joints['jb'].mimic
    assert (mimic.joint, mimic.multiplier) == ('ja', 3.0)


def test_a_mimic_axis_follows_its_leader():
    """Read multiplier, offset and reference: position = m (leader - reference) + offset."""
    axis = '<axis><xyz>0 0 1</xyz>{}</axis>'
    rule = (
        '<mimic joint="ja"><multiplier>2</multiplier><offset>1</offset>'
        '<reference>0.25</reference></mimic>'
    )
    content = (
        link('base')
        + link('a')
        + link('b')
        + joint('ja', 'continuous', 'base', 'a', axis.format(''))
        + joint('jb', 'continuous', 'base', 'b', axis.format(rule))
    )
    mimic = sb.load_description(model(content)).joints['jb'].mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ('ja', 2.0, 0.5)


def test_joints_that_close_a_ring_are_loop_joints():
    """Close a four-bar by its last joint: one motion is left."""
    content = ''.join(
        link(name, f'<pose>{x} 0 {z} 0 0 0</pose>')
        for name, x, z in (('base', 0, 0), ('a', 0, 0), ('b', 0, 1), ('c', 2, 0))
    )
    axis = '<axis><xyz>0 1 0</xyz></axis>'
    content += joint('j1', 'revolute', 'base', 'a', axis)
    content += joint('j2', 'revolute', 'a', 'b', axis)
    content += joint('j3', 'revolute', 'base', 'c', axis)
    content += joint('j4', 'revolute', 'b', 'c', '<pose relative_to="b">2 0 0 0 0 0</pose>' + axis)
    description = sb.load_description(model(content))
    assert list(description.joints) == ['j1', 'j2', 'j3']
    assert [loop.name for loop in description.constraints] == ['j4']
    world = sb.World()
    robot = world.add_robot(description, base='fixed')
    world.step(200)
    anchor = robot.link('b').p + robot.link('b').R @ [2, 0, 0]
    other = robot.link('c').p + robot.link('c').R @ [0, 0, 1]
    np.testing.assert_allclose(anchor, other, atol=1e-3)


def test_a_link_with_two_parents_turns_the_second_joint_around():
    """Hang a link on two others: the tree has both joints, with the coordinates of the file."""
    axis = '<axis><xyz>0 0 1</xyz></axis>'
    content = (
        link('a')
        + link('c', '<pose>1 0 0 0 0 0</pose>')
        + link('b', '<pose>2 0 0 0 0 0</pose>')
        + joint('j1', 'revolute', 'a', 'c', axis)
        + joint('j2', 'revolute', 'b', 'c', axis)
    )
    description = sb.load_description(model(content))
    assert description.root == 'a' and not description.constraints
    robot = sb.World().add_robot(description, base='fixed')
    robot.joint('j2').q = 0.5
    turn = robot.link('b').R.T @ robot.link('c').R
    np.testing.assert_allclose(turn, matrix_from_rpy((0, 0, 0.5)), atol=1e-12)


def test_links_without_joints_float_apart():
    """Step two loose links: both fall, and each alone."""
    content = link('a') + link('b', '<pose>0 0 5 0 0 0</pose>')
    world = sb.World(gravity=(0, 0, -10))
    robot = world.add_robot(sb.load_description(model(content)))
    world.step(100)
    assert robot.link('a').p[2] == pytest.approx(robot.link('b').p[2] - 5.0)
    assert robot.link('a').p[2] < -1e-3


def test_joints_to_the_world_hold_the_robot():
    """Fix a link to the world by a joint: the root is the world, in the model's frame."""
    content = link('a', '<pose>0 0 1 0 0 0</pose>') + joint('hold', 'fixed', 'world', 'a')
    description = sb.load_description(model(content))
    assert (description.root, description.fixed_base) == ('world', True)
    np.testing.assert_allclose(link_poses(description)['a'].position, [0, 0, 1])


def test_a_static_model_is_fixed_and_has_no_joints():
    """Weld the root, and fix all other links to it."""
    content = link('a') + link('b', '<pose>0 0 1 0 0 0</pose>') + joint('j', 'revolute', 'a', 'b')
    description = sb.load_description(model('<static>true</static>' + content))
    assert description.is_welded and description.fixed_base
    assert all(each.type is JointType.FIXED for each in description.joints.values())


def test_missing_inertials_have_the_values_of_the_reference():
    """Take 1 kg and 1 kg m² with a warning."""
    description = sb.load_description(model('<link name="a"/>'))
    inertial = description.links['a'].inertial
    assert inertial.mass == 1.0
    np.testing.assert_array_equal(inertial.inertia, np.eye(3))
    assert codes(description) == ['missing-inertial']


def test_inertia_is_computed_from_collisions():
    """Compute the mass of a box and a ball with their own densities."""
    shapes = (
        '<collision name="c"><density>500</density><geometry><box><size>1 2 3</size></box>'
        '</geometry></collision>'
    )
    text = model(f'<link name="a"><inertial auto="true"/>{shapes}</link>')
    inertial = sb.load_description(text).links['a'].inertial
    assert inertial.mass == pytest.approx(3000.0)
    assert inertial.inertia[0, 0] == pytest.approx(3000.0 * (4 + 9) / 12)


@pytest.mark.parametrize(
    ('content', 'code'),
    [
        (link('a', '<pose relative_to="nowhere"/>'), 'unknown-frame'),
        (
            '<frame name="f"><pose relative_to="g"/></frame>'
            '<frame name="g"><pose relative_to="f"/></frame>'
            + link('a', '<pose relative_to="f"/>'),
            'frame-cycle',
        ),
        (link('a') + joint('j', 'fixed', 'a', 'b'), 'unknown-link'),
        (link('a') + joint('j', 'fixed', 'a', 'world'), 'unknown-link'),
        (link('a') + joint('j', 'hinge', 'a', 'a'), 'joint-type'),
        (link('a') + link('a'), 'duplicate-name'),
        (
            link('a')
            + link('b')
            + joint('j', 'revolute', 'a', 'b', '<axis><xyz>0 0 0</xyz></axis>'),
            'zero-axis',
        ),
    ],
)
def test_defects_are_named(content, code):
    """Refuse a model with one defect, by its code."""
    with pytest.raises(sb.DescriptionError) as caught:
        sb.load_description(model(content))
    assert code in [finding.code for finding in caught.value.report.errors]
