"""
Least squares between simulated and recorded motion.

Levenberg-Marquardt method over the parameters and all windows' initial states. A state
affects its own window only. States are therefore eliminated window by window, as in bundle
adjustment, before the small problem for the parameters is solved within its limits.
"""

from __future__ import annotations

from copy import copy
import itertools
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.identification.loss import Loss
from sim_bridge.identification.parameters import Parameters, PRIOR
from sim_bridge.identification.shooting import Motion, Shooting
from sim_bridge.identification.windows import Windows

_FAILED = 1e6  # cost if a window's simulation failed
_MOST_ROUNDS = 30
# cost reduction relative to the residual variance; a smaller one ends the search
_LEAST_GAIN = 1e-2
# factors for state moves, tried if the full move makes a window worse
_SHARES = (0.2, 0.0)
# joints slower than this, relative to the spread, may be at rest; maximum attempts
_SLOW, _RESTS = 0.1, 3
_AS_WELL = 1.0  # cost increase accepted for a window at rest, before everything else adapts
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-9, 1e3
# Friction makes the cost rough. After this many failed attempts, an expected gain below this many
# variances counts as none.
_ROUGH, _FEW_TRIES = 1.0, 3


class Solution(NamedTuple):
    """
    Best fit. z: (P,). starts: (w, 2n) the windows' initial states.

    residuals: (w, R) in units of the noise, 0 for missing samples, with robust loss weights; the
    states' own residuals come last. slopes: (w, R, P) residual derivatives by z, with adapted
    states. differences: (w, B, 2n) simulated minus measured, nan for missing samples. rounds:
    iterations. converged: whether the search converged. cost: total cost, including the prior.
    """

    z: FloatArray
    starts: FloatArray
    residuals: FloatArray
    slopes: FloatArray
    differences: FloatArray
    rounds: int
    converged: bool
    cost: float


class _Linear(NamedTuple):
    """Linearised problem: residuals (w, R), derivatives (w, R, P) and (w, R, 2n)."""

    residuals: FloatArray
    by_z: FloatArray
    by_state: FloatArray


class Fit:
    """Least-squares problem over selected windows."""

    def __init__(
        self,
        shooting: Shooting,
        windows: Windows,
        parameters: Parameters,
        noise: FloatArray,
        chosen: IntArray,
        loss: Loss,
    ) -> None:
        """noise: (2n,) single-sample standard deviation. chosen: (w,) window numbers."""
        self._shooting, self._parameters = shooting, parameters
        self._chosen, self._loss = chosen, loss
        self._measured = windows.measured[chosen]
        weight = np.sqrt(windows.counts[chosen])[..., np.newaxis] / noise
        self._weight = np.where(np.isfinite(self._measured), weight, 0.0)
        # while friction holds, the initial velocity has no effect: this prior keeps it determined
        self._starts, self._spread = windows.start[chosen], windows.start_spread
        self._free = max(np.count_nonzero(self._weight) - self._starts.size, 1)

    def solve(self, z: FloatArray, starts: FloatArray | None = None) -> Solution:
        """Return the best fit, starting from parameters, and from states if given."""
        found = self._search(z, self.states(z) if starts is None else starts, True)
        for _ in range(_RESTS):
            rested = self._rested(found)
            if rested is None:
                break
            trial = rested._search(found.z, rested._starts, True)
            if trial.cost >= found.cost:
                break
            found, self._starts = trial, rested._starts
        return found

    def states(self, z: FloatArray) -> FloatArray:
        """Return the best-fitting initial states (w, 2n) for given parameters."""
        return self.evaluate(z).starts

    def evaluate(self, z: FloatArray, starts: FloatArray | None = None) -> Solution:
        """Return the fit for given parameters, with the best initial states."""
        found = self._search(z, self._starts if starts is None else starts, False)
        rested = self._rested(found)
        return found if rested is None else rested._search(z, rested._starts, False)

    def _rested(self, found: Solution) -> Fit | None:
        """
        Return the problem with joints initially at rest, if that fits as well.

        An initial velocity within the noise may belong to a joint stopped by friction. Small steps
        do not find this solution, because beyond 0 they change nothing. None if no window fits
        equally well at rest.
        """
        n = self._spread.size // 2
        slow = (np.abs(found.starts) < _SLOW * self._spread) & (found.starts != 0.0)
        slow[:, :n] = False
        windows = np.flatnonzero(slow.any(axis=1))
        if not len(windows):
            return None
        starts = np.where(slow, 0.0, found.starts)
        part = self._part(windows, starts[windows])
        tried = part._search(found.z, starts[windows], False)
        before = self._costs(found.differences, found.starts)[windows]
        met = part._costs(tried.differences, tried.starts) < before + _AS_WELL
        if not met.any():
            return None
        rested = self._part(np.arange(len(self._chosen)), found.starts)
        rested._starts[windows[met]] = tried.starts[met]
        return rested

    def _part(self, windows: IntArray, starts: FloatArray) -> Fit:
        """Return the problem for some windows (k,), with other state guesses."""
        part = copy(self)
        part._chosen, part._starts = self._chosen[windows], starts.copy()
        part._measured, part._weight = self._measured[windows], self._weight[windows]
        return part

    def _search(self, z: FloatArray, starts: FloatArray, is_free: bool) -> Solution:
        """Search from a start; is_free: whether parameters change, too."""
        lower, upper = self._parameters.lower, self._parameters.upper
        z = np.clip(z, lower, upper)
        motion = self._motion(z, starts, is_free)
        differences = motion.values - self._measured
        costs, damping, is_converged = self._costs(differences, starts), _FIRST_DAMPING, False
        rounds = 0
        while rounds < _MOST_ROUNDS and not is_converged:
            rounds += 1
            linear = self._linear(motion, differences, starts)
            before = costs.sum() + np.sum((z / PRIOR) ** 2)
            variance, expected = before / self._free, np.inf
            for tries in itertools.count():
                step, moves = self._step(linear, z, damping)
                if damping <= _FIRST_DAMPING:
                    expected = (
                        before - _cost(linear, step, moves) - np.sum(((z + step) / PRIOR) ** 2)
                    )
                    is_converged = bool(expected < _LEAST_GAIN * variance)
                if is_converged or tries >= _FEW_TRIES and expected < _ROUGH * variance:
                    better = np.zeros(len(costs), bool)
                    break
                z_next = np.clip(z + step, lower, upper)
                moves, trial, trial_costs = self._tried(z_next, starts, moves, costs)
                if is_free:
                    after = trial_costs.sum() + np.sum((z_next / PRIOR) ** 2)
                    better = np.full(len(costs), after < before)
                else:
                    # windows are independent
                    better = trial_costs < costs
                    after = before - np.sum(np.where(better, costs - trial_costs, 0.0))
                if better.any() or damping > _MOST_DAMPING:
                    break
                damping *= 10.0
            if not better.any():
                is_converged = True
                break
            damping = max(damping / 6.0, _LEAST_DAMPING)
            is_converged = bool(before - after < _LEAST_GAIN * variance)
            z = z_next
            starts = np.where(better[:, np.newaxis], starts + moves, starts)
            costs = np.where(better, trial_costs, costs)
            differences = np.where(better[:, np.newaxis, np.newaxis], trial, differences)
            if not is_converged or is_free:
                motion = self._motion(z, starts, is_free)
                differences = motion.values - self._measured
        linear = self._linear(motion, differences, starts)
        basis = np.linalg.qr(linear.by_state)[0]
        slopes = linear.by_z - basis @ (basis.transpose(0, 2, 1) @ linear.by_z)
        return Solution(
            z,
            starts,
            linear.residuals,
            slopes,
            differences,
            rounds,
            bool(is_converged),
            float(costs.sum() + np.sum((z / PRIOR) ** 2)),
        )

    def _tried(
        self, z: FloatArray, starts: FloatArray, moves: FloatArray, costs: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """
        Return state moves (w, 2n), differences and costs for given parameters.

        While friction holds, derivatives by a state do not predict the effect of a long move.
        Windows with increased cost try shorter moves and keep the best.
        """
        trial = self._shooting.values(z, starts + moves, self._chosen) - self._measured
        found, best = moves, self._costs(trial, starts + moves)
        for share in _SHARES:
            bad = np.flatnonzero(best > costs + 1.0)
            if not len(bad):
                break
            shorter = share * moves[bad]
            own = (
                self._shooting.values(z, starts[bad] + shorter, self._chosen[bad])
                - self._measured[bad]
            )
            all_trial, all_moves = trial.copy(), found.copy()
            all_trial[bad], all_moves[bad] = own, shorter
            cost = self._costs(all_trial, starts + all_moves)
            better = cost < best
            trial = np.where(better[:, np.newaxis, np.newaxis], all_trial, trial)
            found = np.where(better[:, np.newaxis], all_moves, found)
            best = np.minimum(cost, best)
        return found, trial, best

    def _motion(self, z: FloatArray, starts: FloatArray, is_free: bool) -> Motion:
        """Return motion and derivatives; derivatives by parameters only if they are free."""
        if is_free and self._parameters.count:
            return self._shooting.motion(z, starts, self._chosen)
        values, by_state = self._shooting.by_state(z, starts, self._chosen)
        return Motion(values, np.zeros((*values.shape, self._parameters.count)), by_state)

    def _step(
        self, linear: _Linear, z: FloatArray, damping: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return changes in the parameters (P,) and in the states (w, 2n)."""
        count, windows, states = len(z), len(self._starts), linear.by_state.shape[-1]
        size = np.sqrt(damping) * np.maximum(
            np.linalg.norm(linear.by_state, axis=1, keepdims=True), 1e-9
        )
        rows = np.concatenate([linear.by_state, size * np.eye(states)], axis=1)
        basis, triangle = np.linalg.qr(rows)
        own = basis[:, : linear.residuals.shape[1]].transpose(0, 2, 1)
        along = (own @ linear.residuals[..., np.newaxis])[..., 0]
        step = np.zeros(count)
        if linear.by_z.any():
            along_z = own @ linear.by_z
            # normal equations with eliminated states, including the damping rows
            left = linear.by_z.reshape(-1, count), along_z.reshape(-1, count)
            matrix = left[0].T @ left[0] - left[1].T @ left[1] + np.eye(count) / PRIOR**2
            vector = (
                left[0].T @ linear.residuals.ravel() - left[1].T @ along.ravel() + z / PRIOR**2
            )
            matrix += damping * np.diag(np.diagonal(matrix))
            step = _within(matrix, vector, self._parameters.lower - z, self._parameters.upper - z)
            along = along + along_z @ step
        moves = -np.linalg.solve(triangle, along[..., np.newaxis])[..., 0]
        assert moves.shape == (windows, states)
        return step, moves

    def _linear(self, motion: Motion, differences: FloatArray, starts: FloatArray) -> _Linear:
        weight = self._weight * self._loss.shares(differences * self._weight)
        failed = ~np.isfinite(motion.values).all(axis=(1, 2))
        weight[failed] = 0.0

        def weighted(columns: FloatArray) -> FloatArray:
            found = np.where(weight[..., np.newaxis] > 0.0, np.nan_to_num(columns), 0.0)
            found *= weight[..., np.newaxis]
            return found.reshape(len(weight), -1, columns.shape[-1])

        # weak prior on the states
        away = (starts - self._starts) / self._spread
        known = np.broadcast_to(np.diag(1.0 / self._spread), (*away.shape, away.shape[1]))
        by_z = weighted(motion.by_parameters)
        return _Linear(
            np.concatenate([weighted(differences[..., np.newaxis])[..., 0], away], axis=1),
            np.concatenate([by_z, np.zeros((*away.shape, by_z.shape[-1]))], axis=1),
            np.concatenate([weighted(motion.by_state), known], axis=1),
        )

    def _costs(self, differences: FloatArray, starts: FloatArray) -> FloatArray:
        """Return (w,) costs per window."""
        failed = ~np.isfinite(np.where(self._weight > 0.0, differences, 0.0)).all(axis=(1, 2))
        scaled = np.where(self._weight > 0.0, np.nan_to_num(differences) * self._weight, 0.0)
        costs = self._loss.costs(scaled).sum(axis=(1, 2)) + np.sum(
            ((starts - self._starts) / self._spread) ** 2, axis=1
        )
        return np.where(failed, _FAILED * self._weight[0].size, costs)


def measured_noise(solution: Solution, windows: Windows, noise: FloatArray) -> FloatArray:
    """
    Return (2n,) sample noise estimated from a fit's residuals, at least the given noise.

    Model errors count as noise of the joint showing them, so that other joints gain weight.
    """
    weighted = solution.differences**2 * windows.counts[..., np.newaxis]
    is_measured = np.isfinite(weighted)
    count = is_measured.sum(axis=(0, 1))
    sums = np.where(is_measured, weighted, 0.0).sum(axis=(0, 1))
    free = np.maximum(count - windows.count, 1)
    return np.maximum(noise, np.sqrt(sums / free))


def _cost(linear: _Linear, step: FloatArray, moves: FloatArray) -> float:
    """Return the cost predicted by a linear problem after a step."""
    left = (
        linear.residuals + linear.by_z @ step + (linear.by_state @ moves[..., np.newaxis])[..., 0]
    )
    return float(np.sum(left**2))


def _within(
    matrix: FloatArray, vector: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Minimise s·matrix·s / 2 + vector·s within limits around 0."""
    # a positive definite matrix corresponds to least squares with its root
    values, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(values, values[-1] * 1e-15))
    free = -vectors @ ((vectors.T @ vector) / root**2)
    if (free >= lower).all() and (free <= upper).all():
        return np.asarray(free)
    narrow = 1e-12 * (1.0 + np.abs(lower))
    found = lsq_linear(
        root[:, np.newaxis] * vectors.T,
        -(vectors.T @ vector) / root,
        (np.minimum(lower, -narrow), np.maximum(upper, narrow)),
        method='bvls',
    )
    return np.asarray(found.x)
