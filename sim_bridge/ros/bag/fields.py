"""Recorded message fields over time: numbers, by their names in the messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.foundation.errors import (
    DamagedBagError,
    InvalidValueError,
    StateError,
    UnknownNameError,
)
from sim_bridge.ros.bag.expressions import Reference, Series
from sim_bridge.ros.bag.mcap_reader import Message, simulated_time
from sim_bridge.ros.bag.reader import Bag
from sim_bridge.ros.bag.units import joint_types, OfJoint, Unit, unit_of_field
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.message_types import message_class

_MOST_COLUMNS = 64
# fields naming the items in a number list; fields naming each message in a list
_LISTS_OF_NAMES = ('name', 'joint_names', 'names', 'interface_names')
_NAMES = ('child_frame_id', 'name', 'key', 'id', 'ns')

_DESCRIPTION = '/robot_description'  # topic whose description gives the joint types

_Values = dict[str, float]


def bag_time(first: Message) -> Callable[[Message], float]:
    """
    Return a function for message times [s]. first: the bag's first message.

    The time is simulated time in recordings of this package, else the time since the first
    message.
    """
    time_of = simulated_time(first)
    if time_of is not None:
        return lambda message: 1e-9 * time_of(message)
    begin = first.time_ns
    return lambda message: 1e-9 * (message.time_ns - begin)


def read_series(
    bag: str | Path, references: Iterable[Reference], progress: Callable[[float], None]
) -> tuple[dict[Reference, Series], str]:
    """
    Return field values in a bag, and a warning about unreadable parts, or ''.

    A topic may be given without its namespace if the name is unique. progress: called at intervals
    with the time [s]. Raises UnknownNameError for an unknown topic, field or item,
    InvalidValueError for a value other than a number, and the errors from `Bag`.
    """
    read = Bag(bag)
    gathering = Gathering(references, f'bag {str(bag)!r}')
    time_of, warning = None, ''
    try:
        for number, message in enumerate(read.messages()):
            if time_of is None:
                time_of = bag_time(message)
            gathering.take(message, time_of(message))
            if number % 2000 == 0:
                progress(time_of(message))
    except DamagedBagError as err:
        warning = str(err)
    return gathering.series(), warning or read.note


class Gathering:
    """Gathers field values, message by message."""

    def __init__(self, references: Iterable[Reference], place: str) -> None:
        """Start without messages. place: their origin, for errors."""
        self._gathered = {each: dict[str, _Samples]() for each in references}
        self._place = place
        self._takers: dict[str, list[_Samples]] = {}
        self._descriptions: dict[str, Message] = {}
        self._known: dict[str, None] = {}
        self._kinds: dict[str, type] = {}

    def know(self, topic: str) -> None:
        """Add a topic, possibly without messages, to the names suggested for unknown topics."""
        self._known[topic] = None

    def take(self, message: Message, time_s: float) -> None:
        """Take the next message. time_s: its time [s]. Errors: see `series`."""
        takers = self._takers.get(message.topic)
        if takers is None:
            takers = self._takers[message.topic] = [
                found.setdefault(message.topic, _Samples(each, message))
                for each, found in self._gathered.items()
                if is_meant(message.topic, each.topic)
            ]
        if takers:
            kind = self._kinds.get(message.type_name)
            if kind is None:
                kind = self._kinds[message.type_name] = message_class(message.type_name)
            content = deserialize(message.data, kind)
            for samples in takers:
                samples.take(time_s, content)
        if message.topic.endswith(_DESCRIPTION):
            self._descriptions[message.topic] = message

    def series(self) -> dict[Reference, Series]:
        """
        Return all references' values.

        Raises UnknownNameError for an unknown topic, field or item, InvalidValueError for a value
        other than a number.
        """
        types = _TypesOfJoints(self._descriptions)
        known = {**self._takers, **self._known}
        return {
            each: _chosen(each, found, known, self._place).series(types)
            for each, found in self._gathered.items()
        }


class _TypesOfJoints:
    """Joint types from the robot descriptions in a bag."""

    def __init__(self, descriptions: Mapping[str, Message]):
        self._descriptions = descriptions
        self._types: dict[str, dict[str, str]] = {}

    def beside(self, topic: str) -> dict[str, str]:
        """Return joint types for the robot in a topic's namespace, or in the nearest above."""
        while topic:
            topic = topic.rpartition('/')[0]
            name = topic + _DESCRIPTION
            if name in self._descriptions:
                if name not in self._types:
                    self._types[name] = self._read(self._descriptions[name])
                return self._types[name]
        return {}

    def _read(self, message: Message) -> dict[str, str]:
        text = getattr(deserialize(message.data, message_class(message.type_name)), 'data', '')
        return dict(joint_types(text)) if isinstance(text, str) else {}


def is_meant(topic: str, written: str) -> bool:
    """Return whether a written name fits a topic. topic: full name."""
    return topic == written or topic.endswith('/' + written.lstrip('/'))


def _chosen(
    reference: Reference, found: dict[str, _Samples], topics: Iterable[str], place: str
) -> _Samples:
    """Return the samples for the topic selected by a reference."""
    written = reference.topic
    for name in (written, f'/{written}'):
        if name in found:
            return found[name]
    if not found:
        raise UnknownNameError('topic', written, sorted(topics), place)
    if len(found) > 1:
        raise InvalidValueError('topic', written, f'one of {", ".join(sorted(found))}', place)
    return next(iter(found.values()))


@dataclass
class _Samples:
    """One topic field's values."""

    reference: Reference
    first: Message
    times: list[float] = field(default_factory=list)
    values: list[_Values] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    missing: str = ''
    units: dict[str, Unit | OfJoint | None] = field(default_factory=dict)
    item: str = ''  # name in the last brackets

    def take(self, time_s: float, content: Any) -> None:
        """Read a message; leave it out if it lacks the item in brackets."""
        try:
            found = self._read(content)
        except _NoItemError as err:
            self.missing = err.key
            if len(self.seen) <= _MOST_COLUMNS:
                self.seen.update(dict.fromkeys(err.known))
            return
        self.times.append(time_s)
        self.values.append(found)

    def series(self, types: _TypesOfJoints) -> Series:
        """Return all values, the last one for equal times. types: joint types."""
        if not self.values:
            raise UnknownNameError('item', self.missing, self.seen, str(self.reference))
        labels = tuple(dict.fromkeys(label for each in self.values for label in each))
        if len(labels) > _MOST_COLUMNS:
            raise StateError(f'{self.reference} has {len(labels)} values: select one in brackets')
        times = np.array(self.times)
        values = np.array([[each.get(label, np.nan) for label in labels] for each in self.values])
        last = np.append(np.diff(times) > 0.0, True)
        known = (
            types.beside(self.first.topic)
            if any(isinstance(each, OfJoint) for each in self.units.values())
            else {}
        )
        units = [self.units.get(label) for label in labels]
        return Series(
            times[last],
            values[last],
            labels,
            tuple(
                each.of(known.get(label or self.item)) if isinstance(each, OfJoint) else each
                for label, each in zip(labels, units, strict=True)
            ),
        )

    def _read(self, message: Any) -> _Values:
        value, holder = message, message
        unit: Unit | OfJoint | None = None
        for at, step in enumerate(self.reference.path):
            if step.startswith('['):
                value, self.item = _item(value, step[1:-1].strip(), holder)
            else:
                holder = value
                value = self._field(value, step, at)
                unit = unit_of_field(type(holder), step, unit)
        found = self._numbers(value, holder)
        if found.keys() != self.units.keys():
            names = _fields(value)
            self.units.update(
                {
                    label: unit_of_field(type(value), label, unit) if names else unit
                    for label in found
                }
            )
        return found

    def _field(self, value: Any, name: str, at: int) -> Any:
        fields = _fields(value)
        so_far = Reference(self.first.topic, self.reference.path[:at])
        if not fields and _is_list(value):
            raise InvalidValueError(
                str(self.reference),
                f'.{name}',
                f'a name or number in brackets: it has {len(value)} items',
                str(so_far),
            )
        if name not in fields:
            raise UnknownNameError('field', name, fields, f'{so_far} ({self.first.type_name})')
        return getattr(value, name)

    def _numbers(self, value: Any, holder: Any) -> _Values:
        """Return a field's numbers by curve name."""
        number = _number(value)
        if number is not None:
            return {'': number}
        if _is_list(value):
            names = _names_beside(holder, value) or [str(k) for k in range(len(value))]
            numbers = [_number(each) for each in value]
        else:
            names = _fields(value)
            numbers = [_number(getattr(value, name)) for name in names]
        if names and not any(each is None for each in numbers):
            return dict(zip(names, numbers, strict=True))  # type: ignore[arg-type]
        if not names and _is_list(value):
            return {}
        expected = (
            f'one of its fields: {", ".join(names)}'
            if _fields(value)
            else ('a name or number in brackets, or a field with numbers')
        )
        raise InvalidValueError(
            str(self.reference), f'a {type(value).__name__}', expected, self.first.type_name
        )


class _NoItemError(Exception):
    """A message has no item with this name or number."""

    def __init__(self, key: str, known: Sequence[str]):
        super().__init__(key)
        self.key, self.known = key, known


def _item(value: Any, key: str, holder: Any) -> tuple[Any, str]:
    """Return a list item by its name or number, and its name."""
    if not _is_list(value):
        raise InvalidValueError(f'[{key}]', type(value).__name__, 'brackets after a list')
    names = _names_beside(holder, value) or [_name_of(each) for each in value]
    if key in names:
        return value[names.index(key)], key
    if key.lstrip('-').isdigit() and -len(value) <= int(key) < len(value):
        return value[int(key)], names[int(key)]
    raise _NoItemError(
        key, [name for name in names if name] or [str(k) for k in range(len(value))]
    )


def _is_list(value: Any) -> bool:
    return hasattr(value, '__len__') and not isinstance(value, (str, bytes))


def _fields(value: Any) -> list[str]:
    """Return a message's field names; [] for other values."""
    known = getattr(type(value), 'get_fields_and_field_types', None)
    return [] if known is None else list(known())


def _names_beside(holder: Any, values: Any) -> list[str]:
    """Return the names a message gives to the items of its list; [] for none."""
    for name in _LISTS_OF_NAMES:
        names: Any = getattr(holder, name, None)
        if _is_list(names) and len(names) == len(values) and names is not values:
            return list(names)
    return []


def _name_of(item: Any) -> str:
    """Return a message's own name, '' if it has none."""
    return next((str(getattr(item, name)) for name in _NAMES if hasattr(item, name)), '')


def _number(value: Any) -> float | None:
    """Return a number, a time [s], or the number in a text; else None."""
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)
    if isinstance(value, bytes) and len(value) == 1:
        return float(value[0])
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    if _fields(value) == ['sec', 'nanosec']:
        return float(value.sec + 1e-9 * value.nanosec)
    return None
