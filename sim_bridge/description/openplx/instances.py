"""Objects while they are evaluated, and what values become their members."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, NamedTuple, TypeGuard

from sim_bridge.description.openplx.bundles import Source
from sim_bridge.description.openplx.models import Member, Model
from sim_bridge.description.openplx.native import Struct
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Place
from sim_bridge.foundation.errors import brief

# of a member that cannot be evaluated
FAILED: Any = object()


class Instance(Object):
    """
    An object that is being evaluated.

    slots: its members, with what is said about them. preset: values that it was made with.
    made_for: the member that it became the value of. members: the values found so far.
    """

    __slots__ = ('kind', 'made_for', 'preset', 'slots')

    def __init__(self, kind: Model, name: str, owner: Instance | None, place: Place):
        super().__init__(kind.plain, name, owner, place)
        self.kind = kind
        self.slots: dict[str, Member] = {}
        self.preset: dict[str, Any] = {}
        self.made_for: Member | None = None
        self.members: dict[str, Any] = {}

    def close(self) -> None:
        """Keep what readers need."""
        slots, values = self.slots, self.members
        self.members = {
            name: values[name] for name in slots if values.get(name, FAILED) is not FAILED}
        self.places = {name: member.place for name, member in slots.items()}
        self.assigned = frozenset(name for name, member in slots.items() if member.is_assigned)
        self.slots, self.preset, self.made_for = {}, {}, None


@dataclass(frozen=True)
class Draft:
    """An object that is new, and no member's value yet."""

    kind: Model
    values: dict[str, Any]


class Scope(NamedTuple):
    """Where an expression stands: its file, the instance whose members it sees, the model."""

    source: Source
    this: Instance
    model: str


def is_new(value: Any) -> TypeGuard[Struct | Draft]:
    """Whether a value is an object that a function or braces have made."""
    return isinstance(value, (Struct, Draft))


def primitive(value: Any, name: str) -> float | int | bool | str | None:
    """Return a value as Real, Int, Bool or String; None if it is none."""
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
    """Return a value that is no object, for messages."""
    if value is None:
        return 'an optional member without a value'
    if isinstance(value, tuple):
        return f'an array of {len(value)}'
    return str(value).lower() if isinstance(value, bool) else brief(value)
