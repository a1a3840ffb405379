"""
Inverse-dynamics regressor: efforts are linear in the links' inertial parameters.

C. G. Atkeson, C. H. An and J. M. Hollerbach: Estimation of Inertial Parameters of Manipulator
Loads and Links. Int. J. of Robotics Research 5 (1986). For each link, u = Jᵀ A(a, w, dw) p with p
its ten `Body.standard` parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.robots.robot import Robot
from sim_bridge.world.dynamics import forward_kinematics, jacobian, jacobian_derivative


def torque_regressor(
    robot: Robot, links: Sequence[str], q: FloatArray, dq: FloatArray, ddq: FloatArray
) -> FloatArray:
    """
    Return (N, nv, links, 10) inverse-dynamics efforts per inertial parameter.

    q, dq, ddq: (N, nq), (N, nv), (N, nv) with coordinates as in `sb.dynamics`. The last axis is
    ordered as `Body.standard` and in Pinocchio: m, m c, ixx ixy iyy ixz iyz izz about the
    link origin, link axes. Rotor inertias are not included. Parameters times regressor, summed
    over all links, give `dynamics.inverse_dynamics` without armature.
    """
    gravity = np.asarray(robot.world.gravity, float)
    found = np.empty((len(q), dq.shape[1], len(links), 10))
    for number, link in enumerate(links):
        turn = forward_kinematics(robot, link, q)[:, :3, :3].transpose(0, 2, 1)
        jac = jacobian(robot, link, q=q)
        rate = jacobian_derivative(robot, link, q=q, dq=dq)
        acceleration = np.einsum('nij,nj->ni', jac, ddq) + np.einsum('nij,nj->ni', rate, dq)
        a = np.einsum('nij,nj->ni', turn, acceleration[:, :3] - gravity)
        dw = np.einsum('nij,nj->ni', turn, acceleration[:, 3:])
        w = np.einsum('nij,njk,nk->ni', turn, jac[:, 3:], dq)
        wrench = _body_regressor(a, w, dw)
        own = np.concatenate([turn @ jac[:, :3], turn @ jac[:, 3:]], axis=1)
        found[:, :, number] = own.transpose(0, 2, 1) @ wrench
    return found


def _body_regressor(a: FloatArray, w: FloatArray, dw: FloatArray) -> FloatArray:
    """
    Return (N, 6, 10) force and moment about the origin per body parameter, in body axes.

    a: (N, 3) origin acceleration minus gravity. w, dw: (N, 3) angular velocity and
    acceleration.
    """
    found = np.zeros((len(a), 6, 10))
    turning = _cross(w)
    found[:, :3, 0] = a
    found[:, :3, 1:4] = _cross(dw) + turning @ turning
    found[:, 3:, 1:4] = -_cross(a)
    found[:, 3:, 4:] = _times_inertia(dw) + turning @ _times_inertia(w)
    return found


def _cross(vectors: FloatArray) -> FloatArray:
    """Return (N, 3, 3) cross product matrices for (N, 3) vectors."""
    x, y, z = vectors.T
    nought = np.zeros(len(vectors))
    return np.stack([nought, -z, y, z, nought, -x, -y, x, nought], axis=-1).reshape(-1, 3, 3)


def _times_inertia(vectors: FloatArray) -> FloatArray:
    """Return (N, 3, 6) matrices mapping six inertia moments to the inertia times the vector."""
    x, y, z = vectors.T
    nought = np.zeros(len(vectors))
    return np.stack(
        [
            x,
            y,
            nought,
            z,
            nought,
            nought,
            nought,
            x,
            y,
            nought,
            z,
            nought,
            nought,
            nought,
            nought,
            x,
            y,
            z,
        ],
        axis=-1,
    ).reshape(-1, 3, 6)
