"""Motion on ball joints: closed forms, conservation, orders, damping, holds, contact."""

from __future__ import annotations

import math

from joint_robots import describe, joint, link, mount_body, on_ball, X
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.model import GeometryDescription, JointDynamics, JointLimits, Pose
from sim_bridge.foundation.errors import InvalidValueError, SimulationError, StateError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix

G = 9.81
TILTED = Pose(np.array([0.3, -0.2, 0.5]), matrix_from_quaternion(np.array([0.5, -0.1, 0.7, 0.5])))


def chain(world, n=3, free=False, **parts):
    """Add a chain with links on ball joints, fixed to the world or flying; set it moving."""
    links = [link('l0', 2.0 if free else 0.0, inertia=(0.02, 0.03, 0.04))]
    joints = []
    for number in range(n):
        links.append(link(f'l{number + 1}', 1.0, (0.02, 0.0, -0.1), (0.01, 0.012, 0.005)))
        joints.append(joint(f'j{number}', 'ball', f'l{number}', f'l{number + 1}', TILTED, **parts))
    robot = world.add_robot(describe(links, joints), base='free' if free else 'fixed')
    rng = np.random.default_rng(3)
    for one in robot.joints:
        one.q = rng.normal(size=4)
        one.dq = rng.normal(size=3)
    if free:
        robot.set_base_velocity((0.3, -0.2, 0.1), (1.0, -0.5, 0.7))
    return robot


def test_conical_pendulum():
    """Keep circling at the closed form's angle and speed."""
    angle, length, inertia = 0.6, 1.0, 0.02
    for axes in (Pose(), TILTED):
        world = sb.World(time_step=1e-3)
        robot = on_ball(world, 1.0, (0.0, 0.0, -length), (inertia,) * 3, origin=axes)
        tilt = np.array([0.0, math.sin(0.5 * angle), 0.0, math.cos(0.5 * angle)])
        body = axes.rotation.T @ matrix_from_quaternion(tilt)
        ball = robot.joint('ball')
        ball.q = quaternion_from_matrix(body)
        # a body without spin about the vertical except from circling: m g l = (A - C) w² cos
        # + C w² cos with A = m l² + C, all turning at w about z
        w = math.sqrt(G * length / (length**2 * math.cos(angle)))
        ball.dq = axes.rotation.T @ [0.0, 0.0, w]
        period = 2.0 * math.pi / w
        arm = robot.link('body').wc - axes.position
        world.step(round(3.25 * period / world.time_step))
        turned = w * world.time
        c, s = math.cos(turned), math.sin(turned)
        expected = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ arm
        np.testing.assert_allclose(robot.link('body').wc - axes.position, expected, atol=3e-5)


def top_error(time_step, integrator='midpoint'):
    """
    Return a top's distance after a second from the closed form of its steady precession [m].

    Its momentum turns with it: m g l = C w Ω - A cosθ Ω², w about its own axis, Ω the precession.
    """
    theta, mass, length, inertia, axial, precession = 0.7, 0.5, 0.2, 0.001, 0.002, 3.0
    across = inertia + mass * length**2
    total = (mass * G * length + across * math.cos(theta) * precession**2) / (axial * precession)
    world = sb.World(time_step=time_step, integrator=integrator)
    robot = on_ball(world, mass, (0.0, 0.0, length), (inertia, inertia, axial))
    top = robot.joint('ball')
    top.q = [math.sin(0.5 * theta), 0.0, 0.0, math.cos(0.5 * theta)]
    own = robot.link('body').R[:, 2]
    spin = total - precession * math.cos(theta)
    top.dq = precession * np.array([0.0, 0.0, 1.0]) + spin * own
    world.step(round(1.0 / time_step))
    turned = precession * world.time
    expected = length * np.array(
        [math.sin(theta) * math.sin(turned), -math.sin(theta) * math.cos(turned), math.cos(theta)]
    )
    return np.linalg.norm(robot.link('body').wc - expected)


def test_top_precesses_at_the_closed_form():
    """Converge to the closed form with the square of the step; the top spins at 187 rad/s."""
    coarse, fine = top_error(2e-4), top_error(5e-5)
    assert fine < 1e-4
    assert 14.0 < coarse / fine < 18.0
    assert top_error(1e-4, 'rk5') < 1e-12


def errors_after(time_step, free, integrator='midpoint', damping=0.0):
    """Return the energy change, and the position of the last link's centre, after 0.4 s."""
    world = sb.World(time_step=time_step, integrator=integrator)
    robot = chain(world, 2, free, dynamics=JointDynamics(damping=damping))
    start = world.energy().total
    worst = 0.0
    for _ in range(10):
        world.step(round(0.04 / time_step))
        worst = max(worst, abs(world.energy().total - start))
    return worst, robot.links[-1].wc


@pytest.mark.parametrize('free', [False, True])
def test_steps_are_of_second_order(free):
    """Shrink the errors sixteenfold with a quarter of the step."""
    energy, place = zip(*(errors_after(h, free) for h in (2e-3, 5e-4, 1.25e-4)), strict=True)
    exact = errors_after(1e-3, free, 'rk5')[1]
    error = [np.linalg.norm(one - exact) for one in place]
    assert 12.0 < energy[0] / energy[1] < 20.0
    assert 12.0 < error[0] / error[1] < 20.0
    assert 12.0 < error[1] / error[2] < 20.0


def test_damped_steps_are_of_second_order():
    """Converge to the end of fifth-order steps."""
    exact = errors_after(5e-4, False, 'rk5', 0.05)[1]
    coarse, fine = (
        np.linalg.norm(errors_after(h, False, damping=0.05)[1] - exact) for h in (1e-3, 2.5e-4)
    )
    assert 12.0 < coarse / fine < 20.0


def test_rk5_is_of_fifth_order():
    """Shrink the error thirty-twofold with half the step."""
    exact = errors_after(5e-4, False, 'rk5')[1]
    coarse, fine = (np.linalg.norm(errors_after(h, False, 'rk5')[1] - exact) for h in (1e-2, 5e-3))
    assert 20.0 < coarse / fine < 50.0


def test_momentum_of_a_flying_chain_is_kept():
    """Keep momentum to the order of the step, like any chain; rk5 keeps it to rounding."""
    lost = []
    for time_step in (1e-3, 2.5e-4):
        world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0))
        chain(world, 3, free=True)
        before = world.momentum()
        world.step(round(0.5 / time_step))
        after = world.momentum()
        lost.append(
            [
                np.linalg.norm(after.angular - before.angular),
                np.linalg.norm(after.linear - before.linear),
            ]
        )
    coarse, fine = lost
    assert max(coarse) < 1e-6
    assert 14.0 < coarse[0] / fine[0] < 18.0
    assert 14.0 < coarse[1] / fine[1] < 18.0
    world = sb.World(gravity=(0.0, 0.0, 0.0), integrator='rk5')
    chain(world, 3, free=True)
    before = world.momentum()
    world.step(500)
    after = world.momentum()
    np.testing.assert_allclose(after.linear, before.linear, atol=1e-12)
    np.testing.assert_allclose(after.angular, before.angular, atol=1e-12)


def test_ball_is_isotropic():
    """Move the same, regardless of the joint frame's axes."""
    places = []
    for axes in (np.eye(3), TILTED.rotation):
        world = sb.World()
        links = [link('world', 0.0), link('body', 1.0, (0.1, 0.2, -0.5), (0.02, 0.03, 0.01))]
        origin = Pose(np.zeros(3), axes)
        robot = world.add_robot(describe(links, [joint('ball', 'ball', origin=origin)]))
        robot.joint('ball').q = quaternion_from_matrix(axes.T)
        robot.joint('ball').dq = axes.T @ [1.0, 2.0, 3.0]
        np.testing.assert_allclose(robot.link('body').w, [1.0, 2.0, 3.0], atol=1e-14)
        world.step(1000)
        places.append(robot.link('body').wc)
    np.testing.assert_allclose(*places, atol=1e-10)


def test_velocities_are_those_of_the_child_in_the_joint_frame():
    """Give dq and ddq in the axes of the joint frame on the parent, which itself turns."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    robot = chain(world, 2, free=True)
    second = robot.joint('j1')
    frame = second.parent_link.R @ TILTED.rotation
    relative = second.child_link.w - second.parent_link.w
    np.testing.assert_allclose(frame @ second.dq, relative, atol=1e-13)
    np.testing.assert_allclose(
        frame @ matrix_from_quaternion(second.q), second.child_link.R, atol=1e-13
    )
    # a vector in the turning frame has w x dq beyond ddq
    turning = np.cross(second.parent_link.w, relative)
    np.testing.assert_allclose(
        frame @ second.ddq + turning, second.child_link.dw - second.parent_link.dw, atol=1e-11
    )


def test_damping_is_implicit_and_decays_as_exp():
    """Slow down as exp(-d t / I) in all directions, without ringing at any damping."""
    inertia, start = 0.5, np.array([1.0, -2.0, 0.5])
    for damping, rtol in ((1.0, 1e-6), (1e5, None)):
        world = sb.World(gravity=(0.0, 0.0, 0.0))
        robot = on_ball(world, 1.0, (0.0, 0.0, 0.0), (inertia,) * 3)
        ball = robot.joint('ball')
        ball.damping = damping
        assert ball.damping == damping
        ball.dq = start
        if rtol is None:
            world.step()
            assert np.all(np.abs(ball.dq) < 0.01 * np.abs(start))
            continue
        world.step(1000)
        np.testing.assert_allclose(ball.dq, start * math.exp(-damping / inertia), rtol=rtol)


def test_armature_adds_to_the_inertia():
    """Accelerate under a torque by the sum of rotor inertia and body inertia."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    dynamics = JointDynamics(armature=0.3)
    robot = on_ball(world, 1.0, (0.0, 0.0, 0.0), (0.1, 0.2, 0.25), dynamics=dynamics)
    ball = robot.joint('ball')
    ball.u = [0.4, 1.0, 1.1]
    np.testing.assert_allclose(ball.ddq, [1.0, 2.0, 2.0], rtol=1e-12)
    world.step()
    np.testing.assert_allclose(ball.dq, [1e-3, 2e-3, 2e-3], rtol=1e-5)


def test_reaction_holds_the_weight():
    """Carry the weight and the applied torque."""
    world = sb.World()
    robot = on_ball(world, 2.0)
    force, torque = robot.joint('ball').reaction
    np.testing.assert_allclose(force, (0.0, 0.0, 2.0 * G), atol=1e-12)
    np.testing.assert_allclose(torque, np.zeros(3), atol=1e-12)
    robot.joint('ball').u = [0.1, 0.2, 0.3]
    np.testing.assert_allclose(robot.joint('ball').reaction[1], [0.1, 0.2, 0.3], atol=1e-12)


def test_hold_locks_balls():
    """Stay in place to the last bit, and report the required effort."""
    world = sb.World()
    robot = on_ball(world, 1.0, (0.5, 0.0, 0.0))
    ball = robot.joint('ball')
    robot.hold = True
    assert robot.hold
    world.step(10)
    kept = ball.q.copy()
    world.step(500)
    assert np.array_equal(ball.q, kept)
    assert np.array_equal(ball.dq, np.zeros(3))
    np.testing.assert_allclose(ball.reaction[1], [0.0, -0.5 * G, 0.0], atol=1e-11)
    np.testing.assert_allclose(ball.ddq, np.zeros(3), atol=1e-12)
    robot.hold = False
    world.step(200)
    assert np.linalg.norm(ball.dq) > 1.0


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_body_on_a_ball_lies_on_the_ground(solver):
    """Lie still, held by the joint and the ground, which share its weight and moments."""
    world = sb.World(solver=solver)
    world.add_ground()
    ball = GeometryDescription('sphere', (0.1,), Pose(np.array([0.5, 0.0, 0.0]), np.eye(3)))
    origin = Pose(np.array([0.0, 0.0, 0.1]), TILTED.rotation)
    body = link('body', 2.0, (0.2, 0.0, 0.0), (0.02, 0.04, 0.04), collisions=(ball,))
    robot = world.add_robot(
        describe([link('world', 0.0), body], [joint('ball', 'ball', origin=origin)])
    )
    robot.joint('ball').q = quaternion_from_matrix(TILTED.rotation.T)
    world.step(1000)
    at = robot.link('body').wc
    world.step(1000)
    np.testing.assert_allclose(robot.link('body').wc, at, atol=1e-9)
    # moments about the joint: weight at 0.2 m, ground at 0.5 m, friction at 0.1 m
    push = world.contacts.force_on(robot.link('body'))
    moment = np.cross((0.5, 0.0, -0.1), push)
    np.testing.assert_allclose(moment, (0.0, -2.0 * G * 0.2, 0.0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        robot.joint('ball').reaction[0] + push, (0.0, 0.0, 2.0 * G), rtol=1e-9, atol=1e-9
    )


def test_body_on_a_ball_falls_asleep_and_wakes():
    """Lie on the ground to the last bit, until something pushes it."""
    world = sb.World(sleep=True)
    world.add_ground()
    ball = GeometryDescription('sphere', (0.1,), Pose(np.array([0.5, 0.0, 0.0]), np.eye(3)))
    body = link('body', 2.0, (0.2, 0.0, 0.0), (0.02, 0.04, 0.04), collisions=(ball,))
    origin = Pose(np.array([0.0, 0.0, 0.1]), np.eye(3))
    robot = world.add_robot(
        describe([link('world', 0.0), body], [joint('ball', 'ball', origin=origin)])
    )
    world.step(200)
    assert robot.is_asleep
    kept = robot.joint('ball').q.copy()
    world.step(100)
    np.testing.assert_array_equal(robot.joint('ball').q, kept)
    robot.joint('ball').u = [0.0, -20.0, 0.0]
    world.step(50)
    assert not robot.is_asleep
    assert robot.link('body').wc[2] > 0.11


def test_values_that_are_not_finite_are_named():
    """Keep the state, and name the joint."""
    robot = on_ball()
    robot.joint('ball').q[0] = math.nan
    with pytest.raises(SimulationError, match="q.*joint 'ball'"):
        robot.world.step()


def test_rerun_gives_the_same_bits():
    """Repeat to the last bit, also from a snapshot."""
    hashes = []
    for _ in range(2):
        world = sb.World()
        chain(world, 3, dynamics=JointDynamics(damping=0.01))
        world.step(100)
        snapshot = world.save()
        world.step(200)
        hashes.append(world.state_hash())
        world.restore(snapshot)
        world.step(200)
        hashes.append(world.state_hash())
    assert len(set(hashes)) == 1


def test_values_of_a_ball_are_checked():
    """Refuse parameters that no ball joint has, naming the joint."""
    ball = on_ball().joint('ball')
    ball.q = [0.0, 0.0, 0.0, 5.0]
    assert np.array_equal(ball.q, [0.0, 0.0, 0.0, 1.0])
    for wrong in ([0.0] * 4, [1.0] * 3, 1.0, [math.nan] * 4):
        with pytest.raises(InvalidValueError, match="joint 'ball'"):
            ball.q = wrong
    with pytest.raises(StateError, match='ball'):
        ball.friction = 1.0
    with pytest.raises(StateError, match='ball'):
        _ = ball.lower
    assert ball.axes == ()
    for parts in ({'limits': JointLimits(-1.0, 1.0)}, {'dynamics': JointDynamics(friction=1.0)}):
        with pytest.raises(InvalidValueError, match="joint 'ball'"):
            on_ball(**parts)


def test_ball_can_be_mounted_in_the_world():
    """Swing like the same body on a ball joint in its own robot."""
    body = link('body', 1.0, (0.0, 0.0, -1.0), (0.02, 0.03, 0.01))
    world = sb.World()
    robot = mount_body(world, body, joint('hook', 'ball', axis=X))
    other = on_ball(world)
    velocities = robot.slot.part.state.v[robot.slot.part.at.v : robot.slot.part.at.v + 3]
    velocities[:] = [1.0, 2.0, 3.0]
    other.joint('ball').dq = [1.0, 2.0, 3.0]
    world.step(500)
    np.testing.assert_allclose(robot.link('body').wc, other.link('body').wc, atol=1e-14)
