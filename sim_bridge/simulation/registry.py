"""A simulation's members: robots, constraints, excluded pairs, materials, fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sim_bridge.description.gravity import GravityFunction
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.simulation.change import Undo
from sim_bridge.simulation.constraint import Constraint
from sim_bridge.simulation.contact_listeners import ContactListeners, Listener
from sim_bridge.simulation.exclusions import Exclusions
from sim_bridge.simulation.force_fields import ForceFields, Placement
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.run import Run
from sim_bridge.simulation.slots import body_of_direction, GeometrySlot, LinkSlot, RobotSlot
from sim_bridge.simulation.staleness import (
    closure,
    CONNECTION,
    CONTACT_MATERIALS,
    CONTACTS,
    GEOMETRY,
    GROUPS,
    JOINT_VELOCITIES,
    LOOP_FORCES,
    MEDIUM,
    PAIRS,
    PARTS,
    REST,
    Staleness,
)


class Registry:
    """
    A simulation's members; their order decides the array order.

    slots: robots by name. constraints: joints outside the trees by key. exclusions: pairs that do
    not touch. admitted: number of robots ever added.
    """

    def __init__(self, run: Run, staleness: Staleness, calls: PythonCalls) -> None:
        """Begin empty."""
        self._staleness = staleness
        self.slots: dict[str, RobotSlot] = {}
        self.constraints: dict[str, Constraint] = {}
        self.exclusions = Exclusions()
        self.materials = MaterialTable(
            partial(staleness.mark, CONTACT_MATERIALS),
            partial(body_of_direction, self.slots),
            lambda: (run.settings.erp, run.settings.cfm),
        )
        self.groups = CollisionGroups(self.regroup)
        self.fields = ForceFields(calls)
        self.listeners = ContactListeners(calls)
        self.admitted = 0

    @property
    def links(self) -> list[LinkSlot]:
        """All robots' links, in order."""
        return [link for slot in self.slots.values() for link in slot.links]

    @property
    def geometries(self) -> list[GeometrySlot]:
        """All geometries, in the engine's order."""
        return [geometry for slot in self.slots.values() for geometry in slot.geometries]

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return names and numbers: a robot added later under an old name has another number."""
        return tuple((slot.name, slot.number) for slot in self.slots.values())

    def admit(self, slot: RobotSlot) -> None:
        """Add a robot with an unused name."""
        self.slots[slot.name] = slot
        self.admitted += 1
        slot.number = self.admitted
        self._staleness.mark(PARTS)

    def expel(self, slot: RobotSlot) -> None:
        """Remove a robot held by no joint; the others keep their order."""
        self.exclusions.forget_geometries(slot.geometries)
        self.fields.forget(slot.links)
        self.listeners.forget(slot.geometries)
        del self.slots[slot.name]
        self._staleness.mark(PARTS)

    def reconnect_joints(self) -> None:
        """Handle added, changed or removed constraints."""
        self._staleness.mark(PARTS | LOOP_FORCES | JOINT_VELOCITIES)

    def separate(self, a: LinkSlot, b: LinkSlot, is_separate: bool = True) -> None:
        """Exclude contact between two links, with everything fixed to them, or allow it again."""
        with Undo(self.exclusions.links, self.exclusions.geometries):
            self.exclusions.set_links(a, b, is_separate)
            self._staleness.mark(GEOMETRY)

    def keep_apart(self, a: GeometrySlot, b: GeometrySlot, is_separate: bool) -> None:
        """Exclude contact between two geometries, or allow it again."""
        with Undo(self.exclusions.links, self.exclusions.geometries):
            self.exclusions.set_geometries(a, b, is_separate)
            self._staleness.mark(GEOMETRY)

    def set_fields(self, placed: Mapping[str, Placement], gravity: GravityFunction | None) -> None:
        """Set the force fields by name, and the gravity function, None for uniform gravity."""
        fields, staleness = self.fields, self._staleness
        stale = closure(CONNECTION | MEDIUM | REST | PAIRS)
        new = dict(placed), gravity, fields.calls_python(placed, gravity), staleness.flags | stale
        fields.placed, fields.gravity, fields.has_functions, staleness.flags = new

    def regroup(self) -> None:
        """Handle changed collision groups; raises InvalidValueError for too many."""
        self.groups.bits(geometry.groups for geometry in self.geometries)
        self._staleness.mark(GROUPS)

    def stop_listening(self, listener: Listener) -> None:
        """Remove a contact listener, if it is there."""
        if listener in self.listeners.listeners:
            self.listeners.listeners.remove(listener)
            self._staleness.flags |= CONTACTS
