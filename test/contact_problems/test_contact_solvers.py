"""Contact problem solutions: compared with quadprog, ProxQP, each other, the engine's step."""

from __future__ import annotations

from dataclasses import replace

from contact_twins import ContactTwin, cubes, linkage, menagerie
import numpy as np
import proxsuite
import pytest
import quadprog

import sim_bridge as sb
from sim_bridge.contact_problems import frictionless


def by_quadprog(problem, M, J, v_free):
    """Return velocity and impulses without friction, for the problem's biases and joint laws."""
    K, H, c, rows, least = with_laws(problem, M, v_free)
    rows, least = (
        np.concatenate([K, J, rows]),
        np.concatenate([problem.joint_target, problem.bias, least]),
    )
    found = quadprog.solve_qp(H, c, rows.T, least, meq=len(K))
    return found[0], found[4][len(K) : len(K) + len(J)]


def with_laws(problem, M, v_free):
    """Return K, inertia and impulses with compliant laws, and stop rows with their bounds."""
    laws = problem.joint_laws
    assert set(laws.types) <= {'passive', 'stop'}
    is_stop = np.array([kind == 'stop' for kind in laws.types], bool)
    assert not laws.softness[is_stop].any()
    L, weight = laws.jacobian[~is_stop], 1.0 / laws.softness[~is_stop]
    return (
        problem.K,
        M + L.T @ (weight[:, None] * L),
        M @ v_free + L.T @ (weight * laws.target[~is_stop]),
        laws.jacobian[is_stop],
        laws.target[is_stop],
    )


def by_proxqp(problem):
    """Return velocity and impulses without friction; ProxQP's multipliers have opposite signs."""
    K, H, c, rows, least = with_laws(problem, problem.M, problem.v_free)
    rows, least = np.concatenate([problem.J, rows]), np.concatenate([problem.bias, least])
    qp = proxsuite.proxqp.dense.QP(len(problem.v), len(K), len(rows))
    qp.settings.eps_abs = 1e-12
    qp.init(H, -c, K, problem.joint_target, rows, least, np.full(len(rows), 1e20))
    qp.solve()
    return qp.results.x, -qp.results.z


def tripods():
    """Return spheres falling on the ground and each other: independent contacts."""
    world = sb.World()
    world.add_ground()
    for number, position in enumerate(
        ((0, 0, 0.1), (0.2, 0, 0.1), (0.1, 0.17, 0.1), (0.1, 0.06, 0.2633))
    ):
        world.add_body(
            sb.Sphere(0.1),
            f'ball{number}',
            mass=1.0 + number,
            position=position,
            linear_velocity=(0.1, 0.2 * number, -1.0),
        )
    return world


@pytest.mark.parametrize('bias', [0.0, None])
@pytest.mark.parametrize(
    'make',
    [cubes, tripods, lambda: menagerie()[0], lambda: linkage()[0]],
    ids=['cubes', 'balls', 'robots', 'loops'],
)
def test_frictionless_solutions_are_quadprogs(make, bias):
    """Match the velocities of quadprog and ProxQP to 1e-9, by primal and dual."""
    world = make()
    problem = world.contact_problem(world.find_contacts(margin=0.02), bias=bias)
    laws = problem.joint_laws
    problem = replace(
        problem,
        joint_laws=laws.chosen(np.array([kind != 'friction' for kind in laws.types], bool)),
    )
    # quadprog rejects dependent joint rows
    independent = []
    for row in range(len(problem.K)):
        if np.linalg.matrix_rank(problem.K[[*independent, row]], tol=1e-9) > len(independent):
            independent.append(row)
    single = replace(
        problem,
        K=problem.K[independent],
        joint_target=problem.joint_target[independent],
        joint_softness=problem.joint_softness[independent],
    )
    velocity, _ = by_quadprog(single, single.M, single.J, single.v_free)
    scale = max(1.0, np.abs(velocity).max())
    for solve in (sb.contact_problems.solve_primal, sb.contact_problems.solve_dual):
        solved = solve(problem)
        np.testing.assert_allclose(solved.velocity, velocity, atol=1e-9 * scale)
        assert (problem.J @ solved.velocity - problem.bias).min() > -1e-9
        assert solved.normal_impulses.min() >= 0.0
        assert max(solved.residuals) < 1e-9
    np.testing.assert_allclose(by_proxqp(single)[0], velocity, atol=1e-7 * scale)
    engine = sb.contact_problems.solve(problem, friction=False)
    np.testing.assert_allclose(engine.velocity, velocity, atol=1e-8 * scale)
    assert engine.residuals.natural < 1e-9


def test_impulses_are_those_of_pinocchio_and_quadprog():
    """Give the same multipliers for independent contacts."""
    world = tripods()
    problem = world.contact_problem(world.find_contacts(), bias=0.0)
    assert np.linalg.matrix_rank(problem.delassus) == len(problem.gap) >= 6
    twin = ContactTwin(world, problem, {})
    velocity, impulses = by_quadprog(problem, twin.M, twin.J3[2::3], twin.v_free)
    np.testing.assert_allclose(-by_proxqp(problem)[1], -impulses, atol=1e-9)
    for solve in (sb.contact_problems.solve_primal, sb.contact_problems.solve_dual):
        solved = solve(problem)
        np.testing.assert_allclose(solved.normal_impulses, impulses, atol=1e-9)
        np.testing.assert_allclose(solved.velocity, velocity, atol=1e-9)
        assert np.abs(solved.normal_impulses * (problem.J @ solved.velocity)).max() < 1e-9


@pytest.mark.parametrize(
    'make',
    [cubes, tripods, lambda: menagerie()[0], lambda: linkage()[0]],
    ids=['cubes', 'balls', 'robots', 'loops'],
)
def test_engine_and_reference_agree_on_friction(make):
    """Obey Coulomb's law with both solvers, at equal velocities."""
    world = make()
    problem = world.contact_problem(world.find_contacts())
    engine, reference = (
        sb.contact_problems.solve(problem),
        sb.contact_problems.solve_reference(problem),
    )
    for solved in (engine, reference):
        residuals = solved.residuals
        assert max(residuals.impulse_distance, residuals.velocity_distance) < 1e-9
        assert residuals.natural < 1e-8
        assert residuals.complementarity < 1e-8
        assert residuals.momentum < 1e-9
        mu = problem.friction[:, 0]
        slide = np.linalg.norm(solved.relative_velocities[:, :2], axis=1)
        np.testing.assert_allclose(
            solved.corrected_velocities[:, 2], solved.relative_velocities[:, 2] + mu * slide
        )
    np.testing.assert_allclose(engine.velocity, reference.velocity, atol=1e-7)
    assert np.abs(engine.impulses[:, :2]).max() > 1e-6


def test_solutions_predict_the_next_step():
    """Predict the engine's step from rest, with friction, to rounding."""
    world = sb.World()
    world.add_ground()
    for number in range(3):
        world.add_body(
            sb.Box((0.1, 0.1, 0.1)),
            mass=1.0 + number,
            position=(0.01 * number, 0, 0.05 + 0.1 * number),
        )
    for body in list(world.robots.values())[1:]:
        body.root_link.add_force((4.0, 2.0, 0.0))
    before = world.state_hash()
    problem = world.contact_problem(world.find_contacts())
    step = sb.contact_problems.next_step(problem)
    assert world.state_hash() == before
    solved = sb.contact_problems.solve(problem)
    np.testing.assert_allclose(solved.velocity, step.velocity, atol=1e-9)
    np.testing.assert_allclose(
        problem.J3.T @ solved.impulses.ravel(), problem.J3.T @ step.impulses.ravel(), atol=1e-9
    )
    assert step.left_out == 0.0
    assert len(step.contacts) == len(problem.gap)
    world.step()
    np.testing.assert_array_equal(step.velocity, world.state.v)


def test_moving_bodies_step_nearly_like_the_problem():
    """Differ from the engine's step only by changes within the step: in proportion to it."""
    differences = []
    for time_step in (1e-3, 1e-4):
        world = sb.World(time_step=time_step)
        world.add_ground()
        world.add_body(
            sb.Sphere(0.1),
            mass=1.0,
            position=(0, 0, 0.1),
            linear_velocity=(1.0, 0.0, -0.5),
            angular_velocity=(3.0, 2.0, 1.0),
        )
        problem = world.contact_problem(world.find_contacts())
        step = sb.contact_problems.next_step(problem)
        differences.append(
            np.abs(step.velocity - sb.contact_problems.solve(problem).velocity).max()
        )
    assert differences[0] < 5e-3
    assert differences[1] < 0.2 * differences[0] + 1e-9


def test_next_step_needs_the_worlds_time_step():
    """Reject a comparison with another time step."""
    world = cubes()
    problem = world.contact_problem(world.find_contacts(), time_step=0.5)
    with pytest.raises(sb.InvalidValueError, match="time_step = 0.5: expected the world's"):
        sb.contact_problems.next_step(problem)


def test_contradictions_are_refused():
    """Raise InfeasibleError for a body between two immovable ones."""
    world = sb.World()
    for sign in (1, -1):
        world.add_body(sb.Box((1, 1, 1)), motion='static', position=(0, 0, 0.6 * sign))
    world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0)
    problem = world.contact_problem(world.find_contacts(), bias=0.1)
    for solve in (sb.contact_problems.solve_primal, sb.contact_problems.solve_dual):
        with pytest.raises(sb.InfeasibleError, match='no velocity satisfies all contacts'):
            solve(problem)


@pytest.mark.parametrize(
    ('law', 'kinds'),
    [
        (sb.ContactMaterial(friction=0.6, friction2=0.2), ('engine', 'reference')),
        (sb.ContactMaterial(friction=0.6, friction2=0.0), ('engine', 'reference')),
        (sb.ContactMaterial(friction=0.4, friction_model='pyramid'), ('engine',)),
        (sb.ContactMaterial(friction=3.0, friction_model='constant'), ('engine',)),
        (
            sb.ContactMaterial(friction=3.0, friction2=0.3, friction_model='constant_and_pyramid'),
            ('engine',),
        ),
        (
            sb.ContactMaterial(friction=0.3, friction2=3.0, friction_model='pyramid_and_constant'),
            ('engine',),
        ),
        (sb.ContactMaterial(friction=0.5, adhesion=2.0), ('engine', 'reference')),
        (sb.ContactMaterial(friction=0.5, slip=0.01, cfm=1e-3, erp=0.2), ('engine', 'reference')),
        (sb.ContactMaterial(friction=0.5, motion=0.3, motion2=-0.1), ('engine', 'reference')),
        (sb.ContactMaterial(friction=float('inf')), ('engine', 'reference')),
    ],
)
def test_laws_of_contact_materials_hold(law, kinds):
    """Obey ellipses, pyramids, constant friction, adhesion, slip and moving surfaces."""
    world = sb.World()
    ground = world.add_ground()
    world.set_contact_material('default', 'default', law)
    box = world.add_body(
        sb.Box((0.2, 0.3, 0.1)),
        mass=1.0,
        position=(0, 0, 0.05),
        orientation=(0, 0, np.sin(0.2), np.cos(0.2)),
    )
    box.root_link.add_force((9.0, 4.0, 0.0))
    problem = world.contact_problem(world.find_contacts(a=box, b=ground))
    solved = [sb.contact_problems.solve(problem)]
    if 'reference' in kinds:
        solved.append(sb.contact_problems.solve_reference(problem))
    else:
        with pytest.raises(sb.InvalidValueError, match="friction_models = .*'cone'"):
            sb.contact_problems.solve_reference(problem)
    step = sb.contact_problems.next_step(problem)
    for each in solved:
        assert each.residuals.natural < 1e-8
        # the remaining velocity is multiplied by the greatest friction
        assert law.friction > 10.0 or each.residuals.complementarity < 1e-8
        np.testing.assert_allclose(each.velocity, step.velocity, atol=1e-8)


@pytest.mark.parametrize('frame', [None, 'box', 'ground'])
def test_directions_of_pairs_are_axes_of_the_problem(frame):
    """Have the first friction direction along x of the axes, and match the step."""
    world = sb.World()
    world.add_ground()
    angle = 0.5
    box = world.add_body(
        sb.Box((0.2, 0.3, 0.1)),
        'box',
        mass=1.0,
        position=(0, 0, 0.05),
        orientation=(0, 0, np.sin(angle / 2), np.cos(angle / 2)),
    )
    world.set_contact_material(
        'default',
        'default',
        sb.ContactMaterial(friction=0.4, friction2=0.1, direction=(frame, (1.0, 0.0, 0.0))),
    )
    box.set_base_velocity((0.3, 1.0, 0.0))
    problem = world.contact_problem(world.find_contacts())
    along = (np.cos(angle), np.sin(angle), 0.0) if frame == 'box' else (1.0, 0.0, 0.0)
    np.testing.assert_allclose(problem.axes[:, 0], np.tile(along, (4, 1)), atol=1e-15)
    assert (problem.friction == (0.4, 0.1)).all()
    step = sb.contact_problems.next_step(problem)
    for solution in (
        sb.contact_problems.solve(problem),
        sb.contact_problems.solve_reference(problem),
    ):
        np.testing.assert_allclose(solution.velocity, step.velocity, atol=1e-8)


def test_solvers_show_their_residuals():
    """Solve to each solver's tolerance, and report the residuals."""
    world = cubes()
    assert sb.contact_problems.solve(world.contact_problem([]), 'iterative').iterations == 0
    problem = world.contact_problem(world.find_contacts())
    rough, exact = (sb.contact_problems.solve(problem, kind) for kind in ('iterative', 'direct'))
    assert exact.residuals.natural < 1e-9
    assert rough.residuals.natural < 1e-6
    with pytest.raises(sb.InvalidValueError, match="solver = 'exact': expected 'direct'"):
        sb.contact_problems.solve(problem, 'exact')


def test_least_squares_are_exact_where_scipys_stop_early(monkeypatch):
    """Find the minimum although `nnls` returned another point, as for dependent rows."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(4, 6))
    columns = np.concatenate([rows, rows[:2] + rows[2:]]).T
    goal = random.normal(size=6)
    right = frictionless.nonnegative_least_squares(columns, goal)
    monkeypatch.setattr(frictionless, 'nnls', lambda A, b: (np.full(A.shape[1], 0.1), 1.0))
    found = frictionless.nonnegative_least_squares(columns, goal)
    gradient = columns.T @ (columns @ found - goal)
    assert (found >= 0.0).all()
    assert gradient.min() > -1e-12
    assert np.abs(found * gradient).max() < 1e-12
    np.testing.assert_allclose(columns @ found, columns @ right, atol=1e-12)


def test_primal_and_dual_agree_on_stacks_of_dependent_corners():
    """Match both velocities, and quadprog's, for cubes in irregular stacks."""
    for seed in range(40):
        random = np.random.default_rng(seed)
        world, height = sb.World(), 0.0
        world.add_ground()
        for size in (0.3, 0.2, 0.1):
            at = random.uniform(-0.02, 0.02, 2)
            world.add_body(sb.Box((size,) * 3), mass=1.0, position=(*at, height + 0.5 * size))
            height += size
        problem = world.contact_problem(world.find_contacts(margin=1e-3), bias=0.0)
        primal, dual = (
            sb.contact_problems.solve_primal(problem),
            sb.contact_problems.solve_dual(problem),
        )
        np.testing.assert_allclose(primal.velocity, dual.velocity, atol=1e-12)
        best = quadprog.solve_qp(
            problem.M, problem.M @ problem.v_free, problem.J.T, np.zeros(len(problem.J))
        )[0]
        np.testing.assert_allclose(primal.velocity, best, atol=1e-12)
