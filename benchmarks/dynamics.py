"""Time for textbook dynamics compared with Pinocchio: single calls and a thousand at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
import sys
import time
import warnings

import numpy as np

from benchmarks.chains import find_missing_robots
from benchmarks.peers import MissingPeerError
from benchmarks.report import Report, Target
from benchmarks.urdf import example_robot
import sim_bridge as sb
from sim_bridge import dynamics

OURS, GIVEN, THEIRS = 'sim_bridge', 'at given q', 'Pinocchio'
MANY = 1000
# target: greatest time per call, relative to Pinocchio's
LIMIT = 1.5
BATCH_S = 0.002

_ARM = Path(__file__).parent.parent / 'urdf' / 'arm.urdf'
_TALOS = 'talos_data/robots/talos_reduced.urdf'
_NOTES = """Microseconds of the thread's processor time; medians of {rounds} rounds in which the
two take turns. {ours}: at the present state; {given}: q, dq and the rest as arrays. sim_bridge
returns new arrays, Pinocchio its own views, and nothing for placements. {many}: per
configuration, in one sim_bridge call, and in a loop of Pinocchio calls; C++: its rneaInParallel
and abaInParallel on one thread."""
Call = Callable[[], object]


def run(rounds: int = 25) -> Report:
    """Measure the arm and Talos and compare with the targets."""
    report, missing = Report('dynamics'), find_missing_robots()
    try:
        import pinocchio
    except ImportError as error:
        raise MissingPeerError('pip install pin') from error
    robots = {'arm (7)': (_ARM, False)}
    if not missing:
        robots['Talos (38)'] = (example_robot(_TALOS), True)
    times = {}
    for name, (path, is_free) in robots.items():
        print(f'  timing {name} …', file=sys.stderr, flush=True)
        pair = _Pair(pinocchio, path, is_free)
        times[name] = {
            task: _measure(calls, rounds) for task, calls in pair.single_calls().items()
        }
        batches = {task: _measure(calls, rounds, MANY) for task, calls in pair.batches().items()}
        report.add_table(
            f'{name}: microseconds per call',
            ['', OURS, GIVEN, THEIRS, 'ratio', 'at given q'],
            [
                [task, *_cells(row, OURS, GIVEN, THEIRS), _ratio(row, OURS), _ratio(row, GIVEN)]
                for task, row in times[name].items()
            ],
        )
        report.add_table(
            f'{name}: microseconds per configuration, {MANY} in one call',
            ['', OURS, THEIRS, 'C++', 'ratio'],
            [
                [task, *_cells(row, OURS, THEIRS, 'C++'), _ratio(row, OURS)]
                for task, row in batches.items()
            ],
        )
        times[f'{name}, {MANY}'] = batches
    notes = _NOTES.format(rounds=rounds, ours=OURS, given=GIVEN, many=MANY)
    report.sections.append(notes)
    report.add_targets(_targets(times))
    report.add_versions({'Pinocchio': pinocchio.__version__})
    report.add_missing(missing)
    report.data.update(unit='s', times=times, rounds=rounds)
    return report


class _Pair:
    """One robot in both libraries, in configurations with an equivalent in Pinocchio."""

    def __init__(self, pin, path: Path, is_free: bool):
        self.pin = pin
        self.model = pin.buildModelFromUrdf(
            str(path), *([pin.JointModelFreeFlyer()] if is_free else [])
        )
        self.data = self.model.createData()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            self.robot = sb.World().load_urdf(
                path, base='free' if is_free else 'fixed', collisions='none'
            )
        self.q = dynamics.configuration(self.robot)
        self.their_q = pin.neutral(self.model)
        rng = np.random.default_rng(1)
        self.dq, self.x = rng.normal(size=(2, self.model.nv))
        self.frame = self.model.nframes - 1
        self.link = self.robot.link(self.model.frames[self.frame].name)

    def single_calls(self) -> dict[str, dict[str, Call]]:
        """Return calls by quantity and by library."""
        pin, model, data, robot = self.pin, self.model, self.data, self.robot
        q, dq, x, link, theirs = self.q, self.dq, self.x, self.link, self.their_q
        of, aligned = dynamics, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

        def their_rate():
            pin.computeJointJacobiansTimeVariation(model, data, theirs, dq)
            return pin.getFrameJacobianTimeVariation(model, data, self.frame, aligned)

        rows = {
            'mass matrix': (
                lambda: of.mass_matrix(robot),
                lambda: of.mass_matrix(robot, q),
                lambda: pin.crba(model, data, theirs),
            ),
            'bias forces': (
                lambda: of.bias_forces(robot),
                lambda: of.bias_forces(robot, q, dq),
                lambda: pin.nonLinearEffects(model, data, theirs, dq),
            ),
            'gravity': (
                lambda: of.gravity_forces(robot),
                lambda: of.gravity_forces(robot, q),
                lambda: pin.computeGeneralizedGravity(model, data, theirs),
            ),
            'inverse dynamics': (
                lambda: of.inverse_dynamics(robot, x),
                lambda: of.inverse_dynamics(robot, x, q, dq),
                lambda: pin.rnea(model, data, theirs, dq, x),
            ),
            'forward dynamics': (
                lambda: of.forward_dynamics(robot, x),
                lambda: of.forward_dynamics(robot, x, q, dq),
                lambda: pin.aba(model, data, theirs, dq, x),
            ),
            'inverse mass matrix': (
                lambda: of.inverse_mass_matrix(robot),
                lambda: of.inverse_mass_matrix(robot, q),
                lambda: pin.computeMinverse(model, data, theirs),
            ),
            'Coriolis matrix': (
                lambda: of.coriolis_matrix(robot),
                lambda: of.coriolis_matrix(robot, q, dq),
                lambda: pin.computeCoriolisMatrix(model, data, theirs, dq),
            ),
            'Jacobian': (
                lambda: of.jacobian(robot, link),
                lambda: of.jacobian(robot, link, None, q),
                lambda: pin.computeFrameJacobian(model, data, theirs, self.frame, aligned),
            ),
            'its derivative': (
                lambda: of.jacobian_derivative(robot, link),
                lambda: of.jacobian_derivative(robot, link, None, q, dq),
                their_rate,
            ),
            'inverse dynamics, derivatives': (
                lambda: of.inverse_dynamics_derivatives(robot, x),
                lambda: of.inverse_dynamics_derivatives(robot, x, q, dq),
                lambda: pin.computeRNEADerivatives(model, data, theirs, dq, x),
            ),
            'forward dynamics, derivatives': (
                lambda: of.forward_dynamics_derivatives(robot, x),
                lambda: of.forward_dynamics_derivatives(robot, x, q, dq),
                lambda: pin.computeABADerivatives(model, data, theirs, dq, x),
            ),
            'centroidal momentum matrix': (
                lambda: of.centroidal_momentum_matrix(robot),
                lambda: of.centroidal_momentum_matrix(robot, q),
                lambda: pin.ccrba(model, data, theirs, dq),
            ),
            'centre of mass': (
                lambda: of.center_of_mass(robot),
                lambda: of.center_of_mass(robot, q),
                lambda: pin.centerOfMass(model, data, theirs),
            ),
            'kinetic energy': (
                lambda: of.kinetic_energy(robot),
                lambda: of.kinetic_energy(robot, q, dq),
                lambda: pin.computeKineticEnergy(model, data, theirs, dq),
            ),
            'placements of all links': (
                lambda: of.forward_kinematics(robot),
                lambda: of.forward_kinematics(robot, q=q),
                lambda: pin.framesForwardKinematics(model, data, theirs),
            ),
            'integrate': (
                lambda: of.integrate(robot, dq),
                lambda: of.integrate(robot, dq, q),
                lambda: pin.integrate(model, theirs, dq),
            ),
        }
        return {
            task: dict(zip((OURS, GIVEN, THEIRS), calls, strict=True))
            for task, calls in rows.items()
        }

    def batches(self) -> dict[str, dict[str, Call]]:
        """Return calls for MANY configurations."""
        pin, robot, of = self.pin, self.robot, dynamics
        # the same configurations as theirs: sines of zero cost less than others
        q = np.tile(self.q, (MANY, 1))
        rng = np.random.default_rng(1)
        dq, x = rng.normal(size=(2, MANY, self.model.nv))
        pool = pin.ModelPool(self.model, 1)
        columns = [
            np.asfortranarray(np.tile(self.their_q[:, None], MANY)),
            *(np.asfortranarray(each.T) for each in (dq, x)),
            np.zeros((self.model.nv, MANY), order='F'),
        ]
        each = self.single_calls()

        def looped(call):
            def work():
                for _ in range(MANY):
                    call()

            return work

        rows: dict[str, tuple[Call, ...]] = {
            'mass matrix': (lambda: of.mass_matrix(robot, q),),
            'inverse dynamics': (
                lambda: of.inverse_dynamics(robot, x, q, dq),
                lambda: pin.rneaInParallel(1, pool, *columns),
            ),
            'forward dynamics': (
                lambda: of.forward_dynamics(robot, x, q, dq),
                lambda: pin.abaInParallel(1, pool, *columns),
            ),
            'Jacobian': (lambda: of.jacobian(robot, self.link, None, q),),
            'forward dynamics, derivatives': (
                lambda: of.forward_dynamics_derivatives(robot, x, q, dq),
            ),
        }
        if not pin.WITH_OPENMP:
            rows = {task: calls[:1] for task, calls in rows.items()}
        return {
            task: {
                OURS: calls[0],
                THEIRS: looped(each[task][THEIRS]),
                **dict(zip(['C++'], calls[1:], strict=False)),
            }
            for task, calls in rows.items()
        }


def _measure(calls: Mapping[str, Call], rounds: int, per_call: int = 1) -> dict[str, float]:
    """Return the median seconds per configuration of each call; they take turns."""
    numbers = {}
    for name, call in calls.items():
        call()
        numbers[name] = max(1, int(BATCH_S / max(_time(call, 1), 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(_time(call, numbers[name]) / per_call)
    return {name: float(np.median(values)) for name, values in times.items()}


def _time(call: Call, number: int) -> float:
    start = time.thread_time()
    for _ in range(number):
        call()
    return (time.thread_time() - start) / number


def _targets(times: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Target]:
    targets = []
    for name, rows in times.items():
        quantities = (
            'mass matrix',
            'bias forces',
            'inverse dynamics',
            'forward dynamics',
            'forward dynamics, derivatives',
        )
        is_many = name.endswith(str(MANY))
        if not is_many:
            worst, task = max(
                (row[own] / row[THEIRS], f'{task}, {own}')
                for task, row in rows.items()
                for own in (OURS, GIVEN)
            )
            targets.append(Target(f'{name}: slowest call, {task}, of Pinocchio', worst, LIMIT))
        for task in quantities:
            if task in rows:
                theirs = rows[task].get('C++', rows[task][THEIRS])
                targets.append(
                    Target(
                        f'{name}: {task}, of Pinocchio',
                        rows[task][OURS] / theirs,
                        1.0 if is_many else LIMIT,
                    )
                )
    targets.append(
        Target('mass matrix of the arm [us]', 1e6 * times['arm (7)']['mass matrix'][OURS], 10.0)
    )
    return targets


def _cells(row: Mapping[str, float], *names: str) -> list[str]:
    return [f'{1e6 * row[name]:.2f}' if name in row else '-' for name in names]


def _ratio(row: Mapping[str, float], name: str) -> str:
    return f'{row[name] / row[THEIRS]:.2f}'
