"""
Collision groups from two bit masks, as in MJCF and SDF.

Two shapes touch if the category of one and the mask of the other share a bit: `contype` and
`conaffinity` in MJCF, `category_bitmask` and `collide_bitmask` in SDF. The group's name holds
both numbers: groups from several files compare by their bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement
import re

from sim_bridge.description.model import LinkDescription

Bits = tuple[int, int]
"""Category and mask."""
ALL_BITS = 0xFFFF
"""SDF's default for both."""
MUJOCO_BITS: Bits = (1, 1)
"""MuJoCo's default."""
_NAME = re.compile('bits_([0-9a-f]+)_([0-9a-f]+)')


def group_of(category: int, collide: int) -> str:
    """Return the collision group's name for two bit masks."""
    return f'bits_{category:04x}_{collide:04x}'


def bits_of(group: str) -> Bits | None:
    """Return category and collide bits in a group's name; None for other groups."""
    found = _NAME.fullmatch(group)
    return None if found is None else (int(found[1], 16), int(found[2], 16))


def are_apart(first: str, second: str) -> bool:
    """Return whether two groups' bit masks exclude contact."""
    one, other = bits_of(first), bits_of(second)
    if one is None or other is None:
        return False
    return not (one[0] & other[1] or other[0] & one[1])


def has_rules(links: Iterable[LinkDescription]) -> bool:
    """Return whether the links have other collision groups than MuJoCo's default."""
    groups = {group for link in links for shape in link.collisions for group in shape.groups}
    return bool(groups - {group_of(*MUJOCO_BITS)})


def pairs_apart(links: Iterable[LinkDescription]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of collision groups on these links without contact, by their bit masks."""
    groups = {group for link in links for shape in link.collisions for group in shape.groups}
    pairs = combinations_with_replacement(sorted(groups), 2)
    return tuple(pair for pair in pairs if are_apart(*pair))
