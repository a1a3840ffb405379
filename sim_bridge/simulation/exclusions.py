"""Excluded link pairs and geometry pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sim_bridge.simulation.slots import GeometrySlot, LinkSlot, RobotSlot

LinkPair = tuple[tuple[str, str], tuple[str, str]]
"""Two links, each by its robot's name and its own; the lesser first."""


class Exclusions:
    """
    Pairs excluded from contact, in exclusion order.

    links: link pairs, with everything fixed to them. geometries: geometry pairs.
    """

    def __init__(self) -> None:
        """Let everything touch."""
        self.links: dict[LinkPair, None] = {}
        self.geometries: dict[frozenset[GeometrySlot], None] = {}

    def set_links(self, a: LinkSlot, b: LinkSlot, is_excluded: bool) -> None:
        """Exclude a link pair, or no longer."""
        _set(self.links, link_pair(a, b), is_excluded)

    def set_geometries(self, a: GeometrySlot, b: GeometrySlot, is_excluded: bool) -> None:
        """Exclude a geometry pair, or no longer."""
        _set(self.geometries, frozenset((a, b)), is_excluded)

    def forget_robot(self, name: str) -> None:
        """Drop the pairs with a removed robot's links."""
        for pair in [pair for pair in self.links if name in (pair[0][0], pair[1][0])]:
            del self.links[pair]

    def forget_geometries(self, gone: Sequence[GeometrySlot]) -> None:
        """Drop the pairs with removed geometries."""
        for pair in [pair for pair in self.geometries if not pair.isdisjoint(gone)]:
            del self.geometries[pair]

    def replace(
        self, links: Iterable[LinkPair], geometries: Iterable[frozenset[GeometrySlot]]
    ) -> bool:
        """Exclude these pairs and no others; return whether they are others than before."""
        own, other = dict.fromkeys(links), dict.fromkeys(geometries)
        is_changed = [*own, *other] != [*self.links, *self.geometries]
        self.links, self.geometries = own, other
        return is_changed

    def bodies(self, slots: Mapping[str, RobotSlot]) -> list[tuple[int, int]]:
        """Return the excluded body pairs, with the robots' own."""
        pairs = []
        for slot in slots.values():
            body = slot.part.at.body
            pairs += [(body + a, body + b) for a, b in slot.excluded]
        for pair in self.links:
            a, b = (slots[robot].link(link).body for robot, link in pair)
            pairs += [(a, b)] if a != b else []
        return pairs


def link_pair(a: LinkSlot, b: LinkSlot) -> LinkPair:
    """Return two links' names, as a key for `Exclusions.links`."""
    one, other = sorted((link.robot.name, link.name) for link in (a, b))
    return one, other


def _set(pairs: dict[Any, None], pair: object, is_excluded: bool) -> None:
    if is_excluded:
        pairs[pair] = None
    else:
        pairs.pop(pair, None)
