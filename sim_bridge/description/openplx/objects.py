"""
Evaluated scene: an object tree with final values.

An object is an instance of a model. A value owned by another object is a reference: the same
object, whose `owner` is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import re
from typing import Any, Union

from sim_bridge.description.report import Place
from sim_bridge.foundation.errors import UnknownNameError

Value = Union[float, int, bool, str, tuple['Value', ...], 'Object', None]

_PART = re.compile(r'[^.\[\]]+')


@dataclass(frozen=True)
class ObjectModel:
    """
    An object's model.

    name: with its namespace, such as 'Physics3D.Interactions.Hinge', or as declared by the scene.
    bases: names of the models and traits it extends, nearest first. file: declaring file.
    imported: path to the URDF file it represents, or ''.
    """

    name: str
    bases: tuple[str, ...] = ()
    file: str = ''
    imported: str = ''


class Object:
    """
    Model instance.

    name: name of the member holding it, with an index for an array; '' for the root, for constant
    models and for results of functions. owner: object with this member. place: of the declaration
    or of the last assignment; inside the owner's place if only a bundle contains it. members:
    values by name, in definition order, base members first; None for an optional member
    without a value. A value not owned by this object is a reference.
    """

    __slots__ = ('_all', 'assigned', 'members', 'model', 'name', 'owner', 'place')

    def __init__(self, model: ObjectModel, name: str, owner: Object | None, place: Place):
        self.model, self.name, self.owner, self.place = model, name, owner, place
        self.members: Mapping[str, Value] = {}
        self.assigned: frozenset[str] = frozenset()
        # result of `walk`: the object and all its descendants, once computed
        self._all: tuple[Object, ...] = ()

    @property
    def path(self) -> str:
        """Names from the root to the object, such as 'rod_system.rod'; '' for the root."""
        names: list[str] = []
        held: Object | None = self
        while held is not None:
            if held.name:
                names.append(held.name)
            held = held.owner
        return '.'.join(reversed(names))

    def is_a(self, name: str) -> bool:
        """Whether the model has this full name, or extends a model or trait with this name."""
        return name == self.model.name or name in self.model.bases

    def __getitem__(self, path: str) -> Any:
        """Return the value of 'a.b[2].c'; raises UnknownNameError for a missing member."""
        value: Value = self
        for part in _PART.findall(path):
            value = _step(value, part, self)
        return value

    def __contains__(self, path: object) -> bool:
        """Whether there is a member at a path."""
        value: Value = self
        for part in _PART.findall(str(path)):
            if not _has(value, part):
                return False
            value = _step(value, part, self)
        return True

    def is_assigned(self, path: str) -> bool:
        """
        Whether anything at or below a path was assigned.

        Assignments outside the declaring bundle and in the scene itself count; defaults in
        declarations do not. So an untouched transform is not assigned, and a transform explicitly
        set to the identity is.
        """
        held, name = self._holder(path)
        if name in held.assigned:
            return True
        return any(
            child.is_assigned(inner) for child in _owned(held, name) for inner in child.members
        )

    def place_of(self, path: str) -> Place:
        """
        Return the place in the author's files where the value at a path was assigned or declared.

        For a default: the place where a value it depends on was given, or the object's place.
        """
        held, name = self._holder(path)
        return held.written(name)

    def written(self, name: str) -> Place:
        """Return a member's place; see `place_of`."""
        return self.place

    def walk(self) -> Iterator[Object]:
        """Yield this object and all its descendants, in definition order."""
        if not self._all:
            found, waiting = [], [self]
            while waiting:
                found.append(waiting.pop())
                children = [
                    child for name in found[-1].members for child in _owned(found[-1], name)
                ]
                waiting.extend(reversed(children))
            self._all = tuple(found)
        return iter(self._all)

    def __repr__(self) -> str:
        """Return the path and the model, for messages."""
        return f'<{self.path or "root"} is {self.model.name}>'

    def _holder(self, path: str) -> tuple[Object, str]:
        """Return the object with the last member of a path, and the member's name."""
        head, _, name = path.rpartition('.')
        held = self[head] if head else self
        name = _PART.findall(name)[0]
        if not isinstance(held, Object) or name not in held.members:
            known = held.members if isinstance(held, Object) else ()
            raise UnknownNameError('member', path, known, repr(self))
        return held, name


def _has(value: Value, part: str) -> bool:
    if isinstance(value, Object):
        return part in value.members
    return isinstance(value, tuple) and part.isdecimal() and int(part) < len(value)


def _step(value: Value, part: str, start: Object) -> Value:
    """Return a value's member or element. start: where the path starts, for the message."""
    if isinstance(value, Object) and part in value.members:
        return value.members[part]
    if isinstance(value, tuple) and _has(value, part):
        return value[int(part)]
    known = value.members if isinstance(value, Object) else ()
    raise UnknownNameError('member', part, known, repr(start))


def _owned(owner: Object, name: str) -> Iterator[Object]:
    """Yield the objects owned through a member; references are skipped."""
    value = owner.members[name]
    for item in value if isinstance(value, tuple) else (value,):
        if (
            isinstance(item, Object)
            and item.owner is owner
            and (item.name.partition('[')[0] == name)
        ):
            yield item
