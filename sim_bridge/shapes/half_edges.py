"""Half-edge structure of a triangle surface: neighbours beside and around each triangle."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError

NO_PARTNER = -1
"""Partner number of a half-edge at a hole."""


class HalfEdges:
    """
    Half-edges of a surface, three for each triangle; `TriangleMesh.half_edges`.

    Half-edge 3 t + k goes from corner k of triangle t to the next corner. Vertices at one position
    are merged, so triangles meet there. The half-edges of an edge have no partners if it has more
    than two triangles, or two triangles of opposite orientation.

    vertices: (n, 3) [m], without duplicates. triangles: (m, 3) vertex indices. origins, ends:
    (3 m,) vertex indices at the begin and end of each half-edge. following: (3 m,) next half-edge
    in the same triangle. partners: (3 m,) half-edge in the adjacent triangle, from the end to the
    origin, or NO_PARTNER.
    """

    def __init__(self, vertices: FloatArray, triangles: IntArray):
        """Find the partners. Arguments: arrays as in TriangleMesh."""
        places, number = np.unique(vertices, axis=0, return_inverse=True)
        self.vertices: FloatArray = places
        self.triangles: IntArray = number.reshape(-1)[triangles]
        self.origins: IntArray = self.triangles.reshape(-1)
        self.ends: IntArray = np.roll(self.triangles, -1, axis=1).reshape(-1)
        self.following: IntArray = (
            np.arange(self.origins.size).reshape(-1, 3)[:, [1, 2, 0]].reshape(-1)
        )
        self.partners: IntArray = self._partners()
        for array in vars(self).values():
            array.flags.writeable = False

    def next(self, edge: int) -> int:
        """Return the next half-edge in the same triangle; its origin is this one's end."""
        return int(self.following[self._checked(edge)])

    def previous(self, edge: int) -> int:
        """Return the previous half-edge in the same triangle; it ends at this one's origin."""
        return int(self.following[self.following[self._checked(edge)]])

    def partner(self, edge: int) -> int | None:
        """Return the adjacent triangle's half-edge, back to the origin; None at a hole."""
        partner = int(self.partners[self._checked(edge)])
        return None if partner == NO_PARTNER else partner

    def circulate(self, edge: int) -> Iterator[tuple[int, bool]]:
        """
        Iterate over (half-edge, is_after_hole) for all half-edges with this one's origin.

        The order is counterclockwise, seen from outside, starting with this one. After a hole, the
        next triangle group follows, starting at its clockwise end. Raises InvalidValueError
        for an unknown half-edge.
        """
        return self._circulate(self._checked(edge))

    @property
    def is_closed(self) -> bool:
        """Whether each edge is shared by exactly two triangles with the same orientation."""
        return bool(((self.partners != NO_PARTNER) | (self.origins == self.ends)).all())

    def _circulate(self, edge: int) -> Iterator[tuple[int, bool]]:
        first = np.searchsorted(self._ordered_origins, self.origins[edge])
        last = np.searchsorted(self._ordered_origins, self.origins[edge], side='right')
        unseen = dict.fromkeys(self._by_origin[first:last].tolist())
        at: int | None = edge
        jumped = False
        while True:
            while at is not None and at in unseen:
                del unseen[at]
                yield at, jumped
                jumped = False
                at = self.partner(self.previous(at))
            if not unseen:
                return
            jumped, at = True, self._beginning(edge, unseen)
            if at not in unseen:
                at = self._beginning(next(iter(unseen)), unseen)
            edge = at

    def _beginning(self, edge: int, unseen: Container[int]) -> int:
        """Return the last unseen half-edge clockwise from one."""
        at = edge
        while (behind := self.partner(at)) is not None:
            before = self.next(behind)
            if before not in unseen or before == edge:
                break
            at = before
        return at

    @cached_property
    def _by_origin(self) -> IntArray:
        return np.argsort(self.origins, kind='stable')

    @cached_property
    def _ordered_origins(self) -> IntArray:
        return self.origins[self._by_origin]

    def _partners(self) -> IntArray:
        """Return each half-edge's partner."""
        count = len(self.vertices)
        forth, back = self.origins * count + self.ends, self.ends * count + self.origins
        order = np.argsort(forth, kind='stable')
        ordered = forth[order]
        first = np.searchsorted(ordered, back)
        last = np.searchsorted(ordered, back, side='right')
        alone = np.searchsorted(ordered, forth, side='right') - np.searchsorted(ordered, forth)
        is_pair = (last - first == 1) & (alone == 1) & (self.origins != self.ends)
        return np.where(is_pair, order[np.minimum(first, len(order) - 1)], NO_PARTNER)

    def _checked(self, edge: int) -> int:
        if not isinstance(edge, (int, np.integer)) or not 0 <= edge < len(self.origins):
            raise InvalidValueError(
                'edge', edge, f'a half-edge from 0 to {len(self.origins) - 1}', 'half-edges'
            )
        return int(edge)
