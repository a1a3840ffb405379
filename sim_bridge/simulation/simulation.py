"""The arrays of all robots, their updates, and the step that advances them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import auto, IntFlag
from operator import attrgetter
import threading
from threading import get_ident
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.unit import Unit
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.data import geometry as collision
from sim_bridge.engine.data.loops import LoopJoint, Loops, make_loops
from sim_bridge.engine.data.model import body_count, Model, Options, velocity_count
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import LOOSE, make_state, State
from sim_bridge.engine.data.surfaces import Surfaces
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.engine.pipeline.observe import observe, SITE_SIZE
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.step import DONE, NO_ROOM, NOT_FINITE
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import SimulationError, StateError
from sim_bridge.foundation.names import ByName, counted
from sim_bridge.foundation.validation import whole_number
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import GO_ON, NO_DRAWS, PROGRESS_SIZE, SAMPLE, WORST_SIZE
from sim_bridge.shapes.friction_direction import FrictionDirection
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.simulation import assembly, handles, records
from sim_bridge.simulation.assembly import Sites
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.handles import ContactHandles, Observer
from sim_bridge.simulation.link_medium import with_media
from sim_bridge.simulation.made_contacts import Made, MadeRoom
from sim_bridge.simulation.records import Energy, Momentum, StepReport, Worst
from sim_bridge.simulation.settings import Settings, SOLVERS
from sim_bridge.simulation.slots import GeometrySlot, LinkSlot, RobotSlot, with_pulled
from sim_bridge.simulation.stepper import Stepper

_Value = TypeVar('_Value')
LinkPair = tuple[tuple[str, str], tuple[str, str]]
"""Two links, each by the names of its robot and its own; the lesser first."""

# room for contacts that a world of geometries starts with, and more for each of them
_LEAST_CONTACTS, _CONTACTS_EACH = 64, 4
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
    """The external wrenches and made contacts, which act in the next step only."""


# Plain integers, since operations on flags are slow.
_PARTS, _MEDIUM, _GEOMETRY, _SURFACES, _CONTACTS, _OBSERVER, _STEPPER = (
    each.value for each in list(Dirty)[:7])
_JOINT_VELOCITIES, _OBSERVATION, _INITIAL, _LOOP_FORCES, _PUSHES = (
    each.value for each in list(Dirty)[7:])
_OBSERVED = ~_OBSERVATION
_ROBOT_ARRAYS = _PARTS | _MEDIUM
_ALL_ARRAYS = _ROBOT_ARRAYS | _GEOMETRY | _SURFACES | _CONTACTS
_TO_OBSERVE = _ROBOT_ARRAYS | _OBSERVER | _OBSERVATION
_TO_STEP = _ALL_ARRAYS | _STEPPER | _JOINT_VELOCITIES


class Constraint(Protocol):
    """A joint that is solved for as rows beside the trees, as a simulation knows it."""

    key: str
    """Its name among all joints of the simulation."""
    axis_count: int
    """The number of coordinates that it leaves free."""
    joint: Any
    """The joint, for users."""
    softness: Any
    """ERP and CFM."""
    spec: Any
    """What it was made from."""
    start: np.ndarray
    """(n,) The positions that `restart` goes back to."""

    def record(self) -> LoopJoint:
        """Describe it to the engine as it is now."""

    def bind(self, loops: Loops, state: State, number: int, first: int) -> None:
        """Take new places for its numbers: row `number`, and of its axes from row `first` on."""

    def error(self, of_rigid_rows: bool = False) -> tuple[float, float]:
        """Return the greatest position error [m] and sine of an angular error of its rows."""

    def restart(self) -> None:
        """Go back to how it began."""

    def wrench_in(
        self, number: int, loops: Loops, arm: np.ndarray, force: np.ndarray, state: State,
        origin: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about its second anchor on its second link."""


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
        self.materials = MaterialTable(
            lambda: self.mark(Dirty.SURFACES), self._locate,
            lambda: (self.settings.erp, self.settings.cfm))
        self.groups = CollisionGroups(self.regroup)
        self._made = MadeRoom()
        self.admitted = 0
        """How many robots were ever added."""
        self._thread = 0
        """The thread that is in a call which must not be interrupted by another's; 0 for none."""
        self.worst = np.zeros(WORST_SIZE)
        self._dirty = sum(
            each.value for each in Dirty if each not in (Dirty.JOINT_VELOCITIES, Dirty.PUSHES))
        self._model = join_models([], gravity)[0]
        self._state = make_state(self._model)
        self._loops: Loops
        self._sites: Sites
        self._readings: np.ndarray
        self._geometry: collision.Geometry
        self._surfaces: Surfaces
        self._observer: Observer
        self._handles: ContactHandles
        self._observe: Call
        self._stepper: Stepper
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
        assembly.forget_contacts(
            self.state, slot, self.geometries, self.observed_sites(), self.time_step)
        del self.slots[slot.name]
        slot.leave()
        self.mark(Dirty.PARTS)

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
        self.settings, self.options = settings, _options_of(settings)
        self.time_step_ns = settings.time_step_ns
        self.time_step = settings.time_step_ns * 1e-9
        self._dirty |= _SURFACES
        if settings.sleep is None:
            self._state.idle[:] = 0
        self._connect()

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
        Raise StateError if another thread is in a call of this simulation.

        Only what takes long or replaces arrays is guarded; reading and writing numbers is not.
        """
        inside, own = self._thread, get_ident()
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

    def forget_observations(self) -> None:
        """Discard observations, so that the state is observed anew."""
        self._dirty |= _OBSERVATION

    def invalidate(self) -> None:
        """Discard observations and wake all bodies, since the model's parameters changed."""
        if self._thread:
            self.check_thread()
        self._dirty |= _OBSERVATION
        if not self._dirty & _PARTS:
            self._state.idle[:] = 0

    def regroup(self) -> None:
        """Handle changed collision groups."""
        if not self._dirty & _GEOMETRY:
            self._write_groups()
            self._state.idle[:] = 0

    def make_room(self, contacts: int) -> None:
        """Ensure room for `contacts` contacts in the state; its other arrays are unchanged."""
        self.settle_contact()
        if contacts > assembly.contact_room(self._state):
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
        if before and before != thread:
            self.check_thread()
        self._thread = thread
        try:
            if self._dirty & _TO_OBSERVE:
                self._prepare_observation()
            self._observe()
        finally:
            self._thread = before
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
        self.observed_sites()
        arm = point - self._observer.workspace.pose[body, 9:12]
        self._state.wrench[body, :3] += torque + np.cross(arm, force)
        self._state.wrench[body, 3:] += force
        self._dirty |= _PUSHES

    def give_contacts(self, made: Made) -> None:
        """Add contacts for the next step."""
        if self._made.grow(made):
            self._dirty |= _SURFACES | _CONTACTS
        self.refresh(_TO_STEP)
        self._made.fill(made, self._surfaces)
        self._dirty |= _PUSHES

    def step(self, n: int = 1) -> None:
        """Advance by n steps; raises DivergenceError, and InvalidValueError for no such number."""
        if type(n) is not int or n < 0:
            n = whole_number('n', n)
        # Between reading and setting it there is no call, where another thread could come in.
        thread = get_ident()
        before = self._thread
        if before and before != thread:
            self.check_thread()
        self._thread = thread
        try:
            if self._dirty & _TO_STEP:
                self.refresh(_TO_STEP)
            is_pushed = n and self._dirty & _PUSHES
            part, unconverged = 1 if is_pushed else n, self.worst[0]
            status, done, is_observed = self._stepper.advance(self.step_count, part)
            self.step_count += done
            dirty = self._dirty
            self._dirty = dirty & _OBSERVED if is_observed else dirty | _OBSERVATION
            if status:
                self._go_on(status, part - done)
            if is_pushed:
                self._drop_pushes()
                if n > 1:
                    # the rest is the same call: it counts once
                    self.worst[0] = unconverged
                    self._go_on(DONE, n - 1)
        finally:
            self._thread = before

    def warm_up(self) -> None:
        """Compile or load every kernel that a running simulation uses; nothing else changes."""
        self.stepper.advance(self.step_count, 0)
        self.energy()
        self.momentum()

    @property
    def units(self) -> list[Unit]:
        """What has to be compiled to step and observe the simulation as it is."""
        smooth = [step_smoothly.unit] if self.options.is_smooth else []
        return [*handles.stepping_units(self.handles.probe), observe.unit, *smooth,
                energy.unit, momentum.unit]

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
            self._initial = assembly.initial_state(
                self.slots.values(), self._model, len(self._state.loop_wrench),
                len(self._state.axis_q))
            self._dirty &= ~_INITIAL
        state, frame = self._initial
        control, axis_control = self._state.control.copy(), self._state.axis_control.copy()
        assembly.restore_state(state, self._state)
        assembly.start_control(self._model, control, self._state)
        self._state.axis_control[:] = axis_control
        for joint in self.constraints.values():
            joint.restart()
        self._model.frame[:] = frame
        self._dirty = self._dirty & ~_PUSHES | _OBSERVATION
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
        model, self._state, parts = assembly.assemble(slots, self.gravity, room, len(joints), axes)
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
        self._state.idle[:] = 0
        self._dirty &= ~(_ROBOT_ARRAYS | _LOOP_FORCES)
        self._connect()

    def _renew_media(self) -> None:
        """Update the media around the links; views of the state stay valid."""
        self._dirty &= ~_MEDIUM
        kinds = self._model.kind.copy()
        model = self._with_links(self._model)
        if model is not self._model or not np.array_equal(kinds, model.kind):
            self._model = model
            self._connect()

    def _with_links(self, model: Model) -> Model:
        """Return a model with what acts on the links: the media around them, and gravity."""
        pulled = (link for link in self.links if link.medium.gravity)
        return with_pulled(with_media(model, self.links), pulled)

    def _connect(self) -> None:
        """Pass the robots' new arrays to the engine."""
        self._observer = handles.make_observer(self._model, self.options, self._state, self._loops)
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
        self._state.idle[:] = 0
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
            [geometry.record(self.materials) for geometry in self.geometries], excluded)
        self._write_groups()
        for slot in self.slots.values():
            slot.bind_geometries(self._geometry)

    def _locate(self, direction: FrictionDirection) -> tuple[int, Sequence[float]]:
        """Return the body of a friction direction, -1 for the world, and the axis in its axes."""
        if direction.robot is None:
            return -1, direction.axis
        slots = ByName('robot', '', self.slots)
        slot = slots[direction.robot]
        links = ByName('link', f'robot {slot.name!r}', {each.name: each for each in slot.links})
        link = links[slot.description.root if direction.link is None else direction.link]
        return link.body, link.placement.rotation @ np.array(direction.axis)

    def _write_groups(self) -> None:
        geometries = self.geometries
        bits = self.groups.bits(geometry.groups for geometry in geometries)
        for row, geometry in enumerate(geometries):
            self._geometry.group[row], self._geometry.mask[row] = bits[geometry.groups]

    def _connect_contacts(self) -> None:
        """Pass all arrays to the engine."""
        self._handles = handles.make_contact_handles(
            self._model, self.options, self._state, self._geometry, self._surfaces, self._loops,
            self._made.contacts)
        self._dirty = self._dirty & ~_CONTACTS | _STEPPER

    def _prepare_observation(self) -> None:
        """Bring up to date what observing takes."""
        self.settle()
        if self._dirty & _OBSERVATION:
            # unlike any wrench, so that everything is computed anew
            self._observer.workspace.wrench.fill(np.nan)
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
        handle = handles.make_stepping_handle(self._handles.probe)
        self._stepper = Stepper(
            handle, self._observer.handle, self._observe, self._readings, self._sites.sampling,
            self.gravity, self.worst, is_smooth=bool(self.options.is_smooth))
        self._dirty &= ~_STEPPER

    def _progress(self) -> np.ndarray:
        """Return (3,) what the last call of `step` did; see `sensors.step_and_sample`."""
        if self._dirty & _STEPPER:
            return np.zeros(PROGRESS_SIZE, np.int64)
        return self._stepper.progress

    def _go_on(self, status: int, left: int) -> None:
        """Handle the cause of an early stop, DONE for none, and take the remaining steps."""
        while status or left:
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
            self._dirty = (
                self._dirty & _OBSERVED if is_observed else self._dirty | _OBSERVATION)
            self.step_count += done
            left -= done

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
        settings.sleep, is_smooth=settings.integrator == 'rk5', iterations=settings.iterations)
