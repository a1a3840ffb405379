"""
The regressor of inverse dynamics: efforts are linear in the inertial parameters of the links.

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
    Return (N, nv, links, 10) what the efforts of inverse dynamics gain per inertial parameter.

    q, dq, ddq: (N, nq), (N, nv), (N, nv) of a robot whose coordinates are `sb.dynamics`'s. The
    last axis is that of `Body.standard`, which is the order of Pinocchio: m, m c, ixx ixy iyy ixz
    iyz izz about the link's origin, link axes. Rotor inertias are not in it. The sum over all
    links times their parameters is `dynamics.inverse_dynamics` without armature.
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
    Return (N, 6, 10) force and moment about the origin per parameter of a body, its own axes.

    a: (N, 3) acceleration of the origin less gravity. w, dw: (N, 3) angular ones.
    """
    found = np.zeros((len(a), 6, 10))
    turning = _cross(w)
    found[:, :3, 0] = a
    found[:, :3, 1:4] = _cross(dw) + turning @ turning
    found[:, 3:, 1:4] = -_cross(a)
    found[:, 3:, 4:] = _times_inertia(dw) + turning @ _times_inertia(w)
    return found


def _cross(vectors: FloatArray) -> FloatArray:
    """Return (N, 3, 3) the matrices of cross products with (N, 3)."""
    x, y, z = vectors.T
    nought = np.zeros(len(vectors))
    return np.stack([nought, -z, y, z, nought, -x, -y, x, nought], axis=-1).reshape(-1, 3, 3)


def _times_inertia(vectors: FloatArray) -> FloatArray:
    """Return (N, 3, 6) what takes the six moments of an inertia to its product with vectors."""
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
