"""Contact and distance queries for geometry pairs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, items_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.owners import World
from sim_bridge.simulation.contact_search import ContactSearch, FoundPoints
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.bodies import Body, geometry_numbers
from sim_bridge.world.contact_points import contact_points, ContactPoints

Pair = tuple[Body, Body] | tuple[Body, Body, float]
"""Two bodies, and optionally the largest gap between them [m]."""
_MOST_PAIRS = 10_000_000


class PairTable:
    """
    Geometry pairs, each once. numbers: (n, 2), the smaller index first.

    is_turned: (n,) whether the query had the pair in the other order. margins: (n,) largest gaps
    [m].
    """

    def __init__(self, rows: np.ndarray, margins: np.ndarray):
        """Store (n, 2) indices and (n,) margins; for a repeated pair, keep the first."""
        ascending = np.sort(rows, axis=1)
        _, first = np.unique(ascending, axis=0, return_index=True)
        self.numbers = ascending[first]
        self.is_turned = rows[first, 0] > rows[first, 1]
        self.margins = margins[first]

    def chosen(self, mask: np.ndarray) -> PairTable:
        """Return the pairs selected by a mask."""
        numbers = np.where(self.is_turned[:, None], self.numbers[:, ::-1], self.numbers)
        return PairTable(numbers[mask], self.margins[mask])


class ContactQueries:
    """Contact and distance queries in one world, between steps."""

    def __init__(self, world: World, simulation: Simulation):
        """Query a world's geometries."""
        self._world, self._simulation = world, simulation

    @property
    def _search(self) -> ContactSearch:
        return self._simulation.cache.handles.search

    @property
    def _geometries(self) -> list[Geometry]:
        return self._world.geometries

    def near(
        self, margin: float, a: Body | None, b: Body | None, pairs: Iterable[Pair] | None
    ) -> ContactPoints:
        """Find contact points; see `World.find_contacts`."""
        margin = _checked_margin(margin)
        if a is None and b is None and pairs is None:
            return self._shown(self._search.near(margin))
        table = self._table(margin, a, b, pairs)
        if not len(table.numbers):
            return self._shown(self._search.between(table.numbers, 0.0))
        found = self._search.between(table.numbers, float(table.margins.max()))
        row = self._rows_of(found, table)
        near = found.gaps <= table.margins[row]
        return self._shown(
            FoundPoints(*(array[near] for array in found)), table.is_turned[row[near]]
        )

    def distances(
        self, a: Body | None, b: Body | None, pairs: Iterable[Pair] | None
    ) -> ContactPoints:
        """Find the nearest points of pairs; see `World.find_distances`."""
        table = self._table(np.inf, a, b, pairs)
        return self._shown(self._search.distances(table.numbers), table.is_turned)

    def _table(
        self, margin: float, a: Body | None, b: Body | None, pairs: Iterable[Pair] | None
    ) -> PairTable:
        """Return the queried pairs: the given ones, or all that may collide."""
        if pairs is not None:
            if a is not None or b is not None:
                raise InvalidValueError('pairs', pairs, 'either pairs, or a and b')
            return self._given(pairs, margin)
        firsts, seconds = (self._numbers(name, each) for name, each in (('a', a), ('b', b)))
        if len(firsts) * len(seconds) > _MOST_PAIRS:
            raise InvalidValueError(
                'pairs', f'{len(firsts)} by {len(seconds)}', f'at most {_MOST_PAIRS} pairs'
            )
        table = PairTable(*_crossed(firsts, seconds, margin))
        may = self._search.collidable(table.numbers) & self._search.measurable(table.numbers)
        return table.chosen(may)

    def _given(self, pairs: Iterable[Pair], margin: float) -> PairTable:
        """Return the pairs in a list, whether or not they may collide."""
        is_bounded = margin < np.inf
        expected = (
            f'pairs (a, b){" or (a, b, margin)" if is_bounded else ""} of robots, links '
            'or geometries'
        )
        crossed = []
        for pair in items_of('pairs', pairs, (tuple, list), expected):
            if len(pair) not in ((2, 3) if is_bounded else (2,)):
                raise InvalidValueError('pairs', pair, expected)
            own = _checked_margin(pair[2]) if len(pair) == 3 else margin
            crossed.append(_crossed(self._numbers('a', pair[0]), self._numbers('b', pair[1]), own))
        table = PairTable(
            np.concatenate([np.zeros((0, 2), np.int64), *(rows for rows, _ in crossed)]),
            np.concatenate([np.zeros(0), *(margins for _, margins in crossed)]),
        )
        endless = np.flatnonzero(~self._search.measurable(table.numbers))
        if len(endless):
            names = [self._geometries[number].name for number in table.numbers[endless[0]]]
            raise InvalidValueError('pairs', names, 'at most one plane or height field in a pair')
        return table

    def _numbers(self, name: str, what: Body | None) -> np.ndarray:
        """Return a body's geometry indices; None for all geometries."""
        if what is None:
            return np.arange(len(self._geometries))
        numbers = geometry_numbers(name, what, self._world)
        if not len(numbers):
            raise InvalidValueError(name, what, 'a body with collision geometries')
        return numbers

    def _rows_of(self, found: FoundPoints, table: PairTable) -> np.ndarray:
        """Return the table row for each point's pair; both are in ascending order."""
        count = len(self._geometries)
        return np.searchsorted(table.numbers @ (count, 1), found.pairs @ (count, 1))

    def _shown(self, found: FoundPoints, is_turned: np.ndarray | None = None) -> ContactPoints:
        """Return contact points; is_turned: (n,) whether to exchange a and b."""
        if is_turned is None:
            is_turned = np.zeros(len(found.gaps), bool)
        turned = is_turned[:, None]
        return contact_points(
            self._geometries,
            np.where(turned, found.pairs[:, ::-1], found.pairs),
            np.where(turned, found.points_b, found.points_a),
            np.where(turned, found.points_a, found.points_b),
            np.where(turned, -found.normals, found.normals),
            found.gaps,
        )


def _crossed(
    firsts: np.ndarray, seconds: np.ndarray, margin: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return all index pairs (n, 2) from two lists, without equal indices, and margins (n,)."""
    rows = np.stack(np.meshgrid(firsts, seconds, indexing='ij'), axis=-1).reshape(-1, 2)
    rows = rows[rows[:, 0] != rows[:, 1]]
    return rows, np.full(len(rows), margin)


def _checked_margin(value: object) -> float:
    expected = 'a number of at least 0 [m]'
    margin = finite_number('margin', value, '', expected)
    if margin < 0.0:
        raise InvalidValueError('margin', value, expected)
    return margin
