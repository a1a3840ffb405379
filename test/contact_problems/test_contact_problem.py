"""Contact problem terms, compared with Pinocchio."""

from __future__ import annotations

from contact_twins import ContactTwin, cubes, linkage, menagerie
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError


def close(ours, theirs, share=1e-9):
    """Compare by the largest difference relative to the largest entry."""
    np.testing.assert_allclose(
        ours, theirs, rtol=0.0, atol=share * np.abs(theirs).max(initial=1.0)
    )


def test_terms_are_pinocchios():
    """Give Pinocchio's mass matrix, Jacobian, free velocities and Delassus matrix."""
    world, texts = menagerie()
    before = world.state_hash()
    contacts = world.find_contacts(margin=0.1)
    problem = world.contact_problem(contacts)
    assert world.state_hash() == before
    twin = ContactTwin(world, problem, texts)
    assert len(contacts) > 20
    assert {robot.name for robot in problem.coordinates} == world.robots.keys() - {'ground'}
    close(problem.M, twin.M)
    close(problem.J3, twin.J3)
    close(problem.v_free, twin.v_free)
    close(problem.delassus3, twin.delassus3)
    close(problem.delassus, twin.delassus3[2::3, 2::3])
    close(problem.J @ problem.v, twin.J3[2::3] @ problem.v)


def test_coordinates_are_those_of_dynamics():
    """Order each robot's coordinates like `sb.dynamics`."""
    world, _ = menagerie()
    problem = world.contact_problem(world.find_contacts(margin=0.1))
    for robot, place in problem.coordinates.items():
        close(problem.M[place, place], sb.dynamics.mass_matrix(robot))
        close(problem.bias_forces[place], sb.dynamics.bias_forces(robot))


def test_jacobian_is_the_rate_of_the_distance():
    """Give the rates of all distances, for small body motions."""
    world, _ = menagerie()
    pairs = world.find_distances(world.robots['quadruped'], world.robots['arm'])
    problem = world.contact_problem(pairs)
    world.gravity = (0.0, 0.0, 0.0)
    dt = 1e-6
    ahead = []
    for sign in (1.0, -1.0):
        moved = world.copy()
        for robot in moved.robots.values():
            robot.q += sign * dt * robot.dq
            if not robot.fixed_base and robot.name != 'ground':
                root, turn = robot.root_link, 0.5 * sign * dt * robot.root_link.w
                x, y, z, w = moved.state.q[robot.slot.part.at.q + 3 : robot.slot.part.at.q + 7]
                change = np.array(
                    [
                        turn[0] * w + turn[1] * z - turn[2] * y,
                        turn[1] * w + turn[2] * x - turn[0] * z,
                        turn[2] * w + turn[0] * y - turn[1] * x,
                        -turn @ (x, y, z),
                    ]
                )
                robot.set_base_pose(root.p + sign * dt * root.v, np.array([x, y, z, w]) + change)
        again = moved.find_distances(moved.robots['quadruped'], moved.robots['arm'])
        ahead.append(again.gaps)
    rates = (ahead[0] - ahead[1]) / (2.0 * dt)
    smooth = np.abs(ahead[0] + ahead[1] - 2.0 * pairs.gaps) < 1e-10
    assert smooth.sum() > 10
    np.testing.assert_allclose((problem.J @ problem.v)[smooth], rates[smooth], atol=1e-5)


def test_kinematic_bodies_move_the_target():
    """Include prescribed velocities in the target, without coordinates for them."""
    world = sb.World()
    tray = world.add_body(sb.Box((1, 1, 0.1)), 'tray', motion='kinematic', position=(0, 0, 0))
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', mass=1.0, position=(0.2, 0, 0.1))
    tray.set_base_velocity((0.1, 0.0, 0.5), (0.0, 0.0, 2.0))
    contacts = world.find_contacts(a=box, b=tray)
    problem = world.contact_problem(contacts, bias=0.0)
    assert list(problem.coordinates) == [box]
    of_tray = np.array([0.1, 0.0, 0.5]) + np.cross((0, 0, 2.0), contacts.points_b)
    expected = np.einsum('nji,nj->ni', problem.axes, of_tray)
    np.testing.assert_allclose(problem.target.reshape(-1, 3), expected, atol=1e-14)
    solved = sb.contact_problems.solve(problem)
    np.testing.assert_allclose(solved.velocity[2], 0.5, atol=1e-9)


def test_bias_is_the_engines():
    """Close gaps within the step, and let bounces return a part of the velocity."""
    world = sb.World(time_step=1e-3)
    world.add_ground()
    rubber = world.materials.add(sb.Material('rubber'))
    world.set_contact_material(rubber, 'default', sb.ContactMaterial(restitution=0.5))
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 0.1 + 1e-4), material=rubber)
    ball.set_base_velocity((0.0, 0.0, -3.0))
    contacts = world.find_contacts()
    problem = world.contact_problem(contacts)
    np.testing.assert_allclose(problem.bias, 1.5, rtol=1e-9)
    ball.set_base_velocity((0.0, 0.0, -0.05))
    still = world.contact_problem(world.find_contacts())
    # the mean of both velocities closes the gap
    np.testing.assert_allclose(0.5e-3 * (still.bias - 0.05), -1e-4, atol=2e-9)
    np.testing.assert_array_equal(world.contact_problem(contacts, bias=[0.3]).bias, 0.3)
    after = sb.contact_problems.next_step(problem)
    assert after.velocity[2] == pytest.approx(
        sb.contact_problems.solve(problem).velocity[2], abs=1e-9
    )


def test_pushes_springs_and_dampers_are_efforts():
    """Count all forces beside gravity and applied efforts."""
    world = sb.World()
    robot = world.load_urdf(path_of('arm'))
    joint = robot.joint(robot.joint_names[1])
    joint.stiffness, joint.damping, joint.q, joint.dq = 3.0, 0.5, 0.2, 0.1
    link = robot.links[-1]
    link.add_force((1.0, 2.0, 3.0))
    problem = world.contact_problem([])
    place = problem.coordinates[robot]
    push = sb.dynamics.jacobian(robot, link)[:3].T @ (1.0, 2.0, 3.0)
    damping = np.array([robot.joint(name).damping for name in robot.joint_names])
    push += sb.dynamics.jacobian(robot, link)[3:].T @ np.cross(link.wc - link.p, (1.0, 2.0, 3.0))
    push -= damping * robot.dq
    push[1] -= 3.0 * (0.2 - joint.reference)
    close(problem.efforts[place], push)


def test_drag_and_missing_gravity_are_efforts():
    """Apply medium drag, and no gravity on bodies without it."""
    world = sb.World()
    balloon, weight = (
        world.add_body(
            sb.Sphere(0.1), mass=2.0, position=(x, 0, 0), linear_velocity=(1.0, 2.0, 3.0)
        )
        for x in (0.0, 1.0)
    )
    balloon.root_link.gravity = False
    balloon.root_link.linear_velocity_damping = (0.5, 0.5, 0.5)
    problem = world.contact_problem([])
    expected = [*(0.9995 * np.array((1.0, 2.0, 3.0))), 0, 0, 0, 1.0, 2.0, 3.0 - 9.81e-3, 0, 0, 0]
    np.testing.assert_allclose(problem.v_free, expected, atol=1e-14)
    assert list(problem.coordinates) == [balloon, weight]


def test_joints_between_robots_couple_their_coordinates():
    """Give a tree's inertia over several robots, with its kinetic energy and step."""
    world = sb.World()
    world.add_ground()
    random = np.random.default_rng(2)
    bodies = [
        world.add_body(
            sb.Box((0.2, 0.1, 0.1)), mass=1.0 + number, position=(0.25 * number, 0.0, 0.05)
        )
        for number in range(3)
    ]
    for number, (first, second) in enumerate(zip(bodies, bodies[1:], strict=False)):
        world.add_joint(
            'hinge', first, second, anchor=(0.125 + 0.25 * number, 0, 0.05), axis=(0, 0, 1)
        )
    world.state.v[:] = random.normal(size=len(world.state.v))
    world.step(0)
    problem = world.contact_problem(world.find_contacts())
    assert problem.v @ problem.M @ problem.v / 2.0 == pytest.approx(world.energy().kinetic)
    assert problem.M.shape == (8, 8)
    world.state.v[:] = 0.0
    bodies[2].root_link.add_force((0.0, 30.0, 0.0))
    still = world.contact_problem(world.find_contacts())
    np.testing.assert_allclose(
        sb.contact_problems.solve(still).velocity,
        sb.contact_problems.next_step(still).velocity,
        atol=1e-7,
    )


def test_null_space_keeps_contacts():
    """Span all velocities that keep each contact, along normals or completely."""
    world = cubes()
    problem = world.contact_problem(world.find_contacts())
    slide = problem.null_space()
    assert slide.shape == (18, 9)
    close(problem.J @ slide, np.zeros((len(problem.gap), 9)))
    close(slide.T @ slide, np.eye(9))
    assert problem.null_space(tangential=True).shape == (18, 0)


def test_loops_are_rows_of_joints():
    """Hold closed loops in the solution, like the engine's step."""
    world, robot = linkage()
    problem = world.contact_problem(world.find_contacts(), bias=0.1)
    assert len(problem.K) >= 5
    # steps hold them in their middle
    np.testing.assert_allclose(problem.K @ problem.v, 0.0, atol=1e-3)
    rank = np.linalg.matrix_rank(problem.K, tol=1e-9)
    assert problem.null_space().shape[1] == len(problem.v) - np.linalg.matrix_rank(
        np.concatenate([problem.J, problem.K]), tol=1e-9
    )
    assert np.linalg.matrix_rank(problem.response, tol=1e-9) == len(problem.v) - rank
    for solve in (
        sb.contact_problems.solve_primal,
        sb.contact_problems.solve_dual,
        sb.contact_problems.solve,
        sb.contact_problems.solve_reference,
    ):
        solved = solve(problem)
        assert max(solved.residuals) < 1e-9
        np.testing.assert_allclose(problem.K @ solved.velocity, 0.0, atol=1e-9)
        assert solved.normal_impulses.max() > 1e-3
    # without contacts it equals the engine's acceleration
    world, robot = linkage(0)
    free = world.contact_problem([])
    place = free.coordinates[robot]
    ddq = (free.v_held - free.v)[place] / free.time_step
    np.testing.assert_allclose(ddq, robot.ddq, atol=1e-6 * np.abs(robot.ddq).max())


def test_soft_loops_and_contacts_yield():
    """Move compliant rows by their impulses."""
    world = sb.World()
    world.add_ground()
    soft = world.materials.add(sb.Material('soft', youngs_modulus=1e4))
    box = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.0999), material=soft)
    world.add_joint(
        'slider', None, box, axis=(0, 0, 1), anchor=(0, 0, 0), erp=0.2, cfm=1e-3, tree=False
    )
    problem = world.contact_problem(world.find_contacts())
    assert (problem.joint_softness > 0.0).all()
    solved = sb.contact_problems.solve(problem)
    assert solved.residuals.joints < 1e-12
    assert solved.residuals.momentum < 1e-12
    assert solved.residuals.natural < 1e-9
    assert (problem.softness[2::3] > 0.0).all()
    np.testing.assert_allclose(
        sb.contact_problems.solve_reference(problem).velocity, solved.velocity, atol=1e-9
    )


def test_mimic_joints_are_rows():
    """Tie a mimic joint to its leader, with or without loops."""
    urdf = """<robot name="gripper"><link name="palm"/>
      <link name="left"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="right"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="a" type="prismatic"><parent link="palm"/><child link="left"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
      <joint name="b" type="prismatic"><parent link="palm"/><child link="right"/>
        <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/>
        <mimic joint="a" multiplier="-2"/></joint></robot>"""
    world = sb.World()
    robot = world.load_urdf(urdf, base='fixed')
    robot.u = [3.0, 0.0]
    problem = world.contact_problem([])
    np.testing.assert_array_equal(problem.K, [[2.0, 1.0]])
    # 1 kg and 1 kg, the second four times as heavy by the ratio
    np.testing.assert_allclose(problem.v_held, [3e-3 / 5.0, -6e-3 / 5.0], rtol=1e-12)
    world.add_body(sb.Sphere(0.1), mass=1.0, position=(5, 0, 0))
    world.step()
    np.testing.assert_allclose(robot.dq, problem.v_held, rtol=1e-9)


def test_sensors_do_not_push():
    """Leave contacts without forces out of the solution."""
    world = cubes(velocity=False)
    world.robots['cube1'].geometries[0].sensor = True
    problem = world.contact_problem(world.find_contacts())
    assert 0 < problem.pushes.sum() < len(problem.pushes)
    solved = sb.contact_problems.solve(problem)
    assert not solved.impulses[~problem.pushes].any()
    assert solved.normal_impulses[problem.pushes].sum() == pytest.approx(
        (problem.M[0, 0]) * 9.81e-3, rel=1e-9
    )


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((5,), 'contacts = 5: expected contacts of this world'),
        ((['touch'],), "contacts = \\['touch'\\]"),
        (([], 0.0), 'time_step = 0.0: expected a positive number'),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    """Name the invalid argument, and the accepted values."""
    with pytest.raises(InvalidValueError, match=message):
        sb.World().contact_problem(*arguments)


def test_wrong_biases_and_contacts_of_other_worlds_are_refused():
    """Require one bias for each contact, and contacts from the same world."""
    world, other = cubes(), cubes()
    contacts = world.find_contacts()
    with pytest.raises(InvalidValueError, match=f'or {len(contacts)} of them'):
        world.contact_problem(contacts, bias=[1.0, 2.0])
    with pytest.raises(InvalidValueError, match='contacts of this world'):
        other.contact_problem(contacts)


def test_wrong_problems_and_impulses_are_named():
    """Require a problem from World.contact_problem, and impulses in contact rows."""
    world = cubes()
    problem = world.contact_problem(world.find_contacts())
    for call in (
        sb.contact_problems.solve,
        sb.contact_problems.solve_primal,
        sb.contact_problems.solve_dual,
        sb.contact_problems.solve_reference,
        sb.contact_problems.next_step,
        sb.contact_problems.least_effort,
    ):
        with pytest.raises(InvalidValueError, match='problem = .*World.contact_problem'):
            call(world)
    count = len(problem.gap)
    with pytest.raises(InvalidValueError, match=rf'shape of impulses = \(3, {count}\)'):
        problem.velocity(np.zeros((3, count)))
    with pytest.raises(InvalidValueError, match='shape of law_impulses'):
        problem.velocity(np.zeros((count, 3)), np.zeros(4))
    with pytest.raises(InvalidValueError, match='joints = .*with names of joints'):
        sb.contact_problems.least_effort(problem, joints=['x'])


def test_contacts_found_before_other_robots_went_are_of_the_same_bodies():
    """Give the touching bodies' rows after their geometries got new indices."""
    world = cubes()
    lower, upper = world.robots['cube0'], world.robots['cube1']
    contacts = world.find_contacts(a=upper, b=lower)
    before = world.contact_problem(contacts)
    world.remove(world.robots['ground'])
    after = world.contact_problem(contacts)
    assert np.abs(after.J3[:, after.coordinates[lower]]).max() > 0.1
    close(after.J3, before.J3)
    np.testing.assert_array_equal(after.contacts.indices, before.contacts.indices - 1)


def test_many_bodies_are_the_dense_problem():
    """Match dense algebra with matrices factorized and multiplied by blocks."""
    world = sb.World()
    world.add_ground()
    arm = world.load_urdf(path_of('quadruped'), base='free', position=(0, 0, 5.0))
    arm.q = np.random.default_rng(3).uniform(-0.3, 0.3, len(arm.q))
    for number in range(40):
        world.add_body(
            sb.Box((0.1, 0.1, 0.1)),
            f'box{number}',
            mass=1.0 + number,
            position=(0.2 * (number % 20), 0.01, 0.05 + 0.1 * (number // 20)),
        )
    problem = world.contact_problem(world.find_contacts())
    assert len(problem.v) == 6 + len(arm.q) + 240
    assert len(problem.gap) == 160
    inverse = np.linalg.inv(problem.M)
    close(problem.response, inverse, 1e-12)
    close(problem.delassus3, problem.J3 @ inverse @ problem.J3.T, 1e-12)
    assert not np.tril(problem.factor, -1).any()
    solved = sb.contact_problems.solve(problem)
    assert max(solved.residuals.momentum, solved.residuals.natural) < 1e-9
    points = [*problem.contacts[:3]]
    close(world.contact_problem(points).J3, problem.J3[:9], 1e-15)


def test_rows_of_many_robots_are_solved_by_blocks():
    """Close the loops, and hold the dampers, in unconnected robots."""
    world = sb.World()
    world.add_ground()
    for number in range(9):
        world.load_urdf(
            path_of('quadruped'), f'robot{number}', base='free', position=(number, 0, 0.5)
        )
        body = world.add_body(
            sb.Box((0.1, 0.1, 0.1)), f'box{number}', mass=1.0, position=(number, 2.0, 0.5)
        )
        world.add_joint('ball', None, body, (number, 2.0, 0.55), tree=False)
        world.state.v[-3:] = number, 0.1, 0.2
    world.step()
    problem = world.contact_problem(world.find_contacts(margin=0.1))
    assert len(problem.v) > 200 < len(problem.K) + len(problem.joint_laws.types)
    rank = np.linalg.matrix_rank(problem.K, tol=1e-9)
    assert rank == 3 * 9
    np.testing.assert_allclose(problem.K @ problem.factor, 0.0, atol=1e-9)
    inverse = np.linalg.inv(problem.M)
    own = problem.K @ inverse @ problem.K.T
    close(
        problem.response,
        inverse - inverse @ problem.K.T @ np.linalg.solve(own, problem.K @ inverse),
    )
    solved = sb.contact_problems.solve(problem)
    assert max(solved.residuals) < 1e-9
    assert problem.null_space().shape[1] == len(problem.v) - np.linalg.matrix_rank(
        np.concatenate([problem.J, problem.K]), tol=1e-9
    )
