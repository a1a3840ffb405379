"""The last step's contact points, with their forces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.names import counted
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.world.bodies import Body, geometries_of


@dataclass(frozen=True, eq=False)
class Contact:
    """
    A point where two geometries touch or nearly touch. All vectors are (3,), in world axes.

    position: midway between both surfaces [m]. normal: unit vector from b to a, the direction in
    which a is pushed. depth: penetration depth [m], negative for separated geometries. force: on a
    by b, mean over the last step [N]. torque: on a by b about the point, from rolling or spinning
    friction [N m].
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
        """Show the touching links, the force and the depth."""
        links = (self.link_b, self.link_a)
        names = ' on '.join(f'{link.robot.name}/{link.name}' for link in links)
        force = float(np.linalg.norm(self.force))
        return f'<Contact: {names}, {force:.4g} N, {self.depth + 0.0:.3g} m deep>'


class _Kept(NamedTuple):
    world: World
    geometries: Sequence[Geometry]
    indices: IntArray
    positions: FloatArray
    normals: FloatArray
    depths: FloatArray
    forces: FloatArray
    torques: FloatArray


class Contacts(DeclaredAttributes, Sequence[Contact]):
    """
    The last step's contact points at query time; also as arrays.

    positions, normals, forces, torques: (n, 3), depths: (n,); as in `Contact`. indices: (n, 2)
    indices in `world.geometries`.
    """

    __slots__ = ('_kept',)
    internal_names = DeclaredAttributes.internal_names | {'signs'}

    indices = ReadOnly[IntArray]('_kept.indices', '(n, 2) indices in `world.geometries`.')
    positions = ReadOnly[FloatArray]('_kept.positions', '(n, 3) contact positions [m], world.')
    normals = ReadOnly[FloatArray]('_kept.normals', '(n, 3) normals from b to a, world axes.')
    depths = ReadOnly[FloatArray]('_kept.depths', '(n,) depths [m], positive for overlap.')
    forces = ReadOnly[FloatArray]('_kept.forces', '(n, 3) forces on a [N], world axes.')
    torques = ReadOnly[FloatArray]('_kept.torques', '(n, 3) torques on a [N m], world axes.')

    def __init__(self, world: World):
        """Copy the contacts from a world's state."""
        state, time_step = world.state, world.time_step
        count = int(state.contact_size[0])
        # one attribute for all arrays: each declared attribute takes time to set
        self._kept = _Kept(
            world,
            world.geometries,
            state.contact_geometry[:count].copy(),
            state.contact_point[:count].copy(),
            state.contact_normal[:count].copy(),
            -state.contact_gap[:count],
            state.contact_impulse[:count, :3] / time_step,
            state.contact_impulse[:count, 3:] / time_step,
        )

    def __len__(self) -> int:
        """Return the point count."""
        return len(self.depths)

    @overload
    def __getitem__(self, index: int) -> Contact: ...

    @overload
    def __getitem__(self, index: slice) -> list[Contact]: ...

    def __getitem__(self, index: int | slice) -> Contact | list[Contact]:
        """Return one contact, or a list for a slice."""
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        first, second = (self._kept.geometries[g] for g in self.indices[index])
        return Contact(
            first,
            second,
            self.positions[index],
            self.normals[index],
            float(self.depths[index]),
            self.forces[index],
            self.torques[index],
        )

    def __iter__(self) -> Iterator[Contact]:
        """Iterate over the points."""
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        """Show point count and largest force."""
        most = float(np.linalg.norm(self.forces, axis=1).max(initial=0.0))
        return f'<Contacts: {counted(len(self), "point")}, at most {most:.4g} N>'

    def force_on(self, body: Body, by: Body | None = None) -> FloatArray:
        """
        Return (3,) the contact force on a body, from all contacts or those with a body `by` [N].

        body, by: a robot, link or geometry; forces between one robot's parts cancel. Raises
        InvalidValueError for other objects and for objects in another world.
        """
        total: FloatArray = self.signs(body, by, 'body', 'by') @ self.forces
        return total

    def signs(
        self, a: Body, b: Body | None = None, name_a: str = 'a', name_b: str = 'b'
    ) -> FloatArray:
        """
        Return (n,) 1 for contacts with body a first, -1 with body a second, 0 for others.

        Multiplied by these signs, `forces` act on a. b: restricts the contacts to those between a
        and b. name_a, name_b: argument names for messages. Errors as for `force_on`.
        """
        is_on = self._has(name_a, a)
        if b is None:
            return is_on[:, 0].astype(float) - is_on[:, 1]
        is_by = self._has(name_b, b)
        return (is_on[:, 0] & is_by[:, 1]).astype(float) - (is_on[:, 1] & is_by[:, 0])

    def _has(self, what: str, body: object) -> np.ndarray:
        """
        Return for both geometries of each point whether they belong to a body (n, 2).

        Raises InvalidValueError for anything except a body.
        """
        own = set(geometries_of(what, body, self._kept.world))
        numbers = [k for k, geometry in enumerate(self._kept.geometries) if geometry in own]
        return np.isin(self.indices, numbers)
