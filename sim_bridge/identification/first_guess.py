"""
First parameter guess by inverse dynamics, without simulation.

Smoothed positions give velocities and accelerations. The required efforts are linear in the
inertial parameters and in friction, damping and armature. The method is quick and converges from
far away, but acceleration noise biases it. Therefore it only provides a start for the simulated
fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.signal import savgol_filter

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.identification.least_squares import minimize
from sim_bridge.identification.parameters import Efforts, JOINT_KINDS, Parameters, PRIOR
from sim_bridge.identification.plant import Plant
from sim_bridge.identification.pseudo_inertia import standard_derivatives
from sim_bridge.identification.recording import Recording
from sim_bridge.identification.regressor import torque_regressor
from sim_bridge.world.dynamics import gravity_forces, mass_matrix

_SMOOTHED_S = 0.05
_DEGREE = 3
_MOST_ROWS = 4000
_MOST_EVALUATIONS = 50
_ROUNDS = 3
# below this relative speed (to the usual one), friction may have any value
_SLOW = 0.1


class Smoothed(NamedTuple):
    """Smoothed motion, (N, n) each: q, dq, ddq, and efforts u smoothed in the same way."""

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    u: FloatArray

    @property
    def speeds(self) -> FloatArray:
        """(n,) usual joint speeds (root mean square)."""
        return np.sqrt(np.mean(self.dq**2, axis=0))


def smooth(recordings: list[Recording]) -> Smoothed:
    """Return all recordings smoothed and concatenated, without their gaps."""
    parts = [_smoothed(each) for each in recordings]
    whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
    kept = np.linspace(0, len(whole[0]) - 1, min(len(whole[0]), _MOST_ROWS)).round().astype(int)
    return Smoothed(*(each[kept] for each in whole))


def sizes_of(plant: Plant, motion: Smoothed) -> Efforts:
    """Return effort and motion magnitudes, used as parameter scales."""
    moved = np.einsum('nij,nj->ni', mass_matrix(plant.robot, motion.q), motion.ddq)
    weight = gravity_forces(plant.robot, motion.q)
    effort = np.sqrt(sum(np.mean(each**2, axis=0) for each in (motion.u, moved, weight)))
    velocity = np.sqrt(np.mean(motion.dq**2, axis=0))
    acceleration = np.sqrt(np.mean(motion.ddq**2, axis=0))
    return Efforts(
        *(
            np.maximum(each, 1e-3 * max(float(each.max()), 1e-6))
            for each in (effort, velocity, acceleration)
        )
    )


def first_guess(plant: Plant, motion: Smoothed, parameters: Parameters) -> FloatArray:
    """Return (P,) parameters by inverse dynamics, within their limits."""
    robot = plant.robot
    heavy = [link.name for link in robot.links if link.m > 0.0]
    regressor = torque_regressor(robot, heavy, motion.q, motion.dq, motion.ddq)
    moving = {'friction': np.sign(motion.dq), 'damping': motion.dq, 'armature': motion.ddq}
    still = np.abs(motion.dq) < _SLOW * motion.speeds
    known_friction = parameters.joint_values('friction', np.ones(parameters.count)) > 0.0
    rows = ~(still & known_friction)
    stiffness = np.array([robot.joint(name).stiffness for name in robot.joint_names])
    reference = np.array([robot.joint(name).reference for name in robot.joint_names])
    pull = stiffness * (motion.q - reference)

    def efforts(z: FloatArray) -> FloatArray:
        standard = np.array([parameters.body(link, z).standard for link in heavy])
        found: FloatArray = np.einsum('njlp,lp->nj', regressor, standard) + pull
        for kind, each in moving.items():
            found += parameters.joint_values(kind, z) * each
        return found

    def slopes(z: FloatArray) -> FloatArray:
        found = np.zeros((*motion.q.shape, parameters.count))
        for at, column in enumerate(parameters.columns):
            if column.kind in JOINT_KINDS:
                joint = robot.joint_names.index(column.target)
                found[:, joint, at] = moving[column.kind][:, joint] * column.scale
        for link in parameters.links:
            own, columns = parameters.body_parameters(link, z)
            by_parameters = standard_derivatives(own)
            for at, number in columns.items():
                found[:, :, at] = regressor[:, :, heavy.index(link)] @ (
                    by_parameters[:, number] * parameters.columns[at].scale
                )
        return found

    z = np.zeros(parameters.count)
    spread = np.maximum(np.sqrt(np.mean((motion.u - efforts(z)) ** 2, axis=0)), 1e-9)
    prior = np.eye(parameters.count) / PRIOR
    for _ in range(_ROUNDS):
        share = rows / spread

        def residuals(each: FloatArray, share: FloatArray = share) -> FloatArray:
            return np.concatenate([((efforts(each) - motion.u) * share).ravel(), each / PRIOR])

        def weighted(each: FloatArray, share: FloatArray = share) -> FloatArray:
            own = slopes(each) * share[:, :, np.newaxis]
            return np.concatenate([own.reshape(-1, parameters.count), prior])

        z = minimize(residuals, weighted, z, parameters, 'soft_l1', _MOST_EVALUATIONS)
        left = np.where(rows, motion.u - efforts(z), np.nan)
        with np.errstate(invalid='ignore'):
            seen = np.array(
                [
                    np.sqrt(np.nanmean(column**2)) if np.isfinite(column).any() else 1.0
                    for column in left.T
                ]
            )
        spread = np.maximum(seen, 1e-4 * spread.max())
    return z


def _smoothed(recording: Recording) -> Smoothed:
    """Return the motion resampled at equal intervals and smoothed."""
    period = recording.period
    count = int(recording.duration / period) + 1
    times = recording.times[0] + period * np.arange(count)
    size = max(round(_SMOOTHED_S / period) | 1, _DEGREE + 4)
    size = min(size, (count - 1) | 1)

    def even(values: FloatArray) -> FloatArray:
        return np.stack([np.interp(times, recording.times, each) for each in values.T], axis=-1)

    def smoothed(values: FloatArray, order: int = 0) -> FloatArray:
        found: FloatArray = savgol_filter(
            values, size, min(_DEGREE, size - 1), deriv=order, delta=period, axis=0
        )
        return found

    q = even(recording.positions)
    if recording.velocities is None:
        dq, ddq = smoothed(q, 1), smoothed(q, 2)
    else:
        velocities = even(recording.velocities)
        dq, ddq = smoothed(velocities), smoothed(velocities, 1)
    edges = np.append(times - 0.5 * period, times[-1] + 0.5 * period)
    u = smoothed(recording.mean_efforts(edges))
    inside = np.ones(count, bool)
    margin = 0.5 * size * period
    for begin, end in recording.gaps():
        inside &= (times < begin - margin) | (times > end + margin)
    inside[: size // 2] = inside[count - size // 2 :] = False
    if not inside.any():
        inside[:] = True
    return Smoothed(smoothed(q)[inside], dq[inside], ddq[inside], u[inside])
