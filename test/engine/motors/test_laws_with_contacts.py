"""
Laws of joints around contacts: every motor, friction and stop obeys its law in every step.

The law of each element relates its effort to the joint's velocity at the end of the step; both are
read after the step. Pivots around contacts alone used to cycle in these scenes.
"""

from __future__ import annotations

from contact_worlds import hinged_walker
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb

H = 1e-3
SLACK = 1e-6  # rad/s, of velocities and of what efforts change them by
OF_TURNING = 1e-4  # rad/s, by which an axis between two bodies turns on within half a step


def thrown(seed, **options):
    """Return a world with a quadruped that falls onto the ground while its joints turn."""
    world = sb.World(time_step=H, **options)
    world.add_ground()
    body = world.load_urdf(path_of('quadruped'), position=(0.0, 0.0, 0.5))
    body.set_base_velocity((1.0, 0.5, -4.0))
    body.dq = 3.0 * np.random.default_rng(seed).normal(size=len(body.dq))
    return world, body


def is_between(effort, least, most):
    """Return whether an effort is within bounds, to rounding of them."""
    slack = 1e-9 * (1.0 + abs(least) + abs(most))
    return least - slack <= effort <= most + slack


def check_motor(axis, most, slack=SLACK):
    """Find a hard motor at its bound on the right side of its target, or at the target."""
    beyond = axis.dq - axis.target_velocity
    assert is_between(axis.motor_effort, -most, most)
    if beyond > slack:
        assert axis.motor_effort == pytest.approx(-most, rel=1e-9)
    elif beyond < -slack:
        assert axis.motor_effort == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize('budget', [None, 500_000])
@pytest.mark.parametrize('most', [5.0, 20.0, 24.0])
def test_weak_motors_obey_their_bounds(most, budget):
    """Push with all that a motor can while its joint is not at its velocity."""
    world, body = thrown(1, step_budget=budget)
    axes = [body.joint(name) for name in body.joint_names]
    for axis in axes:
        axis.control, axis.max_effort = 'velocity', most
    unsolved, touched = 0, 0
    for step in range(300):
        body.command_velocity(np.full(len(axes), np.sin(5.0 * step * H)))
        world.step()
        touched += world.contacts.forces.any()
        if not world.report.converged:
            unsolved += 1
            continue
        for axis in axes:
            check_motor(axis, most)
    assert touched > 100
    assert unsolved <= 3


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_friction_and_stops_hold_while_a_robot_tumbles(solver):
    """Brake what slides by all of its friction, and let no joint leave its range."""
    world, body = thrown(2, solver=solver)
    axes = [body.joint(name) for name in body.joint_names]
    for axis in axes:
        axis.friction = 4.0
        axis.lower, axis.upper = axis.q - 0.3, axis.q + 0.3
    stuck = 0
    for _ in range(400):
        world.step()
        for axis in axes:
            friction = axis.friction_effort
            assert is_between(friction, -4.0, 4.0)
            if abs(axis.dq) > SLACK and world.report.converged:
                assert friction == pytest.approx(-np.sign(axis.dq) * 4.0, rel=1e-9)
            stuck += axis.dq == 0.0
            assert axis.lower - 1e-9 <= axis.q <= axis.upper + 1e-9
    assert stuck > 100


def test_clamped_servos_are_springs_within_their_bounds():
    """Stay within max_effort, and where it does not reach it pull towards the target."""
    world, body = thrown(3)
    axes = [body.joint(name) for name in body.joint_names]
    start = body.q.copy()
    for axis in axes:
        axis.control, axis.kp, axis.kd, axis.max_effort = 'servo', 2000.0, 20.0, 15.0
    clamped = 0
    for step in range(300):
        body.command_position(start + 0.3 * np.sin(8.0 * step * H))
        world.step()
        for axis in axes:
            assert is_between(axis.motor_effort, -15.0, 15.0)
            clamped += abs(axis.motor_effort) > 15.0 - 1e-9
    assert clamped > 100
    assert world.report.penetration < 1e-4


def test_energy_of_a_limp_robot_only_falls():
    """Take away energy by friction, stops and contacts, however the laws are solved."""
    world, body = thrown(4)
    for name in body.joint_names:
        axis = body.joint(name)
        axis.friction = 2.0
        axis.lower, axis.upper = axis.q - 0.5, axis.q + 0.5
    before = world.energy().total
    for _ in range(60):
        world.step(10)
        now = world.energy().total
        assert now <= before + 1e-6 * abs(before)
        before = now


def test_two_islands_and_a_robot_in_the_air_are_solved_apart():
    """Move as alone, though others' laws are solved with their contacts in the same step."""
    alone, first = thrown(1)
    both, second = thrown(1)
    other = both.load_urdf(path_of('quadruped'), name='other', position=(5.0, 0.0, 0.4))
    high = both.load_urdf(path_of('quadruped'), name='high', position=(0.0, 5.0, 9.0))
    high.dq = np.random.default_rng(5).normal(size=len(high.dq))
    for body in (first, second, other, high):
        for name in body.joint_names:
            axis = body.joint(name)
            axis.control, axis.max_effort = 'velocity', 20.0
    for _ in range(150):
        alone.step()
        both.step()
        np.testing.assert_allclose(second.q, first.q, atol=1e-7)


# --- axes of joints that close loops -------------------------------------------------------------


def check_friction(axis, most):
    """Brake what slides by all of its friction."""
    assert is_between(axis.friction_effort, -most, most)
    if abs(axis.dq) > OF_TURNING:
        assert axis.friction_effort == pytest.approx(-np.sign(axis.dq) * most, rel=1e-9)


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize('control', ['effort', 'velocity', 'servo'])
def test_axes_of_constraints_obey_their_laws(control, solver):
    """Obey every law in every step, whether pivots or the contacts' solver found it."""
    world, hinges = hinged_walker(False, solver=solver, step_budget=None)
    rng = np.random.default_rng(1)
    unsolved, pivoted, stopped, fastest = 0, 0, 0, 0.0
    for hinge in hinges:
        hinge.control, hinge.max_effort, hinge.kp, hinge.kd = control, 20.0, 300.0, 5.0
    for step in range(600):
        if step % 150 == 0 and control != 'effort':
            for hinge in hinges:
                if control == 'velocity':
                    hinge.target_velocity = rng.uniform(-4.0, 4.0)
                else:
                    hinge.target_position = rng.uniform(-0.8, 0.8)
        hinges[0].link1.add_force((300.0 * np.sin(0.05 * step), 200.0 * np.cos(0.03 * step), 0.0))
        world.step()
        pivoted += world.report.pivots >= 4
        if not world.report.converged:
            unsolved += 1
            continue
        for hinge in hinges:
            check_friction(hinge, 0.5)
            if control == 'velocity':
                check_motor(hinge, 20.0, OF_TURNING)
            else:
                assert is_between(hinge.motor_effort, -20.0, 20.0)
            # the way of half a step, at whose end the stop takes the velocity
            fastest = max(fastest, abs(hinge.dq))
            assert abs(hinge.q) <= 0.4 + 0.5 * H * fastest + 1e-9
            stopped += abs(hinge.q) > 0.4 - 1e-9
            assert max(hinge.error) < 1e-7
    assert pivoted > 4
    assert unsolved <= 3
    assert stopped > 10


@pytest.mark.parametrize('solver', ['direct', 'iterative'])
def test_constraints_move_a_robot_as_joints_do(solver):
    """Fall and come to rest as a tree of the same joints."""
    (joined, _), (tied, hinges) = (hinged_walker(tree, solver=solver) for tree in (True, False))
    assert not hinges[0].is_tree
    for _ in range(30):
        joined.step(10)
        tied.step(10)
        for first, second in zip(joined.geometries, tied.geometries, strict=True):
            np.testing.assert_allclose(first.link.p, second.link.p, atol=1e-3)


def test_friction_of_axes_holds_from_step_to_step():
    """Take a step of what rests without pivots, and keep it where it is."""
    world, hinges = hinged_walker(False)
    world.step(2500)
    start = [hinge.q for hinge in hinges]
    for _ in range(100):
        world.step()
        assert world.report.pivots == 0
    np.testing.assert_allclose([hinge.q for hinge in hinges], start, atol=1e-12)
