"""Motion control: dynamic, static and kinematic bodies, and changes between them."""

from __future__ import annotations

from contact_worlds import add_ball, grounded
import numpy as np
import pytest
from robots import double_pendulum, joint, link, robot

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, StateError

G = 9.81
ARM = robot(
    link('base', 3.0, inertia=(0.1, 0.1, 0.1)),
    link('arm', 1.0, (0, 0, -0.5)),
    joint('hinge', 'base', 'arm', 'continuous', (0, 1, 0)),
)


def thrown(**options):
    """Return a world with a spinning body thrown upwards, after some steps, and the body."""
    world = sb.World(**options)
    body = world.add_body(
        sb.Box((0.2, 0.2, 0.2)),
        mass=1.0,
        position=(1, 2, 3),
        linear_velocity=(1.0, 0.0, 2.0),
        angular_velocity=(0.0, 3.0, 1.0),
    )
    world.step(100)
    return world, body


def test_body_stops_in_mid_air_and_falls_again():
    """Stay to the last bit while static, and fall from rest from there on."""
    world, body = thrown()
    p, R = body.root_link.p, body.root_link.R
    body.motion = 'static'
    assert body.motion == 'static' and body.fixed_base
    world.step(500)
    np.testing.assert_allclose(body.root_link.p, p, atol=1e-15)
    np.testing.assert_allclose(body.root_link.R, R, atol=1e-15)
    np.testing.assert_array_equal(body.root_link.v, 0.0)
    body.motion = 'dynamic'
    world.step(500)
    np.testing.assert_allclose(body.root_link.p, p - (0, 0, G / 8.0), atol=1e-12)
    np.testing.assert_allclose(body.root_link.R, R, atol=1e-14)


def test_kinematic_body_goes_on_and_is_let_go():
    """Keep velocities to the bit when a body becomes kinematic, then dynamic."""
    world, body = thrown()
    v, w, p = body.root_link.v, body.root_link.w, body.root_link.p
    body.motion = 'kinematic'
    np.testing.assert_array_equal(body.root_link.v, v)
    world.step(100)
    np.testing.assert_allclose(body.root_link.p, p + 0.1 * v, rtol=1e-12)
    body.move_to((0, 0, 1), dt=0.1)
    world.step(100)
    np.testing.assert_allclose(body.root_link.p, (0, 0, 1), atol=1e-12)
    body.set_base_velocity(v, w)
    body.motion = 'dynamic'
    world.step(100)
    np.testing.assert_allclose(body.root_link.v, v - (0, 0, 0.1 * G), rtol=1e-9)


def test_change_of_motion_changes_no_dynamics():
    """Continue the flight unchanged when a body is static for no step."""
    ends = []
    for touched in (False, True):
        world, body = thrown(gravity=(0, 0, 0))
        if touched:
            body.motion = 'kinematic'
            body.motion = 'dynamic'
        world.step(100)
        ends.append((body.root_link.p, body.root_link.R, body.root_link.w))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_motion_decides_which_body_is_pushed(solver):
    """Rest on static bodies, be carried by kinematic ones, and fall with freed ones."""
    world = grounded(solver=solver)
    tray = world.add_body(sb.Box((1, 1, 0.1)), mass=5.0, position=(0, 0, 0.95), motion='static')
    ball = add_ball(world, lift=1.0)
    world.step(50)
    assert ball.root_link.v[2] == pytest.approx(0.0, abs=1e-5)
    tray.motion = 'kinematic'
    tray.set_base_velocity((0, 0, 0.5))
    world.step(200)
    assert ball.root_link.p[2] == pytest.approx(1.2, abs=1e-3)
    assert ball.root_link.v[2] == pytest.approx(0.5, abs=1e-5)
    tray.motion = 'dynamic'
    tray.set_base_velocity((0, 0, 0))
    ball.set_base_velocity((0, 0, 0))
    world.step(100)
    assert ball.root_link.v[2] == pytest.approx(-0.1 * G, rel=1e-4)
    assert tray.root_link.v[2] == pytest.approx(-0.1 * G, rel=1e-4)


def test_robot_is_freed_and_fixed_in_place():
    """Keep the joints' state, parameters and motors when a robot's base changes."""
    world = sb.World()
    arm = world.load_urdf(ARM, base='fixed', position=(0, 0, 2), joint_positions={'hinge': 1.0})
    arm.joint('hinge').damping = 0.1
    world.step(200)
    q, dq, p = arm.q.copy(), arm.dq.copy(), arm.root_link.p
    arm.motion = 'dynamic'
    np.testing.assert_array_equal(arm.q, q)
    np.testing.assert_array_equal(arm.dq, dq)
    assert arm.joint('hinge').damping == 0.1 and not arm.fixed_base
    np.testing.assert_array_equal(arm.root_link.p, p)
    before = arm.center_of_mass
    velocity = world.momentum().linear / arm.mass
    world.step(100)
    np.testing.assert_allclose(
        arm.center_of_mass, before + 0.1 * velocity - (0, 0, 0.005 * G), atol=1e-6
    )
    q, p = arm.q.copy(), arm.root_link.p
    arm.motion = 'static'
    np.testing.assert_allclose(arm.root_link.p, p, atol=1e-15)
    world.step(100)
    np.testing.assert_allclose(arm.root_link.p, p, atol=1e-15)
    assert abs(arm.q[0] - q[0]) > 1e-3


def test_pendulum_on_a_kinematic_base_feels_it():
    """Swing on a base with prescribed motion: at constant velocity as on a fixed base."""
    ends = []
    for velocity in (0.0, 2.0):
        world = sb.World()
        arm = world.load_urdf(ARM, base='fixed', joint_positions={'hinge': 1.0})
        arm.motion = 'kinematic'
        arm.set_base_velocity((velocity, 0, 0))
        world.step(300)
        np.testing.assert_allclose(arm.root_link.p, (0.3 * velocity, 0, 0), atol=1e-12)
        ends.append(arm.q[0])
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    fixed = sb.World()
    arm = fixed.load_urdf(ARM, base='fixed', joint_positions={'hinge': 1.0})
    fixed.step(300)
    assert arm.q[0] == pytest.approx(ends[0], abs=1e-12)


def test_a_mounted_body_keeps_its_joint():
    """Keep a mounted body's joint when its carrier changes, and feel the carrier's motion."""
    world = sb.World()
    carrier = world.add_body(
        sb.Box((0.2, 0.2, 0.2)), mass=2.0, position=(0, 0, 2), motion='static'
    )
    bob = world.add_body(sb.Sphere(0.05), mass=1.0, position=(0.5, 0, 2))
    hinge = world.add_joint('hinge', carrier, bob, (0, 0, 2), (0, 1, 0))
    world.step(100)
    q, dq = hinge.q, hinge.dq
    carrier.motion = 'dynamic'
    assert hinge.q == q and hinge.dq == dq
    momentum = world.momentum().linear
    world.step(100)
    np.testing.assert_allclose(
        world.momentum().linear, momentum - (0, 0, 0.1 * 3.0 * G), rtol=1e-6
    )


def test_closed_loop_stays_closed(repository):
    """Move, fix and drop a four-bar with its frame."""
    world = sb.World()
    four_bar = world.load_urdf(repository / 'urdf' / 'four_bar.urdf')
    loop = four_bar.joint('coupler_rocker')
    four_bar.command_effort([0.5], ['crank_joint'])
    for motion in ('kinematic', 'static', 'dynamic'):
        four_bar.motion = motion
        if motion == 'kinematic':
            four_bar.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.5, 1.0))
        world.step(50)
        assert max(loop.error) < 1e-9
    assert four_bar.root_link.v[2] == pytest.approx(-0.05 * G, rel=0.1)


def test_sleepers_wake_when_their_support_is_released():
    """Fall asleep on a static table, and fall with it."""
    world = grounded(sleep=True)
    table = world.add_body(sb.Box((1, 1, 0.1)), mass=5.0, position=(0, 0, 0.95), motion='static')
    ball = add_ball(world, lift=1.0)
    world.step(100)
    assert ball.is_asleep
    table.motion = 'dynamic'
    world.step(100)
    assert not ball.is_asleep and ball.root_link.p[2] < 1.08


def test_pushes_and_other_robots_stay():
    """Keep earlier pushes and the motion of other robots."""
    world, body = thrown(gravity=(0, 0, 0))
    other = world.load_urdf(double_pendulum())
    other.dq = [1.0, -2.0]
    v = body.root_link.v
    body.root_link.add_force((3.0, 0, 0))
    body.motion = 'kinematic'
    body.motion = 'dynamic'
    np.testing.assert_array_equal(other.dq, [1.0, -2.0])
    world.step(10)
    np.testing.assert_allclose(body.root_link.v, v + (0.003, 0, 0), rtol=1e-9)


def test_reset_goes_back_to_the_pose_and_keeps_the_motion():
    """Return a body to its initial pose under any motion; static bodies start at rest."""
    world, body = thrown()
    for motion, start in (('kinematic', (1.0, 0.0, 2.0)), ('static', 0.0), ('dynamic', 0.0)):
        body.motion = motion
        world.step(10)
        world.reset()
        assert body.motion == motion
        np.testing.assert_allclose(body.root_link.p, (1, 2, 3), atol=1e-15)
        np.testing.assert_array_equal(body.root_link.v, start)
        world.step(10)


@pytest.mark.parametrize('motion', ['static', 'kinematic'])
def test_snapshot_of_another_motion_does_not_fit(motion):
    """Refuse a snapshot from before a change, and accept one from after it."""
    world, body = thrown()
    before = world.save()
    body.motion = motion
    after = world.save()
    world.step(3)
    world.restore(after)
    with pytest.raises(InvalidValueError, match='snapshot'):
        world.restore(before)


def test_wrong_changes_are_refused():
    """Name the robot and the alternatives; change nothing."""
    world = sb.World()
    wall = world.add_body(sb.Box((1, 1, 1)), motion='static', name='wall')
    with pytest.raises(StateError, match="'wall' cannot be dynamic.*positive mass.*add_body"):
        wall.motion = 'dynamic'
    assert wall.motion == 'static'
    ground = world.add_ground()
    with pytest.raises(InvalidValueError, match="'static', since a Plane has no end"):
        ground.motion = 'kinematic'
    with pytest.raises(InvalidValueError, match="'dynamic', 'static' or 'kinematic'"):
        wall.motion = 'floating'
    bob = world.add_body(sb.Sphere(0.05), mass=1.0, position=(0, 0, 3))
    world.add_joint('ball', None, bob, (0, 0, 4), name='hook')
    with pytest.raises(StateError, match="mounted on joint 'hook'"):
        bob.motion = 'static'
