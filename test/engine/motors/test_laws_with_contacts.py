"""
Joint laws around contacts: every motor, friction and stop obeys its law in every step.

Each element's law relates its effort to the joint's velocity at the end of the step; both are read
after the step. Pivots around contacts alone used to cycle in these scenes.
"""

from __future__ import annotations

from contact_worlds import hinged_walker
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb

H = 1e-3
SLACK = 1e-6  # rad/s, error of velocities, and of the velocities caused by effort errors
OF_TURNING = 1e-4  # rad/s, further rotation of an axis between two bodies within half a step


def thrown(seed, **options):
    """Return a world with a quadruped falling onto the ground while its joints turn."""
    world = sb.World(time_step=H, **options)
    world.add_ground()
    body = world.load_urdf(path_of('quadruped'), position=(0.0, 0.0, 0.5))
    body.set_base_velocity((1.0, 0.5, -4.0))
    body.dq = 3.0 * np.random.default_rng(seed).normal(size=len(body.dq))
    return world, body


def is_between(effort, least, most):
    """Return whether an effort is within bounds, to their rounding."""
    slack = 1e-9 * (1.0 + abs(least) + abs(most))
    return least - slack <= effort <= most + slack


def check_motor(axis, most, slack=SLACK):
    """Require a hard motor at its bound on the right side of its target, or at the target."""
    beyond = axis.dq - axis.target_velocity
    assert is_between(axis.motor_effort, -most, most)
    if beyond > slack:
        assert axis.motor_effort == pytest.approx(-most, rel=1e-9)
    elif beyond < -slack:
        assert axis.motor_effort == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize('budget', [None, 500_000])
@pytest.mark.parametrize('most', [5.0, 20.0, 24.0])
def test_weak_motors_obey_their_bounds(most, budget):
    """Push with the motor's full strength while its joint has not reached its velocity."""
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
    """Brake sliding joints by their full friction, and let no joint leave its range."""
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
    """Stay within max_effort, and pull towards the target below it."""
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
    """Dissipate energy by friction, stops and contacts, with any solution of the laws."""
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
    """Move as if alone, though other laws are solved with their contacts in the same step."""
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
    """Require full friction on sliding axes."""
    assert is_between(axis.friction_effort, -most, most)
    if abs(axis.dq) > OF_TURNING:
        assert axis.friction_effort == pytest.approx(-np.sign(axis.dq) * most, rel=1e-9)


def push_about(trunk, step):
    """Push a walker's trunk around."""
    trunk.add_force((300.0 * np.sin(0.05 * step), 200.0 * np.cos(0.03 * step), 0.0))


def turn_about(hinges, step):
    """Give motors slowly changing, different target velocities."""
    for number, hinge in enumerate(hinges):
        hinge.target_velocity = 3.0 * np.cos(number + 0.02 * step)


# each solver and each control once in the usual tests, all combinations in the long ones
@pytest.mark.parametrize(
    ('control', 'solver'),
    [
        pytest.param(
            control,
            solver,
            marks=pytest.mark.long if (row + column) % 3 else (),
            id=f'{control}-{solver}',
        )
        for row, control in enumerate(['effort', 'velocity', 'servo'])
        for column, solver in enumerate(['direct', 'iterative', 'split'])
    ],
)
def test_axes_of_constraints_obey_their_laws(control, solver):
    """Obey every law in every step, with pivots as well as with the contact solver."""
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
        push_about(hinges[0].link1, step)
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
            # displacement in half a step, at whose end the stop takes the velocity
            fastest = max(fastest, abs(hinge.dq))
            assert abs(hinge.q) <= 0.4 + 0.5 * H * fastest + 1e-9
            stopped += abs(hinge.q) > 0.4 - 1e-9
            assert max(hinge.error) < 1e-7
    assert pivoted > 4
    assert unsolved <= 3
    assert stopped > 10


@pytest.mark.parametrize('solver', ['direct', 'iterative'])
def test_constraints_move_a_robot_as_joints_do(solver):
    """Fall and come to rest like a tree with the same joints."""
    (joined, _), (tied, hinges) = (hinged_walker(tree, solver=solver) for tree in (True, False))
    assert not hinges[0].is_tree
    for _ in range(30):
        joined.step(10)
        tied.step(10)
        for first, second in zip(joined.geometries, tied.geometries, strict=True):
            np.testing.assert_allclose(first.link.p, second.link.p, atol=1e-3)


def test_friction_of_axes_holds_from_step_to_step():
    """Step resting bodies without pivots, and keep them in place."""
    world, hinges = hinged_walker(False)
    world.step(2500)
    start = [hinge.q for hinge in hinges]
    for _ in range(100):
        world.step()
        assert world.report.pivots == 0
    np.testing.assert_allclose([hinge.q for hinge in hinges], start, atol=1e-12)


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize(('least', 'most'), [(-np.inf, 2.0), (-2.0, np.inf)])
def test_motors_with_one_bound(least, most, tree):
    """Continue without a bound in one direction, and stay within the other bound."""
    world, hinges = hinged_walker(tree)
    for hinge in hinges:
        hinge.control, hinge.max_effort, hinge.min_effort = 'velocity', most, least
    pivoted = 0
    for step in range(300):
        turn_about(hinges, step)
        push_about(hinges[0].link1, step)
        world.step()
        pivoted += world.report.pivots >= 4
        if world.report.converged:
            efforts = np.array([hinge.motor_effort for hinge in hinges])
            assert ((least - 1e-9 <= efforts) & (efforts <= most + 1e-9)).all()
    assert pivoted > 0


@pytest.mark.parametrize('tree', [True, False])
def test_joints_locked_by_friction_without_a_bound(tree):
    """Lock hinges by infinite friction, on the walker and elsewhere, as laws join the contacts."""
    world, hinges = hinged_walker(tree)
    boxes = [
        world.add_body([sb.Box((0.1, 0.1, 0.1))], mass=1.0, position=(3.0 + x, 0.0, 5.0))
        for x in (0.0, 0.3)
    ]
    locked = [
        hinges.pop(0),
        world.add_joint('hinge', *boxes, (3.15, 0.0, 5.0), axis=(0.0, 1.0, 0.0), tree=tree),
    ]
    for hinge in locked:
        hinge.friction = np.inf
    for hinge in hinges:
        hinge.control, hinge.max_effort = 'velocity', 20.0
    pivoted = 0
    for step in range(300):
        turn_about(hinges, step)
        push_about(locked[0].link1, step)
        world.step()
        pivoted += world.report.pivots >= 4
        assert max(abs(hinge.q) for hinge in locked) < 1e-9
    assert pivoted > 0


@pytest.mark.parametrize('tree', [True, False])
def test_friction_and_a_motor_that_holds_share_within_their_bounds(tree):
    """Keep friction and motor within their bounds while both hold a joint at rest."""
    world, hinges = hinged_walker(tree)
    for hinge in hinges:
        hinge.control, hinge.max_effort, hinge.target_position = 'position', 50.0, 0.0
        hinge.friction = 5.0
    for _ in range(500):
        world.step()
        if world.report.converged:
            for hinge in hinges:
                assert is_between(hinge.friction_effort, -5.0, 5.0)
                assert is_between(hinge.motor_effort, -50.0, 50.0)


def test_arms_on_the_ground_beside_axes_that_pivot():
    """Move untouched arms as if alone, while axes with bearings pivot around contacts."""
    world, hinges = hinged_walker(False)
    alone = sb.World(time_step=H)
    arms = [
        each.load_urdf(
            path_of('quadruped'), base='fixed', position=(6.0, 0.0, 3.0 * k), name=f'arm{k}'
        )
        for each in (world, alone)
        for k in (1, 2)
    ]
    for hinge in hinges:
        hinge.friction, hinge.bearing_friction = 0.0, 0.2
        hinge.control, hinge.max_effort = 'velocity', 20.0
    axes = [arm.joint(name) for arm in arms for name in arm.joint_names]
    for axis in axes:
        axis.friction, axis.control, axis.max_effort = 0.5, 'velocity', 3.0
    for step in range(200):
        turn_about(hinges, step)
        for number, axis in enumerate(axes):
            axis.target_velocity = 5.0 * np.cos(0.7 * step * step + number % (len(axes) // 2))
        push_about(hinges[0].link1, step)
        world.step()
        alone.step()
        np.testing.assert_allclose(arms[0].dq, arms[2].dq, atol=1e-6)
        np.testing.assert_allclose(arms[1].dq, arms[3].dq, atol=1e-6)


def test_first_steps_at_rest_repeat_to_the_bit():
    """Repeat the same first step, after any solution between."""
    qualified = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        world, hinges = hinged_walker(False, step_budget=1000)
        for body in world.robots.values():
            if body.name != 'ground':
                body.set_base_pose(np.array(body.root_link.p) - (0.0, 0.0, 0.1))
                body.set_base_velocity((0.0, 0.0, 0.0))
        for hinge in hinges:
            hinge.control, hinge.max_effort = 'velocity', rng.uniform(0.1, 30.0)
            hinge.target_velocity = rng.uniform(-5.0, 5.0)
        for k in range(8):
            world.add_body([sb.Box((0.1, 0.1, 0.1))], mass=1.0, position=(2.0 + k, 0.0, 0.15))
        saved, fresh = world.save(), world.copy()
        fresh.step()
        qualified += fresh.report.pivots >= 4
        world.step(200)
        world.restore(saved)
        world.step()
        assert world.state_hash() == fresh.state_hash()
    assert qualified > 3
