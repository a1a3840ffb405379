"""Rigid-body dynamics against Pinocchio, on every robot of example-robot-data, fixed and free."""

from __future__ import annotations

import re
import warnings

from conftest import example_urdfs
import numpy as np
import pinocchio as pin
import pytest
from robots import pendulum

import sim_bridge as sb

TOLERANCE = 1e-9


class Twin:
    """One robot in both libraries at one random state, and the maps between their coordinates."""

    def __init__(self, path, free, tmp_path, seed=0):
        rng = np.random.default_rng(seed)
        text = path.read_text()
        if '<link' not in text:
            pytest.skip('describes no link')
        if not re.search(r'<robot[^>]*\bname=', text):
            # Pinocchio refuses a robot without a name
            path = tmp_path / path.name
            path.write_text(text.replace('<robot', '<robot name="robot"', 1))
        root = [pin.JointModelFreeFlyer()] if free else []
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.world = sb.World()
        self.robot = self.world.load_urdf(path, fixed_base=not free, collisions='none')
        robot = self.robot
        self.first = 6 if free else 0
        self.nv = self.first + len(robot.joint_names)
        assert self.nv == self.model.nv

        robot.q = rng.uniform(-1.0, 1.0, len(robot.joint_names))
        robot.dq = rng.normal(size=len(robot.joint_names))
        R = np.eye(3)
        self.q, self.v = pin.neutral(self.model), np.zeros(self.model.nv)
        self.w_cross_v = np.zeros(3)
        if free:
            quat = rng.normal(size=4)
            quat /= np.linalg.norm(quat)
            position, linear, angular = rng.normal(size=(3, 3))
            robot.set_base_pose(position, quat)
            robot.set_base_velocity(linear, angular)
            R = pin.Quaternion(quat).toRotationMatrix()
            self.q[:7] = [*position, *quat]
            self.v[:6] = [*(R.T @ linear), *(R.T @ angular)]
            self.w_cross_v = np.cross(angular, linear)
        # ours: free base in world axes, then joint_names; theirs: body axes, then their own order
        self.to_pin = np.zeros((self.nv, self.nv))
        if free:
            self.to_pin[:3, :3] = self.to_pin[3:6, 3:6] = R.T
        for k, name in enumerate(robot.joint_names):
            joint = self.model.joints[self.model.getJointId(name)]
            self.to_pin[joint.idx_v, self.first + k] = 1.0
            self.v[joint.idx_v] = robot.dq[k]
            # where a joint moves no inertia, loading gave it some
            self.model.armature[joint.idx_v] = robot.joint(name).armature
            self.q[joint.idx_q : joint.idx_q + joint.nq] = (
                robot.q[k] if joint.nq == 1 else [np.cos(robot.q[k]), np.sin(robot.q[k])]
            )

        self.data = self.model.createData()

    def frame(self, link):
        """Give the number of a link's frame in Pinocchio."""
        assert self.model.existFrame(link.name, pin.FrameType.BODY), link.name
        return self.model.getFrameId(link.name, pin.FrameType.BODY)

    def acceleration_to_pin(self, ddq):
        """Turn our accelerations into Pinocchio's: a free joint's are spatial, in body axes."""
        ddq = ddq.copy()
        if self.first:
            ddq[:3] -= self.w_cross_v
        return self.to_pin @ ddq

    def acceleration_from_pin(self, ddq):
        """Turn Pinocchio's accelerations into ours."""
        ddq = np.linalg.solve(self.to_pin, ddq)
        if self.first:
            ddq[:3] += self.w_cross_v
        return ddq


def assert_same(ours, theirs):
    """Compare by the largest difference relative to the largest entry."""
    scale = np.max(np.abs(theirs), initial=1e-12)
    assert np.max(np.abs(ours - theirs), initial=0.0) <= TOLERANCE * scale


@pytest.fixture(
    scope='module',
    params=[
        pytest.param((path, free), id=f'{name}-{"free" if free else "fixed"}')
        for name, path in example_urdfs().items()
        for free in (False, True)
    ],
)
def twin(request, tmp_path_factory):
    """Give every example robot, with its root welded and free."""
    path, free = request.param
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        twin = Twin(path, free, tmp_path_factory.mktemp('twin'))
    if twin.nv == 0:
        pytest.skip('nothing moves; Pinocchio crashes on empty models')
    return twin


def test_mass_matrix(twin):
    """Match crba."""
    theirs = pin.crba(twin.model, twin.data, twin.q)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert_same(sb.dynamics.mass_matrix(twin.robot), twin.to_pin.T @ theirs @ twin.to_pin)


def test_bias_forces(twin):
    """
    Match rnea where no coordinate accelerates.

    A free joint's spatial acceleration is -w x v where that of its origin is zero.
    """
    zero = twin.acceleration_to_pin(np.zeros(twin.nv))
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v, zero)
    assert_same(sb.dynamics.bias_forces(twin.robot), twin.to_pin.T @ theirs)


def test_inverse_dynamics(twin):
    """Match rnea for random accelerations."""
    ddq = np.random.default_rng(1).normal(size=twin.nv)
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v, twin.acceleration_to_pin(ddq))
    assert_same(sb.dynamics.inverse_dynamics(twin.robot, ddq), twin.to_pin.T @ theirs)


def test_forward_dynamics(twin):
    """Match aba for random efforts."""
    u = np.random.default_rng(2).normal(size=twin.nv)
    theirs = pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u))
    assert_same(sb.dynamics.forward_dynamics(twin.robot, u), twin.acceleration_from_pin(theirs))


def test_jacobian_of_every_link(twin):
    """Match the world-aligned frame Jacobians."""
    pin.computeJointJacobians(twin.model, twin.data, twin.q)
    pin.updateFramePlacements(twin.model, twin.data)
    for link in twin.robot.links:
        frame = twin.frame(link)
        theirs = pin.getFrameJacobian(
            twin.model, twin.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        assert_same(sb.dynamics.jacobian(twin.robot, link), theirs @ twin.to_pin)


def test_links_move_as_frames(twin):
    """Match poses, velocities and accelerations of every link's frame, under random efforts."""
    robot = twin.robot
    if any(joint.mimic for joint in robot.joints):
        pytest.skip('mimic joints are constraints here, free joints in Pinocchio')
    for joint in robot.joints:
        if joint.coordinates == (1, 1):
            joint.damping = joint.friction = 0.0
            joint.effort_limit = np.inf
    robot.u = np.random.default_rng(3).normal(size=len(robot.joint_names))
    u = np.concatenate([np.zeros(twin.first), robot.u])
    a = pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u)).copy()
    assert_same(robot.ddq, twin.acceleration_from_pin(a)[twin.first :])
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
        np.testing.assert_allclose(link.dv, acceleration.linear, atol=TOLERANCE * scale)
        np.testing.assert_allclose(link.dw, acceleration.angular, atol=TOLERANCE * scale)


def test_reactions(twin):
    """Match rnea's wrench through every joint that moves."""
    robot = twin.robot
    if any(joint.mimic for joint in robot.joints):
        pytest.skip('mimic joints are constraints here, free joints in Pinocchio')
    for joint in robot.joints:
        if joint.coordinates == (1, 1):
            joint.damping = joint.friction = 0.0
            joint.effort_limit = np.inf
    robot.u = np.random.default_rng(4).normal(size=len(robot.joint_names))
    u = np.concatenate([np.zeros(twin.first), robot.u])
    a = pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u)).copy()
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
        np.testing.assert_allclose(force, R @ wrench.linear, atol=TOLERANCE * scale)
        np.testing.assert_allclose(torque, R @ wrench.angular, atol=TOLERANCE * scale)


def test_jacobian_of_another_robots_link_is_refused():
    """Name both robots, and compute nothing of the one with the places of the other."""
    world = sb.World()
    left = world.load_urdf(pendulum(), name='left')
    right = world.load_urdf(pendulum(), name='right')
    with pytest.raises(sb.InvalidValueError, match="'bob'.*robot 'right'.*robot 'left'"):
        sb.dynamics.jacobian(left, right.link('bob'))
    same = sb.dynamics.jacobian(left, left.link('bob'))
    np.testing.assert_array_equal(same, sb.dynamics.jacobian(left, 'bob'))
