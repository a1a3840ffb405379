"""Robot identification: from recordings to parameters with errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from sim_bridge.description.model import RobotDescription
from sim_bridge.foundation.arrays import FloatArray, IntArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import items_of, one_of, positive_number, whole_number
from sim_bridge.identification.confidence import combinations, covariances, estimates, untold
from sim_bridge.identification.first_guess import first_guess, sizes_of, smooth, Smoothed
from sim_bridge.identification.fit import Fit, measured_noise, Solution
from sim_bridge.identification.loss import Loss, LOSSES
from sim_bridge.identification.parameters import Parameters, parse_what
from sim_bridge.identification.plant import Plant
from sim_bridge.identification.recording import Recording
from sim_bridge.identification.result import Identification, Misfit, misfit
from sim_bridge.identification.shooting import ANALYTIC, BATCH, Shooting
from sim_bridge.identification.windows import cut, SHORTEST, Windows

# maximum growth factor for state changes in a window; beyond it the fit does not converge
_MOST_GROWTH = 8.0
_PILOTS = 16
_FOLDS = 4
_FEW = 8  # with fewer windows, window-based errors are rough
# motion below this many times the noise counts as none
_STILL = 10.0
# minimum ratio of residual noise to assumed noise for another fit
_OTHER_NOISE = 1.2
_QUIET: Callable[[str], None] = lambda text: None  # noqa: E731 — a default


def identify(
    robot: str | Path | RobotDescription,
    recordings: Recording | Iterable[Recording],
    what: str | Iterable[str] = 'friction,damping,armature',
    *,
    window: float | None = None,
    folds: int = _FOLDS,
    loss: str = 'linear',
    gradients: str = ANALYTIC,
    time_step: float = 1e-3,
    gravity: Vector = (0.0, 0.0, -9.81),
    progress: Callable[[str], None] = _QUIET,
) -> Identification:
    """
    Fit parameters of a fixed-base robot to recorded motion.

    robot: as for `World.load_urdf`. recordings: with all joints; several recordings belong to the
    same robot. what: parameter kinds: 'friction', 'damping', 'armature' for joints, 'mass',
    'centre', 'inertia' for links, 'delay' for efforts [s]; `KIND:NAME+NAME` selects some of them.
    window: simulated window length [s]; None: as long as errors do not grow. folds: for
    cross-validation, 0 for none. loss: residual loss as in scipy's `least_squares`: 'linear', or
    'soft_l1', 'huber', 'cauchy' for data with outliers. gradients: 'analytic', or 'batch' for
    finite differences between many simulated worlds. progress: called with the current activity.

    Raises InvalidValueError for recordings that do not fit the robot or contain no motion,
    UnknownNameError for unknown joints, links and kinds, and errors from `World.load_urdf`.
    """
    one_of('loss', loss, LOSSES)
    one_of('gradients', gradients, (ANALYTIC, BATCH))
    folds = whole_number('folds', folds)
    if window is not None:
        window = positive_number('window', window, 'a length above 0 [s]')
    plant = Plant(robot, time_step, gravity)
    given = _checked(recordings, plant)
    chosen = parse_what(what, plant)
    motion = smooth(given)
    notes = [
        *plant.notes,
        *(note for each in given for note in each.notes),
        *_still(given, motion, plant),
    ]
    parameters = Parameters(plant, chosen, sizes_of(plant, motion))
    progress('inverse dynamics')
    guess = first_guess(plant, motion, parameters)
    progress('cut into windows')
    windows = _windows(plant, given, parameters, guess, window)
    problem = _Problem(plant, windows, parameters, Loss(loss), gradients, progress)
    solution, noise = problem.solve(guess)
    before = problem.evaluate(np.zeros(parameters.count), windows.noise)
    count = int(np.isfinite(windows.measured).sum())
    spread = covariances(solution, count)
    quantities = parameters.quantities(solution.z)
    known = estimates(quantities, spread)
    folds = min(folds, windows.count // 2) if folds > 1 else 0
    held_out = problem.cross_validate(solution, noise, folds) if folds > 1 else None
    if windows.count < _FEW:
        notes.append(
            f'errors are rough: there {"is" if windows.count == 1 else "are"} only '
            f'{counted(windows.count, "window")}'
        )
    if not folds:
        notes.append('not cross-validated')
    return Identification(
        plant.description.name,
        tuple(plant.joint_names),
        tuple(each.name for each in given),
        {each.name: each for each in known},
        tuple(combinations(quantities, known, spread)),
        problem.misfit(before),
        problem.misfit(solution),
        held_out,
        folds,
        windows.noise,
        windows.count,
        windows.length,
        windows.left_out,
        solution.converged,
        tuple(notes),
        solution.z,
        plant,
        parameters,
    )


class _Problem:
    """Fits over all windows or a subset."""

    def __init__(
        self,
        plant: Plant,
        windows: Windows,
        parameters: Parameters,
        loss: Loss,
        gradients: str,
        progress: Callable[[str], None],
    ) -> None:
        self._windows, self._parameters, self._loss = windows, parameters, loss
        self._progress = progress
        self._shooting = Shooting(plant, windows, parameters, gradients)
        self._all: IntArray = np.arange(windows.count)

    def solve(self, z: FloatArray) -> tuple[Solution, FloatArray]:
        """Return the best fit, and the noise used to weight residuals."""
        count = counted(self._windows.count, 'window')
        self._progress(
            f'fit {counted(self._parameters.count, "parameter")} to {count} of '
            f'{self._windows.length:g} s'
        )
        noise = self._windows.noise
        solution = self._fit(self._all, noise).solve(z)
        seen = measured_noise(solution, self._windows, noise)
        if (seen > _OTHER_NOISE * noise).any():
            self._progress('fit again, weighted by the residuals')
            noise = seen
            solution = self._fit(self._all, noise).solve(solution.z, solution.starts)
        measured = int(np.isfinite(self._windows.measured).sum())
        free = untold(solution, measured)
        if free.shape[1]:
            # along directions that are not identifiable, return to the file's values
            self._progress('fit again, near the file for parameters not identifiable')
            near = solution.z - free @ (free.T @ solution.z)
            solution = self._fit(self._all, noise).solve(near, solution.starts)
        return solution, noise

    def evaluate(self, z: FloatArray, noise: FloatArray) -> Solution:
        """Return the fit for given parameters."""
        self._progress('compare with the parameters of the file')
        return self._fit(self._all, noise).evaluate(z)

    def cross_validate(self, solution: Solution, noise: FloatArray, folds: int) -> Misfit:
        """Return the misfit on windows whose parameters were fitted without them."""
        differences, counts = [], []
        for number, held in enumerate(np.array_split(self._all, folds)):
            self._progress(f'cross-validation {number + 1} of {folds}')
            others = np.setdiff1d(self._all, held)
            found = self._fit(others, noise).solve(solution.z, solution.starts[others])
            tried = self._fit(held, noise).evaluate(found.z, solution.starts[held])
            differences.append(tried.differences)
            counts.append(self._windows.counts[held])
        return misfit(differences, counts, self._windows.noise, solution.starts.shape[1])

    def misfit(self, solution: Solution) -> Misfit:
        """Return a solution's misfit to the measurements."""
        return misfit(
            [solution.differences],
            [self._windows.counts],
            self._windows.noise,
            solution.starts.shape[1],
        )

    def _fit(self, chosen: IntArray, noise: FloatArray) -> Fit:
        return Fit(self._shooting, self._windows, self._parameters, noise, chosen, self._loss)


def _checked(recordings: Recording | Iterable[Recording], plant: Plant) -> list[Recording]:
    """Return recordings with the plant's joints, in its order."""
    if isinstance(recordings, Recording):
        recordings = (recordings,)
    given = items_of('recordings', recordings, Recording, 'Recordings')
    if not given:
        raise InvalidValueError('recordings', 'none', 'at least one')
    found = []
    for each in given:
        place = f'recording {each.name!r}'
        missing = [name for name in plant.joint_names if name not in each.joint_names]
        if len(missing) == len(plant.joint_names):
            raise InvalidValueError(
                'joints',
                ', '.join(each.joint_names),
                'those of the robot: ' + ', '.join(plant.joint_names),
                place,
            )
        if missing:
            raise UnknownNameError('joint', missing[0], each.joint_names, place)
        found.append(each.of_joints(plant.joint_names))
    return found


def _still(given: Sequence[Recording], motion: Smoothed, plant: Plant) -> list[str]:
    """Return notes about hardly moving joints; raises InvalidValueError if none moves."""
    noise = np.max([each.noise()[0] for each in given], axis=0)
    moved = np.max([np.ptp(each.positions, axis=0) for each in given], axis=0)
    still = [
        name
        for name, own, most in zip(plant.joint_names, noise, moved, strict=True)
        if most < _STILL * own
    ]
    if len(still) == len(plant.joint_names):
        raise InvalidValueError(
            'motion',
            f'at most {moved.max():.3g} rad or m, noise of {noise.max():.3g}',
            f'joints moving by more than {_STILL:g} times the noise: parameters cannot be '
            'identified without motion',
            ', '.join(f'recording {each.name!r}' for each in given),
        )
    return (
        [
            f'{counted(len(still), "joint")} hardly move{"s" * (len(still) == 1)}: '
            f'{", ".join(still)}'
        ]
        if still
        else []
    )


def _windows(
    plant: Plant,
    given: Sequence[Recording],
    parameters: Parameters,
    guess: FloatArray,
    length: float | None,
) -> Windows:
    """Return windows short enough for initial state changes not to grow much."""
    joints = [plant.robot.joint(name) for name in plant.joint_names]
    stops = (
        np.array([joint.lower for joint in joints]),
        np.array([joint.upper for joint in joints]),
    )
    step, n = plant.world.time_step, len(joints)
    windows = cut(given, step, stops, length)
    while length is None and windows.length > SHORTEST:
        pilots = np.unique(
            np.linspace(0, windows.count - 1, min(windows.count, _PILOTS)).round().astype(int)
        )
        _, by_state = Shooting(plant, windows, parameters).by_state(
            guess, windows.start[pilots], pilots
        )
        growth = np.nanmax(np.abs(by_state[..., :n, :n]), axis=(1, 2, 3))
        if np.isfinite(growth).all() and np.quantile(growth, 0.9) <= _MOST_GROWTH:
            break
        windows = cut(given, step, stops, max(0.5 * windows.length, SHORTEST))
    return windows
