"""Dynamics at given configurations against Pinocchio: robots from many makers, random trees."""

from __future__ import annotations

import warnings

from conftest import example_urdfs, fixed_and_free
import numpy as np
import pinocchio as pin
import pytest
from twins import RobotTwin, TreeTwin

from sim_bridge import dynamics

TREES = range(4)
ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
# test only every eighth robot; the long tests cover the others
EVERY = 8
# without a link, or without a moving joint: Pinocchio crashes on them
EMPTY = {'hector/quadrotor_base-fixed', 'iris/iris_simple-fixed', 'ur/ur3-fixed', 'ur/ur3-free'}


def cases():
    """List robots, fixed and free, and trees with all joint types."""
    robots = [case for case in fixed_and_free(example_urdfs()) if case.id not in EMPTY]
    for number, case in enumerate(robots):
        marks = pytest.mark.long if number % EVERY else ()
        yield pytest.param(*case.values, id=case.id, marks=marks)
    for seed in TREES:
        for free in (False, True):
            yield pytest.param((seed, free), id=f'tree{seed}-{"free" if free else "fixed"}')


class Case:
    """
    A twin, its state as arrays, and Pinocchio's dynamics in our coordinates.

    The robot is then moved elsewhere, at rest, so that results cannot come from its current state.
    """

    def __init__(self, twin):
        """Take the twin's state."""
        self.twin, self.robot = twin, twin.robot
        self.q, self.dq = dynamics.configuration(self.robot), dynamics.velocity(self.robot)
        self.X = twin.to_pin
        rng = np.random.default_rng(3)
        self.ddq = rng.normal(size=twin.nv)
        robot = self.robot
        self.center, self.placements = (
            robot.center_of_mass,
            [(link.name, link.R.copy(), link.p.copy()) for link in robot.links],
        )
        dynamics.set_configuration(
            robot, dynamics.random_configuration(robot, 4), rng.normal(size=twin.nv)
        )
        pin.computeAllTerms(twin.model, twin.data, twin.q, twin.v)
        self.M = self.X.T @ symmetric(pin.crba(twin.model, twin.data, twin.q)) @ self.X
        # rates of rotors about their axes are differences of numbers this large
        self.momentum = np.abs(self.M).max(initial=0.0) * np.abs(self.dq).max(initial=0.0) + 1e-12

    @property
    def turns(self):
        """Coordinate triples of rotations, and the triples whose axes turn with them."""
        first = [(3, (0, 3))] if self.twin.first else []
        balls = [joint for joint in self.robot.joints if joint.coordinates == (4, 3)]
        at = self.robot.blueprint.joint_v
        return first + [(at[joint.name], (at[joint.name],)) for joint in balls]

    def turning(self, weights):
        """Return the matrix G in -X G, the rate of X for velocities of all coordinates."""
        G = np.zeros_like(self.X)
        for at, blocks in self.turns:
            for block in blocks:
                G[block : block + 3, block : block + 3] = cross_matrix(weights[at : at + 3])
        return G

    def inverse_dynamics_derivatives(self, ddq):
        """Return Pinocchio's derivatives of inverse dynamics, in our coordinates."""
        twin, X, dq = self.twin, self.X, self.dq
        spatial, by_dq = ddq.copy(), np.zeros_like(X)
        if twin.first:
            v, w = dq[:3], dq[3:6]
            spatial[:3] -= np.cross(w, v)
            by_dq[:3, :3], by_dq[:3, 3:6] = -cross_matrix(w), cross_matrix(v)
        a = X @ spatial
        by_q, by_v, by_a = pin.computeRNEADerivatives(twin.model, twin.data, twin.q, twin.v, a)
        by_a = symmetric(by_a)
        effort = X.T @ pin.rnea(twin.model, twin.data, twin.q, twin.v, a)
        ours = X.T @ by_q @ X
        for j, unit in enumerate(np.eye(twin.nv)):
            G = self.turning(unit)
            ours[:, j] += G @ effort - X.T @ (by_v @ X @ G @ dq + by_a @ X @ G @ spatial)
        return ours, X.T @ (by_v @ X + by_a @ X @ by_dq), X.T @ by_a @ X


def symmetric(matrix):
    """Return the symmetric matrix of a computed upper triangle."""
    return np.triu(matrix) + np.triu(matrix, 1).T


def cross_matrix(a):
    """Return the matrix that maps b to a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


@pytest.fixture(scope='module', params=cases())
def case(request, tmp_path_factory):
    """Return a robot and its Pinocchio twin."""
    source, free = request.param
    if source in TREES:
        return Case(TreeTwin(source, free))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return Case(RobotTwin(source, free, tmp_path_factory.mktemp('twin')))


def test_inverse_mass_matrix(case):
    """Match computeMinverse."""
    twin = case.twin
    theirs = symmetric(pin.computeMinverse(twin.model, twin.data, twin.q))
    back = np.linalg.inv(case.X)
    theirs = back @ theirs @ back.T
    # tiny inertias: rounding grows with the condition number
    rounding = np.finfo(float).eps * np.linalg.cond(case.M) * np.abs(theirs).max()
    twin.assert_same(
        dynamics.inverse_mass_matrix(case.robot, case.q), theirs, rounding / twin.tolerance
    )


def test_forces(case):
    """Match the mass matrix, gravity, bias forces, inverse and forward dynamics."""
    twin, robot, q, dq = case.twin, case.robot, case.q, case.dq
    twin.assert_same(dynamics.mass_matrix(robot, q), case.M)
    theirs = pin.computeGeneralizedGravity(twin.model, twin.data, twin.q)
    twin.assert_same(dynamics.gravity_forces(robot, q), case.X.T @ theirs)
    a = twin.acceleration_to_pin(case.ddq)
    u = case.X.T @ pin.rnea(twin.model, twin.data, twin.q, twin.v, a)
    twin.assert_same(dynamics.inverse_dynamics(robot, case.ddq, q, dq), u)
    bias = u - case.M @ case.ddq
    twin.assert_same(dynamics.bias_forces(robot, q, dq) + np.abs(u).max(), bias + np.abs(u).max())
    theirs = pin.aba(twin.model, twin.data, twin.q, twin.v, np.linalg.solve(case.X.T, case.ddq))
    twin.assert_same(
        dynamics.forward_dynamics(robot, case.ddq, q, dq), twin.acceleration_from_pin(theirs)
    )


def test_coriolis_matrix(case):
    """Match Christoffel's matrix where defined; give the bias forces and a skew dM/dt - 2 C."""
    twin, robot, q, dq = case.twin, case.robot, case.q, case.dq
    C = dynamics.coriolis_matrix(robot, q, dq)
    bias = dynamics.bias_forces(robot, q, dq) - dynamics.gravity_forces(robot, q)
    scale = np.abs(C).max(initial=1e-12) * np.abs(dq).max()
    np.testing.assert_allclose(C @ dq, bias, atol=100 * twin.tolerance * scale)
    if not case.turns:
        theirs = pin.computeCoriolisMatrix(twin.model, twin.data, twin.q, twin.v)
        twin.assert_same(C, case.X.T @ theirs @ case.X, case.momentum)
    step = 1e-5
    before, after = (
        dynamics.mass_matrix(robot, dynamics.integrate(robot, side * step * dq, q))
        for side in (-1.0, 1.0)
    )
    rate = (after - before) / (2.0 * step) - 2.0 * C
    np.testing.assert_allclose(rate, -rate.T, atol=1e-7 * scale)


def test_derivatives(case):
    """Match computeRNEADerivatives; the forward derivatives follow by M⁻¹."""
    twin, robot, q, dq = case.twin, case.robot, case.q, case.dq
    ours = dynamics.inverse_dynamics_derivatives(robot, case.ddq, q, dq)
    for one, theirs in zip(ours, case.inverse_dynamics_derivatives(case.ddq), strict=True):
        twin.assert_same(one, theirs, case.momentum)
    u = np.random.default_rng(7).normal(size=twin.nv)
    ours = dynamics.forward_dynamics_derivatives(robot, u, q, dq)
    by_q, by_dq, M = case.inverse_dynamics_derivatives(dynamics.forward_dynamics(robot, u, q, dq))
    # M is badly conditioned for robots with tiny inertias: compare efforts
    for one, theirs in ((ours.q, by_q), (ours.dq, by_dq)):
        size = np.linalg.norm(M) * np.linalg.norm(one) + case.momentum
        np.testing.assert_allclose(M @ one, -theirs, atol=twin.tolerance * size)
    twin.assert_same(ours.u, dynamics.inverse_mass_matrix(robot, q))


def test_jacobians(case):
    """Match the frame Jacobians and their time derivatives."""
    twin, robot, q, dq = case.twin, case.robot, case.q, case.dq
    pin.computeJointJacobiansTimeVariation(twin.model, twin.data, twin.q, twin.v)
    pin.updateFramePlacements(twin.model, twin.data)
    X_rate = -case.X @ case.turning(dq)
    for link in robot.links[:: max(1, len(robot.links) // 5)]:
        frame = twin.frame(link)
        J = pin.getFrameJacobian(twin.model, twin.data, frame, ALIGNED)
        twin.assert_same(dynamics.jacobian(robot, link, q=q), J @ case.X)
        dJ = pin.getFrameJacobianTimeVariation(twin.model, twin.data, frame, ALIGNED)
        theirs = dJ @ case.X + J @ X_rate
        ours = dynamics.jacobian_derivative(robot, link, q=q, dq=dq)
        scale = np.abs(J).max() * np.abs(dq).max()
        np.testing.assert_allclose(ours, theirs, atol=twin.tolerance * (scale + 1.0))


def test_placements(case):
    """Match the link poses recorded while the robot was at that configuration."""
    ours = dynamics.forward_kinematics(case.robot, q=case.q)
    for T, (name, R, p) in zip(ours, case.placements, strict=True):
        np.testing.assert_allclose(T[:3, :3], R, atol=1e-13)
        np.testing.assert_allclose(T[:3, 3], p, atol=1e-13)
        np.testing.assert_array_equal(T[3], (0.0, 0.0, 0.0, 1.0))
        np.testing.assert_array_equal(dynamics.forward_kinematics(case.robot, name, case.q), T)


def test_momentum_and_energy(case):
    """Match centre of mass, centroidal momentum, its matrix and its rate, and both energies."""
    twin, robot, q, dq = case.twin, case.robot, case.q, case.dq
    np.testing.assert_allclose(dynamics.center_of_mass(robot, q), case.center, atol=1e-12)
    A = dynamics.centroidal_momentum_matrix(robot, q)
    dA = dynamics.centroidal_momentum_matrix_derivative(robot, q, dq)
    twin.assert_same(dynamics.centroidal_momentum(robot, q, dq), A @ dq)
    twin.assert_same(robot.mass * dynamics.center_of_mass_jacobian(robot, q), A[:3])
    twin.assert_same(
        robot.mass * dynamics.center_of_mass_jacobian_derivative(robot, q, dq), dA[:3]
    )
    pin.dccrba(twin.model, twin.data, twin.q, twin.v)
    # theirs is about the centre of mass of the moving links
    arm = twin.data.com[0] - case.center
    speed = A[:3] @ dq
    X_rate = -case.X @ case.turning(dq)
    theirs = twin.data.Ag @ case.X
    rate = twin.data.dAg @ case.X + twin.data.Ag @ X_rate
    moving = pin.computeTotalMass(twin.model, twin.data)
    arm_rate = speed / moving - speed / robot.mass
    rate[3:] += cross_matrix(arm) @ rate[:3] + cross_matrix(arm_rate) @ theirs[:3]
    theirs[3:] += cross_matrix(arm) @ theirs[:3]
    twin.assert_same(A, theirs)
    twin.assert_same(dA, rate, case.momentum)
    kinetic = 0.5 * dq @ case.M @ dq
    assert np.isclose(dynamics.kinetic_energy(robot, q, dq), kinetic, rtol=1e-10)
    step = 1e-5
    power = [
        dynamics.potential_energy(robot, dynamics.integrate(robot, side * step * dq, q))
        for side in (-1.0, 1.0)
    ]
    expected = dynamics.gravity_forces(robot, q) @ dq
    assert np.isclose(
        (power[1] - power[0]) / (2 * step), expected, rtol=1e-6, atol=1e-5 * np.abs(power).max()
    )
