"""A simulation's force fields: the engine's arrays, and the Python functions among the fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.fluid_forces import Hydrodynamics, Rotor, Thruster
from sim_bridge.description.force_fields import (
    DeclaredField,
    Drag,
    ForceField,
    name_of,
    PlacedForce,
    PointField,
    UniformField,
    vector_from,
    Wind,
)
from sim_bridge.description.gravity import GravityFunction, PointGravity
from sim_bridge.engine.data import fields as columns
from sim_bridge.engine.data.fields import FIELD_SIZE, Fields, LINK_SIZE
from sim_bridge.engine.data.model import immobile_bodies, Model
from sim_bridge.engine.data.parts import make
from sim_bridge.engine.dynamics.fields import FIELDS
from sim_bridge.simulation.fluid_rows import added_inertia, fluid_rows, FluidRow, joined, KINDS
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.slots import LinkSlot, RobotSlot

LinkName = tuple[str, str]
"""The robot's name, and the link's own."""
_NO_FLUID = FluidRow(np.zeros(0))


class Placement(NamedTuple):
    """
    A field and its links; None: all links, including links added later.

    owner: robot whose description has the field, '' for none; the field leaves with it.
    """

    field: ForceField
    links: tuple[LinkSlot, ...] | None
    owner: str = ''


class SavedField(NamedTuple):
    """A field by name, with link names; see `Placement`."""

    name: str
    field: ForceField
    links: tuple[LinkName, ...] | None
    owner: str


class SavedFields(NamedTuple):
    """Saved fields, and the gravity function."""

    placed: tuple[SavedField, ...] = ()
    gravity: GravityFunction | None = None


class _Row(NamedTuple):
    """One row: field number, link, and fluid force row."""

    number: int
    link: LinkSlot
    fluid: FluidRow


class ForceFields:
    """
    A simulation's force fields by name, and gravity if it is a function.

    Each handle has its own arrays, so a function reading the world does not disturb the step
    calling it.
    """

    def __init__(self, calls: PythonCalls) -> None:
        """Begin with none."""
        self.placed: dict[str, Placement] = {}
        self.gravity: GravityFunction | None = None
        self.has_functions = False
        """Whether any field is a Python function."""
        self.stepping, self.observing = _Caller(self, calls), _Caller(self, calls)

    @property
    def functions(self) -> list[tuple[str, Any]]:
        """The Python functions with their names."""
        named = [
            (f'force field {name!r}', each.field)
            for name, each in self.placed.items()
            if not _is_declared(each.field)
        ]
        return named + ([] if self.gravity is None else [('gravity', self.gravity)])

    @property
    def owners(self) -> dict[str, str]:
        """Field owners by name; see `Placement`."""
        return {name: placement.owner for name, placement in self.placed.items()}

    @staticmethod
    def calls_python(placed: Mapping[str, Placement], gravity: GravityFunction | None) -> bool:
        """Return whether fields or gravity are Python functions."""
        return gravity is not None or not all(_is_declared(each.field) for each in placed.values())

    def save(self) -> SavedFields:
        """Return the saved fields, for `placed_as`."""
        return SavedFields(
            tuple(
                SavedField(
                    name,
                    field,
                    None
                    if links is None
                    else tuple((link.robot.name, link.name) for link in links),
                    owner,
                )
                for name, (field, links, owner) in self.placed.items()
            ),
            self.gravity,
        )

    @staticmethod
    def placed_as(saved: SavedFields, slots: Mapping[str, RobotSlot]) -> dict[str, Placement]:
        """Return the placements for saved fields; slots: robots by name."""
        return {
            name: Placement(
                field,
                None if links is None else tuple(slots[robot].link(link) for robot, link in links),
                owner,
            )
            for name, field, links, owner in saved.placed
        }

    def digest(self, part: Fields) -> list[Any]:
        """Return the state of the force fields (functions by name), an empty list for none."""
        if not self.placed and self.gravity is None:
            return []
        return [
            part.kind,
            part.law,
            part.of,
            part.body,
            part.link,
            *(
                (part.frame, part.joint, part.other, part.fluid_at, part.fluid)
                if len(part.fluid)
                else ()
            ),
            [(what, name_of(function)) for what, function in self.functions],
        ]

    def forget(self, links: Iterable[LinkSlot]) -> None:
        """Remove links from all fields, and their robots' own fields."""
        gone = set(links)
        owners = {link.robot.name for link in gone}
        for name, placement in list(self.placed.items()):
            own = placement.links
            if placement.owner in owners:
                del self.placed[name]
            elif own is not None and not gone.isdisjoint(own):
                kept = tuple(link for link in own if link not in gone)
                self.placed[name] = placement._replace(links=kept)

    def fit(self, part: Fields, links: Sequence[LinkSlot], model: Model) -> bool:
        """Return whether the arrays hold the present links and masses."""
        if not self.placed and self.gravity is None:
            return True
        rows = self._rows(links, model)[1]
        return (
            [row.link.body for row in rows] == part.body.tolist()
            and np.array_equal(_mass_rows(rows), part.link)
            and np.array_equal(joined([row.fluid for row in rows]), part.fluid)
        )

    def added_inertias(
        self, links: Sequence[LinkSlot], model: Model
    ) -> list[tuple[LinkSlot, np.ndarray]]:
        """Return the links with added mass, each with (6, 6) as in `fluid_rows.added_inertia`."""
        if not any(isinstance(each.field, Hydrodynamics) for each in self.placed.values()):
            return []
        return [
            (link, added_inertia(field, link))
            for _, field, own in self._rows(links, model)[0]
            if isinstance(field, Hydrodynamics) and field.added_inertia.any()
            for link in own
        ]

    def _rows(
        self, links: Sequence[LinkSlot], model: Model
    ) -> tuple[list[tuple[str, ForceField, list[LinkSlot]]], list[_Row]]:
        """Return fields with label and links, and their rows."""
        immobile = immobile_bodies(model)
        movable = [link for link in links if link.mass > 0.0 and not immobile[link.body]]
        placed = [
            (f'force field {name!r}', each.field, _affected(each, movable))
            for name, each in self.placed.items()
        ]
        if self.gravity is not None:
            own_gravity = self.gravity
            pulled = [link for link in movable if link.medium.gravity]
            placed.append(('gravity', _as_force(own_gravity), pulled))
        return placed, [
            _Row(number, link, fluid)
            for number, (_, field, own) in enumerate(placed)
            for link in own
            for fluid in (
                fluid_rows(field, link) if isinstance(field, PlacedForce) else (_NO_FLUID,)
            )
        ]

    def parts(self, links: Sequence[LinkSlot], model: Model) -> tuple[Fields, Fields]:
        """Return the engine's arrays for steps and for observations."""
        placed, rows = self._rows(links, model)
        values = joined([row.fluid for row in rows])
        sizes = {'nf': len(placed), 'pushed': len(rows), 'field_values': len(values)}
        counts = [len(row.fluid.values) for row in rows]
        made = [
            make(
                Fields,
                sizes,
                kind=np.array([_kind(field) for _, field, _ in placed], np.int64),
                law=np.array([_law(field) for _, field, _ in placed]).reshape(-1, FIELD_SIZE),
                of=np.array([row.number for row in rows], np.int64),
                body=np.array([row.link.body for row in rows], np.int64),
                link=_mass_rows(rows),
                frame=_frames(rows),
                joint=np.array([row.fluid.joint for row in rows], np.int64),
                other=np.array([row.fluid.other for row in rows], np.int64),
                fluid_at=np.concatenate([[0], np.cumsum(counts)])[: len(rows)].astype(np.int64),
                fluid=values.copy(),
            )
            for _ in range(2)
        ]
        called = [
            (at, placed[row.number][0], placed[row.number][1], row.link.mass)
            for at, row in enumerate(rows)
            if not _is_declared(placed[row.number][1])
        ]
        for part, caller in zip(made, (self.stepping, self.observing), strict=True):
            caller.take(part, called)
            part.call[:] = (
                FIELDS.address if rows else 0,
                caller.callback.address if called or self.gravity is not None else 0,
                self.gravity is not None,
                any(isinstance(field, (Rotor, Thruster)) for _, field, _ in placed),
            )
        return made[0], made[1]


class _Caller:
    """Caller for the functions among the fields."""

    def __init__(self, fields: ForceFields, calls: PythonCalls) -> None:
        self._fields = fields
        self.callback = calls.callback(self._call)
        self._part: Fields
        self._rows: list[tuple[int, str, Any, float]] = []

    def take(self, part: Fields, rows: list[tuple[int, str, Any, float]]) -> None:
        """Use other arrays; rows: row number, label, function and link mass for each function."""
        self._part, self._rows = part, rows

    def _call(self, phase: int) -> None:
        if phase == columns.GRAVITY:
            self._find_gravity()
        else:
            self._find_forces()

    def _find_gravity(self) -> None:
        gravity, point = self._fields.gravity, self._part.point
        assert gravity is not None
        fall = gravity(point[: columns.FALL].copy())
        point[columns.FALL :] = vector_from(gravity, 'acceleration', fall, 'gravity')

    def _find_forces(self) -> None:
        part, time = self._part, float(self._part.time[columns.NOW])
        for row, what, function, mass in self._rows:
            sample = part.sample[row]
            force = function(
                sample[: columns.MOTION].copy(),
                sample[columns.MOTION : columns.PUSH].copy(),
                mass,
                time,
            )
            sample[columns.PUSH :] = vector_from(function, 'force', force, what)


def _affected(placed: Placement, movable: Sequence[LinkSlot]) -> list[LinkSlot]:
    """Return the links that a field acts on, among the movable ones."""
    if placed.links is not None:
        return [link for link in movable if link in placed.links]
    if isinstance(placed.field, Wind):
        return [link for link in movable if link.medium.enable_wind]
    return [*movable]


def _as_force(gravity: GravityFunction) -> ForceField:
    """Return a gravity function as a force function."""

    def weight(position: Any, velocity: Any, mass: float, time: float) -> Any:
        return mass * vector_from(gravity, 'acceleration', gravity(position), 'gravity')

    return weight


def _is_declared(field: ForceField) -> bool:
    return isinstance(field, DeclaredField)


def _kind(field: ForceField) -> int:
    if isinstance(field, UniformField):
        return columns.UNIFORM
    if isinstance(field, (PointField, PointGravity)):
        return columns.POINT
    if isinstance(field, PlacedForce):
        return KINDS[type(field)]
    if isinstance(field, Wind):
        return columns.WIND
    return columns.DRAG if isinstance(field, Drag) else columns.FUNCTION


def _law(field: ForceField) -> np.ndarray:
    row = np.zeros(FIELD_SIZE)
    if isinstance(field, UniformField):
        row[:6] = *field.force, *field.acceleration
    elif isinstance(field, (PointField, PointGravity)):
        row[:6] = (
            *field.center,
            field.strength,
            field.exponent,
            float(isinstance(field, PointGravity)),
        )
    elif isinstance(field, Wind):
        row[:] = _wind_law(field)
    elif isinstance(field, Drag):
        row[: columns.ANGULAR_DRAG + 1] = (
            *field.wind,
            *field.gust,
            field.gust_rate,
            field.linear,
            field.quadratic,
            field.angular,
        )
    return row


def _wind_law(field: Wind) -> tuple[float, ...]:
    constants = field.rise_time, field.turn_time, field.vertical_rise_time
    return (
        *field.final,
        *field.offsets,
        *(1.0 / each if each > 0.0 else 0.0 for each in constants),
        field.since,
        *(field.gust, 2.0 * math.pi / field.gust_period),
        *(field.swing, 2.0 * math.pi / field.swing_period),
        field.rate,
    )


def _mass_rows(rows: Sequence[_Row]) -> np.ndarray:
    return np.array([_mass_row(row.link) for row in rows]).reshape(-1, LINK_SIZE)


def _frames(rows: Sequence[_Row]) -> np.ndarray:
    """Return (n, 12) the links' frames in their bodies."""
    places = [row.link.placement for row in rows]
    frames = [np.concatenate([place.rotation.ravel(), place.position]) for place in places]
    return np.array(frames).reshape(-1, 12)


def _mass_row(link: LinkSlot) -> tuple[float, ...]:
    place = link.placement
    center = place.position + place.rotation @ link.center
    return link.mass, *center, float(np.linalg.eigvalsh(link.inertia)[0])
