"""
What a scene is after evaluation: a tree of objects, every value final.

An object is an instance of a model. Values that other objects own are references: the same object,
whose `owner` is elsewhere.
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
    The model that an object is an instance of.

    name: with its namespace, such as 'Physics3D.Interactions.Hinge', or as the scene declares it.
    bases: the names of the models and traits that it extends, nearest first. file: that declares
    it. imported: the path of the URDF file that it stands for, or ''.
    """

    name: str
    bases: tuple[str, ...] = ()
    file: str = ''
    imported: str = ''


class Object:
    """
    An instance of a model.

    name: of the member that holds it, with an index where that is an array; '' of the root, of
    constant models and of what functions return. owner: the object that has the member. place: of
    the declaration, or of what assigned it last; within that of the owner where only a bundle says
    it. members: values by name, in the order of definition, those of base models first; None is an
    optional member without a value. A value that this object does not own is a reference.
    """

    __slots__ = ('_all', 'assigned', 'members', 'model', 'name', 'owner', 'place')

    def __init__(self, model: ObjectModel, name: str, owner: Object | None, place: Place):
        self.model, self.name, self.owner, self.place = model, name, owner, place
        self.members: Mapping[str, Value] = {}
        self.assigned: frozenset[str] = frozenset()
        # itself and all that it owns, once it was asked for
        self._all: tuple[Object, ...] = ()

    @property
    def path(self) -> str:
        """The names from the root to the object, such as 'rod_system.rod'; '' of the root."""
        names: list[str] = []
        held: Object | None = self
        while held is not None:
            if held.name:
                names.append(held.name)
            held = held.owner
        return '.'.join(reversed(names))

    def is_a(self, name: str) -> bool:
        """Whether the model has this full name, or extends the model or trait that has it."""
        return name == self.model.name or name in self.model.bases

    def __getitem__(self, path: str) -> Any:
        """Return the value of 'a.b[2].c'; raises UnknownNameError for a member there is not."""
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

        What counts are values given outside the bundle that declares the member, and in the
        scene itself; defaults of declarations do not. So a transform that nobody has set is not
        assigned, and one explicitly set to identity is.
        """
        held, name = self._holder(path)
        if name in held.assigned:
            return True
        return any(
            child.is_assigned(inner) for child in _owned(held, name) for inner in child.members
        )

    def place_of(self, path: str) -> Place:
        """
        Return where the value at a path was declared, or assigned last, in the author's files.

        A default is where that was given from which it follows, or where the object is declared.
        """
        held, name = self._holder(path)
        return held.written(name)

    def written(self, name: str) -> Place:
        """Return the place of a member; as `place_of`."""
        return self.place

    def walk(self) -> Iterator[Object]:
        """Yield this object and all that it owns, in the order of definition."""
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
        """Return the object that has the last member of a path, and its name."""
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
    """Return the member or the element of a value; start: of the path, for the message."""
    if isinstance(value, Object) and part in value.members:
        return value.members[part]
    if isinstance(value, tuple) and _has(value, part):
        return value[int(part)]
    known = value.members if isinstance(value, Object) else ()
    raise UnknownNameError('member', part, known, repr(start))


def _owned(owner: Object, name: str) -> Iterator[Object]:
    """Yield the objects that are values of a member, and no references."""
    value = owner.members[name]
    for item in value if isinstance(value, tuple) else (value,):
        if (
            isinstance(item, Object)
            and item.owner is owner
            and (item.name.partition('[')[0] == name)
        ):
            yield item
