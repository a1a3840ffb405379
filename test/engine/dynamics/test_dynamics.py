"""Rigid-body dynamics against Pinocchio: robots from many makers and random trees."""

from __future__ import annotations

import warnings

from calls import calls_of
from conftest import example_urdfs, fixed_and_free
import numpy as np
import pinocchio as pin
import pytest
from robots import pendulum
from twins import RobotTwin, TreeTwin

import sim_bridge as sb

TREES = range(4)
# without a link, or without a moving joint: Pinocchio crashes on them
EMPTY = {'hector/quadrotor_base-fixed', 'iris/iris_simple-fixed', 'ur/ur3-fixed', 'ur/ur3-free'}


@pytest.fixture(
    scope='module',
    params=[
        *(case for case in fixed_and_free(example_urdfs()) if case.id not in EMPTY),
        *(
            pytest.param((seed, free), id=f'tree{seed}-{"free" if free else "fixed"}')
            for seed in TREES
            for free in (False, True)
        ),
    ],
)
def twin(request, tmp_path_factory):
    """Return every example robot, and random trees, with welded and free root."""
    source, free = request.param
    if source in TREES:
        return TreeTwin(source, free)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return RobotTwin(source, free, tmp_path_factory.mktemp('twin'))


@pytest.fixture(scope='module')
def unbound(twin, tmp_path_factory):
    """Return the twin without mimic joints: constraints here, free joints in Pinocchio."""
    if not any(joint.mimic for joint in twin.robot.joints):
        return twin
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return RobotTwin(twin.path, twin.first, tmp_path_factory.mktemp('twin'), mimics=False)


def test_mass_matrix(twin):
    """Match crba."""
    theirs = pin.crba(twin.model, twin.data, twin.q)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    twin.assert_same(sb.dynamics.mass_matrix(twin.robot), twin.to_pin.T @ theirs @ twin.to_pin)


def test_bias_forces(twin):
    """
    Match rnea at zero coordinate accelerations.

    A free joint's spatial acceleration is -w x v if its origin's acceleration is zero.
    """
    zero = twin.acceleration_to_pin(np.zeros(twin.nv))
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v, zero)
    twin.assert_same(sb.dynamics.bias_forces(twin.robot), twin.to_pin.T @ theirs)


def test_inverse_dynamics(twin):
    """Match rnea for random accelerations."""
    ddq = np.random.default_rng(1).normal(size=twin.nv)
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v, twin.acceleration_to_pin(ddq))
    twin.assert_same(sb.dynamics.inverse_dynamics(twin.robot, ddq), twin.to_pin.T @ theirs)


def test_forward_dynamics(twin):
    """Match aba for random efforts."""
    u = np.random.default_rng(2).normal(size=twin.nv)
    theirs = pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u))
    twin.assert_same(
        sb.dynamics.forward_dynamics(twin.robot, u), twin.acceleration_from_pin(theirs)
    )


def test_jacobian_of_every_link(twin):
    """Match the world-aligned frame Jacobians."""
    pin.computeJointJacobians(twin.model, twin.data, twin.q)
    pin.updateFramePlacements(twin.model, twin.data)
    for link in twin.robot.links:
        frame = twin.frame(link)
        theirs = pin.getFrameJacobian(
            twin.model, twin.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        twin.assert_same(sb.dynamics.jacobian(twin.robot, link), theirs @ twin.to_pin)


def accelerate(twin, seed):
    """Apply random efforts and weight to frictionless joints; return Pinocchio's accelerations."""
    robot = twin.robot
    # Pinocchio does not know Gazebo's turnGravityOff
    robot.gravity_mode = True
    for joint in robot.joints:
        if joint.coordinates == (1, 1):
            joint.damping = joint.friction = 0.0
            joint.effort_limit = np.inf
    u = np.random.default_rng(seed).normal(size=twin.nv)
    u[: twin.first] = 0.0
    twin.world.state.u[:] = u
    return pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u)).copy()


def test_links_move_as_frames(unbound):
    """Match poses, velocities and accelerations of every link frame, under random efforts."""
    twin = unbound
    robot, a = twin.robot, accelerate(twin, 3)
    theirs = twin.acceleration_from_pin(a)
    twin.assert_same(twin.world.simulation.observation.observer().workspace.ddq, theirs)
    twin.assert_same(robot.ddq, theirs[twin.first : twin.first + len(robot.joint_names)])
    pin.forwardKinematics(twin.model, twin.data, twin.q, twin.v, a)
    pin.updateFramePlacements(twin.model, twin.data)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    scale = np.max(np.abs(a)) + np.max(np.abs(twin.v)) ** 2
    for link in robot.links:
        frame = twin.frame(link)
        pose = twin.data.oMf[frame]
        velocity = pin.getFrameVelocity(twin.model, twin.data, frame, aligned)
        acceleration = pin.getFrameClassicalAcceleration(twin.model, twin.data, frame, aligned)
        np.testing.assert_allclose(link.p, pose.translation, atol=1e-11)
        np.testing.assert_allclose(link.R, pose.rotation, atol=1e-11)
        np.testing.assert_allclose(link.v, velocity.linear, atol=1e-10)
        np.testing.assert_allclose(link.w, velocity.angular, atol=1e-10)
        np.testing.assert_allclose(link.dv, acceleration.linear, atol=twin.tolerance * scale)
        np.testing.assert_allclose(link.dw, acceleration.angular, atol=twin.tolerance * scale)


def test_reactions(unbound):
    """Match rnea's wrench through every one-axis joint."""
    twin = unbound
    robot, a = twin.robot, accelerate(twin, 4)
    pin.rnea(twin.model, twin.data, twin.q, twin.v, a)
    pin.forwardKinematics(twin.model, twin.data, twin.q)
    forces = [
        (joint, twin.data.oMi[k].rotation, twin.data.f[k])
        for joint in robot.joints
        if joint.coordinates == (1, 1)
        for k in [twin.model.getJointId(joint.name)]
    ]
    scale = max((np.max(np.abs(f.vector)) for _, _, f in forces), default=0.0)
    for joint, R, wrench in forces:
        force, torque = joint.reaction
        np.testing.assert_allclose(force, R @ wrench.linear, atol=twin.tolerance * scale)
        np.testing.assert_allclose(torque, R @ wrench.angular, atol=twin.tolerance * scale)


@pytest.mark.parametrize('free', [False, True], ids=['fixed', 'free'])
@pytest.mark.parametrize('seed', TREES)
def test_energy(seed, free):
    """Match the kinetic energy, rotors included, and the potential energy of trees."""
    twin = TreeTwin(seed, free)
    kinetic, potential = twin.world.energy()
    theirs = pin.crba(twin.model, twin.data, twin.q)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert np.isclose(kinetic, 0.5 * twin.v @ theirs @ twin.v, rtol=1e-12)
    theirs = pin.computePotentialEnergy(twin.model, twin.data, twin.q)
    assert np.isclose(potential, theirs, rtol=1e-11)


def test_jacobian_of_another_robots_link_is_refused():
    """Name both robots; compute nothing for one robot with link indices from the other."""
    world = sb.World()
    left = world.load_urdf(pendulum(), name='left')
    right = world.load_urdf(pendulum(), name='right')
    with pytest.raises(sb.InvalidValueError, match="'bob'.*robot 'right'.*robot 'left'"):
        sb.dynamics.jacobian(left, right.link('bob'))
    same = sb.dynamics.jacobian(left, left.link('bob'))
    np.testing.assert_array_equal(same, sb.dynamics.jacobian(left, 'bob'))


def all_of(robot):
    """Return a robot's dynamics as one array."""
    ones = np.ones(len(sb.dynamics.bias_forces(robot)))
    return np.concatenate(
        [
            sb.dynamics.mass_matrix(robot).ravel(),
            sb.dynamics.bias_forces(robot),
            sb.dynamics.inverse_dynamics(robot, ones),
            sb.dynamics.forward_dynamics(robot, ones),
            sb.dynamics.jacobian(robot, robot.links[-1]).ravel(),
        ]
    )


def test_dynamics_follow_the_current_state():
    """Follow changes of state, parameters and gravity, and added and removed robots."""
    world = sb.World()
    robot = world.load_urdf('quadruped', position=(0.0, 0.0, 1.0))
    before = all_of(robot)
    joint = robot.joint(robot.actuated_joints[0])

    def check():
        """Compare with the same robot in a copy of the world without computed results."""
        nonlocal before
        now = all_of(robot)
        np.testing.assert_array_equal(now, all_of(world.copy().robots['quadruped']))
        assert not np.array_equal(now, before)
        before = now

    robot.q = 0.1
    robot.dq = 0.2
    check()
    world.step(10)
    check()
    joint.armature = 0.5
    check()
    world.gravity = (1.0, 2.0, 3.0)
    check()
    first = world.load_urdf('arm', position=(3.0, 0.0, 0.0))
    world.step(10)
    check()
    world.remove(first)
    world.step(10)
    check()
    world.reset()
    check()


def test_dynamics_do_not_rebuild_the_model():
    """Take only a few calls after the first computation."""
    robot = sb.World().load_urdf('arm')
    u = np.ones(7)
    for work in (
        lambda: sb.dynamics.mass_matrix(robot),
        lambda: sb.dynamics.forward_dynamics(robot, u),
        lambda: sb.dynamics.jacobian(robot, 'tool0'),
    ):
        work()
        assert calls_of(work) < 300
