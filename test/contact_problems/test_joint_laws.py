"""Joint laws in contact problems: solutions compared with the engine's next step."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

LINK = """<link name="{name}"><inertial><origin xyz="{x} 0 {z}"/><mass value="{mass}"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>"""
TIP = """<collision><origin xyz="{x} 0 {z}"/>
  <geometry><sphere radius="0.05"/></geometry></collision>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{x} 0 {z}"/><axis xyz="{axis}"/>
  <limit lower="{lower}" upper="{upper}" effort="50" velocity="10"/>
  <dynamics damping="{damping}"/></joint>"""


def arm(damping=0.0, elbow=0.5):
    """
    Return a world with an arm with two hinges, at rest, its tip on a floating ball.

    Its steps are short: inertias change by less than rounding.
    """
    text = (
        '<robot name="arm"><link name="world"/>'
        + ''.join(
            (
                LINK.format(name='upper', x=0.2, z=0.0, mass=2.0, shape=''),
                LINK.format(name='fore', x=0.15, z=0.0, mass=1.0, shape=TIP.format(x=0.3, z=0.0)),
                JOINT.format(
                    name='shoulder',
                    kind='revolute',
                    parent='world',
                    child='upper',
                    x=0.0,
                    z=0.5,
                    axis='0 1 0',
                    lower=-2.0,
                    upper=2.0,
                    damping=damping,
                ),
                JOINT.format(
                    name='elbow',
                    kind='revolute',
                    parent='upper',
                    child='fore',
                    x=0.4,
                    z=0.0,
                    axis='0 1 0',
                    lower=-2.5,
                    upper=0.5,
                    damping=damping,
                ),
            )
        )
        + '</robot>'
    )
    world = sb.World(time_step=1e-5, gravity=(0.0, 0.0, 0.0))
    robot = world.load_urdf(text)
    robot.q = [0.3, elbow]
    x, z = 0.4 * np.cos(0.3), 0.5 - 0.4 * np.sin(0.3)
    x, z = x + 0.3 * np.cos(0.3 + elbow), z - 0.3 * np.sin(0.3 + elbow)
    world.add_body(sb.Sphere(0.1), 'ball', mass=0.5, position=(x, 0.0, z - 0.15))
    return world, robot


def gantry():
    """Return a world with a tip on slides along x and z, moving along x on the ground."""
    text = (
        '<robot name="gantry"><link name="world"/>'
        + ''.join(
            (
                LINK.format(name='cart', x=0.0, z=0.0, mass=2.0, shape=''),
                LINK.format(name='tool', x=0.0, z=0.0, mass=1.0, shape=TIP.format(x=0.0, z=0.0)),
                JOINT.format(
                    name='along',
                    kind='prismatic',
                    parent='world',
                    child='cart',
                    x=0.0,
                    z=0.05,
                    axis='1 0 0',
                    lower=-1.0,
                    upper=1.0,
                    damping=0.0,
                ),
                JOINT.format(
                    name='down',
                    kind='prismatic',
                    parent='cart',
                    child='tool',
                    x=0.0,
                    z=0.0,
                    axis='0 0 -1',
                    lower=-1.0,
                    upper=1.0,
                    damping=0.0,
                ),
            )
        )
        + '</robot>'
    )
    world = sb.World()
    world.add_ground()
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction=0.3))
    robot = world.load_urdf(text)
    robot.dq = [0.4, 0.0]
    return world, robot


def set_motor(joint, control, most=None, **target):
    """Drive a joint by a motor; most: its effort limit."""
    joint.control = control
    if most is not None:
        joint.max_effort, joint.min_effort = most, -most
    for name, value in target.items():
        setattr(joint, name, value)


def at_a_stop(*u):
    """Push an elbow against its stop, with a contact pushing too."""
    world, robot = arm()
    robot.u = u or [4.0, 6.0]
    return world


def at_an_elastic_stop():
    """Push an elbow into an elastic stop."""
    world, robot = arm(elbow=0.5 + 1e-8)
    robot.joint('elbow').stop_cfm = 1e-3
    robot.u = [0.0, 6.0]
    return world


def with_sticking_friction():
    """Hold a hinge by joint friction."""
    world, robot = arm()
    robot.joint('shoulder').friction, robot.joint('elbow').friction = 3.0, 20.0
    robot.u = [5.0, 1.0]
    return world


def with_slipping_friction():
    """Move a joint from rest against its friction."""
    world, robot = arm()
    robot.joint('shoulder').friction, robot.joint('elbow').friction = 3.0, 2.0
    robot.u = [8.0, 5.0]
    return world


def with_a_motor(most):
    """Push the ball by a velocity motor, with its effort limit reached or not."""
    world, robot = arm(elbow=0.4)
    set_motor(robot.joint('elbow'), 'velocity', most, target_velocity=1e-3)
    return world


def with_a_servo(most):
    """Press with a servo, limited or not, beside dampers and friction."""
    world, robot = arm(damping=0.7, elbow=0.4)
    robot.joint('elbow').friction = 0.1
    joint = robot.joint('shoulder')
    joint.kp, joint.kd = 300.0, 5.0
    set_motor(joint, 'servo', most, target_position=0.35)
    return world


def moving_with_friction():
    """Slide on the ground, with friction at the ground and in the slide."""
    world, robot = gantry()
    robot.joint('along').friction = 1.5
    robot.u = [0.5, 3.0]
    return world


def stopping_by_friction():
    """Come to rest within the step, by friction in the slide."""
    world, robot = gantry()
    robot.joint('along').friction = 2000.0
    return world


def moving_into_a_stop():
    """Reach a stop within the step."""
    world, robot = gantry()
    robot.q = [1.0 - 1e-4, 0.0]
    return world


def moving_by_a_motor(most):
    """Change the velocity by a motor while the tip slides."""
    world, robot = gantry()
    set_motor(robot.joint('along'), 'velocity', most, target_velocity=0.405)
    robot.u = [0.0, 5.0]
    return world


CASES = {
    'stop': (at_a_stop, 'stop'),
    'elastic stop': (at_an_elastic_stop, 'stop'),
    'sticking': (with_sticking_friction, 'friction'),
    'slipping': (with_slipping_friction, 'friction'),
    'sliding': (moving_with_friction, 'friction'),
    'coming to rest': (stopping_by_friction, 'friction'),
    'into a stop': (moving_into_a_stop, 'stop'),
    'weak motor': (lambda: with_a_motor(1.0), 'motor'),
    'strong motor': (lambda: with_a_motor(1000.0), 'motor'),
    'servo': (lambda: with_a_servo(1000.0), 'motor'),
    'clamped servo': (lambda: with_a_servo(2.0), 'motor'),
    'moving motor': (lambda: moving_by_a_motor(1000.0), 'motor'),
    'moving weak motor': (lambda: moving_by_a_motor(4.0), 'motor'),
}


@pytest.mark.parametrize(('make', 'kind'), CASES.values(), ids=CASES)
def test_solutions_are_the_next_step(make, kind):
    """Give the engine's velocities to 1e-9, with both solvers, contacts and one kind of law."""
    world = make()
    problem = world.contact_problem(world.find_contacts(margin=1e-4))
    assert problem.left_out == []
    step = sb.contact_problems.next_step(problem)
    assert step.left_out == 0.0
    laws = problem.joint_laws
    for solve in (sb.contact_problems.solve_reference, sb.contact_problems.solve):
        solved = solve(problem)
        np.testing.assert_allclose(solved.velocity, step.velocity, atol=1e-9)
        assert max(solved.residuals.momentum, solved.residuals.natural) < 1e-9
        np.testing.assert_allclose(
            problem.velocity(solved.impulses, solved.law_impulses), solved.velocity, atol=1e-12
        )
        w = laws.jacobian @ solved.velocity + laws.softness * solved.law_impulses - laws.target
        assert (solved.law_impulses >= laws.least - 1e-12).all()
        assert (solved.law_impulses <= laws.most + 1e-12).all()
        inside = (solved.law_impulses > laws.least + 1e-9) & (
            solved.law_impulses < laws.most - 1e-9
        )
        np.testing.assert_allclose(w[inside], 0.0, atol=1e-9)
    assert solved.normal_impulses.max() > 1e-6
    own = solved.law_impulses[[each == kind for each in laws.types]]
    assert np.abs(own).max() > 1e-6
    # without the laws the result differs
    plain = world.contact_problem(problem.contacts, joint_laws=False)
    assert any(text.startswith(kind) for text in plain.left_out)
    other = sb.contact_problems.solve(plain)
    assert np.abs(other.velocity - step.velocity).max() > 1e-6


def test_a_stop_only_pushes():
    """Let a joint leave its stop like the engine."""
    world = at_a_stop(5.0, -0.3)
    problem = world.contact_problem(world.find_contacts(margin=1e-4))
    solved = sb.contact_problems.solve_reference(problem)
    np.testing.assert_allclose(solved.law_impulses, 0.0, atol=1e-18)
    assert solved.velocity[1] < -1e-6
    np.testing.assert_allclose(
        solved.velocity, sb.contact_problems.next_step(problem).velocity, atol=1e-9
    )


def test_stops_are_in_the_primal_and_the_dual():
    """Solve contacts and stops without friction by least squares, like the reference."""
    world = at_a_stop()
    problem = world.contact_problem(world.find_contacts(margin=1e-4))
    reference = sb.contact_problems.solve_reference(problem, friction=False)
    for solve in (sb.contact_problems.solve_primal, sb.contact_problems.solve_dual):
        solved = solve(problem)
        np.testing.assert_allclose(solved.velocity, reference.velocity, atol=1e-12)
        assert solved.law_impulses.max() > 1e-6
    # with two bounds it is no least-squares problem
    world = with_slipping_friction()
    problem = world.contact_problem(world.find_contacts(margin=1e-4))
    reference = sb.contact_problems.solve_reference(problem, friction=False)
    np.testing.assert_array_equal(
        sb.contact_problems.solve_primal(problem).velocity, reference.velocity
    )


def test_held_joints_and_joints_without_bounds_are_equations():
    """Hold a joint, and let a motor without limits keep another's velocity."""
    world, robot = arm(elbow=0.4)
    robot.u = [5.0, 0.0]
    elbow = robot.joint('elbow')
    elbow.effort_limit, elbow.lower_effort_limit = np.inf, -np.inf
    set_motor(elbow, 'velocity', np.inf, target_velocity=1e-3)
    problem = world.contact_problem(world.find_contacts(margin=1e-4))
    laws = problem.joint_laws
    (row,) = [k for k, kind in enumerate(laws.types) if kind == 'motor']
    assert laws.names[row] == 'arm/elbow'
    assert not laws.is_bounded[row]
    for solve in (
        sb.contact_problems.solve,
        sb.contact_problems.solve_dual,
        sb.contact_problems.solve_reference,
    ):
        solved = solve(problem)
        assert solved.velocity[1] == pytest.approx(1e-3, abs=1e-15)
        assert abs(solved.law_impulses[row]) > 1e-6
        assert max(solved.residuals) < 1e-9
    np.testing.assert_allclose(
        sb.contact_problems.solve(problem).velocity,
        sb.contact_problems.next_step(problem).velocity,
        atol=1e-9,
    )


def test_left_out_axes_are_named():
    """Name the axes of constraint joints with forces along them."""
    world = sb.World()
    body = world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', mass=1.0, position=(1, 0, 1))
    hinge = world.add_joint('hinge', None, body, (1, 0, 1), (0, 0, 1), tree=False, name='hinge')
    assert world.contact_problem([]).left_out == []
    hinge.friction = 1.0
    assert world.contact_problem([]).left_out == [
        "what acts along joint 'hinge', which closes a loop"
    ]


@pytest.mark.parametrize('effort', [0.5, 5.0])
def test_laws_of_mimic_joints_are_those_of_steps(effort):
    """Move mimic joints without contacts, against friction, dampers and stops of both."""
    text = (
        '<robot name="gripper"><link name="world"/>'
        + ''.join(
            LINK.format(name=name, x=0.0, z=0.0, mass=1.0, shape='')
            + JOINT.format(
                name=f'to_{name}',
                kind='prismatic',
                parent='world',
                child=name,
                x=0.0,
                z=0.0,
                axis='1 0 0',
                lower=-1.0,
                upper=1.0,
                damping=1.0,
            ).replace('</joint>', mimic)
            for name, mimic in (
                ('left', '</joint>'),
                ('right', '<mimic joint="to_left" multiplier="-2"/></joint>'),
            )
        )
        + '</robot>'
    )
    world = sb.World()
    robot = world.load_urdf(text)
    robot.joint('to_left').friction, robot.joint('to_right').friction = 0.5, 0.7
    robot.u = [effort, 0.0]
    problem = world.contact_problem([])
    step = sb.contact_problems.next_step(problem)
    assert bool(step.velocity.any()) == (effort > 2.0)
    for solve in (sb.contact_problems.solve, sb.contact_problems.solve_reference):
        np.testing.assert_allclose(solve(problem).velocity, step.velocity, atol=1e-15)
