"""Inverse kinematics by damped least squares within the joint limits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.errors import InfeasibleError
from sim_bridge.foundation.validation import positive_number
from sim_bridge.laws.motions import Motions
from sim_bridge.laws.task_laws import checked_pose, placement_of, way_to
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.world import dynamics

_STARTS = 12  # the given configuration, then random ones
_STEPS = 200
_LEAST_GAIN = 1e-6  # relative decrease of the squared error; a smaller one ends the descent
_LEAST_DAMPING, _MOST_DAMPING = 1e-12, 1e8
_WHOLE_TURN = np.pi  # range for random starts of joints without limits


def inverse_kinematics(
    robot: Robot,
    link: Link | str,
    pose: Vector | Matrix,
    *,
    point: Vector | None = None,
    q: Vector | None = None,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> FloatArray:
    """
    Return a configuration (nq,) that puts a link at a pose, within all joint limits.

    pose: (4, 4) placement, or (3,) position alone [m], world. point: (3,) in the link's
    frame, put there instead of the frame's origin [m]. q: (nq,) start of the search; the
    present configuration if None. Only one-axis joints move; mimic joints follow their leaders.
    tolerance: greatest distance [m] and angle [rad]. seed: for further random starts, used when
    the search ends in a local minimum.

    The world stays unchanged: `sb.dynamics.set_configuration` moves the robot. Raises
    InfeasibleError if no start succeeds: the message names the smallest error found, and the
    joints at their limits in this configuration; InvalidValueError for wrong sizes or values
    that are not finite, UnknownNameError for an unknown link. Sources: Nakamura and Hanafusa,
    1986; Wampler, 1986; damping after Levenberg and Marquardt, limits by projection and an
    active set.
    """
    motions = Motions(robot, q, None)
    positive_number('tolerance', tolerance, 'a positive number [m, rad]', motions.place)
    wanted = checked_pose(pose, motions.place)
    lower, upper = _ranges(motions)
    rng = np.random.default_rng(seed)
    best, least = motions.joint_q, np.inf
    for start in range(_STARTS):
        begin = motions.joint_q
        if start:
            near = np.maximum(lower, np.minimum(begin, upper) - _WHOLE_TURN)
            begin = rng.uniform(near, np.minimum(upper, near + 2.0 * _WHOLE_TURN))
        found, error = _descend(
            motions, link, wanted, point, np.clip(begin, lower, upper), lower, upper, tolerance
        )
        if (size := float(np.linalg.norm(error))) < least:
            best, least, missing = found, size, error
        if _is_within(error, tolerance):
            return motions.at(found)
    names = robot.joint_names
    stuck = [names[k] for k in np.flatnonzero(motions.leads & ((best <= lower) | (best >= upper)))]
    angle = f' and {np.linalg.norm(missing[3:]):.3g} rad' if len(missing) == 6 else ''
    name = link if isinstance(link, str) else link.name
    raise InfeasibleError(
        f'{motions.place}, link {name!r}: no configuration within the joint limits was found '
        f'for this pose; the nearest of {_STARTS} starts is '
        f'{np.linalg.norm(missing[:3]):.3g} m{angle} away, with joints at their limits: '
        f'{", ".join(stuck[:20]) or "none"}'
    )


def _descend(
    motions: Motions,
    link: Link | str,
    pose: FloatArray,
    point: Vector | None,
    q: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    """Return joint positions (n,) with locally minimal error, and the error (m,)."""
    robot = motions.robot

    def error_at(joint_q: FloatArray) -> FloatArray:
        return way_to(pose, placement_of(robot, link, point, motions.at(joint_q)))

    error, damping = error_at(q), 1e-3
    for _ in range(_STEPS):
        square = float(error @ error)
        if _is_within(error, 1e-3 * tolerance):
            break
        J = dynamics.jacobian(robot, link, point, motions.at(q))[: len(error)] @ motions.G
        way = J.T @ error
        is_free = ~((q <= lower) & (way < 0.0) | (q >= upper) & (way > 0.0)) & motions.leads
        gained = 0.0
        while damping < _MOST_DAMPING:
            new = np.clip(q + _step(J, error, is_free, damping, q, lower, upper), lower, upper)
            new_error = error_at(new)
            gained = square - float(new_error @ new_error)
            if gained > 0.0:
                break
            damping *= 8.0
        if gained <= _LEAST_GAIN * square:
            break
        q, error, damping = new, new_error, max(damping / 8.0, _LEAST_DAMPING)
    return q, error


def _step(
    J: FloatArray,
    error: FloatArray,
    is_free: npt.NDArray[np.bool_],
    damping: float,
    q: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> FloatArray:
    """
    Return the damped least-squares step (n,) for the free joints.

    A joint beyond its limit is fixed at the limit, and the others' step is recomputed.
    """
    step, is_free = np.zeros(len(q)), is_free.copy()
    for _ in range(len(q)):
        own = J[:, is_free]
        left = error - J[:, ~is_free] @ step[~is_free]
        step[is_free] = own.T @ np.linalg.solve(
            own @ own.T + damping * (error @ error + 1e-9) * np.eye(len(error)), left
        )
        beyond = is_free & ((q + step < lower) | (q + step > upper))
        if not beyond.any():
            break
        step[beyond] = np.clip(step, lower - q, upper - q)[beyond]
        is_free &= ~beyond
    return step


def _ranges(motions: Motions) -> tuple[FloatArray, FloatArray]:
    """Return limits (n,) for leading joints, tightened so that their followers stay in limits."""
    robot = motions.robot
    names = robot.joint_names
    lower, upper = robot.lower, robot.upper
    for name, least, most in zip(names, robot.lower, robot.upper, strict=True):
        mimic = robot.joint(name).mimic
        if mimic is not None:
            leader = names.index(mimic.joint)
            own = mimic.range_of_followed(float(least), float(most))
            lower[leader], upper[leader] = max(lower[leader], own[0]), min(upper[leader], own[1])
    return lower, upper


def _is_within(error: FloatArray, tolerance: float) -> bool:
    return bool(max(np.linalg.norm(error[:3]), np.linalg.norm(error[3:])) <= tolerance)
