"""Rigid-body dynamics of ball, universal, piston, hinge-2 and planar joints against Pinocchio."""

from __future__ import annotations

from joint_robots import describe, joint, link
import numpy as np
import pinocchio as pin
import pytest

import sim_bridge as sb
from sim_bridge.description.model import JointDynamics, Pose
from sim_bridge.description.rotation import matrix_from_quaternion
from sim_bridge.description.stages import axis_frame

TOLERANCE = 1e-12
KINDS = ('revolute', 'prismatic', 'ball', 'universal', 'piston', 'hinge2', 'planar')


def random_unit(rng, size):
    """Give a random vector of length 1."""
    vector = rng.normal(size=size)
    return vector / np.linalg.norm(vector)


def random_rotation(rng):
    """Give a random rotation (3, 3)."""
    return matrix_from_quaternion(random_unit(rng, 4))


def random_link(rng, name):
    """Give a link with a mass and an inertia that a body can have."""
    sides = rng.uniform(0.1, 0.5, 3)
    axes = random_rotation(rng)
    inertia = axes @ np.diag(sides @ sides - sides**2) @ axes.T
    return link(name, rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), inertia)


def random_joint(rng, number, kind):
    """Give a joint from a random earlier link to a new one."""
    parts = {}
    if kind in ('universal', 'hinge2'):
        parts['axis2'] = random_unit(rng, 3)
    if kind == 'hinge2' and number % 2:
        parts['suspension'] = JointDynamics(armature=0.3)
    return joint(
        f'j{number}', kind, f'l{rng.integers(max(0, number - 2), number + 1)}', f'l{number + 1}',
        Pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng)), random_unit(rng, 3),
        dynamics=JointDynamics(armature=rng.uniform(0.0, 0.1)), **parts)


class Twin:
    """One random tree in both libraries at one random state, and the map of coordinates."""

    def __init__(self, seed, free):
        rng = np.random.default_rng(seed)
        kinds = [*rng.permutation(KINDS), *rng.choice(KINDS, 4)]
        joints = [random_joint(rng, number, kind) for number, kind in enumerate(kinds)]
        links = [random_link(rng, f'l{number}') for number in range(len(joints) + 1)]
        if not free:
            # Pinocchio leaves the potential energy of what never moves out
            links[0] = link('l0', 0.0)
        self.world = sb.World(gravity=rng.normal(size=3))
        self.robot = self.world.add_robot(describe(links, joints), fixed_base=not free)
        self.model = pin.Model()
        self.model.gravity.linear = self.world.gravity
        self.q, self.v, self.blocks = [], [], []
        self.w_cross_v = np.zeros(3)
        self.first = 6 if free else 0
        numbers = {'l0': self._add_base(rng) if free else 0}
        self._add_mass(numbers['l0'], links[0])
        # depth first, as Pinocchio wants it
        pending = [one for one in reversed(joints) if one.parent == 'l0']
        while pending:
            one = pending.pop()
            numbers[one.child] = self._add_joint(rng, one, numbers[one.parent])
            self._add_mass(numbers[one.child], links[int(one.child[1:])])
            pending += [other for other in reversed(joints) if other.parent == one.child]
        self.q, self.v = np.concatenate(self.q), np.concatenate(self.v)
        self.nv = self.model.nv
        self.to_pin = np.zeros((self.nv, self.nv))
        row = 0
        for at, block in self.blocks:
            self.to_pin[row : row + len(block), at : at + block.shape[1]] = block
            row += len(block)
        armature = self.robot.part.model.passive[:, 0]
        # isotropic where several coordinates mix
        self.model.armature = self.to_pin**2 @ armature
        self.data = self.model.createData()
        self.numbers, self.links = numbers, links

    def _add_base(self, rng):
        quat = random_unit(rng, 4)
        position, linear, angular = rng.normal(size=(3, 3))
        self.robot.set_base_pose(position, quat)
        self.robot.set_base_velocity(linear, angular)
        R = matrix_from_quaternion(quat)
        self.q.append([*position, *quat])
        self.v.append([*(R.T @ linear), *(R.T @ angular)])
        self.blocks.append((0, np.kron(np.eye(2), R.T)))
        self.w_cross_v = np.cross(angular, linear)
        return self.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')

    def _add_joint(self, rng, one, parent):
        """Add a joint's stages to Pinocchio's model, and put both at a random state."""
        ours, at = self.robot.joint(one.name), self.robot.blueprint.joint_v[one.name]
        place = pin.SE3(one.origin.rotation, one.origin.position)
        velocity = rng.normal(size=ours.coordinates[1])
        ours.dq = velocity if len(velocity) > 1 else velocity[0]
        if one.type.value == 'ball':
            quat = random_unit(rng, 4)
            ours.q = 3.0 * quat
            R = matrix_from_quaternion(quat)
            self.q.append(quat)
            self.v.append(R.T @ velocity)
            self.blocks.append((at, R.T))
            return self.model.addJoint(parent, pin.JointModelSpherical(), place, one.name)
        position = rng.uniform(-1.0, 1.0, ours.coordinates[0])
        ours.q = position if len(position) > 1 else position[0]
        slide, turn = pin.JointModelPrismaticUnaligned, pin.JointModelRevoluteUnaligned
        along = axis_frame(one.axis)
        stages = {
            'revolute': [(turn, one.axis, 0)],
            'prismatic': [(slide, one.axis, 0)],
            'universal': [(turn, one.axis, 0), (turn, one.axis2, 1)],
            'piston': [(slide, one.axis, 0), (turn, one.axis, 1)],
            'hinge2': [(slide, one.axis, 2), (turn, one.axis, 0), (turn, one.axis2, 1)],
            'planar': [(slide, along[:, 0], 0), (slide, along[:, 1], 1), (turn, one.axis, 2)],
        }[one.type.value]
        for kind, axis, coordinate in stages:
            if coordinate == len(position):
                continue
            parent = self.model.addJoint(parent, kind(axis), place, f'{one.name}_{coordinate}')
            place = pin.SE3.Identity()
            self.q.append([position[coordinate]])
            self.v.append([velocity[coordinate]])
            self.blocks.append((at + coordinate, np.eye(1)))
        return parent

    def _add_mass(self, number, body):
        inertial = body.inertial
        if inertial is None:
            return
        self.model.appendBodyToJoint(
            number, pin.Inertia(inertial.mass, inertial.pose.position, inertial.inertia),
            pin.SE3.Identity())

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
    assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(theirs).max()


@pytest.fixture(
    scope='module',
    params=[pytest.param((seed, free), id=f'{seed}-{"free" if free else "fixed"}')
            for seed in range(4) for free in (False, True)])
def twin(request):
    """Give random trees with every type of joint, with the root welded and free."""
    return Twin(*request.param)


def test_mass_matrix(twin):
    """Match crba."""
    theirs = pin.crba(twin.model, twin.data, twin.q)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert_same(sb.dynamics.mass_matrix(twin.robot), twin.to_pin.T @ theirs @ twin.to_pin)


def test_bias_forces(twin):
    """Match rnea without acceleration: gravity, and every velocity product."""
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v,
                      twin.acceleration_to_pin(np.zeros(twin.nv)))
    assert_same(sb.dynamics.bias_forces(twin.robot), twin.to_pin.T @ theirs)


def test_inverse_dynamics(twin):
    """Match rnea."""
    ddq = np.random.default_rng(7).normal(size=twin.nv)
    theirs = pin.rnea(twin.model, twin.data, twin.q, twin.v, twin.acceleration_to_pin(ddq))
    assert_same(sb.dynamics.inverse_dynamics(twin.robot, ddq), twin.to_pin.T @ theirs)


def test_forward_dynamics(twin):
    """Match aba, and what is observed in the world under the same efforts."""
    u = np.random.default_rng(8).normal(size=twin.nv)
    theirs = twin.acceleration_from_pin(pin.aba(
        twin.model, twin.data, twin.q, twin.v, np.linalg.solve(twin.to_pin.T, u)))
    assert_same(sb.dynamics.forward_dynamics(twin.robot, u), theirs)
    twin.robot.part.state.u[:] = u
    observed = twin.world.observed_accelerations()
    twin.robot.part.state.u[:] = 0.0
    assert_same(observed, theirs)


def test_jacobians(twin):
    """Match the Jacobian, the pose and the velocity of every link."""
    pin.computeJointJacobians(twin.model, twin.data, twin.q)
    pin.forwardKinematics(twin.model, twin.data, twin.q, twin.v)
    for body in twin.links:
        number, place = twin.numbers[body.name], twin.data.oMi[twin.numbers[body.name]]
        theirs = pin.getJointJacobian(
            twin.model, twin.data, number, pin.LOCAL_WORLD_ALIGNED) @ twin.to_pin
        if number:
            assert_same(sb.dynamics.jacobian(twin.robot, body.name), theirs)
            velocity = pin.getVelocity(
                twin.model, twin.data, number, pin.LOCAL_WORLD_ALIGNED).vector
            ours = twin.robot.link(body.name)
            assert_same(np.concatenate([ours.v, ours.w]), velocity)
            assert_same(ours.R, place.rotation)
            assert_same(ours.p, place.translation)


def test_energy(twin):
    """Match kinetic energy, rotors included, and potential energy."""
    kinetic, potential = twin.world.energy()
    theirs = pin.crba(twin.model, twin.data, twin.q)
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert np.isclose(kinetic, 0.5 * twin.v @ theirs @ twin.v, rtol=1e-12)
    theirs = pin.computePotentialEnergy(twin.model, twin.data, twin.q)
    assert np.isclose(potential, theirs, rtol=1e-11)
