"""Grasps: least-effort joint torques and contact forces that hold the unactuated bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from sim_bridge.contact_problems.admm import minimise
from sim_bridge.contact_problems.reference import project_cones
from sim_bridge.contact_problems.solution import checked_problem
from sim_bridge.foundation.errors import InfeasibleError, InvalidValueError
from sim_bridge.foundation.validation import finite_number, instance_of, real_array, truth
from sim_bridge.robots.robot import Robot
from sim_bridge.world.contact_points import ContactPoints
from sim_bridge.world.contact_problem import ContactProblem

_TOLERANCE = 1e-12  # for forces, relative to the greatest force needed
_FEASIBLE = 1e-7  # greatest missing force in a feasible grasp, relative to the same force
_SHOWN = 1e-6  # least missing force named in the message, relative to the same force
_MOST, _MOST_TRIED = 100000, 10000  # iterations


class Effort(NamedTuple):
    """
    Torques and forces in equilibrium: bias_forces = efforts + τ + J3ᵀ f + Kᵀ μ.

    u: τ for each robot over its `joint_names`, 0 for unactuated joints [N, N m]. forces:
    (nc, 3) f of b on a along x, y and z of the problem's axes [N]. joint_forces: (m,) over the
    problem's joint rows [N, N m]. residual: greatest absolute equation error [N, N m].
    other_contacts: contacts outside the problem; they disturb the grasp while they last.
    """

    u: dict[Robot, np.ndarray]
    forces: np.ndarray
    joint_forces: np.ndarray
    residual: float
    other_contacts: ContactPoints


def least_effort(
    problem: ContactProblem,
    epsilon: float | Sequence[float] | np.ndarray = 0.0,
    *,
    friction: bool = False,
    friction_margin: float = 0.0,
    joints: Mapping[Robot, Sequence[str]] | None = None,
) -> Effort:
    """
    Return contact forces, and joint torques with least sum of squares, that hold all bodies.

    The problem's applied efforts `u` are ignored; its pushes, springs and dampers count.

    epsilon: least normal force at each pushing contact, one number or (nc,) [N].
    friction: also forces along the surfaces, within the problem's cones.
    friction_margin: unused fraction of each friction coefficient, from 0 to less than 1.
        Least-effort forces may lie on the cone edges; a margin keeps them off.
    joints: actuated joint names for each robot; its `actuated_joints` if None.

    Raises InfeasibleError if no allowed forces hold the unactuated bodies: the message names the
    least missing force and torque. Raises InvalidValueError for invalid arguments and for contacts
    with other friction than circular cones, UnknownNameError for an unknown joint.
    """
    least = _checked_epsilon(epsilon, len(checked_problem(problem).gap))[problem.pushes]
    columns, mu = _force_columns(problem, truth('friction', friction))
    mu = mu * (1.0 - _checked_margin(friction_margin, friction))
    count, per = len(least), 3 if friction else 1
    every = np.concatenate([columns, problem.K.T], axis=1)
    needed = problem.bias_forces - problem.efforts
    places = _actuated(problem, joints)
    is_actuated = np.zeros(len(needed), bool)
    is_actuated[[at for names in places.values() for at in names.values()]] = True
    scale = max(float(np.abs(needed).max(initial=0.0)), float(least.max(initial=0.0)), 1e-300)

    def project(x: np.ndarray, floor: np.ndarray = least / scale) -> np.ndarray:
        allowed = x.copy()
        own = x[: per * count].reshape(count, per)
        allowed[: per * count] = _above(own, floor, mu).ravel()
        return allowed

    E, e = every[~is_actuated], needed[~is_actuated] / scale
    A, a = every[is_actuated], needed[is_actuated] / scale
    lack = _lack(E, e, project)
    if np.abs(lack).max(initial=0.0) > _FEASIBLE:
        _refuse(
            problem,
            np.where(is_actuated, 0.0, _placed(lack, ~is_actuated) * scale),
            scale,
            least.any()
            and not (
                np.abs(_lack(E, e, partial(project, floor=np.zeros(count)))) > _FEASIBLE
            ).any(),
        )
    found = minimise(A.T @ A, -A.T @ a, project, (E, e), tolerance=_TOLERANCE, most=_MOST)
    x = scale * found.x
    torque = np.where(is_actuated, needed - every @ x, 0.0)
    forces = np.zeros((len(problem.gap), 3))
    forces[problem.pushes, 3 - per :] = x[: per * count].reshape(count, per)
    error = torque + every @ x - needed
    return Effort(
        {
            robot: np.array(
                [torque[names[name]] if name in names else 0.0 for name in robot.joint_names]
            )
            for robot, names in places.items()
        },
        forces,
        x[per * count :],
        float(np.abs(error).max(initial=0.0)),
        problem.other_contacts,
    )


def _force_columns(problem: ContactProblem, friction: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the generalized forces for unit contact forces, and (n,) friction coefficients."""
    which = np.flatnonzero(problem.pushes)
    if not friction:
        return problem.J[which].T, np.zeros(len(which))
    for number in which.tolist():
        mu, mu2 = problem.friction[number]
        if problem.friction_models[number] != 'cone' or mu != mu2 or not np.isfinite(mu):
            raise InvalidValueError(
                'friction',
                (problem.friction_models[number], float(mu), float(mu2)),
                'a circular cone with a finite coefficient',
                f'contact {number}',
            )
    rows = (3 * which[:, None] + np.arange(3)).ravel()
    return problem.J3[rows].T, problem.friction[which, 0]


def _actuated(
    problem: ContactProblem, joints: Mapping[Robot, Sequence[str]] | None
) -> dict[Robot, dict[str, int]]:
    """Return the coordinate indices for each robot's actuated joints, by joint name."""
    expected = 'robots of the problem, with names of joints'
    chosen: dict[Robot, Sequence[str]] = {
        robot: robot.actuated_joints for robot in problem.coordinates
    }
    if joints is not None:
        if not isinstance(joints, Mapping):
            raise InvalidValueError('joints', joints, expected)
        chosen = dict(joints)
    found = {}
    for robot, names in chosen.items():
        instance_of('joints', robot, Robot, expected)
        if robot not in problem.coordinates:
            raise InvalidValueError('joints', robot, 'a robot of the problem')
        found[robot] = dict(zip(names, problem.columns(robot, names).tolist(), strict=True))
    return found


def _above(forces: np.ndarray, floor: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return the nearest forces (n, 1 or 3) in their cones with normal forces >= floor."""
    if forces.shape[1] == 1:
        return np.maximum(forces, floor[:, None])
    inside = project_cones(forces, mu)
    size, bound = np.hypot(forces[:, 0], forces[:, 1]), mu * floor
    share = np.divide(bound, size, out=np.ones_like(size), where=size > bound)
    at_floor = np.concatenate([forces[:, :2] * share[:, None], floor[:, None]], axis=1)
    return np.where((inside[:, 2] < floor)[:, None], at_floor, inside)


def _lack(E: np.ndarray, e: np.ndarray, project: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """
    Return the least e - E x over all x in a set.

    If it is not 0, it is a certificate after Farkas: the power of any E x along it is less than
    the power of e.
    """
    found = minimise(E.T @ E, -E.T @ e, project, tolerance=_FEASIBLE * 1e-3, most=_MOST_TRIED)
    return np.asarray(e - E @ found.x)


def _placed(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return values where the mask is True, zeros elsewhere."""
    found = np.zeros(len(mask))
    found[mask] = values
    return found


def _refuse(
    problem: ContactProblem, missing: np.ndarray, scale: float, is_epsilon: bool
) -> NoReturn:
    """Raise InfeasibleError with the least missing generalized forces (nv,)."""
    texts = [
        f'robot {robot.name!r} lacks {_in_words(problem, robot, missing, _SHOWN * scale)}'
        for robot, place in problem.coordinates.items()
        if np.abs(missing[place]).max() > _SHOWN * scale
    ]
    hint = '. With an epsilon of 0 these forces exist' if is_epsilon else ''
    raise InfeasibleError(
        f'no allowed forces of these contacts hold the unactuated bodies: {"; ".join(texts)}{hint}'
    )


def _in_words(problem: ContactProblem, robot: Robot, missing: np.ndarray, least: float) -> str:
    """Describe the missing generalized forces (nv,) on a robot in words."""
    parts = []
    if robot.slot.blueprint.first_v == 6 and robot.motion == 'dynamic':
        own = missing[problem.coordinates[robot]]
        for what, unit, values in (('force', 'N', own[:3]), ('torque', 'N m', own[3:6])):
            if np.abs(values).max() <= least:
                continue
            values = np.where(np.abs(values) > least, values, 0.0)
            parts.append(f'a {what} of ({", ".join(f"{value:.3g}" for value in values)}) {unit}')
    for name, at in zip(robot.joint_names, problem.columns(robot).tolist(), strict=True):
        if abs(missing[at]) > least:
            parts.append(f'an effort of {missing[at]:.3g} at joint {name!r}')
    return ' and '.join(parts) or 'forces'


def _checked_epsilon(epsilon: object, count: int) -> np.ndarray:
    expected = f'a number of at least 0, or {count} numbers, one for each contact [N]'
    array = real_array('epsilon', epsilon, expected, '')
    if array.shape not in ((), (count,)) or not (np.isfinite(array) & (array >= 0.0)).all():
        raise InvalidValueError('epsilon', epsilon, expected)
    return np.broadcast_to(array, (count,)).copy()


def _checked_margin(value: object, has_friction: bool) -> float:
    expected = 'a ratio from 0 to less than 1'
    margin = finite_number('friction_margin', value, '', expected)
    if not 0.0 <= margin < 1.0:
        raise InvalidValueError('friction_margin', value, expected)
    if margin > 0.0 and not has_friction:
        raise InvalidValueError('friction_margin', value, '0 without friction, or friction=True')
    return margin
