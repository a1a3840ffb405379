"""Placing frames by mates, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
import heapq

import numpy as np

from sim_bridge.description.openplx.snap.closing import Closer
from sim_bridge.description.openplx.snap.model import SnapStep, Why
from sim_bridge.description.openplx.snap.structure import Structure

# number of initial poses for closing a loop
_STARTS = 4
# reasons by whether frames were rotated, and shifted
_WHY = {
    (False, False): Why.SATISFIED,
    (True, False): Why.ROTATED,
    (False, True): Why.SHIFTED,
    (True, True): Why.MOVED,
}


class Placing:
    """
    Frames placed so far, and waiting mates.

    Mates are used in passes, in definition order. A mate is queued only when it can be used, so
    the cost of a pass is proportional to its work.

    closed: mates between placed frames that hold. open: mates that do not hold so far. Both are in
    the order of the attempts. steps: the trace.
    """

    def __init__(self, structure: Structure, closer: Closer) -> None:
        self._structure = structure
        self._closer = closer
        self.steps: list[SnapStep] = []
        self.closed: list[int] = []
        self.open: list[int] = []
        # by mate and side: counts of undefined and of movable frames in its chain
        self._undefined = [
            [sum(structure.transforms[frame] is None for frame in chain) for chain in chains]
            for chains in structure.chains
        ]
        self._mobile = [[0, 0] for _ in structure.mates]
        # frames with remaining degrees of freedom, in placing order, and the mates for which they
        # were moved
        self._free: dict[int, list[int]] = {}
        self._used = [False] * len(structure.mates)
        # mates for this pass and for the next
        self._now: list[int] = []
        self._later = [mate for mate in range(len(self._used)) if self._is_ready(mate)]
        self._current = -1

    def run(self) -> None:
        """Place all frames."""
        frames = self._structure.frames
        references = iter([k for k, frame in enumerate(frames) if frame.is_reference])
        undecided = iter(range(len(self._used)))
        mate = next(undecided, None)
        while True:
            self._run_passes()
            # no frame can be placed: remove the first remaining freedom
            if self._free:
                frame = next(iter(self._free))
                self._note(Why.REMOVED, self._structure.placed_by[frame], [frame])
                self._hold(frame)
                continue
            reference = next((k for k in references if self._is_undecided(k)), None)
            if reference is not None:
                self._force(reference)
                continue
            while mate is not None and not any(self._undefined[mate]):
                mate = next(undecided, None)
            if mate is None:
                break
            self._force(self._first_undefined_of_mate(mate), mate)
        for number, transform in enumerate(self._structure.transforms):
            if transform is None:
                self._force(number)

    def _run_passes(self) -> None:
        while self._later:
            self._now, self._later = self._later, []
            heapq.heapify(self._now)
            while self._now:
                self._current = heapq.heappop(self._now)
                if not self._used[self._current]:
                    self._use(self._current)
            self._current = -1

    def _is_ready(self, mate: int) -> bool:
        """
        Whether a mate can place a frame, or be closed.

        A mate places no frame relative to a movable frame: other mates may still move it.
        """
        first, second = self._undefined[mate]
        if first + second == 0:
            return True
        return first + second == 1 and self._mobile[mate][0 if second else 1] == 0

    def _wake(self, frame: int) -> None:
        """Queue the mates made ready by a frame."""
        for mate in self._structure.touching[frame]:
            if not self._used[mate] and self._is_ready(mate):
                if mate > self._current >= 0:
                    heapq.heappush(self._now, mate)
                else:
                    self._later.append(mate)

    def _use(self, mate: int) -> None:
        self._used[mate] = True
        if not any(self._undefined[mate]):
            self._close(mate)
            return
        frame = self._first_undefined(mate, 0 if self._undefined[mate][0] else 1)
        self._structure.place(frame, mate)
        self._note(Why.SNAPPED, mate, [frame])
        if len(self._structure.freedoms(mate)):
            self._free[frame] = []
            self._count(self._mobile, frame, 1)
        self._define(frame)

    def _close(self, mate: int) -> None:
        """Satisfy a mate between placed frames with their remaining freedoms."""
        first, second = self._structure.chains[mate]
        movers = [frame for frame in (*first, *second) if frame in self._free]
        mates = [*dict.fromkeys(one for frame in movers for one in self._free[frame]), mate]
        moved = self._moved(mates, movers)
        if moved is None:
            self.open.append(mate)
            return
        self.closed.append(mate)
        turned, shifted = (any(move[k] for move in moved.values()) for k in range(2))
        self._note(_WHY[turned, shifted], mate, moved)
        free = self._closer.freedom(mates, movers) if movers else set()
        for frame in movers:
            self._free[frame].append(mate)
            if frame not in free:
                self._hold(frame)

    def _moved(self, mates: list[int], movers: list[int]) -> dict[int, tuple[bool, bool]] | None:
        """Return the frames moved to make mates hold, like `Closer.close`."""
        structure, closer = self._structure, self._closer
        frames = structure.carried(movers)
        before = structure.saved(frames)
        moved = closer.close(mates, movers, _STARTS)
        if moved is not None and len(moved) > 1 and closer.freedom(mates, movers):
            # many poses satisfy the mates: prefer moving a single frame, the first possible
            found = structure.saved(frames)
            structure.restore(before)
            for frame in movers:
                alone = closer.close(mates, [frame], _STARTS)
                if alone is not None:
                    return alone
            structure.restore(found)
        return moved

    def _define(self, frame: int) -> None:
        self._count(self._undefined, frame, -1)
        self._wake(frame)

    def _hold(self, frame: int) -> None:
        del self._free[frame]
        self._count(self._mobile, frame, -1)
        self._wake(frame)

    def _force(self, frame: int, mate: int | None = None) -> None:
        self._structure.transforms[frame] = np.eye(4)
        self._note(Why.FORCED, mate, [frame])
        self._define(frame)

    def _count(self, counts: list[list[int]], frame: int, change: int) -> None:
        for mate in self._structure.touching[frame]:
            counts[mate][0 if frame in self._structure.chains[mate][0] else 1] += change

    def _first_undefined(self, mate: int, side: int) -> int:
        """Return the undefined frame nearest to a connector."""
        transforms = self._structure.transforms
        return next(k for k in self._structure.chains[mate][side] if transforms[k] is None)

    def _first_undefined_of_mate(self, mate: int) -> int:
        """Return the undefined frame nearest to a connector, of both sides the first defined."""
        sides = [side for side in range(2) if self._undefined[mate][side]]
        return min(self._first_undefined(mate, side) for side in sides)

    def _is_undecided(self, frame: int) -> bool:
        """Whether a frame is undefined, and a mate waits for it."""
        structure = self._structure
        return structure.transforms[frame] is None and bool(structure.touching[frame])

    def _note(self, why: Why, mate: int | None, frames: Iterable[int]) -> None:
        self.steps.append(self._structure.step(why, mate, frames))
