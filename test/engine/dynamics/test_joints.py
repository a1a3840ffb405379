"""
Motion of single joints, against closed forms.

Under efforts, damping, springs, friction, stops, mimic laws and holds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import joint, link, pendulum, robot, rotor

import sim_bridge as sb

LIMIT = '<limit lower="{}" upper="{}" effort="{}" velocity="10"/>'


def load(xml, **options):
    """Return a world with one robot."""
    world = sb.World(**options)
    return world, world.load_urdf(xml)


def test_effort_accelerates():
    """Reach alpha t and alpha t²/2 exactly under a constant torque."""
    world, body = load(rotor(inertia=0.5))
    body.u = [2.0]
    world.step(1000)
    assert body.dq[0] == pytest.approx(4.0, rel=1e-12)
    assert body.q[0] == pytest.approx(2.0, rel=1e-12)


def test_armature_adds_to_inertia():
    """Accelerate by inertia plus armature."""
    world, body = load(rotor(inertia=0.5))
    body.joint('joint').armature = 0.3
    body.u = [2.0]
    assert body.ddq[0] == pytest.approx(2.0 / 0.8, rel=1e-12)
    world.step(1000)
    assert body.dq[0] == pytest.approx(2.0 / 0.8, rel=1e-12)


@pytest.mark.parametrize('damping', [0.1, 10.0, 1e3])
def test_damping_decays_exponentially(damping):
    """Follow exp(-d t / I), to third order in the step."""
    world, body = load(rotor(inertia=0.5))
    body.joint('joint').damping = damping
    body.dq = [3.0]
    steps = 20
    world.step(steps)
    x = damping * 1e-3 / 0.5
    assert body.dq[0] == pytest.approx(3.0 * math.exp(-x * steps), rel=steps * x**4, abs=1e-6)


def test_enormous_damping_neither_rings_nor_explodes():
    """Bring the joint to rest without overshooting by more than a tenth."""
    world, body = load(rotor(inertia=0.5))
    body.joint('joint').damping = 1e9
    body.dq = [3.0]
    velocities = []
    for _ in range(10):
        world.step()
        velocities.append(abs(body.dq[0]))
    assert velocities[0] < 0.3
    assert velocities[-1] < 1e-6


def test_damped_joint_reaches_the_terminal_velocity():
    """Settle at u / d."""
    world, body = load(rotor(inertia=0.5))
    body.joint('joint').damping = 4.0
    body.u = [2.0]
    world.step(5000)
    assert body.dq[0] == pytest.approx(0.5, rel=1e-12)


def test_spring_oscillates_at_its_frequency_and_keeps_its_energy():
    """Match cos(w t) to second order, and keep the energy over fifty thousand steps."""
    world, body = load(rotor(inertia=0.5))
    spring = body.joint('joint')
    spring.stiffness, spring.reference = 50.0, 0.2
    w = math.sqrt(50.0 / 0.5)
    body.q = [0.7]
    start = world.energy().total
    assert start == pytest.approx(0.5 * 50.0 * 0.5**2, rel=1e-12)
    world.step(500)
    assert body.q[0] == pytest.approx(0.2 + 0.5 * math.cos(w * 0.5), abs=1e-4)
    world.step(50_000)
    assert world.energy().total == pytest.approx(start, rel=1e-4)


def test_stiff_spring_stays_bounded():
    """Keep a spring with a period far below the step from gaining energy."""
    world, body = load(rotor(inertia=0.5))
    body.joint('joint').stiffness = 1e9
    body.q = [0.1]
    start = world.energy().total
    for _ in range(100):
        world.step(10)
        assert world.energy().total <= start * 1.001


def test_friction_stops_the_joint_after_the_closed_form_time():
    """Decelerate at friction / I, then rest for good."""
    world, body = load(rotor(inertia=0.5, inside='<dynamics friction="2.0"/>'))
    body.dq = [1.0]
    world.step(100)
    assert body.dq[0] == pytest.approx(1.0 - 4.0 * 0.1, rel=1e-12)
    world.step(200)
    assert body.dq[0] == 0.0
    assert body.q[0] == pytest.approx(1.0 / (2 * 4.0), abs=1e-3)
    at_rest = body.q[0]
    world.step(1000)
    assert body.q[0] == at_rest


def test_friction_holds_up_to_its_limit():
    """Stay in place to the last bit below the friction; move with the excess above it."""
    world, body = load(rotor(inertia=0.5, inside='<dynamics friction="2.0"/>'))
    body.u = [1.999]
    world.step(1000)
    assert body.q[0] == 0.0
    assert body.ddq[0] == 0.0
    body.u = [-2.5]
    world.step(100)
    assert body.dq[0] == pytest.approx(-0.5 / 0.5 * 0.1, rel=1e-12)
    assert body.ddq[0] == pytest.approx(-1.0, rel=1e-12)


def test_stop_holds_exactly():
    """Rest at the limit to the last bit while pushed against it, without acceleration."""
    world, body = load(rotor(kind='prismatic', inside=LIMIT.format(-0.2, 0.3, 1000)))
    body.u = [50.0]
    world.step(1000)
    assert body.q[0] == 0.3
    assert body.dq[0] == 0.0
    assert body.ddq[0] == 0.0
    body.u = [-50.0]
    world.step(1000)
    assert body.q[0] == -0.2
    assert body.dq[0] == 0.0


def test_stop_is_never_passed_and_lets_go():
    """Stay within the limits at every step of a fast approach; leave the stop when pulled."""
    world, body = load(rotor(kind='prismatic', inside=LIMIT.format(-0.2, 0.3, 1000)))
    body.dq = [7.3]
    for _ in range(100):
        world.step()
        assert body.q[0] <= 0.3
    assert body.q[0] == 0.3
    body.u = [-2.0]
    world.step()
    assert body.dq[0] == pytest.approx(-1e-3, rel=1e-12)


def test_stop_takes_back_an_excess_without_throwing_the_joint():
    """Return from outside the limits and rest there."""
    world, body = load(rotor(kind='prismatic', inside=LIMIT.format(-0.2, 0.3, 1000)))
    body.q = [0.5]
    fastest = 0.0
    for _ in range(200):
        world.step()
        fastest = max(fastest, abs(body.dq[0]))
    assert fastest == 0.0
    assert body.q[0] == pytest.approx(0.3, abs=1e-12)


def test_stops_and_friction_of_a_whole_arm_agree_with_the_complementarity_conditions():
    """Throw a seven-joint arm: every step ends with each joint's law satisfied."""
    rng = np.random.default_rng(5)
    links, joints = [link('world', 0.0)], []
    parent = 'world'
    for k in range(7):
        links.append(link(f'l{k}', 1.5, (0, 0, 0.1), (0.02, 0.02, 0.01)))
        axis = (0, 1, 0) if k % 2 else (0, 0, 1)
        laws = LIMIT.format(-0.5, 0.5, 1e4) + f'<dynamics friction="{0.5 * (k + 1)}"/>'
        joints.append(joint(f'j{k}', parent, f'l{k}', 'revolute', axis, (0, 0, 0.2), inside=laws))
        parent = f'l{k}'
    world, arm = load(robot(*links, *joints))
    friction = 0.5 * np.arange(1, 8)
    touched, stuck = 0, 0
    for _ in range(300):
        arm.u = rng.normal(scale=30.0, size=7)
        for _ in range(10):
            world.step()
            assert world.report.converged
            force = world.state.force
            assert np.all(np.abs(arm.q) <= 0.5)
            for k in range(7):
                at_upper, at_lower = arm.q[k] == 0.5, arm.q[k] == -0.5
                if arm.dq[k] == 0.0 and not (at_upper or at_lower):
                    assert abs(force[k]) <= friction[k] * (1 + 1e-9)
                    stuck += 1
                elif at_upper and arm.dq[k] == 0.0:
                    assert force[k] <= friction[k] * (1 + 1e-9)
                    touched += 1
                elif at_lower and arm.dq[k] == 0.0:
                    assert force[k] >= -friction[k] * (1 + 1e-9)
                    touched += 1
            assert np.all(np.isfinite(arm.dq))
    assert touched > 100
    assert stuck > 100


def test_effort_is_clamped_to_the_limit_and_reads_back():
    """Apply no more than the limit, and report it."""
    world, body = load(rotor(inertia=0.5, kind='prismatic', inside=LIMIT.format(-9, 9, 5)))
    body.u = [80.0]
    world.step(10)
    assert body.u[0] == 5.0
    assert body.dq[0] == pytest.approx(5.0 / 2.0 * 0.01, rel=1e-12)


def gripper(offset=0.1, ratio=-2.0):
    """Return a robot with two fingers; the second follows the first."""
    law = f'<mimic joint="first" multiplier="{ratio}" offset="{offset}"/>'
    return robot(
        link('world', 0.0),
        link('a', 1.0, inertia=(0.1, 0.1, 0.1)),
        link('b', 1.0, inertia=(0.4, 0.4, 0.4)),
        joint('first', 'world', 'a', 'revolute', inside=LIMIT.format(-3, 3, 100)),
        joint(
            'second',
            'world',
            'b',
            'revolute',
            xyz=(1, 0, 0),
            inside=LIMIT.format(-9, 9, 100) + law,
        ),
    )


def test_mimic_joint_follows_to_the_last_bit_and_feels_the_other():
    """Accelerate both fingers with the reduced inertia I1 + r² I2, by efforts on either."""
    world, body = load(gripper())
    assert body.q[1] == 0.1
    body.u = [3.0, 0.0]
    reduced = 0.1 + 4.0 * 0.4
    assert body.ddq[0] == pytest.approx(3.0 / reduced, rel=1e-12)
    world.step(200)
    assert body.dq[0] == pytest.approx(3.0 / reduced * 0.2, rel=1e-12)
    assert body.dq[1] == pytest.approx(-2.0 * body.dq[0], rel=1e-12)
    assert body.q[1] == -2.0 * body.q[0] + 0.1
    body.u = [0.0, 1.0]
    assert body.ddq[0] == pytest.approx(-2.0 / reduced, rel=1e-12)


def test_mimic_joint_stops_where_either_joint_stops():
    """Stop the pair at the following joint's limit."""
    world, body = load(gripper(offset=0.0, ratio=4.0))
    body.u = [5.0, 0.0]
    world.step(3000)
    assert body.q[0] == pytest.approx(9.0 / 4.0, abs=1e-12)
    assert body.q[1] == pytest.approx(9.0, abs=1e-12)
    assert np.all(body.dq == 0.0)


def test_hold_locks_every_joint_exactly():
    """Hold an arm in the air without joint efforts; let it fall when released."""
    world, bob = load(pendulum(mass=3.0, length=0.5))
    bob.q = [1.0]
    bob.hold = True
    assert bob.ddq[0] == 0.0
    world.step(1000)
    assert bob.q[0] == 1.0
    assert world.state.force[0] == pytest.approx(3.0 * 9.81 * 0.5 * math.sin(1.0), rel=1e-9)
    bob.hold = False
    world.step()
    assert bob.dq[0] < 0.0


def test_hold_is_each_robots_own():
    """Report and lock the joints of one robot while others come and go."""
    world, first = load(pendulum())
    second = world.load_urdf(pendulum(), name='second')
    second.hold = True
    assert (first.hold, second.hold) == (False, True)
    world.remove(first)
    assert second.hold
    second.hold = False
    assert not second.hold
    assert not world.state.hold.any()


def test_planar_joint_moves_in_its_plane():
    """Slide and turn freely, keeping the momentum."""
    world, puck = load(
        robot(
            link('world', 0.0),
            link('puck', 2.0, (0.1, 0, 0), (0.1, 0.1, 0.1)),
            joint('slide', 'world', 'puck', 'planar', (0, 0, 1)),
        )
    )
    slide = puck.joint('slide')
    slide.dq = [1.0, -0.5, 2.0]
    before, energy = world.momentum(), world.energy().total
    com = puck.center_of_mass
    world.step(1000)
    after = world.momentum()
    np.testing.assert_allclose(after.linear, before.linear, atol=1e-6)
    assert world.energy().total == pytest.approx(energy, rel=1e-6)
    np.testing.assert_allclose(puck.center_of_mass, com + before.linear / 2.0, atol=1e-6)
    assert slide.q[2] == pytest.approx(2.0, abs=1e-6)


def test_floating_joint_is_a_body_of_its_own():
    """Drop a link on a floating joint from the joint's place, with exactly g."""
    world, ball = load(
        robot(
            link('world', 0.0),
            link('ball', 2.0),
            joint('free', 'world', 'ball', 'floating', xyz=(1, 2, 3)),
        )
    )
    np.testing.assert_array_equal(ball.link('ball').p, (1, 2, 3))
    world.step(1000)
    np.testing.assert_allclose(ball.link('ball').p, (1, 2, 3 - 0.5 * 9.81), rtol=1e-12)
    np.testing.assert_allclose(ball.link('ball').dv, (0, 0, -9.81), rtol=1e-12)
