"""Engine handles for stepping and observing, made from the world's arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.collision.candidates import find_needs
from sim_bridge.engine.collision.probe import (
    bound,
    locate,
    measure_convex_pairs,
    measure_hollow_pairs,
    measure_pairs,
)
from sim_bridge.engine.collision.ray.cast import cast_all, cast_nearest
from sim_bridge.engine.collision.search import mark_collidable, search_near, search_pairs
from sim_bridge.engine.collision.stage import (
    DETECT,
    DETECT_CONVEX,
    DETECT_HOLLOW,
    DETECT_LINE,
    DETECT_SURFACE,
    NARROW,
)
from sim_bridge.engine.constraints.current_rows import constraint_rows
from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.contact.budget import MOST_WORK
from sim_bridge.engine.contact.current_terms import (
    current_dynamics,
    current_efforts,
    current_laws,
    current_response,
    force_rows,
)
from sim_bridge.engine.contact.given import solve_given
from sim_bridge.engine.contact.hybrid import HYBRID
from sim_bridge.engine.contact.listen import LISTEN
from sim_bridge.engine.contact.newton_stage import NEWTON, SHARE
from sim_bridge.engine.contact.refine import REFINE
from sim_bridge.engine.contact.stage import CONTACT
from sim_bridge.engine.contact.user_contacts import USER_CONTACTS
from sim_bridge.engine.data.collision_scratch import make_collision_scratch
from sim_bridge.engine.data.contact_materials import ContactMaterials, DIRECT, ITERATIVE, SPLIT
from sim_bridge.engine.data.contact_points import make_contacts
from sim_bridge.engine.data.contact_problem import ContactProblem, make_problem
from sim_bridge.engine.data.fields import Fields, no_fields, STAGE
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.listening import Listening, no_listening
from sim_bridge.engine.data.loops import (
    ALL_ROWS,
    Loops,
    LoopWork,
    make_loop_work,
    make_loops,
    RIGID_ROWS,
)
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.parts import make
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.user_contacts import make_user_contacts, UserContacts
from sim_bridge.engine.data.workspace import make_workspace, Workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.dynamics.actuators import ACTUATORS
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.dynamics.fields import FIELDS
from sim_bridge.engine.pipeline import configurations, frames, rigid_body
from sim_bridge.engine.pipeline.keep_momentum import MOMENTUM
from sim_bridge.engine.pipeline.observe import observe
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly
from sim_bridge.engine.pipeline.step import step
from sim_bridge.engine.pipeline.stored_energy import contact_energy, loop_energy
from sim_bridge.sensors.advance_worlds import advance_worlds, observe_worlds
from sim_bridge.sensors.measure import measure_surroundings
from sim_bridge.sensors.step_and_sample import advance
from sim_bridge.simulation.contact_search import ContactSearch
from sim_bridge.simulation.friction_calls import FrictionCalls
from sim_bridge.simulation.late_stages import compiled_stages
from sim_bridge.simulation.ray_search import RaySearch

_NEWTON_ROWS = 150  # rows in an island with robots and some objects, not in a pile
_NO_CONTACT_MATERIALS = make(ContactMaterials, {'materials': 0, 'laws': 0})


class SolverSettings(NamedTuple):
    """
    Limits for a contact solver.

    sweeps: largest number of sweeps. touching: gap below which geometries touch [m]. tolerance:
    natural-map residual accepted as a solution [m/s].
    """

    sweeps: int
    touching: float
    tolerance: float


_SOLVER_SETTINGS = {
    DIRECT: SolverSettings(sweeps=300, touching=1e-9, tolerance=1e-9),
    ITERATIVE: SolverSettings(sweeps=50, touching=1e-6, tolerance=1e-6),
    SPLIT: SolverSettings(sweeps=50, touching=1e-8, tolerance=1e-6),
}


class Observer(NamedTuple):
    """A handle for observations, and the arrays they write."""

    handle: Handle
    workspace: Workspace
    loop_work: LoopWork


class ContactHandles(NamedTuple):
    """A handle for steps, the solver's reports, and its queries."""

    probe: Handle
    problem: ContactProblem
    search: ContactSearch
    rays: RaySearch


class Probe(NamedTuple):
    """A handle for queries. pose: (ng, 12) the geometries' poses from `collision.probe`."""

    handle: Handle
    pose: np.ndarray


def make_options(
    time_step: float,
    solver: int = DIRECT,
    margin: float = 1e-4,
    *,
    sleeps: bool = False,
    is_smooth: bool = False,
    keeps_momentum: bool = False,
    iterations: int | None = None,
    budget: int | None = None,
) -> Options:
    """
    Return the engine's options for a time step [s].

    solver: contact solve type. margin: contact distance between geometries [m]. sleeps: whether
    any body may rest. is_smooth: whether smooth motion takes fifth-order steps. keeps_momentum:
    whether steps keep the free trees' momentum to rounding. iterations: largest number of
    sweeps, after which the iterative solver stops; None: the solver's usual number. budget:
    multiplications allowed for a contact island in a step; None: a bound that only jammed bodies
    exceed.
    """
    settings = _SOLVER_SETTINGS[solver]
    return Options(
        time_step=time_step,
        is_smooth=int(is_smooth),
        velocity_passes=2,
        max_pivots=100,
        solver=solver,
        touching=settings.touching,
        contact_tolerance=settings.tolerance,
        max_sweeps=iterations or settings.sweeps,
        newton_rows=0 if iterations else _NEWTON_ROWS,
        step_budget=budget or MOST_WORK,
        contact_margin=margin,
        detect=0,
        narrow=0,
        detect_convex=0,
        detect_surface=0,
        detect_hollow=0,
        detect_line=0,
        contact=0,
        refine=0,
        custom=0,
        hybrid=0,
        user_contacts=0,
        newton=0,
        share=0,
        actuators=0,
        loops=0,
        keeps_momentum=int(keeps_momentum),
        momentum=0,
        sleeps=int(sleeps),
    )


def needed_stages(
    model: Model,
    options: Options,
    geometry: Geometry,
    contact_materials: ContactMaterials,
    loops: Loops,
    user_contacts: UserContacts,
) -> dict[str, Stage]:
    """Return the stages for these parts, by option."""
    needs = find_needs(geometry)
    has_user_contacts = len(user_contacts.law) > 0
    can_touch, has_types = needs.any or has_user_contacts, (contact_materials.solver >= 0).any()
    stages = {'loops': LOOPS} if loops.size[ALL_ROWS] > 0 else {}
    stages |= {'actuators': ACTUATORS} if len(model.actuator) else {}
    stages |= {'momentum': MOMENTUM} if options.keeps_momentum != 0 else {}
    stages |= {'detect': DETECT, 'narrow': NARROW, 'contact': CONTACT} if can_touch else {}
    stages |= refining_stages(contact_materials) if can_touch else {}
    stages |= {'user_contacts': USER_CONTACTS} if has_user_contacts else {}
    stages |= {'hybrid': HYBRID} if can_touch and has_types else {}
    stages |= {'newton': NEWTON} if can_touch else {}
    is_direct = options.solver != ITERATIVE or options.newton_rows > 0 or has_types
    stages |= {'share': SHARE} if can_touch and is_direct else {}
    stages |= {'detect_convex': DETECT_CONVEX} if needs.convex else {}
    stages |= {'detect_surface': DETECT_SURFACE} if needs.surface else {}
    stages |= {'detect_hollow': DETECT_HOLLOW} if needs.hollow else {}
    stages |= {'detect_line': DETECT_LINE} if needs.line else {}
    return stages


def refining_stages(contact_materials: ContactMaterials) -> dict[str, Stage]:
    """Return the stages completing contact laws, if any law needs them."""
    return {'refine': REFINE} if contact_materials.refine.any() else {}


def with_stages(options: Options, stages: dict[str, Stage]) -> Options:
    """Add the stages' addresses; this compiles them."""
    return options._replace(**{field: stage.address for field, stage in stages.items()})


def switched_units() -> list[Unit]:
    """Return the additional units for changed settings in a running simulation."""
    return [NEWTON.unit, SHARE.unit, step_smoothly.unit, MOMENTUM.unit]


def all_units() -> list[Unit]:
    """Return all simulation units, longest compilation first."""
    stages = [
        DETECT_HOLLOW,
        DETECT_SURFACE,
        LOOPS,
        CONTACT,
        DETECT_CONVEX,
        NARROW,
        NEWTON,
        DETECT,
        DETECT_LINE,
        SHARE,
        REFINE,
        HYBRID,
        USER_CONTACTS,
        MOMENTUM,
        ACTUATORS,
        FIELDS,
        LISTEN,
    ]
    entries = [
        measure_hollow_pairs,
        step,
        step_smoothly,
        measure_pairs,
        observe,
        measure_convex_pairs,
        solve_given,
        locate,
        advance,
        advance_worlds,
        observe_worlds,
        energy,
        momentum,
        contact_energy,
        loop_energy,
        run_stage,
        search_near,
        search_pairs,
        mark_collidable,
        constraint_rows,
        current_dynamics,
        current_laws,
        current_response,
        current_efforts,
        force_rows,
        cast_nearest,
        cast_all,
        measure_surroundings,
        bound,
    ]
    entries += [
        each
        for module in (rigid_body, frames, configurations)
        for each in vars(module).values()
        if isinstance(each, Entry) and each not in entries
    ]
    return [*(stage.unit for stage in stages), *(entry.unit for entry in entries)]


def make_probe(model: Model, state: State, geometry: Geometry) -> Probe:
    """Make a handle for all queries without a step."""
    room, loops = len(state.contact_gap), make_loops([], model)
    scratch = make_collision_scratch(geometry, room, 0)
    handle = Handle(
        model,
        make_options(0.0),
        state,
        make_workspace(model),
        geometry,
        _NO_CONTACT_MATERIALS,
        scratch,
        make_contacts(room),
        *make_problem(model, room, 0),
        loops,
        make_loop_work(model, loops),
        no_fields(),
        no_listening(),
        make_user_contacts(0),
    )
    return Probe(handle, scratch.pose)


def make_observer(
    model: Model, options: Options, state: State, loops: Loops, fields: Fields
) -> Observer:
    """Make a handle for everything except contacts; the arrays given are used in place."""
    workspace, geometry = make_workspace(model, bool(loops.size[ALL_ROWS])), build_geometry([])
    nothing = make_user_contacts(0)
    options = options._replace(keeps_momentum=0)  # for steps only
    options = with_stages(
        options, needed_stages(model, options, geometry, _NO_CONTACT_MATERIALS, loops, nothing)
    )
    work = make_loop_work(model, loops)
    handle = Handle(
        model,
        options,
        state,
        workspace,
        geometry,
        _NO_CONTACT_MATERIALS,
        make_collision_scratch(geometry, 0, 0),
        make_contacts(0),
        *make_problem(model, 0, 0),
        loops,
        work,
        fields,
        no_listening(),
        nothing,
    )
    return Observer(handle, workspace, work)


def make_contact_handles(
    model: Model,
    options: Options,
    state: State,
    geometry: Geometry,
    contact_materials: ContactMaterials,
    loops: Loops,
    fields: Fields,
    listening: Listening,
    user_contacts: UserContacts,
) -> ContactHandles:
    """Make the scratch memory for contacts and loops; the arrays given are used in place."""
    room = len(state.contact_gap)
    scratch, contacts = make_collision_scratch(geometry, room), make_contacts(room)
    compliant = int(loops.size[ALL_ROWS] - loops.size[RIGID_ROWS])
    problem = make_problem(
        model, room, 6 * room, loops.body.tolist(), compliant, len(loops.axis_joint)
    )
    workspace = make_workspace(model, bool(loops.size[ALL_ROWS]))
    probe = Handle(
        model,
        options,
        state,
        workspace,
        geometry,
        contact_materials,
        scratch,
        contacts,
        *problem,
        loops,
        make_loop_work(model, loops),
        fields,
        listening,
        user_contacts,
    )
    return ContactHandles(probe, problem, ContactSearch(probe), RaySearch(probe))


def stages_of(probe: Handle) -> dict[str, Stage]:
    """Return the stages for steps with a handle from `make_contact_handles`."""
    return needed_stages(
        probe.part(Model),
        probe.part(Options),
        probe.part(Geometry),
        probe.part(ContactMaterials),
        probe.part(Loops),
        probe.part(UserContacts),
    )


def stepping_units(probe: Handle, stages: dict[str, Stage]) -> list[Unit]:
    """Return the units to compile for steps with a handle and these stages."""
    calls = ((probe.part(Fields).call, FIELDS), (probe.part(Listening).call, LISTEN))
    more = [stage.unit for call, stage in calls if call[STAGE] != 0]
    return [*(stage.unit for stage in stages.values()), *more, step.unit, advance.unit]


def make_stepping_handle(probe: Handle, friction: FrictionCalls | None = None) -> Handle:
    """
    Return the stepping handle for a handle without stages; compiles the early stages.

    friction: friction functions; they read this handle.
    """
    options, loops = probe.part(Options), probe.part(Loops)
    stages = compiled_stages(stages_of(probe))
    workspace = make_workspace(probe.part(Model), bool(loops.size[ALL_ROWS]))
    handle = probe.replaced(_with_calls(with_stages(options, stages), friction), workspace)
    if friction is not None:
        friction.bind(handle)
    return handle


def _with_calls(options: Options, friction: FrictionCalls | None) -> Options:
    return options if friction is None else options._replace(custom=friction.address)
