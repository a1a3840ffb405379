"""Grasps with least effort, compared with quadprog and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from scipy.optimize import minimize

import sim_bridge as sb

GRIPPER = """<robot name="gripper"><link name="palm"/>
{fingers}</robot>"""
FINGER = """
<link name="{name}"><inertial><mass value="0.2"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 {reach}"/><geometry><sphere radius="0.02"/></geometry></collision>
</link>
<joint name="{name}" type="revolute"><parent link="palm"/><child link="{name}"/>
  <origin xyz="{x} {y} 0"/><axis xyz="{ax} {ay} 0"/>
  <limit lower="-2" upper="2" effort="50" velocity="10"/></joint>"""


def hand(fingers=4, reach=0.2, offset=0.07, turn=0.0, lift=0.0):
    """Return a world with a hand around a sphere with radius 0.05 m, and both robots."""
    texts = []
    for number in range(fingers):
        angle = 2.0 * np.pi * number / fingers + turn
        x, y = np.cos(angle), np.sin(angle)
        texts.append(
            FINGER.format(
                name=f'finger{number}', x=offset * x, y=offset * y, ax=-y, ay=x, reach=reach
            )
        )
    world = sb.World()
    robot = world.load_urdf(GRIPPER.format(fingers=''.join(texts)), base='fixed')
    ball = world.add_body(sb.Sphere(0.05), 'ball', mass=0.5, position=(0, 0, reach + lift))
    return world, robot, ball


def problem_of(world, ball, robot):
    """Return the contact problem between a hand and a ball."""
    return world.contact_problem(world.find_contacts(margin=1e-3, a=ball, b=robot))


def assert_balanced(problem, effort, epsilon):
    """Check equilibrium and least forces with the problem's terms."""
    torque = np.zeros(len(problem.v))
    for robot, place in problem.coordinates.items():
        if robot in effort.u and robot.joint_names:
            torque[place] = effort.u[robot]
    total = (
        torque
        + problem.efforts
        + problem.J3.T @ effort.forces.ravel()
        + (problem.K.T @ effort.joint_forces)
    )
    np.testing.assert_allclose(total, problem.bias_forces, atol=1e-9)
    assert (effort.forces[:, 2] >= epsilon - 1e-9).all()
    assert effort.residual < 1e-9


def test_a_frictionless_hold_is_quadprogs():
    """Hold a ball from below with the least torques found by quadprog."""
    world, robot, ball = hand(offset=0.05, lift=np.sqrt(0.07**2 - 0.05**2))
    problem = problem_of(world, ball, robot)
    assert len(problem.gap) == 4
    effort = sb.contact_problems.least_effort(problem, epsilon=0.3)
    assert_balanced(problem, effort, 0.3)
    place = problem.coordinates[robot]
    A, a = problem.J.T[place], problem.bias_forces[place]
    own = problem.coordinates[ball]
    E, e = problem.J.T[own], problem.bias_forces[own]
    # linear and independent: forces balance, torques about a ball's centre vanish
    q, r = np.linalg.qr(E.T)
    rows = E[[2]] if np.linalg.matrix_rank(E) == 1 else E[:3]
    right = e[[2]] if np.linalg.matrix_rank(E) == 1 else e[:3]
    hessian = A.T @ A + 1e-13 * np.eye(4)
    best = quadprog.solve_qp(
        hessian,
        A.T @ a,
        np.concatenate([rows, np.eye(4)]).T,
        np.concatenate([right, np.full(4, 0.3)]),
        meq=len(rows),
    )[0]
    torque = np.sum(effort.u[robot] ** 2)
    assert torque == pytest.approx(np.sum((a - A @ best) ** 2), rel=1e-9)
    assert set(effort.u) == {robot, ball}
    # the efforts hold both robots in the next steps
    robot.u = effort.u[robot]
    now = world.contact_problem(problem.contacts)
    np.testing.assert_allclose(
        sb.contact_problems.solve(now, friction=False).velocity, 0.0, atol=1e-8
    )


def test_friction_holds_from_the_sides():
    """Lift a ball by friction, with the least torques found by SciPy."""
    world, robot, ball = hand(fingers=3, turn=0.3)
    problem = problem_of(world, ball, robot)
    effort = sb.contact_problems.least_effort(problem, epsilon=0.1, friction=True)
    assert_balanced(problem, effort, 0.1)
    slide = np.linalg.norm(effort.forces[:, :2], axis=1)
    assert (slide <= problem.friction[:, 0] * effort.forces[:, 2] + 1e-9).all()
    assert slide.min() > 0.5
    place, own = problem.coordinates[robot], problem.coordinates[ball]
    A, a = problem.J3.T[place], problem.bias_forces[place]
    E, e = problem.J3.T[own], problem.bias_forces[own]
    mu = problem.friction[:, 0]
    best = minimize(
        lambda f: np.sum((a - A @ f) ** 2),
        effort.forces.ravel() + 0.1,
        method='SLSQP',
        jac=lambda f: -2.0 * A.T @ (a - A @ f),
        options={'ftol': 1e-14, 'maxiter': 500},
        bounds=[(None, None), (None, None), (0.1, None)] * 3,
        constraints=[
            {'type': 'eq', 'fun': lambda f: E @ f - e},
            {'type': 'ineq', 'fun': lambda f: mu * f[2::3] - np.hypot(f[0::3], f[1::3])},
        ],
    )
    assert np.sum(effort.u[robot] ** 2) == pytest.approx(best.fun, rel=1e-6)
    world.robots['gripper'].u = effort.u[robot]
    held = sb.contact_problems.solve(world.contact_problem(problem.contacts))
    np.testing.assert_allclose(held.velocity[own], 0.0, atol=1e-8)


def test_missing_forces_are_named():
    """Name the missing force: upward, if all fingers push sideways without friction."""
    world, robot, ball = hand()
    problem = problem_of(world, ball, robot)
    with pytest.raises(sb.InfeasibleError) as raised:
        sb.contact_problems.least_effort(problem, epsilon=0.1)
    message = str(raised.value)
    assert "robot 'ball' lacks a force of (" in message
    assert ', 4.9' in message
    assert 'epsilon' not in message
    # with one finger not even sideways forces balance
    with pytest.raises(sb.InfeasibleError, match="robot 'ball' lacks"):
        sb.contact_problems.least_effort(
            world.contact_problem(problem.contacts[:1]), epsilon=0.1, friction=True
        )


def test_too_great_an_epsilon_is_named():
    """Report that smaller forces suffice: two upper fingers exceed the lower ones' limit."""
    world, robot, ball = hand(offset=0.05, lift=np.sqrt(0.07**2 - 0.05**2))
    problem = problem_of(world, ball, robot)
    with pytest.raises(sb.InfeasibleError, match='With an epsilon of 0 these forces exist'):
        sb.contact_problems.least_effort(problem, epsilon=[3.0, 0.1, 3.0, 3.0])


def test_joints_can_be_chosen():
    """Use only the named joints as actuated, and reject unknown ones."""
    world, robot, ball = hand(fingers=3)
    problem = problem_of(world, ball, robot)
    names = robot.joint_names
    with pytest.raises(sb.InfeasibleError, match=f"an effort of .* at joint '{names[2]}'"):
        sb.contact_problems.least_effort(problem, 1.0, friction=True, joints={robot: names[:2]})
    with pytest.raises(sb.UnknownNameError, match="joint 'thumb'"):
        sb.contact_problems.least_effort(problem, joints={robot: ['thumb']})


@pytest.mark.parametrize('epsilon', [-1.0, [1.0, 2.0], float('nan'), 'much'])
def test_wrong_epsilons_are_refused(epsilon):
    """Accept one least force, or one for each contact."""
    world, robot, ball = hand()
    with pytest.raises(sb.InvalidValueError, match='epsilon = .*at least 0, or 4 numbers'):
        sb.contact_problems.least_effort(problem_of(world, ball, robot), epsilon)


def test_a_margin_keeps_forces_off_the_edges():
    """Keep least-effort forces off the cone edges by a margin."""
    world, robot, ball = hand(fingers=3)
    problem = problem_of(world, ball, robot)
    steepest = []
    for margin in (0.0, 0.3):
        effort = sb.contact_problems.least_effort(
            problem, 0.1, friction=True, friction_margin=margin
        )
        assert_balanced(problem, effort, 0.1)
        slide = np.linalg.norm(effort.forces[:, :2], axis=1) / effort.forces[:, 2]
        steepest.append(float((slide / problem.friction[:, 0]).max()))
    np.testing.assert_allclose(steepest, [1.0, 0.7], atol=1e-6)
    for wrong in (1.0, -0.1, 'much'):
        with pytest.raises(sb.InvalidValueError, match='friction_margin = .* a ratio from 0'):
            sb.contact_problems.least_effort(problem, friction=True, friction_margin=wrong)
    with pytest.raises(sb.InvalidValueError, match='friction_margin = 0.3.*without friction'):
        sb.contact_problems.least_effort(problem, friction_margin=0.3)


def test_contacts_outside_the_problem_are_named():
    """Report a forgotten finger, but no sensors and no contacts of the problem."""
    world, robot, ball = hand(fingers=3)
    every = world.find_contacts(a=ball, b=robot)
    assert (
        len(
            sb.contact_problems.least_effort(
                world.contact_problem(every), 0.1, friction=True
            ).other_contacts
        )
        == 0
    )
    (other,) = world.contact_problem(every[:2]).other_contacts
    assert {other.link_a.name, other.link_b.name} == {'ball', every[2].link_b.name}
    every[2].geometry_b.sensor = True
    assert len(world.contact_problem(every[:2]).other_contacts) == 0


@pytest.mark.parametrize('motion', ['kinematic', 'dynamic'])
def test_columns_of_joints_are_those_of_any_base(motion):
    """Give the joint part of J in the order of names, for any base coordinates."""
    world = sb.World()
    texts = ''.join(
        FINGER.format(name=name, x=x, y=0.0, ax=0.0, ay=1.0, reach=0.2)
        for name, x in (('left', 0.07), ('right', -0.07))
    )
    robot = world.load_urdf(
        GRIPPER.format(fingers=texts).replace(
            '<link name="palm"/>',
            '<link name="palm"><inertial><mass value="1"/><inertia ixx="1" '
            'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>',
        ),
        base='free',
    )
    robot.motion = motion
    ball = world.add_body(sb.Sphere(0.05), 'ball', mass=0.5, position=(0, 0, 0.2))
    problem = problem_of(world, ball, robot)
    for point, row in zip(problem.contacts, problem.J, strict=True):
        sign = 1.0 if point.robot_a is robot else -1.0
        link, at = (point.link_a, point.point_a) if sign > 0 else (point.link_b, point.point_b)
        jacobian = sb.dynamics.jacobian(robot, link, at)[:3]
        np.testing.assert_allclose(
            row[problem.columns(robot)], sign * point.normal @ jacobian[:, -2:], atol=1e-12
        )
        np.testing.assert_array_equal(
            problem.columns(robot, ['right', 'left']), problem.columns(robot)[::-1]
        )
    with pytest.raises(sb.UnknownNameError, match="joint 'thumb'"):
        problem.columns(robot, ['thumb'])
    with pytest.raises(sb.InvalidValueError, match="joints = 'left': expected joint names"):
        problem.columns(robot, 'left')
    with pytest.raises(sb.InvalidValueError, match='robot = .* a robot of the problem'):
        problem.columns(sb.World().load_urdf('arm'))
