"""Fields of force of a world: adding and removing."""

from __future__ import annotations

from collections.abc import Iterable

from sim_bridge.description.force_fields import checked_field, ForceField
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import new_name
from sim_bridge.foundation.validation import items_of
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.force_fields import Placement
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot

_DEFAULT = 'field'


def add_force_field(
    simulation: Simulation, field: ForceField, name: str | None,
    links: Link | Robot | Iterable[Link | Robot] | None,
) -> str:
    """Add a field; as `World.add_force_field`."""
    simulation.check_thread()
    placed = simulation.fields.placed
    key = new_name(name, _DEFAULT, placed, 'add_force_field')
    own = None if links is None else _slots(simulation, links)
    placed[key] = Placement(checked_field(field, f'force field {key!r}'), own)
    simulation.change_fields()
    return key


def set_force_field(simulation: Simulation, name: str, field: ForceField) -> None:
    """Replace a field, which goes on acting on the same links; raises UnknownNameError."""
    known = _placement(simulation, name)
    checked = checked_field(field, f'force field {name!r}')
    simulation.fields.placed[name] = known._replace(field=checked)
    simulation.change_fields()


def remove_force_field(simulation: Simulation, name: str) -> None:
    """Remove a field; raises UnknownNameError."""
    _placement(simulation, name)
    del simulation.fields.placed[name]
    simulation.change_fields()


def _placement(simulation: Simulation, name: str) -> Placement:
    simulation.check_thread()
    placed = simulation.fields.placed
    if not isinstance(name, str) or name not in placed:
        raise UnknownNameError('force field', name, placed, 'the world')
    return placed[name]


def _slots(
    simulation: Simulation, links: Link | Robot | Iterable[Link | Robot]
) -> tuple[LinkSlot, ...]:
    given = (links,) if isinstance(links, (Link, Robot)) else links
    found: list[LinkSlot] = []
    for each in items_of('links', given, (Link, Robot), 'links or robots', 'add_force_field'):
        robot = each if isinstance(each, Robot) else each.robot
        if robot.simulation is not simulation or robot.slot.is_removed:
            raise InvalidValueError('links', each, 'links of this world', 'add_force_field')
        if isinstance(each, Link) and each.m == 0.0:
            raise InvalidValueError(
                'links', each, 'links that have mass: fields act at the centre of mass',
                'add_force_field')
        found += robot.slot.links if isinstance(each, Robot) else [each.slot]
    return tuple(dict.fromkeys(found))
