"""
Staleness: which results each field makes stale, and the one way to write a field.

A *field* is an array, or an attribute of a slot, that users can change while a world runs. A
*result* is computed from fields: joined arrays, handles, calls, observations. `FIELDS` declares
the results that a change of each field makes stale, `_DEPENDENTS` the results computed from each
result. Nothing else decides which flag a write raises.

`Staleness.write` and `Staleness.set` write and mark in one line of bytecode stores, so that no
interrupt comes between. `cache.Cache` recomputes stale results when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import auto, IntFlag
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.loops import AxisValues, Loops
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.state import ASLEEP, State
from sim_bridge.simulation.run import Run
from sim_bridge.simulation.slots import GeometrySlot, LinkSlot, RobotSlot
from sim_bridge.simulation.thread_guard import ThreadGuard


class Stale(IntFlag):
    """A simulation's results, stale or not, and pending effects."""

    PARTS = auto()
    """Joined robot and joint arrays: some were added, removed or compiled again."""
    MEDIUM = auto()
    """Media and pulled masses in the model: link masses or media have changed."""
    SLEEP = auto()
    """The bodies' sleep thresholds, and whether any body may rest."""
    CONNECTION = auto()
    """Observer's handle and force-field arrays: model, state or fields were replaced."""
    REST = auto()
    """Sleeping bodies: all wake after a changed parameter."""
    GEOMETRY = auto()
    """Geometry arrays: geometries or excluded pairs were added or removed."""
    CONTACT_MATERIALS = auto()
    """Contact laws between materials."""
    GROUPS = auto()
    """Collision groups in the arrays for geometries and contact listeners."""
    CONTACTS = auto()
    """Handles for contacts: arrays were replaced."""
    PAIRS = auto()
    """Kept pairs of near geometries: geometries or parameters have changed."""
    OBSERVER = auto()
    """The observer's prepared call: arrays were replaced."""
    STEPPER = auto()
    """The step's prepared call: arrays were replaced."""
    OBSERVATION = auto()
    """Observed sites and the observer's workspace."""
    INITIAL = auto()
    """Joined state for `reset`."""
    LOOP_FORCES = auto()
    """The last step's constraint forces: the constraints have changed."""
    JOINT_VELOCITIES = auto()
    """Velocities: some are not allowed by new constraints."""
    PUSHES = auto()
    """Pending: external wrenches and user contacts for the next step."""
    APPLIED = auto()
    """Pending: the last step's applied forces are in its workspace, not yet read."""


# plain integers: operations on flags are slow
(
    PARTS,
    MEDIUM,
    SLEEP,
    CONNECTION,
    REST,
    GEOMETRY,
    CONTACT_MATERIALS,
    GROUPS,
    CONTACTS,
    PAIRS,
    OBSERVER,
    STEPPER,
    OBSERVATION,
    INITIAL,
    LOOP_FORCES,
    JOINT_VELOCITIES,
    PUSHES,
    APPLIED,
) = (each.value for each in Stale)

_DEPENDENTS: Mapping[int, int] = MappingProxyType(
    {
        PARTS: SLEEP | CONNECTION | GEOMETRY | INITIAL | OBSERVATION,
        CONNECTION: OBSERVER | CONTACTS | OBSERVATION,
        GEOMETRY: CONTACTS,
        CONTACT_MATERIALS: CONTACTS,
        GROUPS: PAIRS | REST,
        CONTACTS: STEPPER,
        OBSERVER: STEPPER,
    }
)
"""Results computed from a result, stale with it."""


def closure(stale: int) -> int:
    """Return flags with the flags for all results computed from them."""
    before = 0
    while stale != before:
        before = stale
        for result, dependents in _DEPENDENTS.items():
            if stale & result:
                stale |= dependents
    return stale


ROBOT_ARRAYS = PARTS | MEDIUM | SLEEP | CONNECTION | REST
ALL_ARRAYS = ROBOT_ARRAYS | GEOMETRY | CONTACT_MATERIALS | GROUPS | CONTACTS | PAIRS
# geometry values do not depend on sleeping bodies and kept pairs
GEOMETRY_ARRAYS = ALL_ARRAYS & ~(REST | PAIRS)
TO_OBSERVE = ROBOT_ARRAYS | OBSERVER | OBSERVATION
TO_STEP = ALL_ARRAYS | OBSERVER | STEPPER | JOINT_VELOCITIES
AT_FIRST = sum(each.value for each in Stale) & ~(REST | JOINT_VELOCITIES | PUSHES | APPLIED)
"""Stale results in a new simulation."""

# changed parameters: bodies wake, pairs are searched again
_PARAMETER = OBSERVATION | PAIRS | REST
# compared by the observer and by steps with the values used last
_COMPARED = 0

_DECLARED: Mapping[type, Mapping[str, int]] = MappingProxyType(
    {
        Model: {
            'frame': _PARAMETER,
            'inertia': MEDIUM | _PARAMETER,
            'passive': _PARAMETER,
            'limits': _PARAMETER,
            'motor': _PARAMETER,
            'stop': _PARAMETER,
            'actuator_law': _PARAMETER,
            'gravity': _PARAMETER,
        },
        State: {
            'q': _COMPARED,
            'v': _COMPARED,
            'u': _COMPARED,
            'v_left': _COMPARED,
            'wrench': PUSHES,
            'loop_broken': OBSERVATION | JOINT_VELOCITIES,
            'contact_geometry': OBSERVATION,
            'hold': _PARAMETER,
            'control': OBSERVATION,
            'target': OBSERVATION,
            'course': OBSERVATION,
            'mode': OBSERVATION,
            'idle': SLEEP,
            'actuator_control': OBSERVATION,
            'activation': OBSERVATION,
            'contact_wrench': OBSERVATION,
        },
        # views into Loops and State.axis_…
        AxisValues: {
            'passive': _PARAMETER,
            'limits': _PARAMETER,
            'motor': _PARAMETER,
            'stop': _PARAMETER,
            'q': OBSERVATION,
            'u': OBSERVATION,
            'control': OBSERVATION,
            'target': OBSERVATION,
            'course': OBSERVATION,
            'mode': OBSERVATION,
        },
        Loops: {
            'frame': _PARAMETER,
            'axis_vector': _PARAMETER,
            'toughness': _PARAMETER,
            'reference': _PARAMETER,
        },
        Geometry: {
            'flags': _PARAMETER,
            'material': _PARAMETER,
            'frame': _PARAMETER,
            'belt': _PARAMETER,
            'track': _PARAMETER,
            'direction': _PARAMETER,
            'direction_body': _PARAMETER,
            'height': _PARAMETER,
        },
        Run: {'gravity': _PARAMETER},
        # views into State
        RobotSlot: {
            'q': _COMPARED,
            'dq': _COMPARED,
            'u': _COMPARED,
            # q[:7] of a free base, placed by `set_base_pose`
            'base_q': _PARAMETER,
            'target': OBSERVATION,
            'course': OBSERVATION,
            'sleep': SLEEP,
        },
        LinkSlot: {'medium': MEDIUM | _PARAMETER, 'inertial': MEDIUM | _PARAMETER},
        GeometrySlot: {'groups': GROUPS},
    }
)

FIELDS: Mapping[type, Mapping[str, int]] = {
    part: {field: closure(stale) for field, stale in fields.items()}
    for part, fields in _DECLARED.items()
}
"""
Results made stale by a write, for each writable field.

Arrays missing here are built with their part, or written by steps alone.
"""

Written = tuple[np.ndarray, Any, np.ndarray]
"""A write: the array, the index, and the replaced values."""


def no_change() -> None:
    """Return the present change: none."""


class Staleness:
    """
    One simulation's stale results, and the writer for its fields.

    flags: stale results, from `Stale`. changes: number of changes so far that made observations
    stale; steps and writes to q, v and u do not count. refreshes: number of refreshes so far.
    journal: writes of the present `Change`, None without one. change: returns the outermost
    present `Change`, None once it is over.
    """

    def __init__(self, guard: ThreadGuard) -> None:
        """Begin with everything stale. guard: keeps other threads out."""
        self.flags = AT_FIRST
        self.changes = 0
        self.refreshes = 0
        self._guard = guard
        self.journal: list[Written] | None = None
        self.change: Callable[[], object] = no_change

    def __repr__(self) -> str:
        """Show the stale results."""
        return f'<Staleness: {Stale(self.flags)!r}>'

    def write(
        self, part: Any, field: str, index: Any, value: Any, robots: tuple[RobotSlot, ...] = ()
    ) -> None:
        """
        Write `part.field[index] = value` and mark the results made stale.

        part: an instance of a class in `FIELDS`. robots: woken if they sleep, with joined arrays.
        Raises KeyError for an undeclared field, and StateError if another thread uses
        the simulation.
        """
        self.write_view(part.__class__, field, getattr(part, field), index, value, robots)

    def write_view(
        self,
        part: type,
        field: str,
        array: np.ndarray,
        index: Any,
        value: Any,
        robots: tuple[RobotSlot, ...] = (),
    ) -> None:
        """Write `array[index] = value`, where the array is a view into a field; as `write`."""
        stale = FIELDS[part][field]
        if self.journal is not None:
            self.journal.append((array, index, np.copy(array[index])))
        if not stale:
            array[index] = value
            return
        if self._guard.holder and stale & REST:
            self._guard.check()
        flags, changes = self.flags | stale, self.changes + 1
        if robots:
            idle, asleep = _sleepers(robots)
            if self.journal is not None:
                self.journal.append((idle, asleep, idle[asleep]))
            array[index], idle[asleep], self.flags, self.changes = value, 0, flags, changes
        else:
            array[index], self.flags, self.changes = value, flags, changes

    def set(self, slot: Any, field: str, value: Any) -> None:
        """Set a slot's attribute and mark the results made stale; as `write`."""
        stale = FIELDS[slot.__class__][field]
        if self._guard.holder:
            self._guard.check()
        flags, changes = self.flags | stale, self.changes + 1
        vars(slot)[field], self.flags, self.changes = value, flags, changes

    def mark(self, stale: int) -> None:
        """Mark results as stale, with the results computed from them: robots or joints changed."""
        if self._guard.holder:
            self._guard.check()
        self.flags |= closure(stale)

    def mark_pending(self, pending: int, is_pending: bool) -> None:
        """Set or clear flags alone, without the results computed from them."""
        self.flags = self.flags | pending if is_pending else self.flags & ~pending

    def wake(self, *robots: RobotSlot) -> None:
        """Wake sleeping robots."""
        self.wake_bodies(*_sleepers(robots))
        self.forget_observations()

    def wake_bodies(self, idle: np.ndarray, bodies: np.ndarray) -> None:
        """Let bodies rest no longer. idle: from `State`, or a slice. bodies: a mask."""
        if self.journal is not None:
            self.journal.append((idle, bodies, idle[bodies]))
        idle[bodies] = 0

    def forget_observations(self) -> None:
        """Mark observations as stale."""
        self.changes, self.flags = self.changes + 1, self.flags | OBSERVATION

    def mark_parameters(self) -> None:
        """Mark results that changed parameters make stale; moved bodies wake bodies on them."""
        if self._guard.holder:
            self._guard.check()
        self.changes, self.flags = self.changes + 1, self.flags | _PARAMETER


def _sleepers(robots: tuple[RobotSlot, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return `State.idle` and the robots' sleeping bodies."""
    idle = robots[0].part.state.idle
    if len(robots) == 1:
        first, count = robots[0].part.at.body, len(robots[0].blueprint.model.kind)
        idle = idle[first : first + count]
        return idle, idle == ASLEEP
    asleep = np.zeros(len(idle), bool)
    for robot in robots:
        own = slice(robot.part.at.body, robot.part.at.body + len(robot.blueprint.model.kind))
        asleep[own] = idle[own] == ASLEEP
    return idle, asleep
