"""Contact events for users, and listeners for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.force_fields import name_of
from sim_bridge.engine.data.listening import CONTACT, IMPACT, SEPARATION
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import items_of, one_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.contact_listeners import Heard, Listener, Side
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.staleness import CONTACTS

EVENTS = {'impact': IMPACT, 'contact': CONTACT, 'separation': SEPARATION}
_NAMES = {bit: name for name, bit in EVENTS.items()}
KEEP, REMOVE = 'keep', 'remove'

Partner = Robot | Link | Geometry | str
"""Object whose contacts a listener receives; a text names a collision group."""


@dataclass(frozen=True, eq=False)
class ContactEvent:
    """
    Event for a geometry pair in a step, before its contacts are solved.

    kind: 'impact': the pair touches, but did not in the last step. 'contact': it still touches.
    'separation': it touched in the last step and does not any more. time: after the step
    [s]. geometry_a, geometry_b: the pair; the first belongs to the listener's `a`. positions:
    (n, 3) contact points [m], world. normals: (n, 3) from b to a, world axes. depths: (n,) [m],
    negative for points with a gap. A separation has no points.
    """

    kind: str
    time: float
    geometry_a: Geometry
    geometry_b: Geometry
    positions: FloatArray
    normals: FloatArray
    depths: FloatArray

    link_a = ReadOnly[Link]('geometry_a.link', 'The link of the first geometry.')
    link_b = ReadOnly[Link]('geometry_b.link', 'The link of the second geometry.')

    def __repr__(self) -> str:
        """Show the event and the links."""
        links = self.link_a, self.link_b
        names = ' and '.join(f'{link.robot.name}/{link.name}' for link in links)
        return f'<ContactEvent: {self.kind} of {names} at {self.time:.9g} s>'


ContactFunction = Callable[[ContactEvent], Any]
"""Returns None or 'keep', 'remove', or (n,) truth values for points to keep."""


class ContactListener(DeclaredAttributes):
    """A function called for contact events until `remove` is called."""

    __slots__ = ('_listener', '_simulation', 'events', 'function')

    def __init__(
        self,
        simulation: Simulation,
        listener: Listener,
        function: ContactFunction,
        events: tuple[str, ...],
    ):
        """Register with a world; use `World.on_contact`."""
        self._simulation, self._listener = simulation, listener
        self.function = function
        self.events = events
        """Event kinds for which the function is called."""

    def __repr__(self) -> str:
        """Show the function and its events."""
        return f'<ContactListener: {name_of(self.function)} of {", ".join(self.events)}>'

    def remove(self) -> None:
        """Stop the calls; allowed within the function. A second call does nothing."""
        self._simulation.registry.stop_listening(self._listener)


class ListenerRecord(NamedTuple):
    """A listener as plain data. a, b: group name, or robot, link and number; None for all."""

    function: ContactFunction
    a: str | tuple[str, str | None, int | None] | None
    b: str | tuple[str, str | None, int | None] | None
    events: tuple[str, ...]


class WorldListeners:
    """A world's contact listeners."""

    def __init__(self, world: World, simulation: Simulation):
        """Start without listeners."""
        self._world, self._simulation = world, simulation
        self._made: list[tuple[ContactListener, ListenerRecord]] = []

    @property
    def present(self) -> tuple[ContactListener, ...]:
        """Listeners in the order added."""
        return tuple(made for made, _ in self._present())

    def add(
        self,
        function: ContactFunction,
        a: Partner | None,
        b: Partner | None,
        events: Iterable[str],
    ) -> ContactListener:
        """Add a listener; see `World.on_contact`."""
        self._simulation.thread_guard.check()
        if not callable(function):
            raise InvalidValueError('function', function, 'a function of a ContactEvent')
        names = items_of('events', events, str, f'some of {", ".join(EVENTS)}')
        bits = [EVENTS[one_of('events', name, EVENTS)] for name in names]
        if not bits:
            raise InvalidValueError('events', events, f'some of {", ".join(EVENTS)}')
        first, second = (self._side(what, each) for what, each in (('a', a), ('b', b)))
        world, time_step = self._world, self._simulation.run.time_step

        def hear(heard: Heard) -> np.ndarray | None:
            event = _event(world, heard, time_step)
            return _mask(function, function(event), event)

        listener = Listener(first, second, int(np.bitwise_or.reduce(bits)), hear)
        made = ContactListener(self._simulation, listener, function, names)
        self._simulation.registry.listeners.listeners.append(listener)
        self._simulation.staleness.mark(CONTACTS)
        self._made = [
            *self._present(),
            (made, ListenerRecord(function, _name_of(a), _name_of(b), names)),
        ]
        return made

    def records(self) -> tuple[ListenerRecord, ...]:
        """Return the listeners as plain data, for `restore`."""
        return tuple(record for _, record in self._present())

    def restore(self, records: tuple[ListenerRecord, ...]) -> None:
        """Add the original world's listeners to this copy."""
        for function, a, b, events in records:
            self.add(function, self._found(a), self._found(b), events)

    def _present(self) -> list[tuple[ContactListener, ListenerRecord]]:
        known = self._simulation.registry.listeners.listeners
        return [each for each in self._made if each[0]._listener in known]

    def _side(self, what: str, partner: Partner | None) -> Side:
        """Return a partner as the simulation stores it; raise InvalidValueError otherwise."""
        if partner is None or (isinstance(partner, str) and partner):
            return partner
        expected = 'a robot, link or geometry of this world, or the name of a collision group'
        if not isinstance(partner, (Robot, Link, Geometry)):
            raise InvalidValueError(what, partner, expected, 'on_contact')
        robot = _robot_of(partner)
        if robot.simulation is not self._simulation or robot.slot.is_removed:
            raise InvalidValueError(what, partner, expected, 'on_contact')
        return partner.slot

    def _found(self, name: str | tuple[str, str | None, int | None] | None) -> Partner | None:
        if name is None or isinstance(name, str):
            return name
        robot, link, number = name
        own: Robot = self._world.robots[robot]
        if number is not None:
            return own.geometries[number]
        return own if link is None else own.link(link)


def _robot_of(partner: Robot | Link | Geometry) -> Robot:
    if isinstance(partner, Robot):
        return partner
    return partner.robot if isinstance(partner, Link) else partner.link.robot


def _name_of(partner: Partner | None) -> str | tuple[str, str | None, int | None] | None:
    if partner is None or isinstance(partner, str):
        return partner
    return (
        _robot_of(partner).name,
        partner.name if isinstance(partner, Link) else None,
        partner.slot.number if isinstance(partner, Geometry) else None,
    )


def _event(world: World, heard: Heard, time_step: float) -> ContactEvent:
    geometries, rows, contacts = world.geometries, heard.rows, heard.contacts
    a, b = heard.pair
    return ContactEvent(
        _NAMES[heard.event],
        heard.time + 0.5 * time_step,
        geometries[a],
        geometries[b],
        contacts.point[rows].copy(),
        contacts.normal[rows] * (-1.0 if heard.is_turned else 1.0),
        -contacts.gap[rows],
    )


def _mask(function: object, answer: object, event: ContactEvent) -> np.ndarray | None:
    """Return a mask for points that a function keeps; raise InvalidValueError otherwise."""
    if answer is None or (isinstance(answer, str) and answer == KEEP):
        return None
    count = len(event.depths)
    if isinstance(answer, str) and answer == REMOVE:
        return np.zeros(count, bool)
    mask = None if isinstance(answer, (str, bool)) else np.asarray(answer)
    if mask is None or mask.dtype != bool or mask.shape != (count,):
        raise InvalidValueError(
            'answer',
            answer,
            f"None, 'keep', 'remove', or {count} truth values of points to keep",
            f'on_contact, {getattr(function, "__qualname__", function)}',
        )
    return mask
