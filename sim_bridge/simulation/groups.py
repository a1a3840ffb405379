"""Named geometry groups, and group pairs excluded from contact."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import truth

# bits in a 64-bit integer, less the sign
_MOST = 63


class CollisionGroups:
    """
    The collision groups, and the excluded group pairs.

    A geometry may belong to any number of groups. Two geometries do not collide if any group of
    one is excluded from any group of the other, or both are in one group that is excluded from
    itself. All others collide, including those in no group.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None):
        """Let everything collide; `on_change` is called after every change."""
        self._kept_apart: set[frozenset[str]] = set()
        self._on_change = on_change

    def set_collision(self, a: str, b: str, collide: bool) -> None:
        """Set whether geometries in two groups, or within one group, collide."""
        for name in (a, b):
            if not isinstance(name, str) or not name:
                raise InvalidValueError('group', name, 'a text that is not empty')
        collide = truth('collide', collide)
        pair = {frozenset((a, b))}
        self._set(self._kept_apart - pair if collide else self._kept_apart | pair)

    def save(self) -> frozenset[frozenset[str]]:
        """Return the snapshot data for `restore`."""
        return frozenset(self._kept_apart)

    def restore(self, saved: frozenset[frozenset[str]]) -> None:
        """Restore data from `save`."""
        if saved != self._kept_apart:
            self._set(set(saved))

    def _set(self, kept_apart: set[frozenset[str]]) -> None:
        """Exclude these group pairs, or make no change at all if anything is raised."""
        before = self._kept_apart
        try:
            self._kept_apart = kept_apart
            self._on_change()
        except BaseException:
            self._kept_apart = before
            raise

    def collide(self, a: Iterable[str], b: Iterable[str]) -> bool:
        """Return whether geometries in groups `a` collide with geometries in groups `b`."""
        others = tuple(b)
        return not any(frozenset((one, two)) in self._kept_apart for one in a for two in others)

    def bits(self, memberships: Iterable[frozenset[str]]) -> dict[frozenset[str], tuple[int, int]]:
        """
        Return the engine's bits for all memberships: the group's bits, and its partners' bits.

        Memberships with the same partners share a bit. Raises InvalidValueError for more than 63
        different memberships.
        """
        distinct = sorted({frozenset(names) for names in memberships}, key=sorted)
        partners = {
            names: tuple(self.collide(names, other) for other in distinct) for names in distinct
        }
        number = {row: k for k, row in enumerate(dict.fromkeys(partners.values()))}
        if len(number) > _MOST:
            raise InvalidValueError(
                'number of different sets of collision groups', len(number), f'at most {_MOST}'
            )
        bit = {names: 1 << number[partners[names]] for names in distinct}
        masks = dict.fromkeys(distinct, 0)
        for names, row in partners.items():
            for other, is_partner in zip(distinct, row, strict=True):
                masks[names] |= bit[other] if is_partner else 0
        return {names: (bit[names], masks[names]) for names in distinct}
