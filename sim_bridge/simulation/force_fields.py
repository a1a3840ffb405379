"""A simulation's force fields: the engine's arrays, and the Python functions among the fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.force_fields import (
    Drag,
    ForceField,
    name_of,
    PointField,
    UniformField,
    vector_from,
)
from sim_bridge.description.gravity import GravityFunction, PointGravity
from sim_bridge.engine.data import fields as columns
from sim_bridge.engine.data.fields import FIELD_SIZE, Fields, LINK_SIZE
from sim_bridge.engine.data.model import immobile_bodies, Model
from sim_bridge.engine.data.parts import make
from sim_bridge.engine.dynamics.fields import FIELDS
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.slots import LinkSlot, RobotSlot

LinkName = tuple[str, str]
"""The robot's name, and the link's own."""


class Placement(NamedTuple):
    """A field and its links; None: all links, including links added later."""

    field: ForceField
    links: tuple[LinkSlot, ...] | None


class SavedFields(NamedTuple):
    """Saved fields: by name, with link names; and the gravity function."""

    placed: tuple[tuple[str, ForceField, tuple[LinkName, ...] | None], ...] = ()
    gravity: GravityFunction | None = None


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

    @staticmethod
    def calls_python(placed: Mapping[str, Placement], gravity: GravityFunction | None) -> bool:
        """Return whether fields or gravity are Python functions."""
        return gravity is not None or not all(_is_declared(each.field) for each in placed.values())

    def save(self) -> SavedFields:
        """Return the saved fields, for `placed_as`."""
        return SavedFields(
            tuple(
                (
                    name,
                    field,
                    None
                    if links is None
                    else tuple((link.robot.name, link.name) for link in links),
                )
                for name, (field, links) in self.placed.items()
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
            )
            for name, field, links in saved.placed
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
            [(what, name_of(function)) for what, function in self.functions],
        ]

    def forget(self, links: Iterable[LinkSlot]) -> None:
        """Remove links from all fields."""
        gone = set(links)
        for name, (field, own) in self.placed.items():
            if own is not None and not gone.isdisjoint(own):
                kept = tuple(link for link in own if link not in gone)
                self.placed[name] = Placement(field, kept)

    def fit(self, part: Fields, links: Sequence[LinkSlot], model: Model) -> bool:
        """Return whether the arrays hold the present links and masses."""
        if not self.placed and self.gravity is None:
            return True
        rows = self._rows(links, model)[1]
        return [link.body for _, link in rows] == part.body.tolist() and np.array_equal(
            _mass_rows(rows), part.link
        )

    def _rows(
        self, links: Sequence[LinkSlot], model: Model
    ) -> tuple[list[tuple[str, ForceField, list[LinkSlot]]], list[tuple[int, LinkSlot]]]:
        """Return fields with label and links, and a row (field number, link) for each link."""
        immobile = immobile_bodies(model)
        movable = [link for link in links if link.mass > 0.0 and not immobile[link.body]]
        placed = [
            (
                f'force field {name!r}',
                field,
                movable if own is None else [link for link in movable if link in own],
            )
            for name, (field, own) in self.placed.items()
        ]
        if self.gravity is not None:
            own_gravity = self.gravity
            pulled = [link for link in movable if link.medium.gravity]
            placed.append(('gravity', _as_force(own_gravity), pulled))
        return placed, [
            (number, link) for number, (_, _, own) in enumerate(placed) for link in own
        ]

    def parts(self, links: Sequence[LinkSlot], model: Model) -> tuple[Fields, Fields]:
        """Return the engine's arrays for steps and for observations."""
        placed, rows = self._rows(links, model)
        sizes = {'nf': len(placed), 'pushed': len(rows)}
        made = [
            make(
                Fields,
                sizes,
                kind=np.array([_kind(field) for _, field, _ in placed], np.int64),
                law=np.array([_law(field) for _, field, _ in placed]).reshape(-1, FIELD_SIZE),
                of=np.array([number for number, _ in rows], np.int64),
                body=np.array([link.body for _, link in rows], np.int64),
                link=_mass_rows(rows),
            )
            for _ in range(2)
        ]
        called = [
            (row, placed[number][0], placed[number][1], link.mass)
            for row, (number, link) in enumerate(rows)
            if not _is_declared(placed[number][1])
        ]
        for part, caller in zip(made, (self.stepping, self.observing), strict=True):
            caller.take(part, called)
            part.call[:] = (
                FIELDS.address if rows else 0,
                caller.callback.address if called or self.gravity is not None else 0,
                self.gravity is not None,
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


def _as_force(gravity: GravityFunction) -> ForceField:
    """Return a gravity function as a force function."""

    def weight(position: Any, velocity: Any, mass: float, time: float) -> Any:
        return mass * vector_from(gravity, 'acceleration', gravity(position), 'gravity')

    return weight


def _is_declared(field: ForceField) -> bool:
    return isinstance(field, (UniformField, PointField, Drag, PointGravity))


def _kind(field: ForceField) -> int:
    if isinstance(field, UniformField):
        return columns.UNIFORM
    if isinstance(field, (PointField, PointGravity)):
        return columns.POINT
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
    elif isinstance(field, Drag):
        row[:] = (
            *field.wind,
            *field.gust,
            field.gust_rate,
            field.linear,
            field.quadratic,
            field.angular,
        )
    return row


def _mass_rows(rows: Sequence[tuple[int, LinkSlot]]) -> np.ndarray:
    return np.array([_mass_row(link) for _, link in rows]).reshape(-1, LINK_SIZE)


def _mass_row(link: LinkSlot) -> tuple[float, ...]:
    place = link.placement
    center = place.position + place.rotation @ link.center
    return link.mass, *center, float(np.linalg.eigvalsh(link.inertia)[0])
