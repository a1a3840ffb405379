"""
Joint-space control laws: PD, with gravity compensation, and computed torque.

Robot, joints and units are as in `sb.dynamics`. References and gains are over
`robot.joint_names`, (n,) each; a gain may also be one number for all. Entries for mimic joints are
ignored: these joints follow their leaders, and their efforts are 0. q, dq: (nq,), (nv,) state for
the evaluation, the present state if None. References, q and dq may be rows of N configurations;
then the efforts are rows too. All raise InvalidValueError for wrong sizes and values that are not
finite.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.laws.motions import Motions, Numbers
from sim_bridge.laws.values import gain
from sim_bridge.robots.robot import Robot
from sim_bridge.world import dynamics


def pd(
    robot: Robot,
    q_ref: Numbers,
    dq_ref: Numbers | None = None,
    *,
    stiffness: Number | Vector,
    damping: Number | Vector,
    gravity: bool = False,
    q: Numbers | None = None,
    dq: Numbers | None = None,
) -> FloatArray:
    """
    Return (n,) stiffness (q_ref - q) + damping (dq_ref - dq) [N m or N].

    dq_ref: zero if None. stiffness: [N m/rad or N/m]. damping: [N m s/rad or N s/m]. gravity: add
    the joint efforts that compensate gravity (`gravity_forces`; a free base has no effort). With
    them a pose is held without error, and stable for all positive gains: Takegaki and Arimoto,
    1981.
    """
    motions = Motions(robot, q, dq, many=True)
    efforts = _feedback(motions, q_ref, dq_ref, stiffness, damping)
    if gravity:
        efforts = efforts + motions.efforts_of(dynamics.gravity_forces(robot, motions.q))
    return motions.of_leaders(efforts)


def computed_torque(
    robot: Robot,
    q_ref: Numbers,
    dq_ref: Numbers | None = None,
    ddq_ref: Numbers | None = None,
    *,
    stiffness: Number | Vector,
    damping: Number | Vector,
    q: Numbers | None = None,
    dq: Numbers | None = None,
) -> FloatArray:
    """
    Return the inverse dynamics efforts (n,) [N m or N] for ddq_ref plus feedback.

    The acceleration is ddq_ref + damping (dq_ref - dq) + stiffness (q_ref - q). With an exact
    model, the error e of each joint obeys e'' + damping e' + stiffness e = 0, independent of the
    other joints: for a natural frequency w and a damping ratio z, stiffness is w² [1/s²] and
    damping 2 z w [1/s]. dq_ref, ddq_ref: zero if None. Joint resistance is not included, see
    `JointResistance`.

    A free base and joints with several axes accelerate freely, as in flight: only joint forces act
    on them. Contact forces are not included. Sources: Siciliano et al., Robotics, 2009, 8.5.2;
    Spong, Partial feedback linearization of underactuated mechanical systems, 1994.
    """
    motions = Motions(robot, q, dq, many=True)
    wanted = motions.vector('ddq_ref', ddq_ref) + _feedback(
        motions, q_ref, dq_ref, stiffness, damping
    )
    ddq = (
        wanted
        if motions.G.shape == (motions.size, motions.size) and (not motions.coupling.has_followers)
        else wanted @ motions.G.T
    )
    efforts = dynamics.inverse_dynamics(robot, ddq, motions.q, motions.dq)
    passive = motions.passive
    if len(passive):
        M = dynamics.mass_matrix(robot, motions.q)
        passive_acceleration = np.linalg.solve(
            M[..., passive[:, None], passive], -efforts[..., passive, None]
        )
        efforts = efforts + (M[..., :, passive] @ passive_acceleration)[..., 0]
    return motions.efforts_of(efforts)


def felt_inertia(
    robot: Robot, q: Vector | None = None, *, joints: np.ndarray | None = None
) -> FloatArray:
    """
    Return an inertia for each joint (n,), for scaling `pd` gains [kg m² or kg].

    With gains D w² and 2 z w D the loop eigenvalues are the eigenvalues of D inv(M), times
    w² and 2 z w. D is the inverse row sum of |inv(M)|, so that no eigenvalue of D inv(M) exceeds 1
    and w bounds the bandwidth of each motion, for any joint combination. The diagonal of M
    would be too large: a straight arm has motions with a tenth of its inertia, and a delay from
    state to command would make them unstable.

    joints: (n,) truth values for controlled joints; the others move freely. All but mimic joints
    if None. Entries for other joints are 0.
    """
    motions = Motions(robot, q, None)
    moved = motions.leads if joints is None else motions.leads & joints
    others = np.eye(len(motions.dq))[:, motions.coupling.passive]
    G = np.concatenate([motions.G[:, motions.leads], others], axis=1)
    inverse = np.linalg.inv(G.T @ dynamics.mass_matrix(robot, motions.q) @ G)
    rows = np.flatnonzero(moved[motions.leads])
    inertia = np.zeros(motions.size)
    inertia[moved] = 1.0 / np.abs(inverse[np.ix_(rows, rows)]).sum(axis=1)
    return inertia


def _feedback(
    motions: Motions, q_ref: Numbers, dq_ref: Numbers | None, stiffness: object, damping: object
) -> FloatArray:
    place, n = motions.place, motions.size
    error = motions.vector('q_ref', q_ref) - motions.joint_q
    rate = motions.vector('dq_ref', dq_ref) - motions.joint_dq
    return (
        gain('stiffness', stiffness, n, place) * error + gain('damping', damping, n, place) * rate
    )
