"""
A world as plain data, for copies and pickles, and its reconstruction.

The record contains the world's settings, the compiled robots, the joints between robots, and
a snapshot of everything that decides the future. Engine arrays and prepared calls are not part of
the record; they follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import pickle
from typing import NamedTuple

import numpy as np

from sim_bridge.compilation.collisions import Collisions
from sim_bridge.compilation.compile import Blueprint
from sim_bridge.compilation.exclusions import Pairs
from sim_bridge.description.force_fields import DeclaredField, name_of
from sim_bridge.description.model import RobotDescription
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.spec import JointSpec
from sim_bridge.robots.owners import Link, World
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.material_table import SavedTable
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.force_fields import SavedFields
from sim_bridge.simulation.part import Part
from sim_bridge.simulation.settings import Settings
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.world.contact_events import ListenerRecord, WorldListeners
from sim_bridge.world.joint_groups import JointGroups
from sim_bridge.world.openplx_scenes import OpenPlxScenes
from sim_bridge.world.owners import SceneRecord
from sim_bridge.world.robot_registry import RobotRegistry
from sim_bridge.world.spanning_tree import SpanningTree
from sim_bridge.world.step_hooks import HookedSteps, HookRecord

_LinkName = tuple[str, str]
"""Robot name and link name."""


class RobotRecord(NamedTuple):
    """A robot: its slot's attributes. loop_joints: keys among the constraints, by name."""

    name: str
    number: int
    description: RobotDescription
    blueprint: Blueprint
    collisions: Collisions
    carrier: _LinkName | None
    initial: Part
    added: Part
    known_excluded: Pairs | None
    loop_joints: Mapping[str, str]


class JointRecord(NamedTuple):
    """A joint between robots. spec: without its links. first, second: links; None: the world."""

    spec: JointSpec
    first: _LinkName | None
    second: _LinkName | None


class WorldRecord(NamedTuple):
    """
    A world.

    mounted: joints carrying bases, and whether the second link is the child. constraints: the
    other joints by key, and the positions for `restart`. admitted: number of robots ever added.
    last_numbers: last numbers used for default names. worst: largest figures in step reports.
    openplx: OpenPLX scenes. joint_groups: joint names by group name. hooks, listeners: Python
    functions.
    """

    settings: Settings
    robots: tuple[RobotRecord, ...]
    mounted: tuple[tuple[JointRecord, bool], ...]
    constraints: Mapping[str, tuple[JointRecord, np.ndarray]]
    admitted: int
    last_numbers: Mapping[str, int]
    worst: np.ndarray
    snapshot: Snapshot
    openplx: tuple[SceneRecord, ...]
    joint_groups: Mapping[str, Sequence[str]]
    hooks: tuple[HookRecord, ...]
    listeners: tuple[ListenerRecord, ...]


class WorldParts(NamedTuple):
    """World parts with a record."""

    simulation: Simulation
    tree: SpanningTree
    registry: RobotRegistry
    loader: OpenPlxScenes
    joint_groups: JointGroups
    hooks: HookedSteps
    listeners: WorldListeners

    @property
    def functions(self) -> list[tuple[str, object]]:
        """Python functions acting on the world, each with its role."""
        return functions_of(
            self.simulation.registry.materials.save(),
            self.simulation.registry.fields.save(),
            self.hooks.records(),
            self.listeners.records(),
        )


def record_of(parts: WorldParts) -> WorldRecord:
    """Return a world's record; constant data are shared, other data copied."""
    simulation, tree, registry, loader, joint_groups, hooks, listeners = parts
    return WorldRecord(
        simulation.run.settings,
        tuple(map(_robot_record, registry.robots.values())),
        tuple(
            (_joint_record(backend.spec), backend.by_second) for backend in tree.mounted.values()
        ),
        {
            key: (_joint_record(backend.spec), backend.start)
            for key, backend in simulation.registry.constraints.items()
        },
        simulation.registry.admitted,
        dict(registry.last_numbers),
        simulation.cache.worst.copy(),
        snapshots.save(simulation),
        tuple(each.record for each in loader.scenes.values()),
        joint_groups.records(),
        hooks.records(),
        listeners.records(),
    )


def with_seed(record: WorldRecord, seed: int) -> WorldRecord:
    """Return a record of the same world with another sensor noise seed."""
    snapshot, settings = record.snapshot, record.snapshot.settings
    return record._replace(
        settings=record.settings._replace(seed=seed),
        snapshot=snapshot._replace(
            settings=settings._replace(run=settings.run._replace(seed=seed))
        ),
    )


def restore_record(record: WorldRecord, world: World, parts: WorldParts) -> None:
    """Add a record's contents to an empty world with the given parts."""
    simulation, tree, registry, loader, joint_groups, hooks, listeners = parts
    simulation.registry.materials.restore(record.snapshot.settings.materials)
    for each in record.robots:
        slot = RobotSlot(each.name, each.description, each.blueprint, each.collisions)
        slot.initial, slot.added = each.initial, each.added
        slot.known_excluded = each.known_excluded
        registry.admit(Robot(world, simulation, slot))
        slot.number = each.number
    for each in record.robots:
        if each.carrier is not None:
            robot, link = each.carrier
            slots = simulation.registry.slots
            slots[each.name].carrier = slots[robot].link(link)
    for joint, by_second in record.mounted:
        tree.restore_mounted(_spec_of(joint, registry), by_second)
    for key, (joint, start) in record.constraints.items():
        tree.constrain(key, _spec_of(joint, registry), start)
    for each in record.robots:
        registry.robots[each.name].loop_joints.update(
            {
                name: simulation.registry.constraints[key].joint
                for name, key in each.loop_joints.items()
            }
        )
    simulation.registry.admitted = record.admitted
    registry.last_numbers.update(record.last_numbers)
    simulation.cache.worst[:] = record.worst
    loader.restore(record.openplx)
    snapshots.restore(simulation, record.snapshot)
    joint_groups.restore(record.joint_groups)
    hooks.restore(record.hooks)
    listeners.restore(record.listeners)


def functions_of(
    materials: SavedTable,
    fields: SavedFields,
    hooks: Iterable[HookRecord],
    listeners: Iterable[ListenerRecord],
) -> list[tuple[str, object]]:
    """Return the Python functions of a world, each with its role."""
    found: list[tuple[str, object]] = [
        (f'force field {placed.name!r}', placed.field)
        for placed in fields.placed
        if not isinstance(placed.field, DeclaredField)
    ]
    if fields.gravity is not None:
        found.append(('gravity', fields.gravity))
    found += [
        (f'friction of {a!r} on {b!r}', contact.friction_model)
        for (a, b), contact in materials[1].items()
        if callable(contact.friction_model)
    ]
    found += [(f'{hook.when}_step', hook.function) for hook in hooks]
    return found + [('on_contact', each.function) for each in listeners]


def check_picklable(record: WorldRecord) -> None:
    """Raise StateError for a function that cannot be pickled, with its name."""
    settings = record.snapshot.settings
    functions = functions_of(settings.materials, settings.fields, record.hooks, record.listeners)
    for what, function in functions:
        try:
            pickle.dumps(function)
        except Exception as err:
            raise StateError(
                f'a world with the function {name_of(function)} ({what}) cannot be pickled: '
                f'{err}. Use a function at the top level of a module, or remove it'
            ) from err


def _robot_record(robot: Robot) -> RobotRecord:
    slot = robot.slot
    carrier = None if slot.carrier is None else (slot.carrier.robot.name, slot.carrier.name)
    return RobotRecord(
        slot.name,
        slot.number,
        slot.description,
        slot.blueprint,
        slot.collisions,
        carrier,
        slot.initial,
        slot.added,
        slot.known_excluded,
        {name: str(joint.key) for name, joint in robot.loop_joints.items()},
    )


def _joint_record(spec: JointSpec) -> JointRecord:
    without_links = replace(
        spec, first=spec.first._replace(link=None), second=spec.second._replace(link=None)
    )
    return JointRecord(without_links, _name_of(spec.first.link), _name_of(spec.second.link))


def _spec_of(record: JointRecord, registry: RobotRegistry) -> JointSpec:
    """Return the specification with links in another world."""

    def find(name: _LinkName | None) -> Link | None:
        return None if name is None else registry.robots[name[0]].link(name[1])

    spec = record.spec
    return replace(
        spec,
        first=spec.first._replace(link=find(record.first)),
        second=spec.second._replace(link=find(record.second)),
    )


def _name_of(link: Link | None) -> _LinkName | None:
    return None if link is None else (link.robot.slot.name, link.name)
