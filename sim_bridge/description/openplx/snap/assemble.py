"""SNAP: frames placed by mates, loops closed, every mate measured."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.snap import coordinates
from sim_bridge.description.openplx.snap.closing import Closer
from sim_bridge.description.openplx.snap.model import (
    SnapFrame,
    SnapMate,
    SnapResult,
    SnapStep,
    Unsatisfied,
    Why,
)
from sim_bridge.description.openplx.snap.placing import Placing
from sim_bridge.description.openplx.snap.structure import Structure
from sim_bridge.description.openplx.snap.transforms import matrix, pose

# poses that loops are closed from: many loops together, one alone
_STARTS, _STARTS_ALONE = 3, 8
# frames in all loops together: some seconds
_LONGEST_LOOPS = 2_000_000


def snap(frames: Sequence[SnapFrame], mates: Sequence[SnapMate]) -> SnapResult:
    """
    Return the transforms of all frames, as SNAP finds them by mates; docs/snap.md says how.

    frames, mates: in order of definition, which decides where mates leave a choice. Errors:
    SnapError for frames and mates that name each other wrongly. Mates that cannot hold are
    reported in the result.
    """
    # numbers near overflow lead to mates that are not satisfied, and are reported so
    with np.errstate(all='ignore'):
        return _snap(Structure(frames, mates))


def miss(mate: SnapMate, relative: Pose) -> tuple[float, float]:
    """Return by how much a relative pose misses what a mate holds, at any coordinates [m, rad]."""
    with np.errstate(all='ignore'):
        return coordinates.gaps(mate, matrix(relative), strict=False)


def nearest(mate: SnapMate, relative: Pose) -> Pose:
    """Return the pose next to a relative pose that a mate allows, at any coordinates."""
    return pose(coordinates.nearest(mate, matrix(relative)))


def _snap(structure: Structure) -> SnapResult:
    closer = Closer(structure)
    placing = Placing(structure, closer)
    placing.run()
    steps = placing.steps
    if placing.open:
        for group in _groups(structure, placing.open, placing.closed):
            steps += _close(structure, closer, group, set(placing.open))
    unsatisfied = []
    for number, mate in enumerate(structure.mates):
        if not structure.holds(number, strict=True):
            unsatisfied.append(Unsatisfied(mate.path, *structure.gaps(number)))
            steps.append(structure.step(Why.UNSATISFIED, number, ()))
    poses = {
        frame.path: pose(transform)
        for frame, transform in zip(structure.frames, structure.transforms, strict=True)
        if transform is not None
    }
    return SnapResult(MappingProxyType(poses), tuple(steps), tuple(unsatisfied))


def _close(
    structure: Structure, closer: Closer, group: Sequence[int], still_open: set[int]
) -> list[SnapStep]:
    """Close the open loops of a group with all its degrees of freedom, removed ones as well."""
    steps = []
    held = [mate for mate in group if mate not in still_open]
    waiting = [[mate for mate in group if mate in still_open]]
    while waiting:
        tried = waiting.pop()
        starts = _STARTS_ALONE if len(tried) == 1 else _STARTS
        moved = closer.close([*held, *tried], None, starts)
        if moved is None and len(tried) > 1:
            # the first are tried first: what comes later must fit
            half = len(tried) // 2
            waiting += [tried[half:], tried[:half]]
            continue
        if moved is None and structure.has_explicit(tried[0]):
            # rather closed at other coordinates than open
            structure.strict[tried[0]] = False
            moved = closer.close([*held, *tried], None, starts)
            structure.strict[tried[0]] = moved is None
        if moved is not None:
            held += tried
            steps += [structure.step(Why.CLOSED, mate, moved) for mate in tried]
    return steps


def _groups(structure: Structure, *mates: Sequence[int]) -> list[list[int]]:
    """
    Return the mates that close loops, together where they share frames that can move.

    Mates whose loops cannot move are left out, and mates beyond a length of all loops together.
    """
    leaders: dict[int, int] = {}
    first: dict[int, int] = {}

    def leader(mate: int) -> int:
        while leaders[mate] != mate:
            leaders[mate] = leaders[leaders[mate]]
            mate = leaders[mate]
        return mate

    length = 0
    for mate in sorted(mate for some in mates for mate in some):
        loop = structure.loop(mate)
        length += len(loop)
        if length > _LONGEST_LOOPS:
            break
        for frame, _ in loop:
            if len(structure.freedoms(structure.placed_by[frame])):
                leaders.setdefault(mate, mate)
                leaders[leader(mate)] = leader(first.setdefault(frame, mate))
    groups: dict[int, list[int]] = {}
    for mate in leaders:
        groups.setdefault(leader(mate), []).append(mate)
    return list(groups.values())
