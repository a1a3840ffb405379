"""Choreonoid's names for links, joints and devices."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.model import JointType


@pytest.fixture(scope='module')
def robot():
    """Return a robot with a closed loop and a robot with sensors in one world."""
    world = sb.World()
    world.load_urdf('arm')
    return world.load_urdf('four_bar')


def test_links_and_joints_go_by_numbers(robot):
    """Return links by index, joints by id, loops by number; and each link's numbers."""
    assert [robot.link(number) for number in range(len(robot.links))] == robot.links
    assert robot.link(np.int64(2)) is robot.links[2]
    for number, name in enumerate(robot.joint_names):
        joint = robot.joint(number)
        assert joint.name == name and joint.link2.joint_id == number
        assert joint.link2.q == robot.q[number]
    assert robot.extra_joints == [robot.extra_joint(0)] == [robot.joint('coupler_rocker')]
    for ask, number in ((robot.link, len(robot.links)), (robot.joint, -1), (robot.extra_joint, 1)):
        with pytest.raises(sb.UnknownNameError, match=f' {number} in .*Known: 0'):
            ask(number)
    with pytest.raises(sb.InvalidValueError, match='extra joint.*None'):
        robot.extra_joint(None)
    for ask in (robot.link, robot.joint):
        with pytest.raises(sb.InvalidValueError, match='name of a .* = True'):
            ask(True)


def test_links_know_their_neighbours(robot):
    """Reach every link by child and sibling, as Choreonoid's traversal does."""

    def walk(link):
        while link is not None:
            yield link
            yield from walk(link.child)
            link = link.sibling

    assert {link.name for link in walk(robot.root_link)} == {link.name for link in robot.links}
    assert [link.is_root for link in robot.links] == [
        link is robot.root_link for link in robot.links
    ]
    assert robot.root_link.sibling is None and robot.link('rocker').child is None


def test_links_know_their_joint(robot):
    """Compose a link's pose from its parent's, the joint's origin, axis and q; return limits."""
    robot.world.step(20)
    for link in robot.links:
        if link.joint_id < 0:
            assert link.is_fixed_joint and not link.a.any() and link.q_upper == np.inf
            continue
        assert link.is_rotational_joint and not link.is_slide_joint
        x, y, z = link.a
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turn = np.eye(3) + np.sin(link.q) * cross + (1.0 - np.cos(link.q)) * cross @ cross
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = link.joint.description.origin.rotation @ turn, link.b
        assert link.parent.T @ step == pytest.approx(link.T, abs=1e-9)
        assert np.array_equal(link.attitude, link.R) and np.array_equal(link.d, link.a)
        assert (link.dq, link.ddq, link.u) == (link.joint.dq, link.joint.ddq, link.joint.u)
        assert link.q_lower == link.joint.lower and link.dq_lower == -link.dq_upper
    assert robot.link('crank').dq_upper == 30.0
    robot.link('crank').u = 0.5
    assert robot.joint('crank_joint').u == 0.5
    robot.link('crank').u = 0.0
    with pytest.raises(sb.StateError, match="link 'world' is the root"):
        robot.root_link.q = 1.0


def test_links_of_bodies_float_and_have_shapes():
    """Distinguish free and fixed bodies by the type, and list a link's shapes."""
    world = sb.World()
    ground, ball = world.add_ground(), world.add_body([sb.Sphere(0.1), sb.Box((1, 1, 1))])
    assert ground.root_link.joint_type is JointType.FIXED
    assert ball.root_link.is_free_joint and not ball.root_link.b.any()
    assert ball.root_link.shape == (sb.Sphere(0.1), sb.Box((1, 1, 1)))
    slider = world.add_joint('slider', ground, ball)
    assert ball.root_link.joints == ground.attached_joints == [slider]


def test_external_forces_are_cleared_for_one_robot():
    """Clear the forces on one body; the other moves as pushed."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    one, other = (
        world.add_body(sb.Sphere(0.1), mass=2.0, position=(x, 0.0, 0.0)) for x in (0.0, 1.0)
    )
    for body in (one, other):
        body.root_link.add_force((6.0, 0.0, 0.0))
        body.root_link.add_torque((0.0, 0.0, 1.0))
    one.clear_external_forces()
    assert not one.root_link.dv.any() and other.root_link.dv[0] == pytest.approx(3.0)
    world.step()
    assert not one.root_link.v.any() and not one.root_link.w.any()
    assert other.root_link.v[0] == pytest.approx(0.003)


def test_devices_restart_alone():
    """Clear one robot's measurements, and measure again; nothing else moves."""
    world = sb.World()
    arm = world.load_urdf('arm')
    sensor = arm.devices(sb.ForceSensor)[0]
    world.step(3)
    assert np.isfinite(sensor.f).all()
    q = arm.q.copy()
    arm.initialize_device_states()
    assert np.isnan(sensor.f).all() and sensor.sample_step == -1
    assert np.array_equal(arm.q, q)
    world.step()
    assert np.isfinite(sensor.f).all()
