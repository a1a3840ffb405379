"""The arrays of all robots, their updates, and the step that advances them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import auto, IntFlag
from functools import partial
from operator import attrgetter
import threading
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.unit import Unit
from sim_bridge.description.gravity import AnyGravity, gravity_row
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.data import geometry as collision
from sim_bridge.engine.data.contact_points import Contacts
from sim_bridge.engine.data.fields import Fields, START
from sim_bridge.engine.data.loops import Loops, make_loops
from sim_bridge.engine.data.model import (
    body_count,
    Model,
    Options,
    REST_STEPS,
    SAMPLES,
    velocity_count,
)
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import DISABLED, LOOSE, make_state, State
from sim_bridge.engine.data.surfaces import Surfaces
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.engine.pipeline.observe import observe, SITE_SIZE
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.step import DONE, INTERRUPTED, NO_ROOM, NOT_FINITE
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import SimulationError, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import whole_number
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import GO_ON, NO_DRAWS, PROGRESS_SIZE, SAMPLE, WORST_SIZE
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.simulation import assembly, handles, records
from sim_bridge.simulation.applied_forces import AppliedForces
from sim_bridge.simulation.assembly import Sites
from sim_bridge.simulation.constraint import Constraint
from sim_bridge.simulation.contact_listeners import ContactListeners, Listener
from sim_bridge.simulation.force_fields import ForceFields
from sim_bridge.simulation.friction_calls import FrictionCalls
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.handles import ContactHandles, Observer
from sim_bridge.simulation.link_medium import with_media
from sim_bridge.simulation.made_contacts import Made, MadeRoom
from sim_bridge.simulation.records import Energy, Momentum, StepReport, Worst
from sim_bridge.simulation.settings import Settings, SOLVERS
from sim_bridge.simulation.sleeping import sample_count, sleep_rows
from sim_bridge.simulation.slots import (
    body_of_direction,
    GeometrySlot,
    LinkSlot,
    RobotSlot,
    with_pulled,
)
from sim_bridge.simulation.stepper import Stepper

_Value = TypeVar('_Value')
LinkPair = tuple[tuple[str, str], tuple[str, str]]
"""Two links, each by the names of its robot and its own; the lesser first."""

# room for contacts that a world of geometries starts with, and more for each of them
_LEAST_CONTACTS, _CONTACTS_EACH = 64, 4
# who is in a step while a function in Python decides friction
_IN_FUNCTION = -1
# error of a joint that counts as open [m, 1]
_OPEN = 1e-6


class Dirty(IntFlag):
    """The parts of a simulation that are not up to date."""

    PARTS = auto()
    """The arrays of robots and joints: robots or joints were added, removed or compiled anew."""
    MEDIUM = auto()
    """The model's media: that of a link was changed."""
    GEOMETRY = auto()
    """The arrays of geometries: some were added or removed, or other pairs are excluded."""
    SURFACES = auto()
    """The table of materials."""
    CONTACTS = auto()
    """The handle for contacts: arrays are others."""
    OBSERVER = auto()
    """The call that observes: arrays are others."""
    STEPPER = auto()
    """The call that steps: arrays are others."""
    JOINT_VELOCITIES = auto()
    """Velocities: joints were added that do not allow all of them."""
    OBSERVATION = auto()
    """What was observed of the state."""
    INITIAL = auto()
    """The joined state that `reset` goes back to."""
    LOOP_FORCES = auto()
    """The last step's forces of constraints, which are others now."""
    PUSHES = auto()
    """The external wrenches, which act in the next step only."""
    APPLIED = auto()
    """What acted in the last step: it has left that in its workspace."""


# Plain integers, since operations on flags are slow.
_PARTS, _MEDIUM, _GEOMETRY, _SURFACES, _CONTACTS, _OBSERVER, _STEPPER = (
    each.value for each in list(Dirty)[:7])
_JOINT_VELOCITIES, _OBSERVATION, _INITIAL, _LOOP_FORCES, _PUSHES, _APPLIED = (
    each.value for each in list(Dirty)[7:])
_OBSERVED = ~_OBSERVATION
# after a step
_STEPPED = _OBSERVATION | _APPLIED
_ROBOT_ARRAYS = _PARTS | _MEDIUM
_ALL_ARRAYS = _ROBOT_ARRAYS | _GEOMETRY | _SURFACES | _CONTACTS
_TO_OBSERVE = _ROBOT_ARRAYS | _OBSERVER | _OBSERVATION
_TO_STEP = _ALL_ARRAYS | _STEPPER | _JOINT_VELOCITIES


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
    """A step gave something that is not finite; the state before it is kept."""


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
        self.slots: dict[str, RobotSlot] = {}
        self.constraints: dict[str, Constraint] = {}
        self.separated: dict[LinkPair, None] = {}
        """The pairs of links that were kept from touching each other, in order."""
        self.apart: dict[frozenset[GeometrySlot], None] = {}
        """The pairs of geometries that were kept from touching each other, in order."""
        self.materials = MaterialTable(
            lambda: self.mark(Dirty.SURFACES), partial(body_of_direction, self.slots),
            lambda: (self.settings.erp, self.settings.cfm))
        self.groups = CollisionGroups(self.regroup)
        self.fields = ForceFields()
        self.listeners = ContactListeners()
        self.applied = AppliedForces()
        self._made = MadeRoom()
        self.admitted = 0
        """How many robots were ever added."""
        self._thread = 0
        """The thread that is in a call which must not be interrupted by another's; 0 for none."""
        self.worst = np.zeros(WORST_SIZE)
        self._dirty = sum(
            each.value for each in Dirty
            if each not in (Dirty.JOINT_VELOCITIES, Dirty.PUSHES, Dirty.APPLIED))
        self._model = join_models([], gravity)[0]
        self._state = make_state(self._model)
        self._loops: Loops
        self._sites: Sites
        self._readings: np.ndarray
        self._geometry: collision.Geometry
        self._surfaces: Surfaces
        self._fields: tuple[Fields, Fields]
        self.has_functions = self.has_hooks = self.is_guarded = False
        self._observer: Observer
        self._handles: ContactHandles
        self._observe: Call
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
        assembly.forget_contacts(
            self.state, first, first + count, self.geometries, self.observed_sites(),
            self.time_step)
        gone = self.geometries[first : first + count]
        for pair in [pair for pair in self.apart if not pair.isdisjoint(gone)]:
            del self.apart[pair]

    def addition_mark(self) -> AdditionMark:
        """Return what `take_back` goes back to."""
        idle = None if self._dirty & _PARTS else self._state.idle.copy()
        return AdditionMark(
            len(self.slots), self.admitted, len(self.materials), self.layout, self._dirty, idle)

    def take_back(self, mark: AdditionMark) -> None:
        """Remove the robots and materials that were added since a mark, as if they never were."""
        for name in list(self.slots)[mark.robots:]:
            del self.slots[name]
        self.admitted = mark.admitted
        self.materials.take_back(mark.materials)
        if self.layout != mark.layout:
            # the arrays were joined since
            self.mark(Dirty.PARTS)
            return
        self._dirty = mark.dirty | _OBSERVATION
        if mark.idle is not None:
            self._state.idle[:] = mark.idle

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
            self._wake()
        self.settings, self.options = settings, _options_of(settings)
        self.time_step_ns = settings.time_step_ns
        self.time_step = settings.time_step_ns * 1e-9
        self._dirty |= _SURFACES
        self.renew_sleep(is_renewed=True)

    def renew_sleep(self, *, is_renewed: bool = False) -> None:
        """
        Update when bodies fall asleep, and whether any may rest at all.

        is_renewed: whether `options` are new in other ways too.
        """
        self.check_thread()
        self.settle()
        if sample_count(list(self.slots.values()), self.settings.sleep) != len(self._state.sample):
            self.mark(Dirty.PARTS)
            self.settle()
        elif self._set_sleep() or is_renewed:
            self._connect()

    def _set_sleep(self) -> bool:
        """Write when bodies fall asleep; return whether `options` are others now."""
        rows = sleep_rows(
            list(self.slots.values()), self.settings.sleep, self.time_step, len(self._model.kind))
        if not np.array_equal(rows[:, SAMPLES:], self._model.sleep[:, SAMPLES:]):
            # what was kept is in other rows now
            self._state.sampled[:] = 0
        self._model.sleep[:] = rows
        sleeps = int(self._model.sleep[:, REST_STEPS].any() or (self._state.idle < 0).any())
        is_other = sleeps != self.options.sleeps
        self.options = self.options._replace(sleeps=sleeps)
        return is_other

    def _wake(self) -> None:
        """Wake all bodies but those that are disabled."""
        idle = self._state.idle
        idle[idle != DISABLED] = 0

    def reconnect_joints(self) -> None:
        """Handle constraints that were added, changed or removed."""
        self.mark(Dirty.PARTS | Dirty.LOOP_FORCES | Dirty.JOINT_VELOCITIES)

    def separate(self, a: LinkSlot, b: LinkSlot, is_separate: bool = True) -> None:
        """Keep two links, with what is fixed to them, from touching each other; or no longer."""
        one, other = sorted((link.robot.name, link.name) for link in (a, b))
        key = one, other
        if is_separate:
            self.separated[key] = None
        else:
            self.separated.pop(key, None)
        self.mark(Dirty.GEOMETRY)

    def keep_apart(self, a: GeometrySlot, b: GeometrySlot, is_separate: bool) -> None:
        """Keep two geometries from touching each other; or no longer."""
        if is_separate:
            self.apart[frozenset((a, b))] = None
        else:
            self.apart.pop(frozenset((a, b)), None)
        self.mark(Dirty.GEOMETRY)

    # --- arrays ----------------------------------------------------------------------------------

    model = UpToDate[Model](_ROBOT_ARRAYS, '_model', 'The constant arrays of all robots.')
    state = UpToDate[State](
        _ROBOT_ARRAYS, '_state', 'The arrays that steps change; replaced after an addition.')
    loops = UpToDate[Loops](_ROBOT_ARRAYS, '_loops', 'The arrays of all constraints.')
    sites = UpToDate[Sites](_ROBOT_ARRAYS, '_sites', 'The frames that are observed.')
    geometry = UpToDate[collision.Geometry](
        _ALL_ARRAYS, '_geometry',
        'The arrays of all geometries; replaced after an addition or exclusion.')
    surfaces = UpToDate[Surfaces](
        _ALL_ARRAYS, '_surfaces', 'The contact laws of pairs of materials.')
    handles = UpToDate[ContactHandles](
        _ALL_ARRAYS, '_handles', "The handle for contact queries, and the solver's reports.")
    stepper = UpToDate[Stepper](
        _ALL_ARRAYS | _STEPPER, '_stepper', 'The step call; making it compiles missing units.')
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
    def field_arrays(self) -> Fields:
        """The arrays of the fields of force."""
        self.settle()
        return self._fields[0]

    @property
    def last_applied(self) -> AppliedForces:
        """What acted in the last step, as that has left it."""
        if self._dirty & _APPLIED:
            self.applied.look(self._stepper.handle.part(Workspace))
            self._dirty &= ~_APPLIED
        return self.applied

    def applied_to(self, link: LinkSlot) -> np.ndarray:
        """Return (6,) force and torque on a link's body in the last step, as `AppliedForces`."""
        self.find_applied()
        return self.applied.of(link)

    @property
    def calls_python(self) -> bool:
        """Whether steps may call functions of Python."""
        return (self.is_guarded or bool(self.listeners.listeners)
                or bool(self.materials.friction_functions) or bool(self._dirty & _SURFACES))

    # --- keeping up to date ----------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether the robots' arrays are up to date."""
        return not self._dirty & _ROBOT_ARRAYS

    @property
    def contact_count(self) -> int:
        """How many points touched in the last step."""
        return int(self._state.contact_size[0])

    def mark(self, what: Dirty, is_dirty: bool = True) -> None:
        """Mark a part and everything that depends on it as out of date, or only itself as not."""
        if self._thread:
            self.check_thread()
        if not is_dirty:
            self._dirty &= ~what.value
            return
        if what & Dirty.PARTS:
            what |= Dirty.GEOMETRY | Dirty.INITIAL
        self._dirty |= what.value

    def settle(self) -> None:
        """Bring the robots' arrays up to date."""
        if self._dirty & _ROBOT_ARRAYS:
            self.refresh(_ROBOT_ARRAYS)

    def settle_contact(self) -> None:
        """Bring all arrays up to date."""
        if self._dirty & _ALL_ARRAYS:
            self.refresh(_ALL_ARRAYS)

    def check_thread(self) -> None:
        """
        Raise StateError if another thread is in a call of this simulation, or a step in Python.

        Only what takes long or replaces arrays is guarded; reading and writing numbers is not.
        """
        if self.listeners.is_calling or self.fields.is_calling:
            raise StateError(
                'a listener to contacts or a function of a force field runs in the middle of a '
                'step. It must not step, change or save the world; World.before_step and '
                'after_step are for that. A function of a field uses its arguments alone')
        inside, own = self._thread, get_ident()
        if inside == _IN_FUNCTION:
            raise StateError(
                'a friction function uses its world within a step; it is given all it may use')
        if inside not in (0, own):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            present, other = (repr(names.get(each, each)) for each in (own, inside))
            raise StateError(
                f'thread {present} uses a world while thread {other} steps or changes it. Let one '
                'thread at a time do so, by a lock, or give each its own by World.copy')

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other threads out meanwhile; raises StateError if one is in already."""
        self.check_thread()
        before, self._thread = self._thread, get_ident()
        try:
            yield
        finally:
            self._thread = before

    def refresh(self, wanted: int = _TO_STEP) -> None:
        """Update what is not up to date, of the flags `wanted`, in dependency order."""
        thread = get_ident()
        before = self._thread
        if before and before != thread:
            self.check_thread()
        self._thread = thread
        try:
            self._refresh(wanted)
        finally:
            # what is done there calls this again
            self._thread = before

    def _refresh(self, wanted: int) -> None:
        if self._dirty & wanted & _ROBOT_ARRAYS:
            self.find_applied()
        if self._dirty & wanted & _PARTS:
            self._join()
        elif self._dirty & wanted & _MEDIUM:
            self._renew_media()
        if self._dirty & wanted & (_GEOMETRY | _SURFACES):
            self._build_contacts()
        if self._dirty & wanted & _CONTACTS:
            self._connect_contacts()
        if self._dirty & wanted & _JOINT_VELOCITIES:
            self.begin_joints()
        if self._dirty & wanted & _STEPPER:
            self._prepare_stepper()

    def stop_listening(self, listener: Listener) -> None:
        """Remove a listener to contacts, if it is there; listeners may do so themselves."""
        if not self.listeners.is_calling:
            self.check_thread()
        if listener in self.listeners.listeners:
            self.listeners.listeners.remove(listener)
            self._dirty |= _CONTACTS

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
        if not self._dirty & _PARTS:
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
        links = [link for link in self.links if link.robot.part.state is self._state]
        self.last_applied.find(links, self._model)

    def forget_observations(self) -> None:
        """Discard observations, so that the state is observed anew."""
        self._dirty |= _OBSERVATION

    def invalidate(self) -> None:
        """Discard observations and wake all bodies, since the model's parameters changed."""
        if self._thread:
            self.check_thread()
        self._dirty |= _OBSERVATION
        if not self._dirty & _PARTS:
            self._wake()

    def regroup(self) -> None:
        """Handle changed collision groups."""
        if not self._dirty & _GEOMETRY:
            self._write_groups()
            self.listeners.regroup(self.geometries)
            self._wake()

    def make_room(self, contacts: int) -> None:
        """Ensure room for `contacts` contacts in the state; its other arrays are unchanged."""
        self.settle_contact()
        if contacts > assembly.contact_room(self._state):
            self.find_applied()
            self._state = assembly.with_contact_room(self._state, contacts)
            for slot in self.slots.values():
                slot.bind(slot.part._replace(state=self._state))
            self._connect()

    def begin_joints(self) -> None:
        """
        Remove the velocities that new constraints do not allow.

        Those that gather their links are closed first, by the mass-weighted least motion of all.
        What has no such assembly stays where it is, and is pulled in the steps.
        """
        self.settle_contact()
        if any(joint.spec.gathers and max(joint.error(of_rigid_rows=True)) > _OPEN
               for joint in self.constraints.values()):
            observer = self.observed()
            observer.workspace.q[:] = self._state.q
            observer.workspace.mode[:] = LOOSE
            if run_stage(observer.handle, LOOPS.address, LoopPhase.ASSEMBLE) >= 0:
                self._state.q[:] = observer.workspace.q
            self.forget_observations()
        run_stage(self.stepper.handle, LOOPS.address, LoopPhase.BEGIN)
        self._dirty = self._dirty & ~_JOINT_VELOCITIES | _OBSERVATION

    # --- observing -------------------------------------------------------------------------------

    def observed_sites(self) -> np.ndarray:
        """Return (ns, 30) the sites of `engine.pipeline.observe` at the present state."""
        thread = get_ident()
        before = self._thread
        if before and (before != thread or self.fields.is_calling):
            self.check_thread()
        self._thread = thread
        try:
            if self._dirty & _TO_OBSERVE:
                self._prepare_observation()
            self._observe()
        finally:
            self._thread = before
        if self.has_functions:
            self.fields.raise_error()
        return self._readings

    def observed(self) -> Observer:
        """Return the observer, with the evaluation of the present state in its workspace."""
        self.observed_sites()
        return self._observer

    def constraint_wrench(self, joint: Constraint) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 of a joint on its second link, as observed."""
        number, work = list(self.constraints).index(joint.key), self._observer.loop_work
        body, origin = int(self._loops.body[number, 1]), None
        if body >= 0:
            origin = self._observer.workspace.pose[self._model.root[body], 9:12]
        return joint.wrench_in(
            number, self._loops, work.arm, work.impulse, self._state, origin)

    def energy(self) -> Energy:
        """Return the energy of all robots."""
        observer, model = self.observed(), self._model
        kinetic, potential = energy(
            observer.handle, 0, body_count(model), 0, velocity_count(model))
        springs = sum(seat.joint.potential_energy for seat in self.constraints.values())
        return Energy(kinetic, potential + springs)

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        total = np.zeros((1, 6))
        momentum(self.observed().handle, 0, body_count(self._model), total)
        return Momentum(total[0, :3], total[0, 3:])

    # --- stepping --------------------------------------------------------------------------------

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point, and a torque, to a body, for the next step."""
        if self._thread:
            self.check_thread()
        self.observed_sites()
        arm = point - self._observer.workspace.pose[body, 9:12]
        self._state.wrench[body, :3] += torque + np.cross(arm, force)
        self._state.wrench[body, 3:] += force
        self._dirty |= _PUSHES

    def step(self, n: int = 1, made: Made | None = None) -> None:
        """
        Advance by n steps, with more contacts in the first of them.

        Raises DivergenceError, and InvalidValueError for no such number.
        """
        if type(n) is not int or n < 0:
            n = whole_number('n', n)
        # Between reading and setting it there is no call, where another thread could come in.
        thread = get_ident()
        before = self._thread
        if before:
            self.check_thread()
        self._thread = thread
        try:
            if made is not None and self._made.grow(made):
                self.settle_contact()
                # not as SURFACES, which wake who sleeps
                self._surfaces = self.materials.surfaces(self._made.laws)
                self._dirty |= _CONTACTS
            if self._dirty & _TO_STEP:
                self.refresh(_TO_STEP)
            if made is not None:
                self._made.fill(made, self._surfaces)
                self._dirty |= _PUSHES
            is_pushed = n and self._dirty & _PUSHES
            part, unconverged = 1 if is_pushed else n, self.worst[0]
            status, done, is_observed = self._stepper.advance(self.step_count, part)
            self.step_count += done
            dirty = self._dirty
            self._dirty = dirty & _OBSERVED | _APPLIED if is_observed else dirty | _STEPPED
            if status:
                self._go_on(status, part - done)
            if self.has_functions:
                self.fields.raise_error()
            if is_pushed:
                self._drop_pushes()
                if n > 1:
                    # the rest is the same call: it counts once
                    self.worst[0] = unconverged
                    self._go_on(DONE, n - 1)
                    if self.has_functions:
                        self.fields.raise_error()
        finally:
            self._thread = before
            if made is not None:
                self._made.clear()

    def warm_up(self) -> None:
        """Compile or load every kernel that a running simulation uses; nothing else changes."""
        self.stepper.advance(self.step_count, 0)
        self.energy()
        self.momentum()

    @property
    def units(self) -> list[Unit]:
        """What has to be compiled to step and observe the simulation as it is."""
        smooth = [step_smoothly.unit] if self.options.is_smooth else []
        return [*handles.stepping_units(self.handles.probe), *self.sites.sampling.units,
                observe.unit, *smooth, energy.unit, momentum.unit]

    @property
    def report(self) -> StepReport:
        """How the last `step` call went."""
        solution = self.handles.problem.solution
        return records.report_of(
            self._progress(), solution, int(self._state.contact_size[0]),
            self.options.contact_tolerance)

    def take_worst(self) -> Worst:
        """Sum up the reports of all calls of `step` since this was called last."""
        return records.take_worst(self.worst)

    def reset(self) -> None:
        """Put every robot back to where it was added, at rest and without efforts."""
        self.check_thread()
        self.settle()
        if self._dirty & _INITIAL:
            self._initial = assembly.initial_state(self.slots.values(), self._model, self._state)
            self._dirty &= ~_INITIAL
        state, frame = self._initial
        control, axis_control = self._state.control.copy(), self._state.axis_control.copy()
        assembly.restore_state(state, self._state)
        assembly.start_control(self._model, control, self._state)
        self._state.axis_control[:] = axis_control
        for joint in self.constraints.values():
            joint.restart()
        self._model.frame[:] = frame
        self._dirty = self._dirty & ~(_PUSHES | _APPLIED) | _OBSERVATION
        self.applied.clear()
        if any(joint.spec.gathers for joint in self.constraints.values()):
            self._dirty |= _JOINT_VELOCITIES
        self._progress()[:] = 0
        self._stop_crawlers()
        for device in self._sites.sampling.devices:
            device.reset(self.seed)

    # --- inside ----------------------------------------------------------------------------------

    def _join(self) -> None:
        """Join the robots' arrays, carrying over what they hold."""
        slots, joints = list(self.slots.values()), list(self.constraints.values())
        geometries, before = len(self.geometries), self._state
        # geometries keep their numbers, and what touched goes on touching
        room = _LEAST_CONTACTS + _CONTACTS_EACH * geometries if geometries > 1 else 0
        room = max(room, assembly.contact_room(before))
        axes = sum(joint.axis_count for joint in joints)
        model, self._state, parts = assembly.assemble(
            slots, self.gravity, room, len(joints), axes,
            sample_count(slots, self.settings.sleep))
        assembly.copy_contacts(before, self._state)
        if self._dirty & _LOOP_FORCES:
            # what joints that are no longer, or others now, did in the last step
            self._state.yield_wrench[:] = 0.0
        else:
            self._state.loop_wrench[:] = before.loop_wrench
        first = 0
        for slot, part in zip(slots, parts, strict=True):
            slot.bind(part)
            slot.first_geometry = first
            first += len(slot.geometries)
        self._model = self._with_links(model)
        self._sites = assembly.gather_sites(slots)
        self._loops = make_loops([joint.record() for joint in joints], self._model)
        first = 0
        for number, joint in enumerate(joints):
            joint.bind(self._loops, self._state, number, first)
            first += joint.axis_count
        self._wake()
        self._state.sampled[:] = 0
        self._dirty &= ~(_ROBOT_ARRAYS | _LOOP_FORCES)
        self._set_sleep()
        self._connect()

    def _renew_media(self) -> None:
        """Update the media around the links; views of the state stay valid."""
        self._dirty &= ~_MEDIUM
        kinds = self._model.kind.copy()
        model = self._with_links(self._model)
        if (model is not self._model or not np.array_equal(kinds, model.kind)
                or not self.fields.fit(self._fields[0], self.links, model)):
            self._model = model
            self._connect()

    def _with_links(self, model: Model) -> Model:
        """Return a model with what acts on the links: the media around them, and gravity."""
        pulled = (link for link in self.links if link.medium.gravity)
        return with_pulled(with_media(model, self.links), pulled)

    def _connect(self) -> None:
        """Pass the robots' new arrays to the engine."""
        self._fields = self.fields.parts(self.links, self._model)
        self._observer = handles.make_observer(
            self._model, self.options, self._state, self._loops, self._fields[1])
        self._readings = np.zeros((len(self._sites.body), SITE_SIZE))
        self.layout += 1
        self._dirty |= _OBSERVER | _OBSERVATION | _CONTACTS | _STEPPER

    def _build_contacts(self) -> None:
        """Build the arrays of geometries and materials that are not up to date."""
        if self._dirty & _GEOMETRY:
            self._build_geometry()
        if self._dirty & _SURFACES or self.materials.are_directed:
            # bodies have other numbers where robots were added or removed
            self._surfaces = self.materials.surfaces(self._made.laws)
        self._wake()
        self._dirty = self._dirty & ~(_GEOMETRY | _SURFACES) | _CONTACTS

    def _build_geometry(self) -> None:
        """Build the arrays of all geometries, carrying over what was set."""
        excluded = []
        for slot in self.slots.values():
            body = slot.part.at.body
            excluded += [(body + a, body + b) for a, b in slot.excluded]
        for pair in self.separated:
            a, b = (self.slots[robot].link(link).body for robot, link in pair)
            excluded += [(a, b)] if a != b else []
        self._geometry = build_geometry(
            [geometry.record(self.materials) for geometry in self.geometries], excluded,
            [(one.index, other.index) for one, other in self.apart])
        self._write_groups()
        for slot in self.slots.values():
            slot.bind_geometries(self._geometry)

    def _write_groups(self) -> None:
        geometries = self.geometries
        bits = self.groups.bits(geometry.groups for geometry in geometries)
        for row, geometry in enumerate(geometries):
            self._geometry.group[row], self._geometry.mask[row] = bits[geometry.groups]

    def _connect_contacts(self) -> None:
        """Pass all arrays to the engine."""
        self._handles = handles.make_contact_handles(
            self._model, self.options, self._state, self._geometry, self._surfaces, self._loops,
            self._fields[0], self.listeners.part(self.geometries, len(self._state.contact_gap)),
            self._made.contacts)
        self.listeners.connect(self._handles.probe.part(Contacts), self._fields[0].time)
        self._dirty = self._dirty & ~_CONTACTS | _STEPPER

    def _prepare_observation(self) -> None:
        """Bring up to date what observing takes."""
        self.settle()
        if self._dirty & _OBSERVATION:
            # unlike any wrench, so that everything is computed anew
            self._observer.workspace.pushes.fill(np.nan)
            self._fields[1].time[START] = self.step_count * self.time_step
        self._prepare_observer()
        self._dirty &= ~_OBSERVATION

    def _prepare_observer(self) -> None:
        """Prepare the call that observes."""
        if self._dirty & _OBSERVER:
            self._observe = observe.prepare(
                self._observer.handle, self._sites.body, self._sites.frame, self._readings)
        self._dirty &= ~_OBSERVER

    def _prepare_stepper(self) -> None:
        """Prepare the call that steps; at the first step, so that looking compiles little."""
        build(self.units)
        self._prepare_observer()
        # what the last step has left is in the arrays of the call that goes
        self.find_applied()
        self._friction = self.friction_calls()
        handle = handles.make_stepping_handle(self._handles.probe, self._friction)
        self._stepper = Stepper(
            handle, self._observer.handle, self._observe, self._readings, self._sites.sampling,
            self.gravity, self.worst, is_smooth=bool(self.options.is_smooth))
        self._dirty &= ~_STEPPER

    def friction_calls(self) -> FrictionCalls | None:
        """Return the calls of the functions that decide friction, None where there are none."""
        functions = self.materials.friction_functions
        names = [(each.link.robot.name, each.link.name, each.name) for each in self.geometries]
        return FrictionCalls(functions, names, self._closed) if functions else None

    @contextmanager
    def _closed(self) -> Iterator[None]:
        """Keep a function that is called within a step from using the simulation."""
        before, self._thread = self._thread, _IN_FUNCTION
        try:
            yield
        finally:
            self._thread = before

    def _progress(self) -> np.ndarray:
        """Return (3,) what the last call of `step` did; see `sensors.step_and_sample`."""
        if self._dirty & _STEPPER:
            return np.zeros(PROGRESS_SIZE, np.int64)
        return self._stepper.progress

    def _go_on(self, status: int, left: int) -> None:
        """Handle the cause of an early stop, DONE for none, and take the remaining steps."""
        while status or left:
            if status == INTERRUPTED:
                self._raise_error()
            if status == NOT_FINITE:
                self._drop_pushes()
                raise DivergenceError(f'step {self.step_count + 1} is not finite')
            if status == NO_ROOM:
                progress = self._progress()
                self.make_room(2 * assembly.contact_room(self._state))
                self.stepper.progress[:] = progress
            elif status == NO_DRAWS:
                self._sites.sampling.prepare(self.step_count)
            beginning = SAMPLE if status == NO_DRAWS else GO_ON
            status, done, is_observed = self._stepper.advance(
                self.step_count, left, beginning)
            dirty = self._dirty
            self._dirty = dirty & _OBSERVED | _APPLIED if is_observed else dirty | _STEPPED
            self.step_count += done
            left -= done

    def _raise_error(self) -> None:
        """Raise what a function of Python has raised in the step."""
        self.listeners.raise_error()
        self.fields.raise_error()
        if self._friction is not None:
            self._friction.check()

    def _drop_pushes(self) -> None:
        """Clear the wrenches that `add_wrench` has added, and the contacts that were made."""
        self._state.wrench[:] = 0.0
        self._made.clear()
        self._dirty &= ~_PUSHES

    def _stop_crawlers(self) -> None:
        """Stop the surfaces of crawlers."""
        rows = [geometry.index for geometry in self.geometries
                if geometry.link.track_axis is not None]
        if rows and self.geometry.track[rows, collision.TRACK_SPEED].any():
            self._geometry.track[rows, collision.TRACK_SPEED] = 0.0
            self.invalidate()


def _options_of(settings: Settings) -> Options:
    return handles.make_options(
        settings.time_step_ns * 1e-9, SOLVERS[settings.solver], settings.contact_margin,
        is_smooth=settings.integrator == 'rk5', iterations=settings.iterations)
