"""Contact listeners: each listener's geometry pairs, and the contacts it removes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.contact.listen import LISTEN
from sim_bridge.engine.data.contact_points import Contacts, COUNT
from sim_bridge.engine.data.fields import NOW
from sim_bridge.engine.data.listening import (
    ENDED,
    FIRST,
    Listening,
    make_listening,
    no_listening,
    SECOND,
    SEPARATION,
)
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.slots import GeometrySlot, LinkSlot, RobotSlot

Side = RobotSlot | LinkSlot | GeometrySlot | str | None
"""The geometries that a listener watches: a text is a collision group, None is all."""


class Heard(NamedTuple):
    """
    A pair event for a listener.

    event: bit as in `engine.data.listening`. pair: geometry numbers, first the one on the
    listener's first side. is_turned: whether the second has the lower number, so normals must
    be reversed. rows: its contacts. time: middle time in the step [s].
    """

    event: int
    pair: tuple[int, int]
    is_turned: bool
    rows: slice
    contacts: Contacts
    time: float


Hear = Callable[[Heard], np.ndarray | None]
"""Takes an event; returns a mask for the contacts to keep, or None for all."""


@dataclass(eq=False)
class Listener:
    """A listener to pair events; events: bits as in `engine.data.listening`."""

    first: Side
    second: Side
    events: int
    hear: Hear

    def sides(self, geometries: Sequence[GeometrySlot]) -> np.ndarray:
        """Return (n,) each geometry's sides, as bits."""
        return np.array(
            [
                FIRST * _is_on(self.first, each) + SECOND * _is_on(self.second, each)
                for each in geometries
            ],
            np.int64,
        )


class ContactListeners:
    """A simulation's listeners, in order, and their call in a step."""

    def __init__(self, calls: PythonCalls) -> None:
        """Begin with none."""
        self.listeners: list[Listener] = []
        self.callback = calls.callback(self._tell, reads=True)
        self._part = no_listening()
        # listeners in the part; some may be removed during a call
        self._informed: tuple[Listener, ...] = ()
        self._contacts: Contacts
        self._time: np.ndarray

    def part(self, geometries: Sequence[GeometrySlot], room: int) -> Listening:
        """Return the engine's part; room: for contacts."""
        self._part, self._informed = no_listening(), tuple(self.listeners)
        if self.listeners and geometries:
            sides = np.array([each.sides(geometries) for each in self.listeners])
            events = np.array([each.events for each in self.listeners], np.int64)
            self._part = make_listening(sides, events, room)
            self._part.call[:] = LISTEN.address, self.callback.address
        return self._part

    def connect(self, contacts: Contacts, time: np.ndarray) -> None:
        """Take a step's arrays: its contacts, and its time."""
        self._contacts, self._time = contacts, time

    def regroup(self, geometries: Sequence[GeometrySlot]) -> None:
        """Handle changed collision groups."""
        for row, each in zip(self._part.side, self._informed, strict=False):
            row[:] = each.sides(geometries)

    def forget(self, geometries: Iterable[GeometrySlot]) -> None:
        """Remove listeners to removed robots, links or geometries."""
        gone: set[object] = set(geometries)
        gone |= {part for each in geometries for part in (each.link, each.link.robot)}
        self.listeners = [
            each for each in self.listeners if each.first not in gone and each.second not in gone
        ]

    def _tell(self, phase: int) -> None:
        part, contacts, time = self._part, self._contacts, float(self._time[NOW])
        count = int(contacts.size[COUNT])
        pairs, keep = contacts.geometry[:count], part.keep
        for first in np.flatnonzero(part.event[:count]).tolist():
            last = first + 1
            while last < count and (pairs[last] == pairs[first]).all():
                last += 1
            a, b = pairs[first].tolist()
            for heard, listener in self._hearing(
                int(part.event[first]), a, b, slice(first, last), time
            ):
                kept = listener.hear(heard)
                if kept is not None:
                    keep[first:last] &= kept
        for a, b in part.ended[: int(part.size[ENDED])].tolist():
            for heard, listener in self._hearing(SEPARATION, a, b, slice(0, 0), time):
                listener.hear(heard)

    def _hearing(
        self, event: int, a: int, b: int, rows: slice, time: float
    ) -> Iterable[tuple[Heard, Listener]]:
        """Return the listeners for an event, with the event for each."""
        side = self._part.side
        for number, listener in enumerate(self._informed):
            if not listener.events & event or listener not in self.listeners:
                continue
            one, other = int(side[number, a]), int(side[number, b])
            if one & FIRST and other & SECOND:
                yield Heard(event, (a, b), False, rows, self._contacts, time), listener
            elif one & SECOND and other & FIRST:
                yield Heard(event, (b, a), True, rows, self._contacts, time), listener


def _is_on(side: Side, geometry: GeometrySlot) -> bool:
    if side is None or side is geometry or side is geometry.link or side is geometry.link.robot:
        return True
    return isinstance(side, str) and side in geometry.groups
