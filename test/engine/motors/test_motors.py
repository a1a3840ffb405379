"""Hard motors, by velocity and by position, against closed forms."""

from __future__ import annotations

import math

from carts import cart, FRICTION, LIMIT, load
from contact_worlds import G
import numpy as np
import pytest
from robots import double_pendulum, joint, link, pendulum, robot, rotor

import sim_bridge as sb


def acted(body, axis, before):
    """Return the effort that changed the cart's velocity last step, and the sum of its parts."""
    parts = axis.u + axis.motor_effort + axis.friction_effort + axis.stop_effort
    return 2.0 * (body.dq[0] - before) / body.world.time_step, parts


# --- velocity control ----------------------------------------------------------------------------


def test_motor_that_is_strong_enough_keeps_its_velocity_to_the_last_bit():
    """Move a loaded joint at the target velocity from the first step, at the required effort."""
    world, bob, axis = load(pendulum(mass=3.0, length=0.5))
    axis.control, axis.target_velocity = 'velocity', 0.7
    for _ in range(2000):
        world.step()
        assert bob.dq[0] == 0.7
        assert bob.ddq[0] == pytest.approx(0.0, abs=1e-9) or world.step_count == 1
    middle = bob.q[0] - 0.5e-3 * 0.7
    assert axis.motor_effort == pytest.approx(3.0 * G * 0.5 * math.sin(middle), rel=1e-9)


def test_saturated_motor_accelerates_by_the_closed_form():
    """Gain v = (F - load) t / m, exactly, then keep the target; lose speed to a greater load."""
    world, body, axis = cart()
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 5.0
    body.u = [-1.0]
    assert body.ddq[0] == pytest.approx(2.0, rel=1e-12)
    world.step(250)
    assert body.dq[0] == pytest.approx(2.0 * 0.25, rel=1e-12)
    assert body.q[0] == pytest.approx(0.5 * 2.0 * 0.25**2, rel=1e-12)
    assert axis.motor_effort == 5.0
    world.step(500)
    assert body.dq[0] == 1.0
    assert axis.motor_effort == pytest.approx(1.0, rel=1e-12)
    assert body.ddq[0] == 0.0
    body.u = [-9.0]
    assert body.ddq[0] == pytest.approx(-2.0, rel=1e-12)
    world.step(1000)
    # driven back at full strength
    assert body.dq[0] == pytest.approx(1.0 - 2.0, rel=1e-9)
    assert axis.motor_effort == 5.0


def test_motor_brakes_both_ways():
    """Slow down by F t / m on top of the target, from either side."""
    for start in (3.0, -1.0):
        world, body, axis = cart()
        axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 4.0
        body.dq = [start]
        world.step(500)
        sign = math.copysign(1.0, start - 1.0)
        assert body.dq[0] == pytest.approx(start - sign * 2.0 * 0.5, rel=1e-12)
        assert axis.motor_effort == -4.0 * sign


@pytest.mark.parametrize(
    ('strength', 'expected'),
    [(1.9, (0.0, 1.9, -1.9)), (5.0, (1.0, 2.0, -2.0)), (2.0, (0.0, 2.0, -2.0))],
)
def test_friction_and_motor_are_two_kinks_of_one_law(strength, expected):
    """Stick if the motor is weaker than friction, else reach the target and overcome friction."""
    world, body, axis = cart(friction=2.0)
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, strength
    world.step(3000)
    assert (body.dq[0], axis.motor_effort, axis.friction_effort) == pytest.approx(expected)


def test_back_driven_motor_with_friction_loses_to_the_sum():
    """Creep back under a load greater than motor and friction: a = (load - F - f) / m."""
    world, body, axis = cart(friction=2.0)
    axis.control, axis.max_effort = 'velocity', 3.0
    body.u = [-6.0]
    world.step(1000)
    assert body.dq[0] == pytest.approx(-0.5, rel=1e-9)
    assert (axis.motor_effort, axis.friction_effort) == (3.0, 2.0)
    body.u = [-4.9]
    world.step(20000)
    assert body.dq[0] == 0.0
    # friction takes its full share, the motor the rest
    assert axis.friction_effort == pytest.approx(2.0)
    assert axis.motor_effort == pytest.approx(2.9)
    assert body.ddq[0] == 0.0


def test_motor_against_a_stop_gives_its_strength_and_the_stop_the_rest():
    """Split exactly, without any overshoot; leave the stop at once on command."""
    world, body, axis = cart(upper=0.3)
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 7.0
    body.u = [3.0]
    world.step(2000)
    assert (body.q[0], body.dq[0], body.ddq[0]) == (0.3, 0.0, 0.0)
    assert (axis.motor_effort, axis.stop_effort) == (7.0, pytest.approx(-10.0, rel=1e-12))
    axis.target_velocity = -0.5
    world.step()
    assert body.dq[0] == pytest.approx(-4.0 / 2.0 * 1e-3, rel=1e-12)
    assert (axis.motor_effort, axis.stop_effort) == (-7.0, 0.0)


def test_motor_at_rest_at_a_stop_leaves_the_load_to_the_stop():
    """Assign effort to the motor last if stop, motor and friction could all hold the joint."""
    world, body, axis = cart(upper=0.3, friction=1.0)
    body.q = [0.3]
    axis.control, axis.max_effort = 'velocity', 7.0
    body.u = [3.0]
    world.step(10)
    assert (axis.motor_effort, axis.friction_effort) == (0.0, -1.0)
    assert axis.stop_effort == pytest.approx(-2.0)
    body.u = [-3.0]
    world.step(10)
    assert (axis.friction_effort, axis.stop_effort) == (1.0, 0.0)
    assert axis.motor_effort == pytest.approx(2.0)
    assert body.dq[0] == 0.0


def test_unbounded_motor_ends_at_the_stop():
    """Neither pass the stop nor use an infinite effort."""
    world, body, axis = cart(effort=math.inf, upper=0.3)
    axis.control, axis.target_velocity = 'velocity', 50.0
    world.step(100)
    assert (body.q[0], body.dq[0]) == (0.3, 0.0)
    body.u = [5.0]
    world.step()
    assert (axis.motor_effort, axis.stop_effort) == (0.0, pytest.approx(-5.0))


def test_command_and_motor_keep_to_the_effort_limit_together():
    """Leave the motor the range unused by the command."""
    world, body, axis = cart(effort=10.0)
    axis.control, axis.target_velocity = 'velocity', 100.0
    body.u = [4.0]
    world.step()
    assert axis.motor_effort == 6.0
    axis.target_velocity = -100.0
    world.step()
    assert axis.motor_effort == -14.0
    axis.max_effort = 3.0
    world.step()
    assert axis.motor_effort == -3.0


def test_every_part_of_the_effort_is_accounted_for():
    """Match each step's momentum change, through stops, friction and both controls."""
    rng = np.random.default_rng(7)
    world, body, axis = cart(friction=1.5, lower=-0.05, upper=0.08)
    axis.max_effort, axis.kp, axis.kd = 6.0, 300.0, 8.0
    for _ in range(200):
        axis.control = ('effort', 'velocity', 'position', 'servo')[rng.integers(4)]
        body.u = [rng.normal(scale=4.0)]
        if axis.control != 'effort':
            axis.target_velocity = rng.choice([0.0, rng.normal()])
        if axis.control in ('position', 'servo'):
            axis.target_position = rng.normal(scale=0.1)
        for _ in range(20):
            before = body.dq[0]
            world.step()
            assert world.report.converged
            change, parts = acted(body, axis, before)
            assert parts == pytest.approx(change, abs=1e-9)
            assert abs(axis.motor_effort) <= 6.0 + 1e-9
            assert abs(axis.friction_effort) <= 1.5 + 1e-9
            assert axis.friction_effort * body.dq[0] <= 0.0
            assert -0.05 <= body.q[0] <= 0.08


def test_laws_of_a_whole_arm_hold_in_every_step():
    """Drive seven joints by hard motors with friction and stops: every joint obeys its law."""
    rng = np.random.default_rng(5)
    links, joints, parent = [link('world', 0.0)], [], 'world'
    for k in range(7):
        links.append(link(f'l{k}', 1.5, (0, 0, 0.1), (0.02, 0.02, 0.01)))
        axis = (0, 1, 0) if k % 2 else (0, 0, 1)
        laws = LIMIT.format(-0.2, 0.2, 1e4, 10) + FRICTION.format(0.3 * (k + 1))
        joints.append(joint(f'j{k}', parent, f'l{k}', 'revolute', axis, (0, 0, 0.2), inside=laws))
        parent = f'l{k}'
    world = sb.World()
    arm = world.load_urdf(robot(*links, *joints))
    axes = [arm.joint(name) for name in arm.joint_names]
    friction, strength = 0.3 * np.arange(1, 8), np.array([30, 30, 9, 9, 2, 2, 1.0])
    for axis, most in zip(axes, strength, strict=True):
        axis.control, axis.max_effort = 'velocity', most
    counts = np.zeros(4, int)
    for _ in range(150):
        targets = 5.0 * rng.normal(size=7) * rng.integers(2, size=7)
        arm.command_velocity(targets)
        for _ in range(20):
            world.step()
            assert world.report.converged
            for k, axis in enumerate(axes):
                v, slack = arm.dq[k], 1e-9 * (1.0 + strength[k])
                if v == targets[k]:
                    assert abs(axis.motor_effort) <= strength[k] + slack
                    counts[0] += 1
                else:
                    assert axis.motor_effort == math.copysign(strength[k], targets[k] - v)
                    counts[1] += 1
                if v == 0.0:
                    assert abs(axis.friction_effort) <= friction[k] + slack
                    counts[2] += 1
                else:
                    assert axis.friction_effort == pytest.approx(-math.copysign(friction[k], v))
                if axis.stop_effort != 0.0:
                    assert abs(arm.q[k]) == 0.2
                    assert axis.stop_effort * arm.q[k] < 0.0
                    counts[3] += 1
    assert (counts > 100).all()


# --- position control ----------------------------------------------------------------------------


def test_position_is_reached_in_two_steps_and_kept_without_ringing():
    """Arrive to the last bit and stay, against gravity."""
    world, bob, axis = load(pendulum(mass=3.0, length=0.5))
    axis.control, axis.target_position = 'position', 0.9
    world.step(2)
    assert bob.q[0] == pytest.approx(0.9, abs=1e-15)
    world.step(3)
    for _ in range(100):
        world.step()
        assert bob.q[0] == pytest.approx(0.9, abs=1e-15)
        assert bob.dq[0] == 0.0
    assert axis.motor_effort == pytest.approx(3.0 * G * 0.5 * math.sin(0.9), rel=1e-9)
    assert bob.ddq[0] == 0.0


def test_position_control_keeps_to_the_velocity_limit_and_effort_control_does_not():
    """Go to the target at the limit; exceed it when pushed."""
    world, body, axis = cart(velocity=2.0)
    axis.control, axis.target_position = 'position', 1.0
    world.step(250)
    assert body.dq[0] == 2.0
    world.step(300)
    assert (body.q[0], body.dq[0]) == (pytest.approx(1.0, abs=1e-15), 0.0)
    axis.velocity_limit = 0.5
    axis.target_position = 0.0
    world.step(10)
    assert body.dq[0] == -0.5
    axis.control = 'effort'
    body.u = [20.0]
    world.step(1000)
    assert body.dq[0] == pytest.approx(-0.5 + 10.0, rel=1e-9)


def test_sine_is_tracked_with_its_velocity():
    """Match the target at the end of each step, except for third-order errors."""
    errors = []
    for h in (2e-3, 1e-3):
        world, bob, axis = load(pendulum(mass=3.0, length=0.5), time_step=h)
        axis.control = 'position'
        worst = 0.0
        for k in range(1, round(3.0 / h)):
            bob.command_position([math.sin(k * h) - k * h], velocities=[math.cos(k * h) - 1.0])
            world.step()
            worst = max(worst, abs(bob.q[0] - math.sin(k * h) + k * h))
        errors.append(worst)
    assert errors[1] < 1e-9
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.05)


def test_turns_are_counted():
    """Go to targets, and stop at limits, several turns away."""
    limit = LIMIT.format(-30, 40, 1e9, 100)
    world, body, axis = load(rotor(kind='revolute', inside=limit))
    axis.control, axis.target_position = 'position', 8 * math.pi
    world.step(1000)
    assert body.q[0] == pytest.approx(8 * math.pi, rel=1e-15)
    axis.max_effort = 50.0
    axis.target_position = 100.0
    world.step(3000)
    assert (body.q[0], axis.motor_effort) == (40.0, 50.0)
    axis.control, axis.kp, axis.kd = 'servo', 200.0, 20.0
    axis.target_position = -9 * math.pi
    world.step(20000)
    assert body.q[0] == pytest.approx(-9 * math.pi, rel=1e-9)


def test_coupled_arm_follows_a_trajectory_by_position_control():
    """Keep every joint of a heavy arm on its trajectory, despite the other joints."""
    world = sb.World()
    arm = world.load_urdf(double_pendulum())
    for axis in arm.joints:
        axis.control = 'position'
    for k in range(1, 1000):
        t = k * 1e-3
        arm.command_position(
            [math.sin(3 * t), 1 - math.cos(5 * t)],
            velocities=[3 * math.cos(3 * t), 5 * math.sin(5 * t)],
        )
        world.step()
        if k > 10:
            assert arm.q == pytest.approx([math.sin(3 * t), 1 - math.cos(5 * t)], abs=2e-7)


@pytest.mark.parametrize('integrator', ['midpoint', 'momentum', 'rk5'])
def test_integrators_know_motors(integrator):
    """Behave the same under either integrator while a motor is on."""
    world, body, axis = cart(integrator=integrator)
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 5.0
    world.step(100)
    assert body.dq[0] == pytest.approx(0.25, rel=1e-12)
    axis.control = 'effort'
    world.step(10)
    assert axis.motor_effort == 0.0
    assert body.dq[0] == pytest.approx(0.25, rel=1e-12)


def test_held_joint_does_without_its_motor():
    """Let the hold exert all effort, and the motor continue afterwards."""
    world, bob, axis = load(pendulum(mass=3.0, length=0.5))
    bob.q = [1.0]
    axis.control, axis.target_position = 'position', 0.2
    bob.hold = True
    world.step(10)
    assert (bob.q[0], axis.motor_effort) == (1.0, 0.0)
    assert axis.stop_effort == pytest.approx(3.0 * G * 0.5 * math.sin(1.0), rel=1e-9)
    bob.hold = False
    world.step(3)
    assert bob.q[0] == pytest.approx(0.2)


def test_motor_of_a_followed_joint_moves_both():
    """Feel the follower's load through the law."""
    law = '<mimic joint="first" multiplier="-2" offset="0.1"/>'
    world = sb.World()
    pair = world.load_urdf(
        robot(
            link('world', 0.0),
            link('a', 1.0, inertia=(0.1, 0.1, 0.1)),
            link('b', 1.0, inertia=(0.4, 0.4, 0.4)),
            joint('first', 'world', 'a'),
            joint('second', 'world', 'b', xyz=(1, 0, 0), inside=law),
        )
    )
    axis = pair.joint('first')
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 0.5, 3.0
    world.step(100)
    assert pair.dq == pytest.approx(np.array([1.0, -2.0]) * 3.0 / 1.7 * 0.1, rel=1e-9)
    world.step(1000)
    assert pair.dq[0] == 0.5
    assert pair.dq[1] == pytest.approx(-1.0, rel=1e-12)
