"""The half-edge structure of a surface: which triangles lie beside and around each other."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError

NO_PARTNER = -1
"""Where a half-edge is at a hole."""


class HalfEdges:
    """
    The half-edges of a surface, three of each triangle; `TriangleMesh.half_edges`.

    Half-edge 3 t + k goes from corner k of triangle t to the next. Vertices at one place count
    as one, so that triangles meet there. Where an edge has more than two triangles, or two of
    opposite orientation, its half-edges have no partners.

    vertices: (n, 3) [m], each place once. triangles: (m, 3) numbers of these. origins, ends:
    (3 m,) where each half-edge begins and ends. following: (3 m,) the half-edge of the same
    triangle that begins there. partners: (3 m,) the half-edge of the triangle beside, from the end
    to the origin, or NO_PARTNER.
    """

    def __init__(self, vertices: FloatArray, triangles: IntArray):
        """Find the partners; the arrays are those of a TriangleMesh."""
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
        """Return the half-edge of the same triangle that begins where this one ends."""
        return int(self.following[self._checked(edge)])

    def previous(self, edge: int) -> int:
        """Return the half-edge of the same triangle that ends where this one begins."""
        return int(self.following[self.following[self._checked(edge)]])

    def partner(self, edge: int) -> int | None:
        """Return the half-edge of the triangle beside, back to the origin; None at a hole."""
        partner = int(self.partners[self._checked(edge)])
        return None if partner == NO_PARTNER else partner

    def circulate(self, edge: int) -> Iterator[tuple[int, bool]]:
        """
        Return each half-edge that begins where this one does, and if a hole was jumped before it.

        They come counterclockwise, seen from outside, from this one on. Behind a hole the next
        group of triangles follows from its other end. Raises InvalidValueError for an edge that is
        not there.
        """
        return self._circulate(self._checked(edge))

    @property
    def is_closed(self) -> bool:
        """Whether every edge is shared by two triangles of the same orientation."""
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
        """Return the last half-edge clockwise from one, of those not seen yet."""
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
        """Return the partner of each half-edge."""
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
