"""
Control laws over the joints: PD, with gravity, and computed torque.

Robot, joints and units are as in `sb.dynamics`. References and gains are over
`robot.joint_names`, (n,) each, gains also one for all. Entries of mimic joints are not used: these
follow, and their efforts are 0. q, dq: (nq,), (nv,) where the laws are evaluated, the present ones
if None. References, q and dq may be rows of N configurations; then so are the efforts. All raise
InvalidValueError for what does not fit or is not finite.
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

    dq_ref: zero if None. stiffness: [N m/rad or N/m]. damping: [N m s/rad or N s/m]. gravity: also
    the joints' efforts that bear the weight (`gravity_forces`; of a free base it bears nothing).
    With them a pose is held without error, and stable for all positive gains: Takegaki and
    Arimoto, 1981.
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
    Return (n,) the efforts of inverse dynamics [N m or N] for ddq_ref and a feedback.

    The acceleration is ddq_ref + damping (dq_ref - dq) + stiffness (q_ref - q), so that with a
    true model the error e of every joint obeys e'' + damping e' + stiffness e = 0, whatever the
    others do: for a natural frequency w and a damping ratio z these are w² [1/s²] and 2 z w [1/s].
    dq_ref, ddq_ref: zero if None. What resists in the joints is not in it: `JointResistance`.

    A free base and joints with several axes accelerate as they do when no force acts on them but
    through the joints, in flight: forces of contacts are not in it. Sources: Siciliano et al.,
    Robotics, 2009, 8.5.2; Spong, Partial feedback linearization of underactuated mechanical
    systems, 1994.
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
    Return an inertia of every joint (n,) to scale gains of `pd` with [kg m² or kg].

    With gains D w² and 2 z w D the eigenvalues of the loop are those of D inv(M), times w² and
    2 z w. Here D is one over the row sums of |inv(M)|, so that none of them exceeds 1 and w bounds
    the bandwidth of every motion, however the joints move together. The diagonal of M would not
    do: a straight arm has motions with a tenth of that inertia, which a delay from state to
    command would make unstable.

    joints: (n,) truth values, which joints are controlled; the others give way. All but mimic
    joints if None; the entries of those that are not controlled are 0.
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
