"""Inertial parameters: regressor compared with Pinocchio's, and always possible inertias."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.identification.pseudo_inertia import (
    Body,
    body_of,
    log_cholesky,
    standard_derivatives,
    vector_derivatives,
)
from sim_bridge.identification.regressor import torque_regressor

BODY = Body(
    2.0,
    np.array([0.1, 0.2, -0.1]),
    np.array([[0.05, 0.01, 0.0], [0.01, 0.06, 0.002], [0.0, 0.002, 0.04]]),
)


@pytest.mark.parametrize('name', ['arm', 'double_pendulum'])
def test_regressor_is_pinocchios(name):
    """Give Pinocchio's columns, link by link."""
    robot = sb.World().load_urdf(path_of(name))
    model = pinocchio.buildModelFromUrdf(str(path_of(name)))
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    data, draw = model.createData(), np.random.default_rng(1)
    n = len(robot.joint_names)
    q, dq, ddq = draw.normal(size=(3, 20, n))
    links = [robot.joint(joint).child_link.name for joint in robot.joint_names]
    ours = torque_regressor(robot, links, q, dq, ddq)
    for k in range(20):
        # continuous joints are a cosine and a sine there
        own = pinocchio.integrate(model, pinocchio.neutral(model), q[k])
        theirs = pinocchio.computeJointTorqueRegressor(model, data, own, dq[k], ddq[k])
        assert np.allclose(ours[k], theirs.reshape(n, n, 10), rtol=0.0, atol=1e-12)


def test_regressor_times_parameters_is_inverse_dynamics():
    """Give inverse-dynamics efforts from all links with mass."""
    robot = sb.World().load_urdf(path_of('arm'))
    q, dq, ddq = np.random.default_rng(2).normal(size=(3, 10, 7))
    heavy = [link for link in robot.links if link.m > 0.0]
    standard = np.array([Body(link.m, link.c, link.I).standard for link in heavy])
    efforts = np.einsum(
        'nvlp,lp->nv', torque_regressor(robot, [link.name for link in heavy], q, dq, ddq), standard
    )
    assert np.allclose(efforts, sb.dynamics.inverse_dynamics(robot, ddq, q, dq), atol=1e-12)


def test_standard_parameters_are_pinocchios():
    """Have the order and the values of `toDynamicParameters`."""
    theirs = pinocchio.Inertia(BODY.mass, BODY.center, BODY.inertia).toDynamicParameters()
    assert np.allclose(BODY.standard, theirs, rtol=0.0, atol=1e-15)


def test_log_cholesky_is_pinocchios():
    """Describe the same body as Pinocchio's log-Cholesky parameters, and convert back."""
    parameters = log_cholesky(BODY)
    assert np.allclose(body_of(parameters).vector, BODY.vector, rtol=0.0, atol=1e-15)
    # theirs: alpha = log m / 2, then d, then s and t in the paper's order
    theirs = np.concatenate(
        [
            [0.5 * parameters[0]],
            parameters[4:7],
            [parameters[7], parameters[9], parameters[8]],
            parameters[1:4],
        ]
    )
    inertia = pinocchio.Inertia.FromLogCholeskyParameters(pinocchio.LogCholeskyParameters(theirs))
    assert np.allclose(inertia.toDynamicParameters(), BODY.standard, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    ('of', 'derivatives'), [('standard', standard_derivatives), ('vector', vector_derivatives)]
)
def test_derivatives_are_those_of_differences(of, derivatives):
    """Agree with central differences."""
    at, step = log_cholesky(BODY), 1e-6
    seen = np.stack(
        [
            (getattr(body_of(at + step * unit), of) - getattr(body_of(at - step * unit), of))
            / (2.0 * step)
            for unit in np.eye(10)
        ],
        axis=-1,
    )
    assert np.allclose(derivatives(at), seen, rtol=0.0, atol=1e-9)


def test_any_parameters_are_a_possible_body():
    """Be positive definite, and satisfy the triangle inequality, for any numbers."""
    draw = np.random.default_rng(3)
    for _ in range(200):
        body = body_of(draw.normal(scale=2.0, size=10))
        principal = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0.0
        assert body.is_possible
        assert principal[0] > 0.0
        assert principal[2] < principal[0] + principal[1]


def test_a_thin_body_is_kept():
    """Change a rod without thickness only by rounding."""
    rod = Body(1.0, np.array([0.0, 0.0, 0.5]), np.diag([1.0 / 12.0, 1.0 / 12.0, 0.0]))
    assert np.allclose(body_of(log_cholesky(rod)).vector, rod.vector, rtol=0.0, atol=1e-6)
