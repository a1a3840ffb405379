"""Contact points of the last step, with their forces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from sim_bridge.engine.data.state import State
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import instance_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link


@dataclass(frozen=True, eq=False)
class Contact:
    """
    A point where two geometries touch or nearly touch. All vectors are (3,), in world axes.

    position: midway between both surfaces [m]. normal: unit vector from b to a, the direction in
    which a is pushed. depth: penetration depth [m], negative for separated geometries. force: of b
    on a, mean of the last step [N]. torque: of b on a about the point, where there is rolling or
    spinning friction [N m].
    """

    geometry_a: Geometry
    geometry_b: Geometry
    position: FloatArray
    normal: FloatArray
    depth: float
    force: FloatArray
    torque: FloatArray

    link_a = ReadOnly[Link]('geometry_a.link', 'The link of the first geometry.')
    link_b = ReadOnly[Link]('geometry_b.link', 'The link of the second geometry.')

    def __repr__(self) -> str:
        """Show the touching geometries, the force and the depth."""
        links = (self.link_b, self.link_a)
        names = ' on '.join(f'{link.robot.name}/{link.name}' for link in links)
        force = float(np.linalg.norm(self.force))
        return f'<Contact: {names}, {force:.4g} N, {self.depth + 0.0:.3g} m deep>'


class _Kept(NamedTuple):
    geometries: Sequence[Geometry]
    indices: IntArray
    positions: FloatArray
    normals: FloatArray
    depths: FloatArray
    forces: FloatArray
    torques: FloatArray


class Contacts(DeclaredAttributes, Sequence[Contact]):
    """
    The contact points of the last step at the time of the query; also as arrays.

    positions, normals, forces, torques: (n, 3), depths: (n,); as in `Contact`. indices: (n, 2)
    places of both geometries in `world.geometries`.
    """

    __slots__ = ('_kept',)

    indices = ReadOnly[IntArray]('_kept.indices', '(n, 2) in `world.geometries`.')
    positions = ReadOnly[FloatArray]('_kept.positions', '(n, 3) [m], world.')
    normals = ReadOnly[FloatArray]('_kept.normals', '(n, 3) from b to a, world axes.')
    depths = ReadOnly[FloatArray]('_kept.depths', '(n,) [m], positive for overlap.')
    forces = ReadOnly[FloatArray]('_kept.forces', '(n, 3) on a [N], world axes.')
    torques = ReadOnly[FloatArray]('_kept.torques', '(n, 3) on a [N m], world axes.')

    def __init__(self, state: State, geometries: Sequence[Geometry], time_step: float):
        """Copy the contacts out of a state; time_step: of the last step [s]."""
        count = int(state.contact_size[0])
        # in one attribute, as each takes its time to be set
        self._kept = _Kept(
            geometries, state.contact_geometry[:count].copy(),
            state.contact_point[:count].copy(), state.contact_normal[:count].copy(),
            -state.contact_gap[:count], state.contact_impulse[:count, :3] / time_step,
            state.contact_impulse[:count, 3:] / time_step)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.depths)

    @overload
    def __getitem__(self, index: int) -> Contact: ...

    @overload
    def __getitem__(self, index: slice) -> list[Contact]: ...

    def __getitem__(self, index: int | slice) -> Contact | list[Contact]:
        """Return a point, or several."""
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        first, second = (self._kept.geometries[g] for g in self.indices[index])
        return Contact(
            first, second, self.positions[index], self.normals[index], float(self.depths[index]),
            self.forces[index], self.torques[index])

    def __iter__(self) -> Iterator[Contact]:
        """Iterate over the points."""
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        """Show the number of points and the greatest force."""
        most = float(np.linalg.norm(self.forces, axis=1).max(initial=0.0))
        return f'<Contacts: {counted(len(self), "point")}, at most {most:.4g} N>'

    def force_on(self, link: Link, by: Link | None = None) -> FloatArray:
        """
        Return (3,) the force of all contacts on a link, or of those with a link `by` [N].

        Raises InvalidValueError for what is no link.
        """
        instance_of('link', link, Link, 'a link')
        if by is not None:
            instance_of('by', by, Link, 'a link or None')
        total = np.zeros(3)
        for contact, force in zip(self, self.forces, strict=True):
            pair = contact.link_a, contact.link_b
            if link in pair and (by is None or by in pair):
                total += force if pair[0] is link else -force
        return total
