"""The world: robots, time, and the step that moves both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description import load_description
from sim_bridge.description.compile import compile_robot
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.engine import step as stepper
from sim_bridge.engine.energy import energy, momentum
from sim_bridge.engine.handle import Handle
from sim_bridge.engine.join import join_models, Offsets
from sim_bridge.engine.model import body_count, Model, Options, position_count, velocity_count
from sim_bridge.engine.observe import observe, SITE_SIZE
from sim_bridge.engine.runge_kutta import step_smoothly, TABLEAU
from sim_bridge.engine.state import assign_state, copy_state, make_state, State
from sim_bridge.engine.workspace import make_workspace
from sim_bridge.errors import InvalidValueError, SimulationError
from sim_bridge.records import digest_into, Energy, Momentum, Snapshot, StepReport
from sim_bridge.robot import Robot

_SOLVERS = ('direct',)
_INTEGRATORS = ('midpoint', 'rk5')
_TABLEAU = np.array(TABLEAU)


class World:
    """
    A simulated world that advances in fixed steps.

    SI units and radians throughout; z up under the default gravity.
    """

    def __init__(
        self,
        time_step: float = 1e-3,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        solver: str = 'direct',
        seed: int = 0,
        integrator: str = 'midpoint',
    ):
        """
        Make an empty world.

        time_step: s; rounded to a whole number of nanoseconds, so that stamps do not drift.
        gravity: (3,) [m/s²], world axes.
        solver: 'direct': stops, friction and mimic joints solved exactly.
        seed: of the sensors' noise.
        integrator: 'midpoint', of second order with one evaluation of the dynamics; or 'rk5',
            Dormand-Prince of fifth order with six, which falls back to the former in steps with
            friction, stops or holds.

        Raises InvalidValueError for values outside these.
        """
        is_number = isinstance(time_step, (int, float, np.floating))
        if isinstance(time_step, bool) or not (is_number and 1e-9 <= time_step <= 1.0):
            raise InvalidValueError('time_step', time_step, 'a number from 1e-9 to 1 [s]')
        self.time_step_ns = round(time_step * 1e9)
        self._gravity = _checked_gravity(gravity)
        if solver not in _SOLVERS:
            raise InvalidValueError('solver', solver, ' or '.join(map(repr, _SOLVERS)))
        if integrator not in _INTEGRATORS:
            raise InvalidValueError('integrator', integrator, ' or '.join(map(repr, _INTEGRATORS)))
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InvalidValueError('seed', seed, 'an integer of at least 0')
        self.seed = int(seed)
        self.integrator = integrator
        self.step_count = 0
        self._steps, self._pivots, self._converged = 0, 0, True
        self.robots: dict[str, Robot] = {}
        self._options = Options(
            time_step=self.time_step, stop_erp=0.2, velocity_passes=2, max_pivots=100)
        self._join([])
        self._initial = copy_state(self.state)
        self._initial_frame = self.model.frame.copy()

    # --- robots ----------------------------------------------------------------------------------

    def load_urdf(
        self,
        path_or_xml: str | Path,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        *,
        sensors: Iterable[SensorDescription] = (),
        xacro_args: Mapping[str, object] | None = None,
        package_paths: Iterable[str | Path] = (),
    ) -> Robot:
        """
        Read a URDF or xacro file, or XML text, and add the robot.

        path_or_xml: file, or the text itself.
        name: unique in the world; the description's own, numbered where that is taken, if None.
        fixed_base: weld the root link to the world; None: only where it is called 'world'.
        position, orientation: of the root link's frame in the world [m; quaternion x y z w].
        sensors: devices beyond those the file declares.
        xacro_args: for a xacro file.
        package_paths: folders to search for package:// files.

        Raises DescriptionError, with the whole report, for a description that cannot be simulated.
        """
        description = load_description(
            path_or_xml, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=sensors)
        return self.add_robot(description, name, fixed_base, position, orientation)

    def add_robot(
        self,
        description: RobotDescription,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    ) -> Robot:
        """
        Add a robot of a checked description; as `load_urdf`.

        The state it is added in is the one `reset` goes back to.
        """
        if name is None:
            name = description.name
            number = 2
            while name in self.robots:
                name, number = f'{description.name}_{number}', number + 1
        elif name in self.robots:
            raise InvalidValueError(
                'name', name, f'one that is not taken yet (taken: {", ".join(self.robots)})')
        robot = Robot(self, name, description, compile_robot(description, fixed_base))
        self._join([*self.robots.values(), robot])
        try:
            robot.set_base_pose(position, orientation)
        except InvalidValueError:
            self._join(list(self.robots.values()))
            raise
        self.robots[name] = robot
        robot.initialize()
        self._remember_initial(robot)
        return robot

    # --- time ------------------------------------------------------------------------------------

    @property
    def time_step(self) -> float:
        """Length of a step [s]."""
        return self.time_step_ns * 1e-9

    @property
    def gravity(self) -> np.ndarray:
        """(3,) [m/s²], world axes; a read-only view. Assign another to change it."""
        view = self._gravity.view()
        view.flags.writeable = False
        return view

    @gravity.setter
    def gravity(self, value: Sequence[float]) -> None:
        self._gravity[:] = _checked_gravity(value)
        self.invalidate()

    @property
    def report(self) -> StepReport:
        """How the last `step` call went."""
        return StepReport(self._steps, self._pivots, self._converged)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.step_count * self.time_step_ns * 1e-9

    def step(self, n: int = 1) -> None:
        """
        Advance by n steps under the present efforts.

        Pushes (`link.add_force`) act during the whole call and are gone after it. Raises
        SimulationError where a step gives something that is not finite: the state before that step
        is kept, the message names the culprit.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise InvalidValueError('n', n, 'an integer of at least 0')
        self._steps, self._pivots, self._converged = 0, 0, True
        end = self.step_count + int(n)
        try:
            if not self._sampled:
                self._advance(end - self.step_count)
            while self.step_count < end:
                stops = [self._next_sample(device, end) for device, _ in self._sampled]
                self._advance(min([end, *stops]) - self.step_count)
                self._sample_devices()
        finally:
            if self._pushed:
                self.state.wrench[:] = 0.0
                self._pushed = False

    def warm_up(self) -> None:
        """Compile or load every kernel a running simulation uses; nothing of the world changes."""
        stepper.step(self._handle.table, 0)
        if self.integrator == 'rk5':
            step_smoothly(self._handle.table, _TABLEAU, 0)
        self.observed_sites()
        self.energy()
        self.momentum()

    def reset(self, time: bool = False) -> None:
        """
        Put every robot back to where it was added, at rest and without efforts.

        The sensors' noise begins again; changed parameters stay. time: also set the step count to
        0.
        """
        assign_state(self.state, self._initial)
        self.model.frame[:] = self._initial_frame
        self.invalidate()
        self._pushed = False
        self._steps, self._pivots, self._converged = 0, 0, True
        if time:
            self.step_count = 0
        for device, _ in self._sampled:
            device.reset(self.seed)

    # --- state -----------------------------------------------------------------------------------

    def save(self) -> Snapshot:
        """Give a snapshot that `restore` goes back to, bit for bit."""
        devices = [device.save() for device, _ in self._sampled]
        parameters = [array.copy() for array in self._parameters()]
        return Snapshot(self.step_count, copy_state(self.state), parameters, devices)

    def restore(self, snapshot: Snapshot) -> None:
        """
        Go back to a snapshot of this world.

        Raises InvalidValueError where robots were added since.
        """
        if [a.shape for a in snapshot.state] != [a.shape for a in self.state]:
            raise InvalidValueError(
                'snapshot', f'of {len(snapshot.state.q)} positions',
                f'one of this world, of {len(self.state.q)} positions')
        self.step_count = snapshot.step_count
        assign_state(self.state, snapshot.state)
        for array, saved in zip(self._parameters(), snapshot.parameters, strict=True):
            array[:] = saved
        self._pushed = bool(self.state.wrench.any())
        self.invalidate()
        for (device, _), saved in zip(self._sampled, snapshot.devices, strict=True):
            device.restore(saved)

    def state_hash(self) -> str:
        """Give a SHA-256 of everything that decides the future: equal hashes, equal futures."""
        digest = hashlib.sha256()
        devices = [device.save() for device, _ in self._sampled]
        digest_into([self.step_count, *self.state, *self._parameters(), devices], digest)
        return digest.hexdigest()

    def energy(self) -> Energy:
        """Give the energy of all robots."""
        self.observed_sites()
        bodies, velocities = body_count(self.model), velocity_count(self.model)
        return Energy(*energy(self._observer.table, 0, bodies, 0, velocities))

    def momentum(self) -> Momentum:
        """Give the momentum of all robots."""
        self.observed_sites()
        total = np.zeros((1, 6))
        momentum(self._observer.table, 0, body_count(self.model), total)
        return Momentum(total[0, :3], total[0, 3:])

    # --- for Robot -------------------------------------------------------------------------------

    def observed_sites(self) -> np.ndarray:
        """Give (ns, 30) the sites of `engine.observe` at the present state."""
        if not self._is_observed:
            # unlike any wrench, so that everything is computed anew
            self._observed.wrench.fill(np.nan)
            self._is_observed = True
        observe(self._observer.table, self._site_body, self._site_frame, self._sites)
        return self._sites

    def observed_accelerations(self) -> np.ndarray:
        """Give (nv,) the accelerations of the coordinates at the present state."""
        self.observed_sites()
        return self._observed.ddq

    def invalidate(self) -> None:
        """Forget observations, since the model's parameters changed."""
        self._is_observed = False

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point, and a torque, to a body."""
        self.observed_sites()
        arm = point - self._observed.pose[body, 9:12]
        self.state.wrench[body, :3] += torque + np.cross(arm, force)
        self.state.wrench[body, 3:] += force
        self._pushed = True

    # --- inside ----------------------------------------------------------------------------------

    def _parameters(self) -> list[np.ndarray]:
        """List the arrays of the model that can be changed."""
        return [self.model.frame, self.model.passive, self.model.limits, self.model.gravity]

    def _advance(self, n: int) -> None:
        end = self.step_count + n
        while self.step_count < end:
            left = end - self.step_count
            if self.integrator == 'rk5':
                self._count(stepper.DONE, step_smoothly(self._handle.table, _TABLEAU, left), 0)
                left = min(end - self.step_count, 1)
            if left:
                self._count(*stepper.step(self._handle.table, left))

    def _count(self, status: int, done: int, pivots: int) -> None:
        """Take account of steps that a kernel has taken."""
        self.step_count += done
        self._is_observed = False
        self._steps += done
        self._pivots = max(self._pivots, pivots)
        self._converged = self._converged and status != stepper.NOT_CONVERGED
        if status == stepper.NOT_FINITE:
            raise SimulationError(self._describe_not_finite())

    def _next_sample(self, device: Any, end: int) -> int:
        """
        Give the next step after which a device must be sampled.

        Of a noiseless one the last sample before `end` is enough.
        """
        now = self.step_count
        due = (now // device.period + 1) * device.period
        return max(due, end // device.period * device.period) if device.is_silent else due

    def _sample_devices(self) -> None:
        if not self._sampled:
            return
        step = self.step_count
        due = [pair for pair in self._sampled if step % pair[0].period == 0]
        if due:
            sites = self.observed_sites()
            for device, site in due:
                device.sample(sites[site], step)

    def _join(self, robots: list[Robot]) -> None:
        """Compile the robots' models into one, carrying over the state they had."""
        previous = {
            robot.name: (robot.offsets, self.state, self.model) for robot in self.robots.values()}
        model, offsets = join_models([robot.blueprint.model for robot in robots], self.gravity)
        model = model._replace(gravity=self._gravity)
        state = make_state(model)
        for robot, at in zip(robots, offsets, strict=True):
            if robot.name in previous:
                _carry_over(robot, *previous[robot.name], at, state, model)
        self.model: Model = model
        self.state: State = state
        self._handle = Handle(model, self._options, state, make_workspace(model))
        self._observed = make_workspace(model)
        self._observer = Handle(model, self._options, state, self._observed)
        self._pushed = False
        self._is_observed = False
        frames, first = [], 0
        for robot, at in zip(robots, offsets, strict=True):
            robot.bind(at, first)
            frames += [(at.body + body, rotation, position)
                       for body, rotation, position in robot.site_frames()]
            first = len(frames)
        self._site_body = np.array([body for body, _, _ in frames], dtype=np.int64)
        self._site_frame = np.array(
            [[*rotation.ravel(), *position] for _, rotation, position in frames]).reshape(-1, 12)
        self._sites = np.zeros((len(frames), SITE_SIZE))
        self._sampled = [pair for robot in robots for pair in robot.device_sites()]

    def _remember_initial(self, robot: Robot) -> None:
        """Keep the new robot's state as the one to reset to; the others' stay as remembered."""
        initial = copy_state(self.state)
        before = self._initial
        for array, old in zip(initial, before, strict=True):
            array[: len(old)] = old
        frame = self.model.frame.copy()
        frame[: len(self._initial_frame)] = self._initial_frame
        self._initial_frame = frame
        initial.u[:] = 0.0
        initial.wrench[:] = 0.0
        self._initial = initial

    def _describe_not_finite(self) -> str:
        for robot in self.robots.values():
            for name in robot.joint_names:
                joint = robot.joint(name)
                values = {'effort u': joint.u, 'position q': joint.q, 'velocity dq': joint.dq}
                for what, value in values.items():
                    if not math.isfinite(value):
                        return (
                            f'step {self.step_count + 1}: {what} = {value} at {joint.place}. '
                            'Set it to a finite number; the state before the step is kept')
        return (
            f'step {self.step_count + 1} of {self.time_step} s gives velocities that are not '
            'finite; the state before it is kept. Reduce the time step, or look for a link '
            'without inertia or an enormous effort')


def _carry_over(
    robot: Robot,
    old: Offsets, state: State, model: Model,
    new: Offsets, into: State, into_model: Model,
) -> None:
    """Copy one robot's state and parameters to its new place."""
    own = robot.blueprint.model
    nb, nv = body_count(own), velocity_count(own)
    nq = position_count(own)
    for field in State._fields:
        size, start, to = nv, old.v, new.v
        if field == 'q':
            size, start, to = nq, old.q, new.q
        elif field == 'wrench':
            size, start, to = nb, old.body, new.body
        getattr(into, field)[to : to + size] = getattr(state, field)[start : start + size]
    for field in ('passive', 'limits'):
        getattr(into_model, field)[new.v : new.v + nv] = getattr(model, field)[old.v : old.v + nv]
    into_model.frame[new.body : new.body + nb] = model.frame[old.body : old.body + nb]


def _checked_gravity(value: Sequence[float]) -> np.ndarray:
    """Give a gravity as a (3,) array; raises InvalidValueError."""
    try:
        gravity = np.array(value, dtype=float)
    except (TypeError, ValueError):
        gravity = np.array(np.nan)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise InvalidValueError('gravity', value, 'three finite numbers [m/s²]')
    return gravity
