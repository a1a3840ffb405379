"""
Task-space control laws for a link pose: operational space and impedance.

The task x is the position of the link's frame, or of a point on it, and its orientation;
velocities, errors and gains have 6 rows, linear (3), then angular (3), in world axes. A free base
and joints with several axes move freely, as in flight (Umetani and Yoshida, 1989): only joint
forces act on them, and contact forces are not included. Efforts are over `robot.joint_names`. All
take one configuration, and raise InvalidValueError for wrong sizes and values that are not finite,
UnknownNameError for an unknown link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Matrix, Number, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import rotation_vector
from sim_bridge.foundation.validation import finite_vector, real_array
from sim_bridge.laws.motions import Motions
from sim_bridge.laws.values import for_each, gain
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.world import dynamics

# relative eigenvalue of J inv(M) Jᵀ, below which no joint moves the link along the eigenvector
_IMMOVABLE = 1e-9
_RIGID = 1e-6


@dataclass(frozen=True)
class Target:
    """
    Target pose for a link, with velocity and acceleration.

    pose: (4, 4) placement, or (3,) position alone, with free orientation [m]. velocity: (6,)
    [m/s, rad/s]. acceleration: (6,) [m/s², rad/s²]. Zero if None; world axes. Both are (3,) for a
    position alone.
    """

    pose: Vector | Matrix
    velocity: Vector | None = None
    acceleration: Vector | None = None


def pose_error(placement: Matrix, pose: Vector | Matrix) -> FloatArray:
    """
    Return the error (6,) from placement (4, 4) to pose: [m], rotation vector [rad]; world axes.

    (3,) if the pose is a position (3,) alone.
    """
    return way_to(checked_pose(pose), checked_pose(placement, what='placement', sizes=((4, 4),)))


def operational_space(
    robot: Robot,
    link: Link | str,
    target: Target,
    *,
    stiffness: Number | Vector,
    damping: Number | Vector,
    posture: Vector | None = None,
    point: Vector | None = None,
    q: Vector | None = None,
    dq: Vector | None = None,
) -> FloatArray:
    """
    Return (n,) efforts [N m or N] that decouple a link's task: u = Jᵀ F + h + Nᵀ posture.

    F = Λ (acceleration + damping e' + stiffness e - dJ/dt dq), with Λ = inv(J inv(M) Jᵀ). With an
    exact model each error row obeys e'' + damping e' + stiffness e = 0 (angular rows: for
    small errors). Directions in which no joint moves the link are left out.

    stiffness: [1/s²]. damping: [1/s]. One number, or one for each row. posture: (n,) additional
    efforts [N m or N], for example from `pd`, projected so that they do not move the task; zero if
    None. point: (3,) in the link's frame [m]. q, dq: as in `pd`. Source: Khatib, 1987.
    """
    task = _Task(robot, link, target, point, q, dq)
    wanted = task.acceleration + task.feedback(stiffness, damping)
    return task.efforts(wanted, np.zeros_like(wanted), posture)


def impedance(
    robot: Robot,
    link: Link | str,
    target: Target,
    *,
    stiffness: Number | Vector,
    damping: Number | Vector,
    inertia: Matrix | None = None,
    wrench: Vector | None = None,
    posture: Vector | None = None,
    point: Vector | None = None,
    q: Vector | None = None,
    dq: Vector | None = None,
) -> FloatArray:
    """
    Return (n,) efforts [N m or N] for a link behaving like a mass on a spring and a damper.

    With an exact model inertia e'' + damping e' + stiffness e = -wrench, with e the error to the
    target (angular rows: for small errors), and wrench the force and torque on the link.

    stiffness: [N/m, N m/rad]. damping: [N s/m, N m s/rad]. One number, or one for each row.
    inertia: (6, 6) [kg, kg m²]; None: the robot's own task inertia Λ, without any measurement.
    wrench: (6,) measured, force and torque about the point in world axes [N, N m]; needed and used
    only with an inertia, zero if None. All have 3 rows for a position target. Others as in
    `operational_space`. Source: Hogan, 1985.
    """
    task = _Task(robot, link, target, point, q, dq)
    force = task.feedback(stiffness, damping)
    acceleration = task.acceleration
    if inertia is not None:
        felt = task.rows('wrench', wrench)
        acceleration = acceleration + np.linalg.solve(task.inertia(inertia), force + felt)
        force = -felt
    return task.efforts(acceleration, force, posture)


def largest_time_step(
    robot: Robot,
    link: Link | str,
    target: Target,
    *,
    damping: Number | Vector,
    inertia: Matrix | None = None,
    point: Vector | None = None,
    q: Vector | None = None,
    dq: Vector | None = None,
) -> float:
    """
    Return the greatest stable time between efforts [s] for `impedance` with a damping.

    Efforts are constant between control steps, so that a step h multiplies a velocity error by
    1 - h x for each eigenvalue x of inv(Λ) diag(damping), or of inv(inertia) diag(damping). The
    error grows if h exceeds 2 / x. Infinite without damping. Arguments as in `impedance`. For
    `operational_space` and `computed_torque` the limit is 2 / damping.
    """
    task = _Task(robot, link, target, point, q, dq)
    size, place = len(task.error), task.motions.place
    mobility = task.J @ task.across if inertia is None else np.linalg.inv(task.inertia(inertia))
    rates = np.linalg.eigvals(mobility * for_each('damping', damping, size, place, 0.0))
    fastest = float(rates.real.max())
    return 2.0 / fastest if fastest > 0.0 else np.inf


class _Task:
    """
    Robot task at a state.

    J, M, bias: over the k leading joints, (m, k), (k, k) and (k,); passive coordinates are free.
    drift: (m,) acceleration if the efforts equal the bias. error, rate: (m,) to the target.
    """

    def __init__(
        self,
        robot: Robot,
        link: Link | str,
        target: Target,
        point: Vector | None,
        q: Vector | None,
        dq: Vector | None,
    ) -> None:
        self.motions = motions = Motions(robot, q, dq)
        placement = placement_of(robot, link, point, motions.q)
        self.error = way_to(checked_pose(target.pose, motions.place), placement)
        rows = slice(len(self.error))
        G = motions.G[:, motions.leads]
        J, M = (
            dynamics.jacobian(robot, link, point, motions.q)[rows],
            dynamics.mass_matrix(robot, motions.q),
        )
        bias = dynamics.bias_forces(robot, motions.q, motions.dq)
        self.J, self.M, self.bias = J @ G, G.T @ M @ G, G.T @ bias
        drift = dynamics.jacobian_derivative(robot, link, point, motions.q, motions.dq)[rows]
        self.drift = drift @ motions.dq
        passive = motions.passive
        if len(passive):
            pulled = M[passive] @ G
            passive_response = np.linalg.solve(
                M[np.ix_(passive, passive)], np.column_stack([pulled, bias[passive]])
            )
            by_joints, by_bias = passive_response[:, :-1], passive_response[:, -1]
            self.J, self.M = self.J - J[:, passive] @ by_joints, self.M - pulled.T @ by_joints
            self.bias = self.bias - pulled.T @ by_bias
            self.drift = self.drift - J[:, passive] @ by_bias
        self.rate = self.rows('velocity', target.velocity) - J @ motions.dq
        self.acceleration = self.rows('acceleration', target.acceleration)
        self.across = np.linalg.solve(self.M, self.J.T)

    def rows(self, what: str, value: Vector | None) -> FloatArray:
        """Return a task value (m,); zeros for None. Raises InvalidValueError."""
        size = len(self.error)
        return (
            np.zeros(size)
            if value is None
            else finite_vector(what, value, size, self.motions.place)
        )

    def inertia(self, value: Matrix) -> FloatArray:
        """Return a checked inertia (m, m); raises InvalidValueError."""
        m, place = len(self.error), self.motions.place
        mass = real_array('inertia', value, f'a ({m}, {m}) matrix', place)
        if (
            mass.shape != (m, m)
            or not np.isfinite(mass).all()
            or (np.linalg.eigvalsh(mass + mass.T).min() <= 0.0)
        ):
            raise InvalidValueError(
                'inertia', value, f'a positive definite ({m}, {m}) matrix', place
            )
        return mass

    def feedback(self, stiffness: object, damping: object) -> FloatArray:
        """Return (m,) stiffness e + damping e'; raises InvalidValueError."""
        size, place = len(self.error), self.motions.place
        return (
            gain('stiffness', stiffness, size, place) * self.error
            + gain('damping', damping, size, place) * self.rate
        )

    def efforts(
        self, acceleration: FloatArray, force: FloatArray, posture: Vector | None
    ) -> FloatArray:
        """Return the efforts (n,) for a task acceleration (m,), plus a force (m,)."""
        motions, J = self.motions, self.J
        across = self.across
        values, directions = np.linalg.eigh(J @ across)
        moved = values > _IMMOVABLE * values[-1]
        kept = directions[:, moved]
        Lambda = (kept / values[moved]) @ kept.T
        at_task = Lambda @ (acceleration - self.drift) + force
        own = np.zeros(motions.size) + motions.vector('posture', posture)
        own = own[motions.leads]
        own = own - J.T @ (Lambda @ (across.T @ own))
        efforts = np.zeros(motions.size)
        efforts[motions.leads] = J.T @ at_task + self.bias + own
        return efforts


def placement_of(
    robot: Robot, link: Link | str, point: Vector | None, q: FloatArray
) -> FloatArray:
    """Return the placement (4, 4) of a link's frame, moved to a point (3,) on the link [m]."""
    placement = dynamics.forward_kinematics(robot, link, q)
    if point is not None:
        at = finite_vector('point', point, 3, f'robot {robot.name!r}')
        placement[:3, 3] += placement[:3, :3] @ at
    return placement


def way_to(pose: FloatArray, placement: FloatArray) -> FloatArray:
    """Return the error of `pose_error`; arguments: results of `checked_pose`."""
    if pose.ndim == 1:
        return pose - placement[:3, 3]
    turn = rotation_vector(pose[:3, :3] @ placement[:3, :3].T)
    return np.concatenate([pose[:3, 3] - placement[:3, 3], turn])


def checked_pose(
    pose: object,
    place: str = '',
    what: str = 'pose',
    sizes: tuple[tuple[int, ...], ...] = ((4, 4), (3,)),
) -> FloatArray:
    """Return a placement (4, 4) or a position (3,); raises InvalidValueError otherwise."""
    expected = 'a placement (4, 4) with an orthonormal rotation' + (
        ', or a position (3,) [m]' if (3,) in sizes else ''
    )
    array = real_array(what, pose, expected, place)
    if array.shape not in sizes or not np.isfinite(array).all():
        raise InvalidValueError(what, pose, expected, place)
    if array.ndim == 2:
        R = array[:3, :3]
        if (
            np.abs(R @ R.T - np.eye(3)).max() > _RIGID
            or np.linalg.det(R) < 0.0
            or (np.abs(array[3] - [0.0, 0.0, 0.0, 1.0]).max() > _RIGID)
        ):
            raise InvalidValueError(what, pose, expected, place)
    return array
