"""Rolling and spinning friction in contact problems: solutions compared with the next step."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb


def balls(force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0), **law):
    """Return a world with a ball on the ground and another one on top, both pushed from rest."""
    world = sb.World(time_step=1e-4)
    world.add_ground()
    world.set_contact_material(
        'default',
        'default',
        sb.ContactMaterial(
            **{'friction': 0.6, 'rolling_friction': 2e-3, 'spinning_friction': 1e-3} | law
        ),
    )
    for number in range(2):
        ball = world.add_body(
            sb.Sphere(0.1), f'ball{number}', mass=1.0 + number, position=(0, 0, 0.1 + 0.2 * number)
        )
        ball.root_link.add_force(np.array(force))
        ball.root_link.add_torque(torque)
    return world


CASES = {
    'held': {'force': (0.01, 0.0, 0.0)},
    'rolls': {'force': (1.0, 0.3, 0.0)},
    'spins': {'torque': (0.0, 0.0, 0.2)},
    'rolls and spins': {'force': (1.0, 0.3, 0.0), 'torque': (0.02, 0.0, 0.2)},
    'slides and rolls': {'force': (30.0, 1.0, 0.0), 'torque': (0.0, -0.1, 0.3)},
    'only spins': {'torque': (0.0, 0.0, 0.2), 'rolling_friction': 0.0, 'friction': 0.0},
    'sticks': {'force': (3.0, 0.0, 0.0), 'rolling_friction': 0.5, 'friction': 5.0},
    'lifted': {'force': (0.0, 1.0, 40.0)},
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_solutions_are_the_next_step(case):
    """Bound angular impulses by the normal impulse: engine, reference and next step agree."""
    world = balls(**case)
    problem = world.contact_problem(world.find_contacts())
    assert problem.left_out == []
    np.testing.assert_array_equal(problem.turning, [0, 1])
    step = sb.contact_problems.next_step(problem)
    for solve in (sb.contact_problems.solve, sb.contact_problems.solve_reference):
        solved = solve(problem)
        residuals = solved.residuals
        assert max(residuals.momentum, residuals.natural, residuals.complementarity) < 1e-9
        np.testing.assert_allclose(solved.velocity, step.velocity, atol=1e-9)
        tau, normal = solved.turning_impulses, solved.normal_impulses
        rolling, spinning = problem.turning_friction.T
        assert (np.hypot(*tau[:, :2].T) <= rolling * normal + 1e-12).all()
        assert (np.abs(tau[:, 2]) <= spinning * normal + 1e-12).all()
        np.testing.assert_allclose(
            problem.M @ (solved.velocity - problem.v_free),
            problem.J3.T @ solved.impulses.ravel() + problem.J_turn.T @ tau.ravel(),
            atol=1e-12,
        )
    frictionless = sb.contact_problems.solve(problem, friction=False)
    assert not frictionless.turning_impulses.any()


def test_rolling_friction_holds_balls():
    """Hold balls otherwise rolling."""
    held, free = (
        balls(force=(0.01, 0.0, 0.0), **law)
        for law in ({}, {'rolling_friction': 0.0, 'spinning_friction': 0.0})
    )
    speeds = [
        np.abs(
            sb.contact_problems.solve(world.contact_problem(world.find_contacts())).velocity
        ).max()
        for world in (held, free)
    ]
    assert speeds[0] < 1e-9 < 1e-7 < speeds[1]


def test_angular_rows_are_relative_angular_velocities():
    """Give relative angular velocities about the contact axes, also for kinematic bodies."""
    world = balls()
    world.state.v[:] = np.random.default_rng(1).normal(size=len(world.state.v))
    lower, upper = world.robots['ball0'], world.robots['ball1']
    upper.motion = 'kinematic'
    upper.set_base_velocity((0, 0, 0), (1.0, 2.0, 3.0))
    problem = world.contact_problem(world.find_contacts(a=lower, b=upper))
    relative = lower.root_link.w - upper.root_link.w
    np.testing.assert_allclose(
        problem.J_turn @ problem.v - problem.turning_target,
        problem.axes[0].T @ relative,
        atol=1e-12,
    )
