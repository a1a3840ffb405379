"""The arrays of all robots, their updates, and the step that advances them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from operator import attrgetter
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit
from sim_bridge.description.gravity import AnyGravity, gravity_row
from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.data import geometry as collision
from sim_bridge.engine.data.collision_scratch import ABSENT
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.fields import Fields, START
from sim_bridge.engine.data.loops import Loops
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import LOOSE, State
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.pipeline.observe import observe
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.step import (
    DIVERGED,
    DONE,
    INTERRUPTED,
    NO_ROOM,
    NOT_COMPILED,
    NOT_FINITE,
)
from sim_bridge.engine.pipeline.stored_energy import contact_energy
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import SimulationError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import whole_number
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import (
    GO_ON,
    NO_RANDOM_NUMBERS,
    PROGRESS_SIZE,
    SAMPLE,
    WORST_SIZE,
)
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.simulation import assembly, handles, records
from sim_bridge.simulation.applied_forces import AppliedForces
from sim_bridge.simulation.assembly import Sites
from sim_bridge.simulation.constraint import Constraint
from sim_bridge.simulation.contact_arrays import ContactArrays
from sim_bridge.simulation.contact_energy import energy_in_contacts
from sim_bridge.simulation.contact_listeners import ContactListeners, Listener
from sim_bridge.simulation.dirty import (
    ALL_ARRAYS,
    APPLIED,
    AT_FIRST,
    CONTACT_MATERIALS,
    CONTACTS,
    Dirty,
    GEOMETRY,
    INITIAL,
    JOINT_VELOCITIES,
    LOOP_FORCES,
    MEDIUM,
    OBSERVATION,
    OBSERVER,
    PARTS,
    PUSHES,
    ROBOT_ARRAYS,
    STEPPER,
    TO_OBSERVE,
    TO_STEP,
)
from sim_bridge.simulation.exclusions import Exclusions
from sim_bridge.simulation.force_fields import ForceFields
from sim_bridge.simulation.friction_calls import FrictionCalls
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.handles import ContactHandles, Observer
from sim_bridge.simulation.late_stages import close_units, early_stages, standing_stages
from sim_bridge.simulation.observation import Observation
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.records import Energy, Momentum, StepReport, Worst
from sim_bridge.simulation.robot_arrays import RobotArrays
from sim_bridge.simulation.settings import Settings, SOLVERS
from sim_bridge.simulation.slots import body_of_direction, GeometrySlot, LinkSlot, RobotSlot
from sim_bridge.simulation.step_hooks import StepHooks
from sim_bridge.simulation.stepper import Stepper
from sim_bridge.simulation.thread_guard import ThreadGuard
from sim_bridge.simulation.user_contacts import UserContactArrays

_Value = TypeVar('_Value')
# error of a joint that counts as open [m, 1]
_OPEN = 1e-6
# after a step
_OBSERVED = ~OBSERVATION
_STEPPED = OBSERVATION | APPLIED


class AdditionMark(NamedTuple):
    """
    What a simulation was before robots were added to it.

    robots, materials: how many there were. admitted, layout, dirty: as in `Simulation`. idle: of
    the bodies, if the arrays were joined.
    """

    robots: int
    admitted: int
    materials: int
    layout: int
    dirty: int
    idle: np.ndarray | None


class UpToDate(ReadOnly[_Value]):
    """A property of a simulation that is brought up to date when it is read."""

    def __init__(self, wanted: int, name: str, doc: str):
        """Declare it. wanted: flags of `Dirty` to clear first. name: of the attribute to read."""
        value_of = attrgetter(name)

        def read(simulation: Simulation) -> Any:
            if simulation._dirty & wanted:
                simulation.refresh(wanted)
            return value_of(simulation)

        super().__init__(read, doc)


class DivergenceError(SimulationError):
    """
    A step gave something that is not finite, or diverged; the state before it is kept.

    velocities: (nv,) what those of a step that diverged would have become, else None.
    """

    def __init__(self, message: str, velocities: np.ndarray | None = None):
        """Take a message, and velocities."""
        super().__init__(message)
        self.velocities = velocities


class Simulation:
    """
    Robots' slots and constraints, their common arrays, and the step that advances these.

    Arrays are concatenated and calls prepared on demand, once for all robots added until then. The
    data for contacts is made only for users who step or ask about contacts. `Dirty` says what is
    out of date, and `refresh` updates it.
    """

    def __init__(self, settings: Settings, gravity: np.ndarray):
        """Begin empty. gravity: (8,) as the engine's Model has it, used in place."""
        self.settings = settings
        self.time_step_ns = settings.time_step_ns
        self.time_step = settings.time_step_ns * 1e-9
        self.seed = settings.seed
        self.options = _options_of(settings)
        self.gravity = gravity
        self.step_count = 0
        self.layout = 0
        """Changes whenever the arrays of model and state are others."""
        self.changes = 0
        """Counts changes of what is observed other than by steps and of q, v and u."""
        self.slots: dict[str, RobotSlot] = {}
        self.constraints: dict[str, Constraint] = {}
        self.exclusions = Exclusions()
        self.materials = MaterialTable(
            lambda: self.mark(Dirty.CONTACT_MATERIALS),
            partial(body_of_direction, self.slots),
            lambda: (self.settings.erp, self.settings.cfm),
        )
        self.groups = CollisionGroups(self.regroup)
        self.calls = PythonCalls()
        self.fields = ForceFields(self.calls)
        self.listeners = ContactListeners(self.calls)
        self.hooks = StepHooks(self.guard)
        self.applied = AppliedForces()
        self.admitted = 0
        """How many robots were ever added."""
        self.thread_guard = ThreadGuard(self.calls)
        self.worst = np.zeros(WORST_SIZE)
        self._dirty = AT_FIRST
        self._robots = RobotArrays(gravity)
        self._contacts = ContactArrays()
        self._observation = Observation(self._robots)
        self._fields: tuple[Fields, Fields]
        self.has_functions = self.has_hooks = self.is_guarded = False
        self._stepper: Stepper
        self._friction: FrictionCalls | None = None
        self._initial: tuple[State, np.ndarray]

    def __repr__(self) -> str:
        """Show what is not up to date."""
        return f'<Simulation: {counted(len(self.slots), "robot")}, dirty: {Dirty(self._dirty)!r}>'

    # --- who is in it ----------------------------------------------------------------------------

    def admit(self, slot: RobotSlot) -> None:
        """Add a robot; its name is unused."""
        self.slots[slot.name] = slot
        self.admitted += 1
        slot.number = self.admitted
        self.mark(Dirty.PARTS)

    def expel(self, slot: RobotSlot) -> None:
        """Remove a robot that no joint holds, with its contacts; the others keep their order."""
        self.forget_contacts(slot.first_geometry, len(slot.geometries))
        self.fields.forget(slot.links)
        self.listeners.forget(slot.geometries)
        del self.slots[slot.name]
        slot.leave()
        self.mark(Dirty.PARTS)

    def forget_contacts(self, first: int, count: int) -> None:
        """Remove the last step's contacts of geometries that go, by their numbers."""
        assembly.forget_contacts(self.state, first, first + count, self.geometries, self.time_step)
        self.exclusions.forget_geometries(self.geometries[first : first + count])

    def addition_mark(self) -> AdditionMark:
        """Return what `take_back` goes back to."""
        idle = None if self._dirty & PARTS else self._robots.state.idle.copy()
        return AdditionMark(
            len(self.slots), self.admitted, len(self.materials), self.layout, self._dirty, idle
        )

    def take_back(self, mark: AdditionMark) -> None:
        """Remove the robots and materials that were added since a mark, as if they never were."""
        for name in list(self.slots)[mark.robots :]:
            del self.slots[name]
        self.admitted = mark.admitted
        self.materials.take_back(mark.materials)
        if self.layout != mark.layout:
            # the arrays were joined since
            self.mark(Dirty.PARTS)
            return
        self._dirty = mark.dirty | OBSERVATION
        if mark.idle is not None:
            self._robots.state.idle[:] = mark.idle

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return who is there: who was added later under a name of old is another."""
        return tuple((slot.name, slot.number) for slot in self.slots.values())

    def configure(self, settings: Settings) -> None:
        """
        Run by other settings from the next step on; the seed is the same.

        The time step can be another where there are no devices, which sample by it.
        """
        self.check_thread()
        if settings == self.settings:
            return
        self.settle()
        if settings.sleep is None and self.settings.sleep is not None:
            self._robots.wake()
        self.settings, self.options = settings, _options_of(settings)
        self.time_step_ns = settings.time_step_ns
        self.time_step = settings.time_step_ns * 1e-9
        self._dirty |= CONTACT_MATERIALS
        self.renew_sleep(is_renewed=True)

    def renew_sleep(self, *, is_renewed: bool = False) -> None:
        """
        Update when bodies fall asleep, and whether any may rest at all.

        is_renewed: whether `options` are new in other ways too.
        """
        self.check_thread()
        self.settle()
        if not self._robots.fits_sleep(list(self.slots.values()), self.settings.sleep):
            self.mark(Dirty.PARTS)
            self.settle()
        elif self._set_sleep() or is_renewed:
            self._connect()

    def _set_sleep(self) -> bool:
        """Write when bodies fall asleep; return whether `options` are others now."""
        sleeps = int(
            self._robots.set_sleep(list(self.slots.values()), self.settings.sleep, self.time_step)
        )
        is_other = sleeps != self.options.sleeps
        self.options = self.options._replace(sleeps=sleeps)
        return is_other

    def reconnect_joints(self) -> None:
        """Handle constraints that were added, changed or removed."""
        self.mark(Dirty.PARTS | Dirty.LOOP_FORCES | Dirty.JOINT_VELOCITIES)

    def separate(self, a: LinkSlot, b: LinkSlot, is_separate: bool = True) -> None:
        """Keep two links, with what is fixed to them, from touching each other; or no longer."""
        self.exclusions.set_links(a, b, is_separate)
        self.mark(Dirty.GEOMETRY)

    def keep_apart(self, a: GeometrySlot, b: GeometrySlot, is_separate: bool) -> None:
        """Keep two geometries from touching each other; or no longer."""
        self.exclusions.set_geometries(a, b, is_separate)
        self.mark(Dirty.GEOMETRY)

    # --- arrays ----------------------------------------------------------------------------------

    model = UpToDate[Model](ROBOT_ARRAYS, '_robots.model', 'The constant arrays of all robots.')
    state = UpToDate[State](
        ROBOT_ARRAYS, '_robots.state', 'The arrays that steps change; replaced after an addition.'
    )
    loops = UpToDate[Loops](ROBOT_ARRAYS, '_robots.loops', 'The arrays of all constraints.')
    sites = UpToDate[Sites](ROBOT_ARRAYS, '_robots.sites', 'The frames that are observed.')
    geometry = UpToDate[collision.Geometry](
        ALL_ARRAYS,
        '_contacts.geometry',
        'The arrays of all geometries; replaced after an addition or exclusion.',
    )
    contact_materials = UpToDate[ContactMaterials](
        ALL_ARRAYS, '_contacts.contact_materials', 'The contact laws of pairs of materials.'
    )
    handles = UpToDate[ContactHandles](
        ALL_ARRAYS,
        '_contacts.handles',
        "The handle for contact queries, and the solver's reports.",
    )
    stepper = UpToDate[Stepper](
        ALL_ARRAYS | STEPPER, '_stepper', 'The step call; making it compiles missing units.'
    )
    devices = ReadOnly[list[Device]]('sites.sampling.devices', 'The devices of all robots.')

    def is_dirty(self, what: Dirty) -> bool:
        """Return whether a part is out of date."""
        return bool(self._dirty & what.value)

    @property
    def links(self) -> list[LinkSlot]:
        """The links of all robots, in order."""
        return [link for slot in self.slots.values() for link in slot.links]

    @property
    def geometries(self) -> list[GeometrySlot]:
        """Everything that collides, in the order of the engine's numbers."""
        return [geometry for slot in self.slots.values() for geometry in slot.geometries]

    @property
    def parts(self) -> tuple[object, ...]:
        """The parts that change with the robots, for `rollback`."""
        return self._robots, self._contacts, self._observation, self.exclusions

    @property
    def field_arrays(self) -> Fields:
        """The arrays of the fields of force."""
        self.settle()
        return self._fields[0]

    @property
    def all_field_arrays(self) -> tuple[Fields, Fields]:
        """The arrays of the fields of force to step with, and to observe with."""
        self.settle()
        return self._fields

    @property
    def last_applied(self) -> AppliedForces:
        """What acted in the last step, as that has left it."""
        if self._dirty & APPLIED:
            self.applied.look(self._stepper.handle.part(Workspace))
            self._dirty &= ~APPLIED
        return self.applied

    def applied_to(self, link: LinkSlot) -> np.ndarray:
        """Return (6,) force and torque on a link's body in the last step, as `AppliedForces`."""
        self.find_applied()
        return self.applied.of(link)

    @property
    def calls_python(self) -> bool:
        """Whether steps may call functions of Python."""
        return (
            self.is_guarded
            or bool(self.listeners.listeners)
            or bool(self.materials.friction_functions)
            or bool(self._dirty & CONTACT_MATERIALS)
        )

    # --- keeping up to date ----------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether the robots' arrays are up to date."""
        return not self._dirty & ROBOT_ARRAYS

    @property
    def contact_count(self) -> int:
        """How many points touched in the last step."""
        return int(self._robots.state.contact_size[0])

    def mark(self, what: Dirty, is_dirty: bool = True) -> None:
        """Mark a part and everything that depends on it as out of date, or only itself as not."""
        if self.thread_guard.holder:
            self.check_thread()
        if not is_dirty:
            self._dirty &= ~what.value
            return
        if what & Dirty.PARTS:
            what |= Dirty.GEOMETRY | Dirty.INITIAL
        self._dirty |= what.value

    def settle(self) -> None:
        """Bring the robots' arrays up to date."""
        if self._dirty & ROBOT_ARRAYS:
            self.refresh(ROBOT_ARRAYS)

    def settle_contact(self) -> None:
        """Bring all arrays up to date."""
        if self._dirty & ALL_ARRAYS:
            self.refresh(ALL_ARRAYS)

    def check_thread(self) -> None:
        """Raise StateError if another thread is in a call, or a step is calling a function."""
        self.thread_guard.check()

    def alone(self) -> AbstractContextManager[None]:
        """Keep other threads out meanwhile; raises StateError if one is in already."""
        return self.thread_guard.alone()

    def refresh(self, wanted: int = TO_STEP) -> None:
        """Update what is not up to date, of the flags `wanted`, in dependency order."""
        thread = get_ident()
        before = self.thread_guard.holder
        if before and before != thread:
            self.check_thread()
        self.thread_guard.holder = thread
        try:
            self._refresh(wanted)
        finally:
            # what is done there calls this again
            self.thread_guard.holder = before

    def _refresh(self, wanted: int) -> None:
        if self._dirty & wanted & ROBOT_ARRAYS:
            self.find_applied()
        if self._dirty & wanted & PARTS:
            self._join()
        elif self._dirty & wanted & MEDIUM:
            self._renew_media()
        if self._dirty & wanted & (GEOMETRY | CONTACT_MATERIALS):
            self._build_contacts()
        if self._dirty & wanted & CONTACTS:
            self._connect_contacts()
        if self._dirty & wanted & JOINT_VELOCITIES:
            self.begin_joints()
        if self._dirty & wanted & STEPPER:
            self._prepare_stepper()

    def stop_listening(self, listener: Listener) -> None:
        """Remove a listener to contacts, if it is there; listeners may do so themselves."""
        if self.calls.is_closed or not self.calls.is_running:
            self.check_thread()
        if listener in self.listeners.listeners:
            self.listeners.listeners.remove(listener)
            self._dirty |= CONTACTS

    def set_gravity(self, gravity: AnyGravity) -> None:
        """Set gravity; raises InvalidValueError."""
        self.check_thread()
        row, function = gravity_row(gravity), gravity if callable(gravity) else None
        self.gravity[:] = row
        if function is not self.fields.gravity:
            self.fields.gravity = function
            self.change_fields()
        self.invalidate()

    def change_fields(self) -> None:
        """Handle fields of force that were added, changed or removed, or gravity."""
        self.check_thread()
        self.guard()
        if not self._dirty & PARTS:
            self.settle()
            self.find_applied()
            self._connect()
        self.invalidate()

    def guard(self, has_hooks: bool | None = None) -> None:
        """Note whether steps call functions of Python, which may fail; has_hooks: around steps."""
        self.has_functions = bool(self.fields.functions)
        self.has_hooks = self.has_hooks if has_hooks is None else has_hooks
        self.is_guarded = self.has_functions or self.has_hooks

    def find_applied(self) -> None:
        """Find what acted in the last step, before its links or model change."""
        links = [link for link in self.links if link.robot.part.state is self._robots.state]
        self.last_applied.find(links, self._robots.model)

    def forget_observations(self) -> None:
        """Discard observations, so that the state is observed anew."""
        self.changes += 1
        self._dirty |= OBSERVATION

    def invalidate(self) -> None:
        """Discard observations and wake all bodies, since the model's parameters changed."""
        if self.thread_guard.holder:
            self.check_thread()
        self.forget_observations()
        self.look_anew()
        if not self._dirty & PARTS:
            self._robots.wake()

    @property
    def kept_pairs(self) -> np.ndarray:
        """Whether steps keep the pairs of geometries that they look at, (1,)."""
        return self._contacts.kept_pairs

    def look_anew(self) -> None:
        """Let the next step look for pairs of geometries that come close, and their contacts."""
        self._contacts.look_anew()

    def regroup(self) -> None:
        """Handle changed collision groups."""
        if not self._dirty & GEOMETRY:
            self._contacts.write_groups(self.geometries, self.groups)
            self.look_anew()
            self.listeners.regroup(self.geometries)
            self._robots.wake()

    def make_room(self, contacts: int) -> None:
        """Ensure room for `contacts` contacts in the state; its other arrays are unchanged."""
        self.settle_contact()
        if contacts > assembly.contact_room(self._robots.state):
            self.find_applied()
            self._robots.make_room(self.slots.values(), contacts)
            self._connect()

    def begin_joints(self) -> None:
        """
        Remove the velocities that new constraints do not allow.

        Those that gather their links are closed first, by the mass-weighted least motion of all.
        What has no such assembly stays where it is, and is pulled in the steps.
        """
        self.settle_contact()
        if any(
            joint.spec.gathers and max(joint.error(of_rigid_rows=True)) > _OPEN
            for joint in self.constraints.values()
        ):
            observer = self.observed()
            observer.workspace.q[:] = self._robots.state.q
            observer.workspace.mode[:] = LOOSE
            if run_stage(observer.handle, LOOPS.address, LoopPhase.ASSEMBLE) >= 0:
                self._robots.state.q[:] = observer.workspace.q
            self.forget_observations()
        run_stage(self.stepper.handle, LOOPS.address, LoopPhase.BEGIN)
        self._dirty = self._dirty & ~JOINT_VELOCITIES | OBSERVATION

    # --- observing -------------------------------------------------------------------------------

    def observed_sites(self) -> np.ndarray:
        """Return (ns, 30) the sites of `engine.pipeline.observe` at the present state."""
        thread, guard = get_ident(), self.thread_guard
        before = guard.holder
        if self.calls.is_closed or (before and before != thread):
            guard.check()
        guard.holder = thread
        try:
            if self._dirty & TO_OBSERVE:
                self._prepare_observation()
            self._observation.run()
        finally:
            guard.holder = before
        if self.has_functions:
            self.calls.raise_error()
        return self._observation.readings

    def observed(self) -> Observer:
        """Return the observer, with the evaluation of the present state in its workspace."""
        self.observed_sites()
        return self._observation.observer

    def constraint_wrench(self, joint: Constraint) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 of a joint on its second link, as observed."""
        return self._observation.constraint_wrench(list(self.constraints).index(joint.key))

    def energy(self) -> Energy:
        """Return the energy of all robots."""
        self.observed_sites()
        stored = sum(backend.joint.potential_energy for backend in self.constraints.values())
        if self.geometries and self.materials.may_yield:
            stored += energy_in_contacts(self.handles)
        return self._observation.energy(stored)

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        self.observed_sites()
        return self._observation.momentum()

    # --- stepping --------------------------------------------------------------------------------

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point, and a torque, to a body, for the next step."""
        if self.thread_guard.holder:
            self.check_thread()
        self.observed_sites()
        self._observation.push(body, force, torque, point)
        self._dirty |= PUSHES

    def step(self, n: int = 1, contacts: UserContactArrays | None = None) -> None:
        """
        Advance by n steps, with more contacts in the first of them.

        Raises DivergenceError, and InvalidValueError for no such number.
        """
        if type(n) is not int or n < 0:
            n = whole_number('n', n)
        thread, guard, user_buffer = get_ident(), self.thread_guard, self._contacts.user_contacts
        before = guard.holder
        if before:
            guard.check()
        guard.holder = thread
        try:
            if contacts is not None and user_buffer.grow(contacts):
                self.settle_contact()
                # not as CONTACT_MATERIALS, which wake who sleeps
                self._contacts.renew_contact_materials(self.materials)
                self._dirty |= CONTACTS
            if self._dirty & TO_STEP:
                self.refresh(TO_STEP)
            if contacts is not None:
                user_buffer.fill(contacts, self._contacts.contact_materials)
                self._dirty |= PUSHES
            is_pushed = n and self._dirty & PUSHES
            part, unconverged = 1 if is_pushed else n, self.worst[0]
            status, done, is_observed = self._stepper.advance(self.step_count, part)
            self.step_count += done
            dirty = self._dirty
            self._dirty = dirty & _OBSERVED | APPLIED if is_observed else dirty | _STEPPED
            if status:
                self._go_on(status, part - done)
            if self.has_functions:
                self.calls.raise_error()
            if is_pushed:
                self._drop_pushes()
                if n > 1:
                    # the rest is the same call: it counts once
                    self.worst[0] = unconverged
                    self._go_on(DONE, n - 1)
                    if self.has_functions:
                        self.calls.raise_error()
        finally:
            guard.holder = before
            if contacts is not None:
                user_buffer.clear()

    def warm_up(self) -> None:
        """Compile or load every kernel that a running simulation uses; nothing else changes."""
        build(self.units)
        self._dirty |= STEPPER
        self.prepare_step()

    def prepare_step(self) -> None:
        """Compile or load what the next step uses; what comes close later may take more."""
        handle = self.stepper.handle.replaced(self.observed().workspace)
        detect = handle.part(Options).detect
        if detect and run_stage(handle, detect, 0) == ABSENT:
            self._compile_close()
        self.stepper.advance(self.step_count, 0)
        self.energy()
        self.momentum()

    @property
    def units(self) -> list[Unit]:
        """What has to be compiled to step and observe the simulation as it is."""
        return self._units_with(handles.stages_of(self.handles.probe))

    @property
    def early_units(self) -> list[Unit]:
        """Those of `units` that the first step takes, though nothing be close."""
        return self._units_with(early_stages(handles.stages_of(self.handles.probe)))

    @property
    def standing_units(self) -> list[Unit]:
        """Those of `units` that steps take where simple shapes touch planes."""
        return self._units_with(standing_stages(handles.stages_of(self.handles.probe)))

    def _units_with(self, stages: dict[str, Stage]) -> list[Unit]:
        smooth = [step_smoothly.unit] if self.options.is_smooth else []
        compliant = [contact_energy.unit] if self.materials.may_yield else []
        return [
            *handles.stepping_units(self.handles.probe, stages),
            *self.sites.sampling.units,
            observe.unit,
            *smooth,
            energy.unit,
            momentum.unit,
            *compliant,
        ]

    @property
    def report(self) -> StepReport:
        """How the last `step` call went."""
        solution = self.handles.problem.solution
        return records.report_of(
            self._progress(),
            solution,
            int(self._robots.state.contact_size[0]),
            self.options.contact_tolerance,
        )

    def take_worst(self) -> Worst:
        """Sum up the reports of all calls of `step` since this was called last."""
        return records.take_worst(self.worst)

    def reset(self) -> None:
        """Put every robot back to where it was added, at rest and without efforts."""
        self.check_thread()
        self.settle()
        if self._dirty & INITIAL:
            self._initial = self._robots.initial(self.slots.values())
            self._dirty &= ~INITIAL
        self._robots.restart(*self._initial)
        for joint in self.constraints.values():
            joint.restart()
        self._dirty &= ~(PUSHES | APPLIED)
        self.forget_observations()
        self.applied.clear()
        if any(joint.spec.gathers for joint in self.constraints.values()):
            self._dirty |= JOINT_VELOCITIES
        self._progress()[:] = 0
        self._stop_crawlers()
        for device in self._robots.sites.sampling.devices:
            device.reset(self.seed)

    # --- inside ----------------------------------------------------------------------------------

    def _join(self) -> None:
        """Join the robots' arrays, carrying over what they hold."""
        self._robots.join(
            list(self.slots.values()),
            list(self.constraints.values()),
            self.settings.sleep,
            keeps_loop_forces=not self._dirty & LOOP_FORCES,
        )
        self._dirty &= ~(ROBOT_ARRAYS | LOOP_FORCES)
        self._set_sleep()
        self._connect()

    def _renew_media(self) -> None:
        """Update the media around the links; views of the state stay valid."""
        self._dirty &= ~MEDIUM
        is_other = self._robots.renew_media(self.links)
        if is_other or not self.fields.fit(self._fields[0], self.links, self._robots.model):
            self._connect()

    def _connect(self) -> None:
        """Pass the robots' new arrays to the engine."""
        self._fields = self.fields.parts(self.links, self._robots.model)
        self._observation.connect(self.options, self._fields[1])
        self.layout += 1
        self._dirty |= OBSERVER | OBSERVATION | CONTACTS | STEPPER

    def _build_contacts(self) -> None:
        """Build the arrays of geometries and materials that are not up to date."""
        if self._dirty & GEOMETRY:
            self._contacts.build_geometry(self.slots, self.exclusions, self.materials, self.groups)
        if self._dirty & CONTACT_MATERIALS or self.materials.are_directed:
            # bodies have other numbers where robots were added or removed
            self._contacts.renew_contact_materials(self.materials)
        self._robots.wake()
        self._dirty = self._dirty & ~(GEOMETRY | CONTACT_MATERIALS) | CONTACTS

    def _connect_contacts(self) -> None:
        """Pass all arrays to the engine."""
        self._contacts.connect(
            self._robots, self.options, self._fields[0], self.listeners, self.geometries
        )
        self._dirty = self._dirty & ~CONTACTS | STEPPER

    def _prepare_observation(self) -> None:
        """Bring up to date what observing takes."""
        self.settle()
        if self._dirty & OBSERVATION:
            self._observation.forget()
            self._fields[1].time[START] = self.step_count * self.time_step
        self._prepare_observer()
        self._dirty &= ~OBSERVATION

    def _prepare_observer(self) -> None:
        """Prepare the call that observes."""
        if self._dirty & OBSERVER:
            self._observation.prepare()
        self._dirty &= ~OBSERVER

    def _prepare_stepper(self) -> None:
        """Prepare the call that steps; at the first step, so that looking compiles little."""
        build(self.early_units)
        self._prepare_observer()
        # what the last step has left is in the arrays of the call that goes
        self.find_applied()
        self._friction = self.friction_calls()
        observation = self._observation
        handle = handles.make_stepping_handle(self._contacts.handles.probe, self._friction)
        self._stepper = Stepper(
            handle,
            observation.observer.handle,
            observation.run,
            observation.readings,
            self._robots.sites.sampling,
            self.gravity,
            self.worst,
            is_smooth=bool(self.options.is_smooth),
        )
        self._dirty &= ~STEPPER

    def friction_calls(self) -> FrictionCalls | None:
        """Return the calls of the functions that decide friction, None where there are none."""
        functions = self.materials.friction_functions
        names = [(each.link.robot.name, each.link.name, each.name) for each in self.geometries]
        return FrictionCalls(functions, names, self.calls) if functions else None

    def _progress(self) -> np.ndarray:
        """Return (3,) what the last call of `step` did; see `sensors.step_and_sample`."""
        if self._dirty & STEPPER:
            return np.zeros(PROGRESS_SIZE, np.int64)
        return self._stepper.progress

    def _go_on(self, status: int, left: int) -> None:
        """Handle the cause of an early stop, DONE for none, and take the remaining steps."""
        while status or left:
            if status == INTERRUPTED:
                self.calls.raise_error()
            if status in (NOT_FINITE, DIVERGED):
                velocities = None
                if status == DIVERGED:
                    velocities = self._stepper.handle.part(Workspace).v_next.copy()
                self._drop_pushes()
                raise DivergenceError(f'step {self.step_count + 1} diverges', velocities)
            if status in (NO_ROOM, NOT_COMPILED):
                progress = self._progress()
                if status == NO_ROOM:
                    self.make_room(2 * assembly.contact_room(self._robots.state))
                else:
                    self._compile_close()
                self.stepper.progress[:] = progress
            elif status == NO_RANDOM_NUMBERS:
                self._robots.sites.sampling.prepare(self.step_count)
            beginning = SAMPLE if status == NO_RANDOM_NUMBERS else GO_ON
            status, done, is_observed = self._stepper.advance(self.step_count, left, beginning)
            dirty = self._dirty
            self._dirty = dirty & _OBSERVED | APPLIED if is_observed else dirty | _STEPPED
            self.step_count += done
            left -= done

    def _compile_close(self) -> None:
        """Compile what steps need for the pairs within reach, and step with it from now on."""
        probe = self._contacts.handles.probe
        build(close_units(handles.stages_of(probe), probe))
        self._dirty |= STEPPER

    def _drop_pushes(self) -> None:
        """Clear the wrenches that `add_wrench` has added, and the contacts that were made."""
        self._robots.state.wrench[:] = 0.0
        self._contacts.user_contacts.clear()
        self._dirty &= ~PUSHES

    def _stop_crawlers(self) -> None:
        """Stop the surfaces of crawlers."""
        self.settle_contact()
        if self._contacts.stop_tracks(self.geometries):
            self.invalidate()


def _options_of(settings: Settings) -> Options:
    return handles.make_options(
        settings.time_step_ns * 1e-9,
        SOLVERS[settings.solver],
        settings.contact_margin,
        is_smooth=settings.integrator == 'rk5',
        keeps_momentum=settings.integrator == 'momentum',
        iterations=settings.iterations,
        budget=settings.step_budget,
    )
