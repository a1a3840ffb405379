"""SNAP: place frames by mates, close loops, measure every mate."""

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

# numbers of initial poses for closing loops: for many loops together, for one alone
_STARTS, _STARTS_ALONE = 3, 8
# limit on the number of frames in all loops together: some seconds
_LONGEST_LOOPS = 2_000_000


def snap(frames: Sequence[SnapFrame], mates: Sequence[SnapMate]) -> SnapResult:
    """
    Return the transforms for all frames, found by SNAP from the mates; see docs/snap.md.

    frames, mates: in definition order, which decides if mates leave a choice. Raises SnapError
    for wrong names in frames and mates. The result reports mates that cannot hold.
    """
    # numbers near overflow give unsatisfied mates, reported in the result
    with np.errstate(all='ignore'):
        return _snap(Structure(frames, mates))


def miss(mate: SnapMate, relative: Pose) -> tuple[float, float]:
    """Return a mate's misfit at a relative pose [m, rad], whatever its coordinates."""
    with np.errstate(all='ignore'):
        return coordinates.gaps(mate, matrix(relative), strict=False)


def nearest(mate: SnapMate, relative: Pose) -> Pose:
    """
    Return the pose nearest to a relative pose among those allowed by a mate.

    The mate's initial coordinates do not matter.
    """
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
    """Close the open loops in a group with all degrees of freedom, including removed ones."""
    steps = []
    held = [mate for mate in group if mate not in still_open]
    waiting = [[mate for mate in group if mate in still_open]]
    while waiting:
        tried = waiting.pop()
        starts = _STARTS_ALONE if len(tried) == 1 else _STARTS
        moved = closer.close([*held, *tried], None, starts)
        if moved is None and len(tried) > 1:
            # earlier mates have priority: later ones must fit
            half = len(tried) // 2
            waiting += [tried[half:], tried[:half]]
            continue
        if moved is None and structure.has_explicit(tried[0]):
            # a mate closed at other coordinates is better than an open one
            structure.strict[tried[0]] = False
            moved = closer.close([*held, *tried], None, starts)
            structure.strict[tried[0]] = moved is None
        if moved is not None:
            held += tried
            steps += [structure.step(Why.CLOSED, mate, moved) for mate in tried]
    return steps


def _groups(structure: Structure, *mates: Sequence[int]) -> list[list[int]]:
    """
    Return the mates closing loops, grouped by shared movable frames.

    Mates without movable frames are left out, and mates beyond a total length for all loops.
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
