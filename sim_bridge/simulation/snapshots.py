"""Save, restore and hash everything that decides a simulation's future."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
import hashlib
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.model import Inertial
from sim_bridge.engine.data.geometry import SENSOR
from sim_bridge.engine.data.model import FREE, FREE_SINGLE
from sim_bridge.engine.data.parts import parameters, rows_of
from sim_bridge.engine.data.state import State
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import instance_of
from sim_bridge.shapes.material_table import SavedTable
from sim_bridge.simulation.applied_forces import SavedForces
from sim_bridge.simulation.assembly import contact_room, present_state, restore_state
from sim_bridge.simulation.change import finished
from sim_bridge.simulation.exclusions import LinkPair
from sim_bridge.simulation.force_fields import SavedFields
from sim_bridge.simulation.link_mass import weigh
from sim_bridge.simulation.settings import Settings
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.sleeping import OwnSleep
from sim_bridge.simulation.slots import GeometryPlace, LinkMedium
from sim_bridge.simulation.staleness import (
    APPLIED,
    GEOMETRY,
    JOINT_VELOCITIES,
    MEDIUM,
    PUSHES,
    SLEEP,
    STEPPER,
)


class UserSettings(NamedTuple):
    """
    User settings beside the arrays.

    materials, groups: saved tables. members: for each geometry its groups, whether it weighs, and
    its pose on the link. separated: link pairs excluded from contact; apart: geometry pairs, by
    number. media, inertials: for each link. joints: result from `_joint_settings`. run: the
    world's settings. sleeps: when each robot falls asleep. fields: force fields. applied: saved
    `AppliedForces`.
    """

    materials: SavedTable
    groups: frozenset[frozenset[str]]
    members: tuple[tuple[frozenset[str], bool, GeometryPlace], ...]
    separated: tuple[LinkPair, ...]
    media: tuple[LinkMedium, ...]
    inertials: tuple[Inertial | None, ...]
    joints: tuple[bool, list[Any]]
    run: Settings
    sleeps: tuple[OwnSleep, ...]
    apart: tuple[frozenset[int], ...]
    fields: SavedFields
    applied: SavedForces


class Snapshot(NamedTuple):
    """
    Everything that decides a world's future; made by `World.save`. It can be pickled.

    time_step_ns: the world's time step. census: the robots' names and numbers. parameters:
    changeable arrays beside the state. devices: saved devices. structure: arrays depending on
    robots and joints alone. settings: user settings beside the arrays.
    """

    step_count: int
    time_step_ns: int
    census: tuple[tuple[str, int], ...]
    state: State
    parameters: list[np.ndarray]
    devices: list[Any]
    structure: list[np.ndarray]
    settings: UserSettings

    def __repr__(self) -> str:
        """Show the step and the robots."""
        names = [name for name, _ in self.census]
        robots = ', '.join(names[:5]) + (', …' if len(names) > 5 else '')
        who = f'{counted(len(names), "robot")}{f" ({robots})" if robots else ""}'
        return f'<Snapshot at step {self.step_count}: {who}>'


def save(simulation: Simulation) -> Snapshot:
    """Return a snapshot for `restore`, exact to the bit."""
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    return Snapshot(
        simulation.run.step_count,
        simulation.run.time_step_ns,
        simulation.registry.census(),
        present_state(simulation.cache.state),
        [array.copy() for array in _parameters(simulation)],
        [device.save() for device in simulation.cache.devices],
        _structure(simulation),
        _settings(simulation),
    )


def restore(simulation: Simulation, snapshot: Snapshot) -> None:
    """Return to a snapshot; raises InvalidValueError if robots or joints have changed."""
    _check_kind(simulation, snapshot)
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    _check(simulation, snapshot)
    finished(partial(_restore, simulation, snapshot))


def _restore(simulation: Simulation, snapshot: Snapshot) -> None:
    # the snapshot replaces these forces: without this the refresh below would compute them
    simulation.staleness.mark_pending(APPLIED, False)
    simulation.cache.applied.clear()
    _restore_settings(simulation, snapshot.settings)
    # these wake all sleepers, so the state comes last
    simulation.cache.make_room(contact_room(snapshot.state))
    simulation.run.step_count = snapshot.step_count
    restore_state(snapshot.state, simulation.cache.state)
    # disabled bodies belong to the state
    simulation.staleness.mark(SLEEP)
    simulation.cache.settle()
    sensors = simulation.cache.geometry.flags & SENSOR
    for array, saved in zip(_parameters(simulation), snapshot.parameters, strict=True):
        array[:] = saved
    for geometry in simulation.registry.geometries:
        geometry.fit(simulation.cache.geometry)
    simulation.cache.contacts.look_anew()
    if not np.array_equal(sensors, simulation.cache.geometry.flags & SENSOR):
        # static ones may need other stages
        simulation.staleness.mark(STEPPER)
    simulation.staleness.mark_pending(PUSHES, bool(simulation.cache.state.wrench.any()))
    simulation.staleness.forget_observations()
    for device, values in zip(simulation.cache.devices, snapshot.devices, strict=True):
        device.restore(values)


HASH_VERSION = 4
"""Version number in the `state_hash` input; increased when equal worlds get other hashes."""


def state_hash(simulation: Simulation) -> str:
    """Return a SHA-256 of everything that decides the future: equal hashes, equal futures."""
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    digest, model = hashlib.sha256(), simulation.cache.model
    contact_materials = simulation.cache.contact_materials
    laws = contact_materials.law[contact_materials.pair]
    is_plain = not contact_materials.refine.any() and (contact_materials.solver < 0).all()
    refined = (
        [] if is_plain else [array[contact_materials.pair] for array in contact_materials[2:]]
    )
    # Whether any body may rest follows from the others. Stage addresses are all 0 here; those
    # later ones are left out, since bags hold hashes.
    options = simulation.run.options._replace(sleeps=0)._asdict()
    origin = simulation.run.settings.origin
    del options['narrow'], options['detect_line'], options['actuators']
    # all these follow from the integrator
    del options['keeps_momentum'], options['momentum'], options['newton_rows']
    _digest_into(
        [
            simulation.run.step_count,
            simulation.run.settings.integrator,
            *options.values(),
            *_hashed_state(present_state(simulation.cache.state)),
            *_hashed_parameters(simulation),
            *_structure(simulation),
            _joint_settings(simulation),
            model.medium_body,
            model.medium,
            model.sleep,
            simulation.cache.geometry.excluded,
            laws,
            *refined,
            [device.digest() for device in simulation.cache.devices],
            *([] if origin is None else [astuple(origin)]),
            *simulation.registry.fields.digest(simulation.cache.fields[0]),
        ],
        digest,
    )
    return digest.hexdigest()


def _parameters(simulation: Simulation) -> list[np.ndarray]:
    """List the changeable arrays beside the state."""
    parts = simulation.cache.model, simulation.cache.geometry, simulation.cache.loops
    return [array for part in parts for array in parameters(part).values()]


def _hashed_parameters(simulation: Simulation) -> list[np.ndarray]:
    """List the changeable arrays for `state_hash`, without empty ones of actuators."""
    arrays = _parameters(simulation)
    if len(simulation.cache.model.actuator):
        return arrays
    law = simulation.cache.model.actuator_law
    return [array for array in arrays if array is not law]


def _hashed_state(state: State) -> list[np.ndarray]:
    """List the state's arrays likewise, so that hashes in older bags stay valid."""
    along = rows_of(State)
    return [
        array
        for name, array in state._asdict().items()
        if along.get(name) != 'nu' or len(array) > 0
    ]


def _structure(simulation: Simulation) -> list[np.ndarray]:
    """
    List the arrays depending on robots, their motion types and their joints alone.

    A snapshot fits a simulation with equal structure.
    """
    model, loops, geometry = (
        simulation.cache.model,
        simulation.cache.loops,
        simulation.cache.geometry,
    )
    # how a single body is integrated depends on the medium around it
    kind = np.where(model.kind == FREE_SINGLE, FREE, model.kind)
    actuators = [model.actuator, model.actuated, model.actuator_joints, model.actuator_body]
    return [
        *(actuators if len(model.actuator) else ()),
        model.parent,
        kind,
        loops.body,
        loops.frame,
        loops.axis_kind,
        loops.axis_vector,
        geometry.body,
        geometry.shape,
        geometry.size,
    ]


def _check_kind(simulation: Simulation, snapshot: object) -> None:
    """Raise InvalidValueError if an object is not a snapshot, or has another time step."""
    snapshot = instance_of('snapshot', snapshot, Snapshot, 'a Snapshot, which World.save returns')
    if snapshot.time_step_ns != simulation.run.time_step_ns:
        raise InvalidValueError(
            'snapshot',
            f'of a world with a time step of {snapshot.time_step_ns * 1e-9:.9g} s',
            f'one of a world with the same time step, {simulation.run.time_step:.9g} s',
        )


def _check(simulation: Simulation, snapshot: Snapshot) -> None:
    """Raise InvalidValueError for a snapshot with other robots or other motion types."""
    if snapshot.census != simulation.registry.census():
        then = ', '.join(name for name, _ in snapshot.census) or 'none'
        now = ', '.join(simulation.registry.slots) or 'none'
        raise InvalidValueError(
            'snapshot',
            f'of robots {then}',
            f'one taken since robots were last added or removed; there are now: {now}',
        )
    structure = _structure(simulation)
    fits = len(structure) == len(snapshot.structure) and all(
        map(np.array_equal, structure, snapshot.structure)
    )
    shapes = [array.shape for array in _parameters(simulation)]
    if not fits or shapes != [array.shape for array in snapshot.parameters]:
        raise InvalidValueError(
            'snapshot',
            f'of step {snapshot.step_count}',
            'one of this world as it is: the same robots, of the same `motion`, and the same '
            'geometries and joints',
        )


def _settings(simulation: Simulation) -> UserSettings:
    """Return the user settings beside the arrays: materials, filters, media and joints."""
    return UserSettings(
        simulation.registry.materials.save(),
        simulation.registry.groups.save(),
        tuple(
            (geometry.groups, geometry.weighs, geometry.place)
            for geometry in simulation.registry.geometries
        ),
        tuple(simulation.registry.exclusions.links),
        tuple(link.medium for link in simulation.registry.links),
        tuple(link.inertial for link in simulation.registry.links),
        _joint_settings(simulation),
        simulation.run.settings,
        tuple(slot.sleep for slot in simulation.registry.slots.values()),
        tuple(
            frozenset(geometry.index for geometry in pair)
            for pair in simulation.registry.exclusions.geometries
        ),
        simulation.registry.fields.save(),
        simulation.cache.last_applied.save(simulation.registry.links),
    )


def _joint_settings(simulation: Simulation) -> tuple[bool, list[Any]]:
    """Return whether new constraints must still change velocities, and each joint's softness."""
    joints = simulation.registry.constraints.values()
    has_new_joints = bool(joints) and bool(simulation.staleness.flags & JOINT_VELOCITIES)
    return has_new_joints, [joint.softness for joint in joints]


def _restore_settings(simulation: Simulation, saved: UserSettings) -> None:
    """Restore the settings returned by `_settings`."""
    (
        materials,
        groups,
        members,
        separated,
        media,
        inertials,
        joints,
        run,
        sleeps,
        apart,
        fields,
        applied,
    ) = saved
    for slot, sleep in zip(simulation.registry.slots.values(), sleeps, strict=True):
        slot.sleep = sleep
    simulation.configure(run)
    simulation.staleness.mark(SLEEP)
    simulation.cache.settle()
    simulation.registry.materials.restore(materials)
    simulation.registry.groups.restore(groups)
    geometries = simulation.registry.geometries
    for geometry, (names, weighs, place) in zip(geometries, members, strict=True):
        geometry.weighs = weighs
        if geometry.place != place:
            geometry.link.robot.change_geometry(geometry.number, place)
        if geometry.groups != names:
            geometry.groups = names
            simulation.registry.regroup()
    pairs = [frozenset(geometries[number] for number in pair) for pair in apart]
    if simulation.registry.exclusions.replace(separated, pairs):
        simulation.staleness.mark(GEOMETRY)
    for link, medium, inertial in zip(simulation.registry.links, media, inertials, strict=True):
        link.medium = medium
        if link.inertial is not inertial:
            weigh(simulation.staleness, link, inertial)
    simulation.staleness.mark(MEDIUM)
    has_new_joints, softnesses = joints
    for joint, softness in zip(simulation.registry.constraints.values(), softnesses, strict=True):
        if joint.softness != softness:
            joint.softness = softness
    simulation.staleness.mark_pending(JOINT_VELOCITIES, has_new_joints)
    registry = simulation.registry
    if fields != registry.fields.save():
        registry.set_fields(registry.fields.placed_as(fields, registry.slots), fields.gravity)
    simulation.cache.last_applied.restore(simulation.registry.links, applied)


def _digest_into(value: Any, digest: Any) -> None:
    """Feed a nested value to a hash, arrays by all their bits."""
    if isinstance(value, np.ndarray):
        digest.update(value.tobytes())
    elif isinstance(value, dict):
        _digest_into([item for key in sorted(value) for item in (key, value[key])], digest)
    elif isinstance(value, (list, tuple)):
        digest.update(str(len(value)).encode())
        for item in value:
            _digest_into(item, digest)
    else:
        digest.update(repr(value).encode())
