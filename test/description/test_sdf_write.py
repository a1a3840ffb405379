"""Robots written as SDF models and read back: equal trees, joints, loops, shapes and sensors."""

from __future__ import annotations

from dataclasses import replace

from joint_robots import describe, joint, link
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge import dynamics
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    ContactDescription,
    GeometryDescription,
    JointDynamics,
    JointLimits,
    Mimic,
    Pose,
)
from sim_bridge.description.sdf_model.write.robot import sdf_text
from sim_bridge.foundation.rotation import matrix_from_axis_angle

SHIPPED = ('arm', 'rover', 'quadruped', 'hand', 'double_pendulum', 'floating_box', 'delta')
X, Y, Z = np.eye(3)
TILTED = Pose(np.array([0.1, -0.2, 0.3]), matrix_from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.7))


def read_back(description, folder, **options):
    """Return the robot read from the written file, and the report on writing."""
    text, report = sdf_text(description, folder=folder, **options)
    assert text is not None, report.to_text()
    path = folder / 'model.sdf'
    path.write_text(text, encoding='utf-8')
    read = sb.load_description(path)
    assert not read.report.findings, read.report.to_text()
    return read, report


def assert_equal_motion(one, other):
    """Compare frames, mass matrix and bias force at random states."""
    robots = [
        sb.World(gravity=(0.0, 0.0, -9.81)).add_robot(each, collisions='none')
        for each in (one, other)
    ]
    rng = np.random.default_rng(2)
    assert robots[0].joint_names == robots[1].joint_names
    for _ in range(3):
        for name in robots[0].joint_names:
            q, dq = rng.uniform(-0.3, 0.3), rng.uniform(-1.0, 1.0)
            for robot in robots:
                robot.joint(name).q, robot.joint(name).dq = q, dq
        for function in (dynamics.mass_matrix, dynamics.bias_forces):
            first, second = map(function, robots)
            np.testing.assert_allclose(second, first, atol=1e-12 * max(1.0, np.abs(first).max()))
        for link_ in robots[0].links:
            if link_.name != 'world':
                np.testing.assert_allclose(robots[1].link(link_.name).p, link_.p, atol=1e-12)


@pytest.mark.parametrize('name', SHIPPED)
def test_shipped_robots_come_back_equal(name, tmp_path):
    """Compare motion, limits, passive forces, shapes, loops and sensors."""
    one = sb.load_description(name)
    other, _ = read_back(one, tmp_path)
    assert_equal_motion(one, other)
    for own in one.joints.values():
        its = other.joints[own.name]
        assert (its.type, its.limits, its.dynamics) == (own.type, own.limits, own.dynamics)
    for own in one.links.values():
        if own.name != 'world':
            its = other.links[own.name]
            shapes = [(each.kind, each.size) for each in own.collisions]
            assert [(each.kind, each.size) for each in its.collisions] == shapes
            friction = own.contact.friction
            assert {each.contact.friction for each in its.collisions if each.contact} <= {friction}
    assert {each.name for each in other.constraints} == {each.name for each in one.constraints}
    sensors = {each.name: each for each in other.sensors}
    for own in one.sensors:
        its = sensors[own.name]
        assert (its.kind, its.link, its.update_rate) == (own.kind, own.link, own.update_rate)
        np.testing.assert_allclose(its.pose.position, own.pose.position, atol=1e-12)
        np.testing.assert_allclose(its.pose.rotation, own.pose.rotation, atol=1e-12)
        assert dict(its.noise) == dict(own.noise)


KINDS = {'revolute': {}, 'prismatic': {}, 'fixed': {}, 'ball': {}, 'universal': {'axis2': Y}}


@pytest.mark.parametrize('kind', KINDS)
def test_joints_with_displaced_frames_come_back_equal(kind, tmp_path):
    """Let both robots fall from one state, and compare the motion."""
    inertia = np.diag([0.02, 0.03, 0.04])
    links = [link('world', 0.0), link('arm', 1.5, (0.1, 0, 0.2), inertia), link('body')]
    turned = Pose(np.array([0.0, 0.05, 0.1]), matrix_from_axis_angle(X, 0.4))
    joints = [
        joint('shoulder', 'revolute', 'world', 'arm', TILTED, X, dynamics=JointDynamics(0.1, 0.2)),
        joint('wrist', kind, 'arm', 'body', TILTED, Z, child_pose=turned, **KINDS[kind]),
    ]
    one = describe(links, joints)
    other, _ = read_back(one, tmp_path)
    ends = []
    for description in (one, other):
        world = sb.World()
        robot = world.add_robot(description)
        world.step(200)
        ends.append(robot.link('body'))
    assert np.abs(ends[0].v).max() > 0.1 or kind == 'fixed'
    np.testing.assert_allclose(ends[1].p, ends[0].p, atol=1e-10)
    np.testing.assert_allclose(ends[1].R, ends[0].R, atol=1e-10)


LOOPS = {'hinge': {'axis': X}, 'slider': {'axis': Z}, 'ball': {}, 'fixed': {}}


@pytest.mark.parametrize('kind', LOOPS)
@pytest.mark.parametrize('second', ['two', ''])
def test_loop_joints_come_back(kind, second, tmp_path):
    """Compare type, free motions and range."""
    links = [link('world', 0.0), link('one'), link('two')]
    joints = [
        joint('a', 'revolute', 'world', 'one', TILTED, Z),
        joint('b', 'revolute', 'world', 'two', Pose(), Y),
    ]
    limits = JointLimits(-0.2, 0.4) if 'axis' in LOOPS[kind] else JointLimits()
    loop = ConstraintDescription(
        'loop',
        ConstraintType(kind),
        'one',
        second,
        np.array([0.1, 0.2, 0.3]),
        limits=limits,
        **LOOPS[kind],
    )
    one = replace(describe(links, joints), constraints=(loop,))
    other, _ = read_back(one, tmp_path)
    (its,) = other.constraints
    assert its.type is loop.type
    reading = [sb.World().add_robot(each) for each in (one, other)]
    numbers = [dynamics.mass_matrix(robot) for robot in reading]
    np.testing.assert_allclose(numbers[1], numbers[0], atol=1e-12)
    if 'axis' in LOOPS[kind]:
        sign = 1.0 if its.link1 == 'one' else -1.0
        ends = sorted((sign * its.limits.lower, sign * its.limits.upper))
        assert ends == pytest.approx([-0.2, 0.4])


def test_mimic_rules_springs_and_contacts_come_back(tmp_path):
    """Compare the rule, the spring and the contact parameters."""
    spring = JointDynamics(stiffness=7.0, reference=0.2)
    contact = ContactDescription(
        0.6,
        0.4,
        (0.0, 1.0, 0.0),
        '',
        1e5,
        50.0,
        0.1,
        self_collide=True,
        slip=0.02,
        restitution=0.7,
        spinning_friction=0.03,
        is_sensor=True,
    )
    box = GeometryDescription('box', (0.1, 0.2, 0.3), TILTED, 'shell')
    links = [
        link('world', 0.0),
        link('one'),
        replace(link('two'), contact=contact, collisions=(box,), gravity=False),
    ]
    joints = [
        joint('a', 'revolute', 'world', 'one', axis=X, dynamics=spring),
        joint('b', 'revolute', 'one', 'two', axis=X, mimic=Mimic('a', -2.0, 0.3)),
    ]
    other, _ = read_back(describe(links, joints), tmp_path)
    assert other.joints['a'].dynamics == spring
    assert other.joints['b'].mimic == Mimic('a', -2.0, 0.3)
    its = other.links['two']
    assert not its.gravity
    met = its.collisions[0].contact
    assert replace(met, self_collide=its.contact.self_collide) == contact
    assert its.collisions[0].name == 'shell'


def test_names_shared_by_links_and_joints_are_made_different(tmp_path):
    """Rename the joint, with a warning, also where a mimic rule names it."""
    joints = [
        joint('one', 'revolute', 'world', 'one', axis=X),
        joint('b', 'revolute', 'one', 'two', axis=X, mimic=Mimic('one', 2.0)),
    ]
    description = describe([link('world', 0.0), link('one'), link('two')], joints)
    other, report = read_back(description, tmp_path)
    assert list(other.joints) == ['one_joint', 'b']
    assert other.joints['b'].mimic == Mimic('one_joint', 2.0)
    assert "'one_joint' in SDF" in report.to_text()


@pytest.mark.parametrize('kind', ['planar', 'piston'])
def test_joints_without_counterpart_are_refused(kind):
    """Name the joint and its type; write nothing."""
    description = describe([link('world', 0.0), link('body')], [joint('slide', kind)])
    text, report = sdf_text(description)
    assert text is None
    assert kind in report.to_text()


def test_an_open_loop_is_refused():
    """Name the distance that SDF would remove."""
    loop = ConstraintDescription(
        'loop', ConstraintType.BALL, 'one', 'two', np.zeros(3), np.array([0.0, 0.0, 0.25])
    )
    joints = [joint(name, 'revolute', 'world', name) for name in ('one', 'two')]
    description = describe([link('world', 0.0), link('one'), link('two')], joints)
    text, report = sdf_text(replace(description, constraints=(loop,)))
    assert text is None
    assert '0.25 m' in report.to_text()


def test_a_base_is_welded_to_the_world(tmp_path):
    """Write a fixed joint, read as a fixed base."""
    other, _ = read_back(describe([link('body')], []), tmp_path, fixed_base=True)
    assert other.fixed_base
    assert not read_back(describe([link('body')], []), tmp_path)[0].fixed_base
