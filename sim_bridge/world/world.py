"""The world: robots, time, and the step that moves both."""

from __future__ import annotations

from collections.abc import Sequence
import hashlib

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.unit import Unit
from sim_bridge.engine.contact.solve import DIRECT, ITERATIVE, SPLIT
from sim_bridge.engine.data.model import body_count, velocity_count
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.pipeline.observe import observe, SITE_SIZE
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.step import NO_ROOM, NOT_FINITE
from sim_bridge.foundation.errors import InvalidValueError, SimulationError
from sim_bridge.foundation.validation import finite_vector, truth, whole_number
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.constraint import ConstraintSeat
from sim_bridge.robots.link import Link
from sim_bridge.robots.loop_assembly import begin_loops
from sim_bridge.sensors.advance import GO_ON, NO_DRAWS, PROGRESS_SIZE, SAMPLE, WORST_SIZE
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.assembly import (
    changeable,
    contact_room,
    initial_state,
    present_state,
    restore_state,
    start_control,
)
from sim_bridge.simulation.handles import (
    ContactHandles,
    make_contact_handles,
    make_observer,
    make_options,
    make_stepping_handle,
    Observer,
    stepping_units,
)
from sim_bridge.simulation.records import (
    digest_into,
    Energy,
    Momentum,
    Sleep,
    Snapshot,
    StepReport,
    Worst,
)
from sim_bridge.simulation.reports import report_of, take_worst
from sim_bridge.simulation.stepper import Stepper
from sim_bridge.world.contacts import Contacts
from sim_bridge.world.divergence_report import describe_not_finite
from sim_bridge.world.queries import Distance, distance_between, geometries_of, overlapping
from sim_bridge.world.robot_registry import Population

_SOLVERS = {'direct': DIRECT, 'iterative': ITERATIVE, 'split': SPLIT}
_INTEGRATORS = ('midpoint', 'rk5')
_GRAVITY = 'three finite numbers [m/s²]'


class World(Population):
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
        contact_margin: float = 1e-4,
        sleep: bool | Sleep = False,
    ):
        """
        Make an empty world.

        time_step: s; rounded to a whole number of nanoseconds, so that stamps do not drift.
        gravity: (3,) [m/s²], world axes.
        solver: of the contacts; stops, friction and mimic joints are always solved exactly.
            'direct': to a residual below 1e-9 m/s, or the report says so. 'iterative': by 8 to 50
            sweeps, for piles of hundreds of bodies. 'split': normals direct, friction by sweeps.
        seed: of the sensors' noise.
        integrator: 'midpoint', of second order with one evaluation of the dynamics; or 'rk5',
            Dormand-Prince of fifth order with six, which falls back to the former in steps with
            friction, stops, holds or contacts.
        contact_margin: distance below which geometries are contacts, which push once they touch,
            beyond what they can move in a step [m].
        sleep: let what has come to rest sleep until something stirs it (ODE's auto-disable).

        Raises InvalidValueError for values outside these.
        """
        is_number = isinstance(time_step, (int, float, np.floating))
        if isinstance(time_step, bool) or not (is_number and 1e-9 <= time_step <= 1.0):
            raise InvalidValueError('time_step', time_step, 'a number from 1e-9 to 1 [s]')
        self.time_step_ns = round(time_step * 1e9)
        super().__init__(finite_vector('gravity', gravity, 3, '', _GRAVITY))
        if not isinstance(solver, str) or solver not in _SOLVERS:
            raise InvalidValueError('solver', solver, ' or '.join(map(repr, _SOLVERS)))
        if integrator not in _INTEGRATORS:
            raise InvalidValueError('integrator', integrator, ' or '.join(map(repr, _INTEGRATORS)))
        self.seed = whole_number('seed', seed)
        self.integrator = integrator
        self.step_count = 0
        self._pushed = self._is_observed = False
        self._worst = np.zeros(WORST_SIZE)
        self.layout = 0
        """Changes whenever the arrays of model and state are others."""
        self._observer: Observer
        self._stepper: Stepper | None = None
        self._observe: Call | None = None
        self._handles: ContactHandles
        if not isinstance(contact_margin, (int, float)) or not 0.0 <= contact_margin < 1.0:
            raise InvalidValueError('contact_margin', contact_margin, 'from 0 to below 1 [m]')
        if not isinstance(sleep, Sleep):
            expected = 'True, False or a sim_bridge.Sleep'
            sleep = Sleep() if truth('sleep', sleep, expected=expected) else None
        self._options = make_options(
            self.time_step, _SOLVERS[solver], float(contact_margin), sleep)

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
        self._gravity[:] = finite_vector('gravity', value, 3, '', _GRAVITY)
        self.invalidate()

    @property
    def report(self) -> StepReport:
        """How the last `step` call went."""
        self.settle_contact()
        return report_of(
            self._progress(), self._handles.problem.solution, int(self._state.contact_size[0]),
            self._options.contact_tolerance)

    def take_worst(self) -> Worst:
        """Sum up the reports of all calls of `step` since this was called last."""
        return take_worst(self._worst)

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
        if type(n) is not int or n < 0:
            n = whole_number('n', n)
        if not self._is_ready:
            self._get_ready()
        status, done, self._is_observed = self._stepper.advance(self.step_count, n)
        self.step_count += done
        if status:
            self._go_on(status, n - done)
        if self._pushed:
            self._drop_pushes()

    def warm_up(self) -> None:
        """Compile or load every kernel a running simulation uses; nothing of the world changes."""
        self.settle_contact()
        self._stepping().advance(self.step_count, 0)
        self.energy()
        self.momentum()

    @property
    def units(self) -> list[Unit]:
        """What has to be compiled to step and observe the world as it is."""
        self.settle_contact()
        smooth = [step_smoothly.unit] if self.integrator == 'rk5' else []
        return [*stepping_units(self._handles.probe), observe.unit, *smooth,
                energy.unit, momentum.unit]

    def reset(self, time: bool = False) -> None:
        """
        Put every robot back to where it was added, at rest and without efforts.

        The sensors' noise begins again; changed parameters stay, and so do the joints' controls,
        whose targets are where the joints are. Crawlers stop. time: also set the step count to 0.
        """
        time = truth('time', time)
        self.settle()
        if self._initial is None:
            self._initial = initial_state(
                self.robots.values(), self._model, len(self._state.loop_wrench),
                len(self._state.axis_q))
        state, frame = self._initial
        control, axis_control = self._state.control.copy(), self._state.axis_control.copy()
        restore_state(state, self._state)
        start_control(self._model, control, self._state)
        self._state.axis_control[:] = axis_control
        for joint in self._constraints.values():
            joint.restart()
        self._model.frame[:] = frame
        self._is_observed = False
        self._pushed = False
        self._progress()[:] = 0, 0, 0
        if time:
            self.step_count = 0
        for crawler in (crawler for robot in self.robots.values() for crawler in robot.crawlers):
            crawler.speed = 0.0
        for device in self._sites.sampling.devices:
            device.reset(self.seed)

    # --- state -----------------------------------------------------------------------------------

    def save(self) -> Snapshot:
        """Return a snapshot that `restore` goes back to, bit for bit."""
        self.settle_contact()
        devices = [device.save() for device in self._sites.sampling.devices]
        parameters = [array.copy() for array in self._parameters()]
        return Snapshot(self.step_count, self.census(), present_state(self._state), parameters,
                        devices, self.structure(), self.present_settings())

    def restore(self, snapshot: Snapshot) -> None:
        """
        Go back to a snapshot of this world.

        Raises InvalidValueError where robots or joints were added or removed since, or a robot's
        `motion` was changed.
        """
        self.settle_contact()
        self.check_snapshot(snapshot, self._parameters())
        self.restore_settings(snapshot.settings)
        # these wake all sleepers, so the state comes last
        self.settle_contact()
        self.make_room(contact_room(snapshot.state))
        self.step_count = snapshot.step_count
        restore_state(snapshot.state, self._state)
        for array, saved in zip(self._parameters(), snapshot.parameters, strict=True):
            array[:] = saved
        self._pushed = bool(self._state.wrench.any())
        self._is_observed = False
        for device, saved in zip(
                self._sites.sampling.devices, snapshot.devices, strict=True):
            device.restore(saved)

    def state_hash(self) -> str:
        """Return a SHA-256 of everything that decides the future: equal hashes, equal futures."""
        self.settle_contact()
        digest = hashlib.sha256()
        devices = [device.save() for device in self._sites.sampling.devices]
        state = present_state(self._state)
        laws = self._surfaces.law[self._surfaces.pair]
        digest_into(
            [self.step_count, self.integrator, *self._options, *state, *self._parameters(),
             *self.structure(), self.present_joints(), self._model.medium_body,
             self._model.medium, self._geometry.excluded, laws, devices],
            digest)
        return digest.hexdigest()

    def energy(self) -> Energy:
        """Return the energy of all robots."""
        self.observed_sites()
        bodies, velocities = body_count(self._model), velocity_count(self._model)
        kinetic, potential = energy(self._observer.handle, 0, bodies, 0, velocities)
        springs = sum(seat.joint.potential_energy for seat in self._constraints.values())
        return Energy(kinetic, potential + springs)

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        self.observed_sites()
        total = np.zeros((1, 6))
        momentum(self._observer.handle, 0, body_count(self._model), total)
        return Momentum(total[0, :3], total[0, 3:])

    # --- contact ---------------------------------------------------------------------------------

    @property
    def contact_count(self) -> int:
        """How many points touched in the last step, without reading them."""
        return int(self.state.contact_size[0])

    @property
    def contacts(self) -> Contacts:
        """What touched what in the last step."""
        return Contacts(self.state, self.geometries, self.time_step)

    def distance(self, a: Link | Geometry, b: Link | Geometry) -> Distance:
        """
        Measure the way between two links, or geometries, at the present state.

        Raises InvalidValueError for a link of another world or without geometry, or where both are
        planes or height fields.
        """
        self.settle_contact()
        return distance_between(
            self._handles.probe, geometries_of('a', a, self), geometries_of('b', b, self))

    def overlaps(
        self,
        shape: Shape,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    ) -> list[Geometry]:
        """
        Return what a shape would touch if it were at a pose [m; quaternion x y z w].

        Whether geometries are enabled, and which collide, does not matter. Planes and height
        fields do not meet each other.
        """
        return overlapping(shape, position, orientation, self.geometries)

    # --- for Robot -------------------------------------------------------------------------------

    def observed_sites(self) -> np.ndarray:
        """Return (ns, 30) the sites of `engine.pipeline.observe` at the present state."""
        self.settle()
        if not self._is_observed:
            # unlike any wrench, so that everything is computed anew
            self._observer.workspace.wrench.fill(np.nan)
            self._is_observed = True
        self._observing()()
        return self._readings

    def observed_accelerations(self) -> np.ndarray:
        """Return (nv,) the accelerations of the coordinates at the present state."""
        self.observed_sites()
        return self._observer.workspace.ddq

    def invalidate(self) -> None:
        """Forget observations and wake all, since the model's parameters changed."""
        self.forget_observations()
        if self._has_parts:
            self._state.idle[:] = 0

    def forget_observations(self) -> None:
        """Let the state be observed anew."""
        self._is_observed = False

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point, and a torque, to a body."""
        self.observed_sites()
        arm = point - self._observer.workspace.pose[body, 9:12]
        self._state.wrench[body, :3] += torque + np.cross(arm, force)
        self._state.wrench[body, 3:] += force
        self._pushed = True

    def constraint_wrench(self, joint: ConstraintSeat) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 of a joint on its second link, as observed."""
        number, work = list(self._constraints).index(joint.key), self._observer.loop_work
        body, origin = int(self._loops.body[number, 1]), None
        if body >= 0:
            origin = self._observer.workspace.pose[self._model.root[body], 9:12]
        return joint.wrench_in(
            number, self._loops, work.arm, work.impulse, self._state, origin)

    def observed(self) -> Observer:
        """Return what holds the present state's evaluation."""
        self.observed_sites()
        return self._observer

    def observed_pose(self, body: int) -> np.ndarray:
        """Return (12,) rotation by rows and origin of a body's frame, world."""
        self.observed_sites()
        return self._observer.workspace.pose[body]

    # --- inside ----------------------------------------------------------------------------------

    def _parameters(self) -> list[np.ndarray]:
        """List the arrays beside the state that can be changed."""
        return changeable(self._model, self._geometry, self._loops)

    def connect(self) -> None:
        """Hand the robots' arrays to the engine."""
        self._observer = make_observer(
            self._model, self._options, self._state, self._loops)
        self._readings = np.zeros((len(self._sites.body), SITE_SIZE))
        self.layout += 1
        self._observe = self._stepper = None
        self._is_observed = self._is_ready = False

    def connect_contact(self) -> None:
        """Hand all arrays to the engine."""
        self._handles = make_contact_handles(
            self._model, self._options, self._state, self._geometry, self._surfaces, self._loops)
        self._stepper, self._is_ready = None, False

    def begin_joints(self) -> None:
        """Take from velocities what joints that are new do not allow."""
        self.settle_contact()
        begin_loops(self._stepping().handle)
        self._has_new_joints = False
        self.forget_observations()

    def _get_ready(self) -> None:
        """Make whatever steps need, after anything has changed but the state."""
        self.settle_contact()
        if self._has_new_joints:
            self.begin_joints()
        self._stepping()
        self._is_ready = True

    def _observing(self) -> Call:
        """Return what observes the state."""
        if self._observe is None:
            sites = self._sites
            self._observe = observe.prepare(
                self._observer.handle, sites.body, sites.frame, self._readings)
        return self._observe

    def _stepping(self) -> Stepper:
        """Return what steps; made at the first step, so that looking compiles little."""
        if self._stepper is None:
            build(self.units)
            handle = make_stepping_handle(self._handles.probe)
            self._stepper = Stepper(
                handle, self._observer.handle, self._observing(), self._readings,
                self._sites.sampling, self._gravity, self._worst,
                is_smooth=self.integrator == 'rk5')
        return self._stepper

    def _progress(self) -> np.ndarray:
        """Return (3,) what the last call of `step` did; see `sensors.advance`."""
        if self._stepper is None:
            return np.zeros(PROGRESS_SIZE, np.int64)
        return self._stepper.progress

    def _go_on(self, status: int, left: int) -> None:
        """Do what a step that stopped early asks for, and take the steps that are left."""
        while status:
            if status == NOT_FINITE:
                error = SimulationError(describe_not_finite(self))
                self._drop_pushes()
                raise error
            if status == NO_ROOM:
                progress = self._progress()
                self.make_room(2 * contact_room(self._state))
                self._get_ready()
                self._stepper.progress[:] = progress
            elif status == NO_DRAWS:
                self._sites.sampling.prepare(self.step_count)
            beginning = SAMPLE if status == NO_DRAWS else GO_ON
            status, done, self._is_observed = self._stepper.advance(
                self.step_count, left, beginning)
            self.step_count += done
            left -= done

    def _drop_pushes(self) -> None:
        """Let what `link.add_force` has added end."""
        self._state.wrench[:] = 0.0
        self._pushed = False
