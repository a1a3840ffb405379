"""
Simulated windows: motion, and its derivatives by parameters and initial states.

Two methods compute derivatives. *analytic*: linearised midpoint step, from forward-dynamics
derivatives and the regressor; exact if only smooth forces act. *batch*: finite differences, with
all windows' changed parameters and states as worlds in one `Batch`; also correct for
stick-slip, stops, and efforts at their limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.batch.batch import Batch
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.identification.parameters import DELAY, Parameters
from sim_bridge.identification.plant import Plant
from sim_bridge.identification.pseudo_inertia import standard_derivatives
from sim_bridge.identification.regressor import torque_regressor
from sim_bridge.identification.windows import Windows
from sim_bridge.world.dynamics import forward_dynamics_derivatives, inverse_dynamics

ANALYTIC, BATCH = 'analytic', 'batch'
# finite-difference steps: parameters, in their scale, and states [rad, m, per s]
_STEP, _STATE_STEP = 1e-3, 1e-4
# speed below which friction holds a joint [rad/s or m/s]; a held joint's damping, relative to
# inertia
_STUCK, _HOLD = 1e-10, 1e9
_FEW = 200
# larger positions or velocities mean a failed simulation [rad, m, per s]
_FAST = 1e6


class Motion(NamedTuple):
    """
    Simulated windows, w of them: means over their bins, and derivatives.

    values: (w, B, 2n) positions and velocities; nan if a simulation failed. by_parameters:
    (w, B, 2n, P). by_state: (w, B, 2n, 2n) by the initial state.
    """

    values: FloatArray
    by_parameters: FloatArray
    by_state: FloatArray


class _Slopes(NamedTuple):
    """
    Acceleration derivatives by step and window: (K, w, n, n), by_z (K, w, n, P).

    by_q, by_v: by position and velocity at mid-step. by_u: by effort.
    """

    by_q: FloatArray
    by_v: FloatArray
    by_u: FloatArray
    by_z: FloatArray


class Shooting:
    """Simulates a plant's windows with given parameters."""

    def __init__(
        self, plant: Plant, windows: Windows, parameters: Parameters, gradients: str = ANALYTIC
    ) -> None:
        """
        Prepare as many worlds as a simulation needs.

        gradients: ANALYTIC or BATCH.
        """
        self._windows, self._parameters = windows, parameters
        self._n = len(plant.joint_names)
        self._world = plant.world.copy()
        self._robot = self._world.robots[plant.robot.name]
        self._is_analytic = gradients == ANALYTIC
        blocks = 1 if self._is_analytic else 1 + 4 * self._n + 2 * parameters.count
        self._blocks = blocks
        count = blocks * windows.count
        # for few worlds, distributing a step over threads costs more than the step
        self._batch = Batch(self._world, count, raises=False, threads=1 if count < _FEW else None)
        self._given: dict[int, bytes] = {}
        self._inputs: dict[float, FloatArray] = {}

    def values(self, z: FloatArray, start: FloatArray, chosen: IntArray) -> FloatArray:
        """
        Return (w, B, 2n) window motion.

        z: (P,) parameters. start: (w, 2n) initial states. chosen: (w,) window numbers.
        """
        return self._simulate([(z, start)], chosen)[0]

    def by_state(
        self, z: FloatArray, start: FloatArray, chosen: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return motion and derivatives by states only, with shapes as in `Motion`."""
        if self._is_analytic:
            motion = self._linearised(z, start, chosen, is_free=False)
            return motion.values, motion.by_state
        found = self._simulate([(z, start), *self._state_changes(z, start)], chosen)
        return found[0], _central(found[1:], np.full(2 * self._n, _STATE_STEP))

    def motion(self, z: FloatArray, start: FloatArray, chosen: IntArray) -> Motion:
        """Return window motion and all derivatives."""
        if self._is_analytic:
            return self._linearised(z, start, chosen)
        count = self._parameters.count
        # central differences, one-sided at a limit
        back = np.maximum(z - _STEP, self._parameters.lower)
        forth = np.minimum(z + _STEP, self._parameters.upper)
        ends = []
        for at in range(count):
            for changed in (back, forth):
                one = z.copy()
                one[at] = changed[at]
                ends.append((one, start))
        found = self._simulate([(z, start), *ends, *self._state_changes(z, start)], chosen)
        return Motion(
            found[0],
            _central(found[1 : 1 + 2 * count], 0.5 * (forth - back)),
            _central(found[1 + 2 * count :], np.full(2 * self._n, _STATE_STEP)),
        )

    def _state_changes(
        self, z: FloatArray, start: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        return [
            (z, start + sign * change)
            for change in _STATE_STEP * np.eye(2 * self._n)
            for sign in (-1.0, 1.0)
        ]

    def _simulate(
        self, blocks: list[tuple[FloatArray, FloatArray]], chosen: IntArray
    ) -> FloatArray:
        """Return (blocks, w, B, 2n) window motion for several parameters and states."""
        windows, batch, n = self._windows, self._batch, self._n
        rows = (np.arange(len(blocks))[:, np.newaxis] * windows.count + chosen).ravel()
        where = np.zeros(batch.n, bool)
        where[rows] = True
        for number, (z, _) in enumerate(blocks):
            self._give(number, z)
        batch.reset(where)
        robot = batch.robots[self._robot.name]
        start = np.stack([each for _, each in blocks])
        q, v = start[..., :n].copy(), start[..., n:].copy()
        robot.q[rows], robot.dq[rows] = q.reshape(-1, n), v.reshape(-1, n)
        delays = [self._parameters.delay(z) for z, _ in blocks]
        inputs = [self._efforts(delay)[:, chosen] for delay in dict.fromkeys(delays)]
        which = [list(dict.fromkeys(delays)).index(delay) for delay in delays]
        found = np.zeros((len(blocks), len(chosen), windows.counts.shape[1], 2 * n))
        efforts = np.empty_like(q)
        for step in range(windows.steps):
            for number, own in enumerate(which):
                efforts[number] = inputs[own][step]
            robot.u[rows] = efforts.reshape(-1, n)
            batch.step(1, where)
            q_next = robot.q[rows].reshape(q.shape)
            v_next = robot.dq[rows].reshape(q.shape)
            _gather(windows, step, chosen, (q, v, q_next, v_next), found)
            q, v = q_next, v_next
        failed = batch.failed[rows].reshape(len(blocks), len(chosen)) | (
            np.abs(np.nan_to_num(found, nan=np.inf)) > _FAST
        ).any(axis=(2, 3))
        found[failed] = np.nan
        return found

    def _give(self, block: int, z: FloatArray) -> None:
        """Apply parameters to a block's worlds."""
        key = z.tobytes()
        if self._given.get(block) == key:
            return
        self._parameters.apply(self._robot, z)
        where = np.zeros(self._batch.n, bool)
        where[block * self._windows.count : (block + 1) * self._windows.count] = True
        self._batch.take_parameters(self._world, where)
        self._given[block] = key

    def _efforts(self, delay: float) -> FloatArray:
        if delay not in self._inputs:
            if len(self._inputs) > 8:
                self._inputs.clear()
            self._inputs[delay] = self._windows.efforts(delay)
        return self._inputs[delay]

    # --- the linearised step ---------------------------------------------------------------------

    def _linearised(
        self, z: FloatArray, start: FloatArray, chosen: IntArray, is_free: bool = True
    ) -> Motion:
        """Return motion and midpoint-step derivatives; derivatives by z only if is_free."""
        windows, n, h = self._windows, self._n, self._windows.time_step
        path, values = self._path(z, start, chosen, self._efforts(self._parameters.delay(z)))
        v_next = path[1:, :, n:]
        slopes = self._slopes_of(z, path, chosen, is_free)
        unit = np.eye(n)
        before = unit + 0.5 * h * slopes.by_v
        # a sticking joint acts like a joint held by an infinite damper
        holds = np.where(self._is_stuck(v_next), _HOLD, 0.0)[..., np.newaxis, :]
        diagonal = np.diagonal(slopes.by_u, axis1=-2, axis2=-1)[..., np.newaxis, :]
        after = np.linalg.inv(unit - 0.5 * h * slopes.by_v + slopes.by_u * (holds / diagonal))
        count = slopes.by_z.shape[-1]
        shape = (len(chosen), n, count + 2 * n)
        dq, dv = np.zeros(shape), np.zeros(shape)
        dq[:, :, count : count + n] = unit
        dv[:, :, count + n :] = unit
        found = np.zeros((*values.shape, count + 2 * n))
        # view with one motion per column
        rows = found.transpose(3, 0, 1, 2)
        for step in range(windows.steps):
            middle = dq + 0.5 * h * dv
            change = before[step] @ dv + h * (slopes.by_q[step] @ middle)
            change[:, :, :count] += h * slopes.by_z[step]
            dv_next = after[step] @ change
            dq_next = middle + 0.5 * h * dv_next
            _gather(
                windows,
                step,
                chosen,
                tuple(each.transpose(2, 0, 1) for each in (dq, dv, dq_next, dv_next)),
                rows,
            )
            dq, dv = dq_next, dv_next
        by_z = found[..., :count] if is_free else np.zeros((*values.shape, z.size))
        return Motion(values, by_z, found[..., count:])

    def _is_stuck(self, v: FloatArray) -> FloatArray:
        """Return which joints friction holds at a step's end (…, n); v: velocities then (…, n)."""
        rubs = [self._robot.joint(name).friction > 0.0 for name in self._robot.joint_names]
        return np.asarray((np.abs(v) < _STUCK) & rubs)

    def _path(
        self, z: FloatArray, start: FloatArray, chosen: IntArray, efforts: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (K + 1, w, 2n) window states between steps, and bin means (w, B, 2n)."""
        windows, batch, n = self._windows, self._batch, self._n
        where = np.zeros(batch.n, bool)
        where[chosen] = True
        self._give(0, z)
        batch.reset(where)
        robot = batch.robots[self._robot.name]
        robot.q[chosen], robot.dq[chosen] = start[:, :n], start[:, n:]
        path = np.empty((windows.steps + 1, len(chosen), 2 * n))
        path[0], efforts = start, efforts[:, chosen]
        values = np.zeros((1, len(chosen), windows.counts.shape[1], 2 * n))
        for step in range(windows.steps):
            robot.u[chosen] = efforts[step]
            batch.step(1, where)
            path[step + 1, :, :n], path[step + 1, :, n:] = robot.q[chosen], robot.dq[chosen]
            one = path[step : step + 2, np.newaxis]
            _gather(
                windows,
                step,
                chosen,
                (one[0, ..., :n], one[0, ..., n:], one[1, ..., :n], one[1, ..., n:]),
                values,
            )
        failed = batch.failed[chosen] | (np.abs(path) > _FAST).any(axis=(0, 2))
        values[0, failed] = np.nan
        # failed windows are computed with the others; their derivatives are not used
        path[:, failed] = start[failed]
        return path, values[0]

    def _slopes_of(
        self, z: FloatArray, path: FloatArray, chosen: IntArray, is_free: bool
    ) -> _Slopes:
        """Return acceleration derivatives for each step; path: (K + 1, w, 2n)."""
        parameters, robot, n, h = (self._parameters, self._robot, self._n, self._windows.time_step)
        parameters.apply(robot, z)
        q, v = path[..., :n], path[..., n:]
        shape = v[1:].shape
        flat_a = ((v[1:] - v[:-1]) / h).reshape(-1, n)
        flat_v = (0.5 * (v[:-1] + v[1:])).reshape(-1, n)
        flat_q = (q[:-1] + 0.5 * h * v[:-1]).reshape(-1, n)
        joints = [robot.joint(name) for name in robot.joint_names]
        damping = np.array([joint.damping for joint in joints])
        stiffness = np.array([joint.stiffness for joint in joints])
        # these efforts alone cause the observed accelerations, whatever forces acted
        found = forward_dynamics_derivatives(
            robot, inverse_dynamics(robot, flat_a, flat_q, flat_v), flat_q, flat_v
        )
        count = parameters.count if is_free else 0
        needed = np.zeros((len(flat_a), n, count))  # efforts per z
        if is_free:
            sliding = np.where(self._is_stuck(v[1:]), 0.0, np.sign(v[1:])).reshape(-1, n)
            moving = {'friction': sliding, 'damping': flat_v, 'armature': flat_a}
            for at, column in enumerate(parameters.columns):
                if column.kind in moving:
                    joint = robot.joint_names.index(column.target)
                    needed[:, joint, at] = moving[column.kind][:, joint] * column.scale
                elif column.kind == DELAY:
                    needed[:, :, at] = -column.scale * self._input_rate(parameters.delay(z))[
                        :, chosen
                    ].reshape(-1, n)
            if parameters.links:
                regressor = torque_regressor(robot, parameters.links, flat_q, flat_v, flat_a)
                for number, link in enumerate(parameters.links):
                    own, columns = parameters.body_parameters(link, z)
                    slopes = standard_derivatives(own)
                    for at, own_number in columns.items():
                        needed[:, :, at] = regressor[:, :, number] @ (
                            slopes[:, own_number] * parameters.columns[at].scale
                        )
        return _Slopes(
            (found.q - found.u * stiffness).reshape(*shape, n),
            (found.dq - found.u * damping).reshape(*shape, n),
            found.u.reshape(*shape, n),
            -(found.u @ needed).reshape(*shape, count),
        )

    def _input_rate(self, delay: float) -> FloatArray:
        """Return (K, W, n) effort derivatives by delay [N m/s]."""
        half = 0.5 * self._windows.time_step
        found: FloatArray = (
            self._windows.efforts(delay + half) - self._windows.efforts(delay - half)
        ) / (2.0 * half)
        return found


def _gather(
    windows: Windows,
    step: int,
    chosen: IntArray,
    states: tuple[FloatArray, ...],
    found_inout: FloatArray,
) -> None:
    """Add a step to its bin's means; states: q, v before and after it, (blocks, w, n)."""
    weights = windows.weights[step][:, chosen, np.newaxis]
    if not weights.any():
        return
    q, v, q_next, v_next = states
    n = q.shape[-1]
    into = found_inout[:, :, windows.bin_of[step]]
    into[..., :n] += weights[0] * q + weights[1] * v + weights[2] * q_next + weights[3] * v_next
    into[..., n:] += weights[4] * v + weights[5] * v_next


def _central(found: FloatArray, steps: FloatArray) -> FloatArray:
    """Return derivatives from motion pairs, changed backward and forward by one step each."""
    pairs = found.reshape(len(steps), 2, *found.shape[1:])
    return np.moveaxis(pairs[:, 1] - pairs[:, 0], 0, -1) / (2.0 * steps)
