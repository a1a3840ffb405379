"""Force fields and gravity in a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sim_bridge.description.fluid_forces import AdvancedLiftDrag, LiftDrag, Rotor, Thruster
from sim_bridge.description.force_fields import checked_field, ForceField
from sim_bridge.description.gravity import gravity_of, GravityFunction, PointGravity
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import new_name
from sim_bridge.foundation.validation import items_of
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.force_fields import Placement
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot

_DEFAULT = 'field'


class WorldFields:
    """Force fields and gravity in a world."""

    def __init__(self, simulation: Simulation):
        """Manage a simulation's fields."""
        self._simulation = simulation

    @property
    def gravity(self) -> FloatArray | PointGravity | GravityFunction:
        """Gravity; see `World.gravity`."""
        function = self._simulation.registry.fields.gravity
        if function is not None:
            return function
        view = self._simulation.run.gravity.view()
        view.flags.writeable = False
        return gravity_of(view)

    @property
    def by_name(self) -> dict[str, ForceField]:
        """Fields by name."""
        return {name: each.field for name, each in self._simulation.registry.fields.placed.items()}

    def add(
        self,
        field: ForceField,
        name: str | None,
        links: Link | Robot | Iterable[Link | Robot] | None,
    ) -> str:
        """Add a field; see `World.add_force_field`."""
        self._simulation.thread_guard.check()
        placed = self._simulation.registry.fields.placed
        key = new_name(name, _DEFAULT, placed, 'add_force_field')
        own = None if links is None else self._slots(links)
        checked = checked_field(field, f'force field {key!r}')
        check_placement(checked, own, f'force field {key!r}')
        self._set(placed | {key: Placement(checked, own)})
        return key

    def replace(self, name: str, field: ForceField) -> None:
        """Replace a field for the same links; raise UnknownNameError for an unknown name."""
        known = self._placement(name)
        checked = checked_field(field, f'force field {name!r}')
        check_placement(checked, known.links, f'force field {name!r}')
        placed = self._simulation.registry.fields.placed
        self._set(placed | {name: known._replace(field=checked)})

    def remove(self, name: str) -> None:
        """Remove a field; raise UnknownNameError for an unknown name."""
        self._placement(name)
        placed = self._simulation.registry.fields.placed
        self._set({other: each for other, each in placed.items() if other != name})

    def _set(self, placed: Mapping[str, Placement]) -> None:
        registry = self._simulation.registry
        registry.set_fields(placed, registry.fields.gravity)

    def _placement(self, name: str) -> Placement:
        self._simulation.thread_guard.check()
        placed = self._simulation.registry.fields.placed
        if not isinstance(name, str) or name not in placed:
            raise UnknownNameError('force field', name, placed, 'the world')
        return placed[name]

    def _slots(self, links: Link | Robot | Iterable[Link | Robot]) -> tuple[LinkSlot, ...]:
        given = (links,) if isinstance(links, (Link, Robot)) else links
        found: list[LinkSlot] = []
        for each in items_of('links', given, (Link, Robot), 'links or robots', 'add_force_field'):
            robot = each if isinstance(each, Robot) else each.robot
            if robot.simulation is not self._simulation or robot.slot.is_removed:
                raise InvalidValueError('links', each, 'links of this world', 'add_force_field')
            if isinstance(each, Link) and each.m == 0.0:
                raise InvalidValueError(
                    'links',
                    each,
                    'links with mass: fields act at the centre of mass',
                    'add_force_field',
                )
            found += robot.slot.links if isinstance(each, Robot) else [each.slot]
        return tuple(dict.fromkeys(found))


def check_placement(field: ForceField, links: Sequence[LinkSlot] | None, place: str) -> None:
    """Raise InvalidValueError for a field with a joint unknown on its links."""
    if isinstance(field, (Rotor, Thruster)) and not field.joint:
        expected = 'the name of the joint that turns the propeller'
        raise InvalidValueError('joint', field.joint, expected, place)
    joints = _joints_of(field)
    if not joints:
        return
    if links is None:
        raise InvalidValueError('links', links, 'the links that the field acts on', place)
    for link in links:
        known = link.robot.blueprint.joint_names
        for joint in joints:
            if joint not in known:
                expected = f'a joint of robot {link.robot.name!r}: {", ".join(known)}'
                raise InvalidValueError('joint', joint, expected, place)


def _joints_of(field: ForceField) -> tuple[str, ...]:
    """Return the joints that a field reads."""
    if isinstance(field, AdvancedLiftDrag):
        return tuple(field.joints)
    if isinstance(field, (Rotor, Thruster, LiftDrag)) and field.joint:
        return (field.joint,)
    return ()
