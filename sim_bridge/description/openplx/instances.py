"""Objects under evaluation, and values that may become their members."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
import math
from typing import Any, NamedTuple, TypeGuard

from sim_bridge.description.openplx import syntax
from sim_bridge.description.openplx.bundles import Source
from sim_bridge.description.openplx.models import Member, Model
from sim_bridge.description.openplx.native import Struct
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Place
from sim_bridge.foundation.errors import brief

# value for a member whose evaluation failed
FAILED: Any = object()


class Instance(Object):
    """
    Object under evaluation.

    slots: its members, with their statements. preset: values given at its creation. made_for: the
    member whose value it is. members: values found so far. own: the scene author's files.
    """

    __slots__ = ('kind', 'made_for', 'own', 'preset', 'slots')

    def __init__(
        self, kind: Model, name: str, owner: Instance | None, place: Place, own: Set[str]
    ):
        super().__init__(kind.plain, name, owner, place)
        self.kind, self.own = kind, own
        self.slots: dict[str, Member] = {}
        self.preset: dict[str, Any] = {}
        self.made_for: Member | None = None
        self.members: dict[str, Any] = {}

    def written(self, name: str) -> Place:
        """
        Return the place in the author's files where a member got its value.

        For a default: the place where a value it depends on was given, else this object's place.
        """
        expression = self.slots[name].value
        for each in (name, *_names_in(expression.expression if expression else None)):
            if each in self.slots and self.slots[each].written.file in self.own:
                return self.slots[each].written
        held: Object = self
        while held.owner and held.place.file not in self.own:
            name, held = f'{held.name}.{name}', held.owner
        return _inside(held.place, name)

    def close(self) -> None:
        """Reduce the object to the data needed by readers."""
        slots, values = self.slots, self.members
        self.members = {
            name: values[name] for name in slots if values.get(name, FAILED) is not FAILED
        }
        self.assigned = frozenset(name for name, member in slots.items() if member.is_assigned)
        self.preset, self.made_for = {}, None
        if self.owner and self.place.file not in self.own:
            # owners are created, and closed, first
            self.place = _inside(self.owner.place, self.name)


def _inside(place: Place, name: str) -> Place:
    """Return the place for a member without its own place, from its owner's place."""
    return place.at(f'{place.attribute}.{name}' if place.attribute else name)


@dataclass(frozen=True)
class Draft:
    """New object outside any member."""

    kind: Model
    values: dict[str, Any]


class Scope(NamedTuple):
    """Expression scope: its file, the instance whose members it sees, the model."""

    source: Source
    this: Instance
    model: str


def is_new(value: Any) -> TypeGuard[Struct | Draft]:
    """Whether a value is a new object, created by a function or by braces."""
    return isinstance(value, (Struct, Draft))


def primitive(value: Any, name: str) -> float | int | bool | str | None:
    """Return a value as Real, Int, Bool or String; None if it does not fit."""
    if name == 'Bool' or isinstance(value, bool):
        return value if name == 'Bool' and isinstance(value, bool) else None
    if name == 'String':
        return value if isinstance(value, str) else None
    if not isinstance(value, (int, float)):
        return None
    if name == 'Real':
        return float(value)
    return int(value) if math.isfinite(value) and value == int(value) else None


def shown(value: Any) -> str:
    """Return a value other than an object as text for messages."""
    if value is None:
        return 'an optional member without a value'
    if isinstance(value, tuple):
        return f'an array of {len(value)}'
    return str(value).lower() if isinstance(value, bool) else brief(value)


def _names_in(node: syntax.Expression | None) -> Iterator[str]:
    """Yield the members read by an expression: its paths, and those in calls."""
    if isinstance(node, syntax.Path):
        yield node.names[0]
    elif isinstance(node, syntax.Call):
        for inner in (node.target, *node.arguments):
            yield from _names_in(inner)
