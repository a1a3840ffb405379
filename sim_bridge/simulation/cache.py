"""
Results computed from a simulation's members and settings, refreshed when read.

Each refreshing method can be interrupted at any line and called again: it reads only
arrays that it does not overwrite, publishes its results in one assignment, and clears its flag
last.
"""

from __future__ import annotations

from operator import attrgetter
from threading import get_ident
from typing import Any, TypeVar

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit
from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.data import geometry as columns
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.fields import Fields
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.loops import Loops
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import LOOSE, State
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.pipeline.observe import observe
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.stored_energy import contact_energy
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import WORST_SIZE
from sim_bridge.simulation import assembly, handles
from sim_bridge.simulation.applied_forces import AppliedForces
from sim_bridge.simulation.assembly import Sites
from sim_bridge.simulation.contact_arrays import ContactArrays
from sim_bridge.simulation.friction_calls import FrictionCalls
from sim_bridge.simulation.handles import ContactHandles, Observer
from sim_bridge.simulation.late_stages import close_units, early_stages, standing_stages
from sim_bridge.simulation.link_medium import AddedInertias
from sim_bridge.simulation.observer_call import ObserverCall
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.registry import Registry
from sim_bridge.simulation.robot_arrays import RobotArrays
from sim_bridge.simulation.run import Run
from sim_bridge.simulation.slots import LinkSlot
from sim_bridge.simulation.staleness import (
    ALL_ARRAYS,
    APPLIED,
    closure,
    CONNECTION,
    CONTACT_MATERIALS,
    CONTACTS,
    GEOMETRY,
    GEOMETRY_ARRAYS,
    GROUPS,
    INITIAL,
    JOINT_VELOCITIES,
    LOOP_FORCES,
    MEDIUM,
    OBSERVATION,
    OBSERVER,
    PAIRS,
    PARTS,
    PUSHES,
    REST,
    ROBOT_ARRAYS,
    SLEEP,
    Staleness,
    STEPPER,
    TO_STEP,
)
from sim_bridge.simulation.stepper import Stepper
from sim_bridge.simulation.thread_guard import guarded, ThreadGuard
from sim_bridge.simulation.user_contacts import UserContactArrays

_Value = TypeVar('_Value')
# least position error [m] or angular error sine for a joint that counts as open
_OPEN = 1e-6


class Cached(ReadOnly[_Value]):
    """A cache property, refreshed when it is read."""

    def __init__(self, wanted: int, name: str, doc: str):
        """Declare it. wanted: flags to refresh first. name: attribute to read."""
        value_of = attrgetter(name)

        def read(cache: Cache) -> Any:
            if cache._staleness.flags & wanted:
                cache.refresh(wanted)
            return value_of(cache)

        super().__init__(read, doc)


class Cache:
    """
    A simulation's joined arrays, its handles and its calls.

    Arrays are joined once for all robots added until then. Handles for contacts are made only for
    users who step or ask about contacts.

    layout: changes whenever model or state arrays are replaced. current_stepper: the step call
    with the last step's arrays. applied: forces applied in the last step. worst: (9,) greatest
    solver figures. robots, contacts, observer_call: arrays as they are, stale or not.
    """

    def __init__(
        self,
        run: Run,
        registry: Registry,
        staleness: Staleness,
        guard: ThreadGuard,
        calls: PythonCalls,
    ) -> None:
        """Begin without robots."""
        self._run, self._registry, self._staleness = run, registry, staleness
        self._guard, self._calls = guard, calls
        self.layout = 0
        self.applied = AppliedForces()
        self.worst = np.zeros(WORST_SIZE)
        self.robots = RobotArrays(run.gravity)
        self.contacts = ContactArrays()
        self.observer_call = ObserverCall(self.robots)
        self._fields: tuple[Fields, Fields]
        self.current_stepper: Stepper | None = None
        self._initial: tuple[State, np.ndarray]

    # --- results ---------------------------------------------------------------------------------

    model = Cached[Model](ROBOT_ARRAYS, 'robots.model', 'The constant arrays of all robots.')
    state = Cached[State](
        ROBOT_ARRAYS, 'robots.state', 'The arrays that steps change; replaced after an addition.'
    )
    loops = Cached[Loops](ROBOT_ARRAYS, 'robots.loops', 'The arrays of all constraints.')
    sites = Cached[Sites](ROBOT_ARRAYS, 'robots.sites', 'The observed frames.')
    fields = Cached[tuple[Fields, Fields]](
        ROBOT_ARRAYS, '_fields', 'The arrays of force fields to step with, and to observe with.'
    )
    geometry = Cached[Geometry](
        GEOMETRY_ARRAYS,
        'contacts.geometry',
        'The arrays of all geometries; replaced after an addition or exclusion.',
    )
    contact_materials = Cached[ContactMaterials](
        ALL_ARRAYS, 'contacts.contact_materials', 'The contact laws of pairs of materials.'
    )
    handles = Cached[ContactHandles](
        ALL_ARRAYS,
        'contacts.handles',
        "The handles for steps and contact queries, and the solver's reports.",
    )
    stepper = Cached[Stepper](
        ALL_ARRAYS | OBSERVER | STEPPER,
        'current_stepper',
        'The step call; compiles missing units.',
    )
    devices = ReadOnly[list[Device]]('sites.sampling.devices', 'The devices of all robots.')

    @property
    def contact_count(self) -> int:
        """The number of contacts in the last step."""
        return int(self.robots.state.contact_size[0])

    @property
    def kept_pairs(self) -> np.ndarray:
        """(1,) whether steps keep the nearby geometry pairs."""
        return self.contacts.kept_pairs

    # --- refreshing ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Refresh the robots' arrays."""
        if self._staleness.flags & ROBOT_ARRAYS:
            self.refresh(ROBOT_ARRAYS)

    def settle_contacts(self) -> None:
        """Refresh all arrays."""
        if self._staleness.flags & ALL_ARRAYS:
            self.refresh(ALL_ARRAYS)

    @guarded
    def refresh(self, wanted: int = TO_STEP) -> None:
        """Recompute stale results among the flags `wanted`, in dependency order."""
        thread, guard = get_ident(), self._guard
        before = guard.holder
        if before and before != thread:
            before = guard.admit()
        guard.holder = thread
        self._staleness.refreshes += 1
        try:
            self._refresh(wanted)
        finally:
            # a refresh can call another one
            guard.holder = before

    def _refresh(self, wanted: int) -> None:
        staleness = self._staleness
        if staleness.flags & wanted & (PARTS | MEDIUM | SLEEP | CONNECTION):
            self._refresh_robots(wanted)
        if staleness.flags & wanted & REST:
            self._wake()
        if staleness.flags & wanted & (GEOMETRY | GROUPS | CONTACT_MATERIALS | CONTACTS):
            self._refresh_contacts(wanted)
        if staleness.flags & wanted & PAIRS:
            self.contacts.look_anew()
            staleness.flags &= ~PAIRS
        if staleness.flags & wanted & JOINT_VELOCITIES:
            self.begin_joints()
        if staleness.flags & wanted & OBSERVER:
            self._prepare_observer()
        if staleness.flags & wanted & STEPPER:
            self._prepare_stepper()

    def _refresh_robots(self, wanted: int) -> None:
        staleness = self._staleness
        self.find_applied()
        if staleness.flags & wanted & PARTS:
            self._join()
        if staleness.flags & wanted & MEDIUM:
            self._renew_media()
        if staleness.flags & wanted & REST:
            self._wake()
        if staleness.flags & wanted & SLEEP:
            self._renew_sleep()
        if staleness.flags & wanted & CONNECTION:
            self._connect()

    def _refresh_contacts(self, wanted: int) -> None:
        staleness = self._staleness
        if staleness.flags & wanted & GEOMETRY:
            self._build_geometry()
        if staleness.flags & wanted & GROUPS:
            self._write_groups()
        if staleness.flags & wanted & CONTACT_MATERIALS:
            self._renew_contact_materials()
        if staleness.flags & wanted & CONTACTS:
            self._connect_contacts()

    def _join(self) -> None:
        """Join the robots' arrays with the values they hold; all bodies are awake."""
        registry, staleness = self._registry, self._staleness
        self.robots.join(
            list(registry.slots.values()),
            list(registry.constraints.values()),
            self._run.settings.sleep,
            self._added_inertias,
            keeps_loop_forces=not staleness.flags & LOOP_FORCES,
        )
        flags = staleness.flags | closure(PARTS)
        staleness.flags = flags & ~(PARTS | MEDIUM | REST | LOOP_FORCES)

    def _renew_media(self) -> None:
        """Renew the media around the links; state views stay valid."""
        staleness, links = self._staleness, self._registry.links
        before, kinds = self.robots.model, self.robots.model.kind.copy()
        had_connection = staleness.flags & CONNECTION
        # until the arrays are known to be the same
        staleness.flags |= CONNECTION
        self.robots.renew_media(links, self._added_inertias)
        model, fields = self.robots.model, self._registry.fields
        is_same = model is before and np.array_equal(kinds, model.kind)
        if is_same and not had_connection and fields.fit(self._fields[0], links, model):
            staleness.flags &= ~CONNECTION
        staleness.flags &= ~MEDIUM

    def _added_inertias(self, model: Model) -> AddedInertias:
        """Return the hulls' added mass, for the joined model."""
        return self._registry.fields.added_inertias(self._registry.links, model)

    def _wake(self) -> None:
        """Wake all bodies, since parameters have changed."""
        idle = self.robots.state.idle
        if np.count_nonzero(idle):
            self._staleness.wake_bodies(idle, self.robots.enabled_bodies())
        self._staleness.flags &= ~REST

    def _renew_sleep(self) -> None:
        """Renew when bodies fall asleep, and whether any may rest."""
        run, staleness, slots = self._run, self._staleness, list(self._registry.slots.values())
        if not self.robots.fits_sleep(slots, run.settings.sleep):
            self._join()
        sleeps = int(self.robots.set_sleep(slots, run.settings.sleep, run.time_step))
        if sleeps != run.options.sleeps:
            options, flags = run.options._replace(sleeps=sleeps), staleness.flags | CONNECTION
            run.options, staleness.flags = options, flags
        staleness.flags &= ~SLEEP

    def _connect(self) -> None:
        """Pass the robots' arrays to the observer, with new force field arrays."""
        registry, staleness = self._registry, self._staleness
        fields = registry.fields.parts(registry.links, self.robots.model)
        self.observer_call.connect(self._run.options, fields[1])
        self._fields = fields
        self.layout += 1
        staleness.flags = (staleness.flags | closure(CONNECTION)) & ~CONNECTION

    def _build_geometry(self) -> None:
        """Build the geometry arrays."""
        registry, staleness = self._registry, self._staleness
        self.contacts.build_geometry(
            registry.slots, registry.exclusions, registry.materials, registry.groups
        )
        if registry.materials.are_directed:
            # added or removed robots renumber bodies
            staleness.flags |= CONTACT_MATERIALS
        self._wake()
        staleness.flags = (staleness.flags | CONTACTS) & ~(GEOMETRY | GROUPS)

    def _write_groups(self) -> None:
        """Write the collision groups into the geometry arrays and the listeners' arrays."""
        registry = self._registry
        self.contacts.write_groups(self.contacts.geometry, registry.geometries, registry.groups)
        registry.listeners.regroup(registry.geometries)
        self._staleness.flags &= ~GROUPS

    def _renew_contact_materials(self) -> None:
        """Build the contact law table."""
        self.contacts.renew_contact_materials(self._registry.materials)
        self._wake()
        self._staleness.flags = (self._staleness.flags | CONTACTS) & ~CONTACT_MATERIALS

    def _connect_contacts(self) -> None:
        """Make the handles for contacts."""
        registry, staleness = self._registry, self._staleness
        self.contacts.connect(
            self.robots,
            self._run.options,
            self._fields[0],
            registry.listeners,
            registry.geometries,
        )
        staleness.flags = (staleness.flags | STEPPER) & ~CONTACTS

    def begin_joints(self) -> None:
        """
        Remove velocities not allowed by new constraints.

        Constraints gathering their links are closed first, by the mass-weighted least motion over
        all robots. An open constraint without assembly stays open; steps pull it closed.
        """
        self.settle_contacts()
        state, staleness = self.robots.state, self._staleness
        before = self.coordinates()
        try:
            if any(
                joint.spec.gathers and max(joint.error(of_rigid_rows=True)) > _OPEN
                for joint in self._registry.constraints.values()
            ):
                observer = self.observe()
                observer.workspace.q[:] = state.q
                observer.workspace.mode[:] = LOOSE
                if run_stage(observer.handle, LOOPS.address, LoopPhase.ASSEMBLE) >= 0:
                    state.q[:] = observer.workspace.q
                staleness.forget_observations()
            run_stage(self.stepper.handle, LOOPS.address, LoopPhase.BEGIN)
            staleness.flags = (staleness.flags | OBSERVATION) & ~JOINT_VELOCITIES
        except BaseException:
            self.separate_joints(*before)
            raise

    def coordinates(self) -> tuple[FloatArray, FloatArray]:
        """Return copies of the positions (nq,) and velocities (nv,) of all robots."""
        state = self.state
        return state.q.copy(), state.v.copy()

    def separate_joints(self, q: FloatArray, v: FloatArray) -> None:
        """Undo `begin_joints`, with the coordinates before it: (nq,) and (nv,)."""
        state = self.robots.state
        state.q[:], state.v[:] = q, v
        self._staleness.flags |= OBSERVATION | JOINT_VELOCITIES

    def make_room(self, contacts: int) -> None:
        """Ensure room for `contacts` contacts in the state; its other arrays are unchanged."""
        self.settle_contacts()
        if contacts > assembly.contact_room(self.robots.state):
            self.find_applied()
            self._staleness.flags |= closure(CONNECTION)
            self.robots.make_room(list(self._registry.slots.values()), contacts)
            self.settle()

    def make_user_contact_room(self, contacts: UserContactArrays) -> None:
        """Ensure room for the next step's user contacts."""
        if self.contacts.user_contacts.is_short_of(contacts):
            self.settle_contacts()
            self._staleness.flags |= closure(CONTACTS)
            self.contacts.user_contacts.grow(contacts)
            # not as CONTACT_MATERIALS, which wake sleepers
            self.contacts.renew_contact_materials(self._registry.materials)

    def renew_stepper(self) -> None:
        """Let the step call use stages compiled since its preparation."""
        self._staleness.flags |= STEPPER

    # --- calls -----------------------------------------------------------------------------------

    def observe(self) -> Observer:
        """Return the observer after its call at the present state; `Observation` has the guard."""
        self.prepare_observation()
        self.observer_call.run()
        if self._registry.fields.has_functions:
            self._calls.raise_error()
        return self.observer_call.observer

    def prepare_observation(self) -> None:
        """Refresh the inputs to the observer's call."""
        self.settle()
        if self._staleness.flags & OBSERVATION:
            self.observer_call.forget(self._run.step_count * self._run.time_step)
        self._prepare_observer()
        self._staleness.flags &= ~OBSERVATION

    def _prepare_observer(self) -> None:
        if self._staleness.flags & OBSERVER:
            self.observer_call.prepare()
            self._staleness.flags = (self._staleness.flags | STEPPER) & ~OBSERVER

    def _prepare_stepper(self) -> None:
        """Prepare the step call at the first step; queries then compile little."""
        build(self.early_units)
        self._prepare_observer()
        # the last step's applied forces are in the present call's arrays
        self.find_applied()
        observer, friction = self.observer_call, self.friction_calls()
        self.current_stepper = Stepper(
            handles.make_stepping_handle(self.contacts.handles.probe, friction),
            observer.observer.handle,
            observer.run,
            observer.readings,
            self.robots.sites.sampling,
            self._run.gravity,
            self.worst,
            self._run.counter_array,
            friction,
            is_smooth=bool(self._run.options.is_smooth),
        )
        self._staleness.flags &= ~STEPPER

    def friction_calls(self) -> FrictionCalls | None:
        """Return the friction function calls, None without any."""
        registry = self._registry
        functions = registry.materials.friction_functions
        names = [(each.link.robot.name, each.link.name, each.name) for each in registry.geometries]
        return FrictionCalls(functions, names, self._calls) if functions else None

    # --- compiled units --------------------------------------------------------------------------

    @property
    def units(self) -> list[Unit]:
        """The units to compile to step and observe the simulation as it is."""
        return self._units_with(handles.stages_of(self.handles.probe))

    @property
    def early_units(self) -> list[Unit]:
        """Units for the first step while no geometries are near each other."""
        return self._units_with(early_stages(handles.stages_of(self.handles.probe)))

    @property
    def standing_units(self) -> list[Unit]:
        """Units for steps with simple shapes touching planes."""
        return self._units_with(standing_stages(handles.stages_of(self.handles.probe)))

    def compile_close(self) -> None:
        """Compile the stages for the pairs within reach; steps use them from now on."""
        probe = self.contacts.handles.probe
        build(close_units(handles.stages_of(probe), probe))
        self.renew_stepper()

    def _units_with(self, stages: dict[str, Stage]) -> list[Unit]:
        smooth = [step_smoothly.unit] if self._run.options.is_smooth else []
        compliant = [contact_energy.unit] if self._registry.materials.may_yield else []
        return [
            *handles.stepping_units(self.handles.probe, stages),
            *self.sites.sampling.units,
            observe.unit,
            *smooth,
            energy.unit,
            momentum.unit,
            *compliant,
        ]

    # --- the last step ---------------------------------------------------------------------------

    @property
    def last_applied(self) -> AppliedForces:
        """The forces applied in the last step."""
        if self._staleness.flags & APPLIED and self.current_stepper is not None:
            self.applied.look(self.current_stepper.handle.part(Workspace))
            self._staleness.flags &= ~APPLIED
        return self.applied

    def applied_to(self, link: LinkSlot) -> np.ndarray:
        """Return (6,) force and torque on a link's body in the last step, as `AppliedForces`."""
        self.find_applied()
        return self.applied.of(link)

    def find_applied(self) -> None:
        """Find the forces applied in the last step, before its links or model change."""
        if self.last_applied.is_unread:
            state = self.robots.state
            links = [link for link in self._registry.links if link.robot.part.state is state]
            self.applied.find(links, self.robots.model)

    def forget_contacts(self, first: int, count: int) -> None:
        """Remove the last step's contacts at geometries about to be removed, by their numbers."""
        geometries = self._registry.geometries
        assembly.forget_contacts(self.state, first, first + count, geometries, self._run.time_step)

    def restart(self, control: np.ndarray, axis_control: np.ndarray) -> None:
        """
        Put every robot back to its state at addition, without efforts.

        control, axis_control: as in State, the motors' settings from then on.
        """
        staleness = self._staleness
        if staleness.flags & INITIAL:
            self._initial = self.robots.initial(self._registry.slots.values())
            staleness.flags &= ~INITIAL
        self.robots.restart(*self._initial, control, axis_control)
        for joint in self._registry.constraints.values():
            joint.restart()
        self.applied.clear()
        self.contacts.look_anew()
        staleness.flags &= ~(PUSHES | APPLIED)
        staleness.forget_observations()

    def stop_crawlers(self) -> None:
        """Stop the crawlers' surfaces."""
        geometries = [
            each.index for each in self._registry.geometries if each.link.track_axis is not None
        ]
        speeds = geometries, columns.TRACK_SPEED
        if geometries and self.geometry.track[speeds].any():
            self._staleness.write(self.geometry, 'track', speeds, 0.0)
