"""Events in a recorded run, found in its bag's messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
import json
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.errors import brief, SimBridgeError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.bag.mcap_reader import Message
from sim_bridge.ros.bag.notes import content_of
from sim_bridge.ros.bag.recording import EVENTS, INPUTS, MISSED, REFUSED
from sim_bridge.ros.command.inputs import SENDERS_LEFT
from sim_bridge.ros.command.trajectories import CANCEL, FOLLOW
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.contact_messages import BEGIN, CONTACT, CONTACT_EVENT
from sim_bridge.ros.wire.message_types import message_class

_MOST_KEPT = 1000  # events kept per kind
_WARN, _ERROR = 30, 40  # rcl_interfaces/Log levels
_REFUSED, _MISSED, _CONTACT = 'command refused', 'missed deadlines', 'contact'
# keys in /diagnostics
_COUNTERS = {'missed deadlines since start': _MISSED, 'rejected since start': _REFUSED}
_Pair = tuple[int, int]
# yields event kind, text and occurrence count
_Take = Callable[[Message], Iterator[tuple[str, str, int]]]


class Event(NamedTuple):
    """An event. time: in the bag [s]. kind: for example 'reset' or 'contact'. text: details."""

    time: float
    kind: str
    text: str


class Events:
    """
    Events in the messages taken so far.

    counts: event counts by kind. kept: first events for each kind, in time order.
    """

    def __init__(self) -> None:
        """Start without events."""
        self.counts: Counter[str] = Counter()
        self.kept: list[Event] = []
        self._geometries: list[str] = []
        self._touching: set[_Pair] = set()
        self._has_events = False
        self._begun: list[Event] = []
        self._now = 0.0
        self._totals: dict[str, int] = {}
        self._takers: dict[str, _Take | None] = {}

    def take(self, time_s: float, message: Message) -> None:
        """
        Find the events in a message; an unreadable message is itself an event.

        time_s: message time [s].
        """
        if message.topic not in self._takers:
            self._takers[message.topic] = self._taker(message)
        take, self._now = self._takers[message.topic], time_s
        if take is None:
            return
        try:
            for kind, text, count in take(message):
                self.add(Event(time_s, kind, text), count)
        except (SimBridgeError, LookupError, TypeError, ValueError, AttributeError) as err:
            self.add(Event(time_s, 'unreadable message', f'{message.topic}: {brief(err)}'))

    def finish(self) -> None:
        """Add contacts found in contact points, if no contact events were recorded."""
        if not self._has_events:
            for each in self._begun:
                self.add(each)
            self.kept.sort(key=lambda each: each.time)
        self._begun.clear()

    def add(self, event: Event, count: int = 1) -> None:
        """Add an event that occurred `count` times."""
        self.counts[event.kind] += count
        if sum(each.kind == event.kind for each in self.kept) < _MOST_KEPT:
            self.kept.append(event)

    def _taker(self, message: Message) -> _Take | None:
        """Return the function reading a topic's messages, None if they hold no events."""
        name, kind = message.topic, message.type_name
        if kind == 'std_msgs/msg/String':
            for end, take in (
                (f'/{INPUTS}', self._inputs),
                (f'/{EVENTS}', self._events),
                ('contacts/geometries', self._names),
                ('joints/broken', self._broken),
            ):
                if name.endswith(end):
                    return take
        elif kind == 'sensor_msgs/msg/PointCloud2' and name.endswith('contacts/events'):
            return self._contact_events
        elif kind == 'sensor_msgs/msg/PointCloud2' and name.endswith('/contacts'):
            return self._contacts
        elif kind == 'diagnostic_msgs/msg/DiagnosticArray':
            return self._diagnostics
        elif kind == 'rcl_interfaces/msg/Log':
            return self._log
        return None

    def _inputs(self, message: Message) -> Iterator[tuple[str, str, int]]:
        for kind, values in content_of(message).items():
            tell = _INPUTS.get(kind)
            if tell is not None:
                yield (*tell(values), 1)

    def _events(self, message: Message) -> Iterator[tuple[str, str, int]]:
        for kind, values in content_of(message).items():
            count = int(values['count'])
            if kind == REFUSED:
                yield _REFUSED, f'{values["robot"]}: {values["reason"]}', count
            elif kind == MISSED:
                yield _MISSED, counted(count, 'deadline'), count

    def _names(self, message: Message) -> Iterator[tuple[str, str, int]]:
        self._geometries = [
            '/'.join(dict.fromkeys((each['robot'], each['link'], each['geometry'])))
            for each in json.loads(_plain(message).data)
        ]
        return iter(())

    def _broken(self, message: Message) -> Iterator[tuple[str, str, int]]:
        for name, time_s in json.loads(_plain(message).data).items():
            key = f'broken {name} {time_s}'
            if key not in self._totals:
                self._totals[key] = 1
                yield 'joint broken', name, 1

    def _contact_events(self, message: Message) -> Iterator[tuple[str, str, int]]:
        self._has_events = True
        points = np.frombuffer(bytes(_plain(message).data), CONTACT_EVENT)
        for pair in sorted(_pairs(points[points['event'] == BEGIN])):
            yield _CONTACT, self._pair_text(pair), 1

    def _contacts(self, message: Message) -> Iterator[tuple[str, str, int]]:
        now = _pairs(np.frombuffer(bytes(_plain(message).data), CONTACT))
        begun, self._touching = now - self._touching, now
        self._begun += [
            Event(self._now, _CONTACT, self._pair_text(pair)) for pair in sorted(begun)
        ]
        return iter(())

    def _pair_text(self, pair: _Pair) -> str:
        return ' touches '.join(
            self._geometries[k] if k < len(self._geometries) else f'geometry {k}' for k in pair
        )

    def _diagnostics(self, message: Message) -> Iterator[tuple[str, str, int]]:
        """Yield events for increased counts."""
        for status in _plain(message).status:
            values = {item.key: item.value for item in status.values}
            for key, kind in _COUNTERS.items():
                if not values.get(key, '').isdigit():
                    continue
                name, total = f'{status.name} {key}', int(values[key])
                before, self._totals[name] = self._totals.get(name, 0), total
                if total > before:
                    yield kind, f'{status.name}: {status.message}', total - before

    def _log(self, message: Message) -> Iterator[tuple[str, str, int]]:
        said = _plain(message)
        if said.level >= _WARN:
            yield ('error' if said.level >= _ERROR else 'warning', f'{said.name}: {said.msg}', 1)


def _plain(message: Message) -> Any:
    """Return the message object; raises MalformedMessageError."""
    return deserialize(message.data, message_class(message.type_name))


def _pairs(points: np.ndarray) -> set[_Pair]:
    return {
        (int(a), int(b)) for a, b in zip(points['geometry_a'], points['geometry_b'], strict=True)
    }


def _of_robot(kind: str) -> Callable[[Mapping[str, Any]], tuple[str, str]]:
    return lambda values: (kind, str(values['robot']))


_INPUTS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    'reset': lambda values: ('reset', f'with{"" if values["clock"] else "out"} the clock'),
    'restore': lambda values: ('snapshot restored', f'number {values["number"]}'),
    'save': lambda values: ('snapshot saved', ''),
    'move': lambda values: ('moved', str(values['name'])),
    'push': lambda values: ('pushed', f'{values["robot"]}/{values["link"]}'),
    'delete': lambda values: ('deleted', str(values['name'])),
    'spawn': lambda values: ('spawned', str(values['name'])),
    'spawn_scene': lambda values: ('spawned', str(values['name'])),
    'configure': lambda values: ('configured', ', '.join(values)),
    'force_fields': lambda values: ('configured', 'force fields'),
    'change': lambda values: ('changed', brief(values['text'])),
    'control': lambda values: (
        'control changed',
        f'{values["robot"]}/{values["axis"]}: {values["control"]}',
    ),
    'functions': lambda values: (
        'functions of a program',
        ', '.join(map(str, values['names'])) or 'none',
    ),
    FOLLOW: _of_robot('trajectory'),
    CANCEL: _of_robot('trajectory cancelled'),
    SENDERS_LEFT: _of_robot('controller left'),
}
