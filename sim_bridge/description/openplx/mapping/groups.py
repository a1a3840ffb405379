"""Collision groups for geometries, and group pairs without collision."""

from __future__ import annotations

from typing import cast

from sim_bridge.description.openplx.assembly import owners
from sim_bridge.description.openplx.objects import Object

_GROUP, _PAIR = 'Simulation.CollisionGroup', 'Simulation.DisableCollisionPair'


class Groups:
    """A scene's collision groups. apart: pairs of group names without collision."""

    def __init__(self, root: Object):
        """Find the groups and pairs."""
        self._names: dict[int, list[str]] = {}
        pairs = []
        for each in root.walk():
            if each.is_a(_GROUP):
                for member in ('systems', 'bodies', 'geometries'):
                    for thing in cast('tuple[Object, ...]', each[member]):
                        self._names.setdefault(id(thing), []).append(each.path)
            elif each.is_a(_PAIR):
                one, other = (cast(Object, each[member]) for member in ('group1', 'group2'))
                pairs.append((one.path, other.path))
        self.apart = tuple(pairs)

    def of(self, geometry: Object) -> frozenset[str]:
        """Return a geometry's groups: its own, and those of all its owners."""
        return frozenset(
            name for owner in owners(geometry) for name in self._names.get(id(owner), ())
        )
