"""Frames and mates in an assembly by index: transform chains, and placing mates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
import heapq
import math

import numpy as np

from sim_bridge.description.openplx.snap import coordinates
from sim_bridge.description.openplx.snap.model import KINDS, SnapFrame, SnapMate, SnapStep, Why
from sim_bridge.description.openplx.snap.transforms import IDENTITY, inverse, matrix, orthonormal
from sim_bridge.foundation.errors import brief, SimBridgeError

# gaps counted as zero, in rad, and in m for connectors within 1 m of the ancestor
TOLERANCE = 1e-9
_WORLD = -1

# placed frames with the relative poses of their mates, and their transforms
State = list[tuple[int, np.ndarray, 'np.ndarray | None']]


class SnapError(SimBridgeError):
    """Invalid frames or mates: a repeated name, an unknown one, a circle among parents."""


class Structure:
    """
    Frames and enabled mates, in definition order, by index.

    transforms: (4, 4) frame poses in their parents; None while undefined. chains: for both
    sides of each mate, the frames from the connector's frame up to the closest common ancestor,
    without the ancestor. touching: mates with a frame in a chain. relative: for each mate, its
    second connector's pose in the first, used for placing frames. placed_by: each frame's placing
    mate, -1 if none. rank: each frame's position in the placing order, -1 if not placed. strict:
    whether mates require their explicit coordinates.
    """

    def __init__(self, frames: Sequence[SnapFrame], mates: Sequence[SnapMate]) -> None:
        self.frames = tuple(frames)
        self.mates = tuple(mate for mate in mates if mate.enabled)
        self._numbers = _numbered(self.frames)
        self.parents = [self._number(frame.parent, frame.path) for frame in self.frames]
        self._depths = _depths(self.frames, self.parents)
        self.transforms: list[np.ndarray | None] = [
            None if frame.transform is None else matrix(frame.transform) for frame in self.frames
        ]
        self.connectors, self.chains, self._ends = [], [], []
        self.touching: list[list[int]] = [[] for _ in self.frames]
        for number, mate in enumerate(self.mates):
            if mate.kind not in KINDS:
                raise SnapError(
                    f'mate {brief(mate.path)}: unknown kind {brief(mate.kind)}; the kinds are '
                    f'{", ".join(KINDS)}'
                )
            ends = [self._number(side.frame, mate.path) for side in (mate.first, mate.second)]
            self.connectors.append((matrix(mate.first.pose), matrix(mate.second.pose)))
            self._ends.append(ends)
            chains = self._chains(*ends)
            self.chains.append(chains)
            for frame in (*chains[0], *chains[1]):
                self.touching[frame].append(number)
        self.relative = [coordinates.initial(mate) for mate in self.mates]
        self.placed_by = [-1] * len(self.frames)
        self.rank = [-1] * len(self.frames)
        self.placed: list[int] = []
        self.strict = [True] * len(self.mates)

    def step(self, why: Why, mate: int | None, frames: Iterable[int]) -> SnapStep:
        """Return a trace step."""
        paths = tuple(self.frames[frame].path for frame in frames)
        return SnapStep(why, '' if mate is None else self.mates[mate].path, paths)

    def _number(self, path: str, user: str) -> int:
        if path and path not in self._numbers:
            raise SnapError(f'{brief(user)}: no frame has the name {brief(path)}')
        return self._numbers[path] if path else _WORLD

    def _chains(self, first: int, second: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the frames from both ends up to their closest common ancestor."""
        ups: tuple[list[int], list[int]] = ([], [])
        ends = [first, second]
        while ends[0] != ends[1]:
            depths = [self._depths[end] if end != _WORLD else 0 for end in ends]
            side = 0 if depths[0] >= depths[1] else 1
            ups[side].append(ends[side])
            ends[side] = self.parents[ends[side]]
        return tuple(ups[0]), tuple(ups[1])

    def product(self, chain: Iterable[int]) -> np.ndarray:
        """Return the pose of a chain's first frame in its last frame's parent."""
        result = IDENTITY
        for frame in chain:
            transform = self.transforms[frame]
            assert transform is not None, 'a chain with an undefined transform has no product'
            result = transform if result is IDENTITY else transform @ result
        return result

    def reach(self, mate: int, side: int) -> np.ndarray:
        """Return a connector's pose in the closest common ancestor."""
        result: np.ndarray = self.product(self.chains[mate][side]) @ self.connectors[mate][side]
        return result

    def world(self, mate: int, side: int) -> np.ndarray:
        """Return a connector's pose in the world; undefined transforms are identities."""
        result = self.connectors[mate][side]
        frame = self._ends[mate][side]
        while frame != _WORLD:
            transform = self.transforms[frame]
            result = result if transform is None else transform @ result
            frame = self.parents[frame]
        return result

    def actual(self, mate: int) -> np.ndarray:
        """Return the second connector's present pose in the first."""
        result: np.ndarray = inverse(self.reach(mate, 0)) @ self.reach(mate, 1)
        return result

    def gaps(self, mate: int, strict: bool = True) -> tuple[float, float]:
        """Return a mate's misfit, [m] and [rad]."""
        return coordinates.gaps(self.mates[mate], self.actual(mate), strict)

    def has_explicit(self, mate: int) -> bool:
        """Whether a mate has explicit coordinates beyond its own constraints."""
        return coordinates.has_explicit(self.mates[mate])

    def holds(self, mate: int, strict: bool | None = None) -> bool:
        """Whether a mate is satisfied within the tolerance. strict: None for its own setting."""
        gap, angle = self.gaps(mate, self.strict[mate] if strict is None else strict)
        # rounding grows with the distance from the common ancestor
        far = max(float(np.abs(self.reach(mate, side)[:3, 3]).max()) for side in range(2))
        return gap <= TOLERANCE * max(1.0, far) < math.inf and angle <= TOLERANCE

    def freedoms(self, mate: int) -> np.ndarray:
        """Return a placing mate's free directions, (n, 6)."""
        return coordinates.freedoms(self.mates[mate], self.relative[mate])

    def place(self, frame: int, mate: int) -> None:
        """Set a frame's transform so that a mate is at its relative pose: N⁻¹ A P⁻¹."""
        if self.placed_by[frame] < 0:
            self.placed_by[frame] = mate
            self.rank[frame] = len(self.placed)
            self.placed.append(frame)
        chains = self.chains[mate]
        side = 0 if frame in chains[0] else 1
        at = chains[side].index(frame)
        before = self.product(chains[side][:at]) @ self.connectors[mate][side]
        relative = self.relative[mate]
        target = self.reach(mate, 1 - side) @ (relative if side else inverse(relative))
        if at + 1 < len(chains[side]):
            target = inverse(self.product(chains[side][at + 1 :])) @ target
        self.transforms[frame] = orthonormal(target @ inverse(before))

    def replace(self, frames: Iterable[int]) -> None:
        """Place frames again by their placing mates, after changed relative poses."""
        for frame in sorted(frames, key=self.rank.__getitem__):
            self.place(frame, self.placed_by[frame])

    def saved(self, frames: Iterable[int]) -> State:
        """Return the placed frames' state."""
        return [(k, self.relative[self.placed_by[k]], self.transforms[k]) for k in frames]

    def restore(self, state: State) -> None:
        """Restore the placed frames' state."""
        for frame, relative, transform in state:
            self.relative[self.placed_by[frame]], self.transforms[frame] = relative, transform

    def carried(self, frames: Iterable[int]) -> set[int]:
        """Return the placed frames whose transforms depend on given frames, including these."""
        result = set(frames)
        waiting = list(result)
        while waiting:
            frame = waiting.pop()
            for mate in self.touching[frame]:
                for other in (*self.chains[mate][0], *self.chains[mate][1]):
                    if (
                        self.placed_by[other] == mate
                        and self.rank[other] > self.rank[frame]
                        and other not in result
                    ):
                        result.add(other)
                        waiting.append(other)
        return result

    def loop(self, mate: int) -> list[tuple[int, float]]:
        """
        Return the placed frames moving a mate's connectors relative to each other.

        With each comes a factor: the relative twist of the connectors, second relative to first,
        is the sum over the frames of factor times relative twist of the frame's placing mate.

        Twists about a common reference point add along a chain. A placed frame's twist is its
        mate's twist, less the twists of the other frames in the mate's chains. So the frames are
        replaced one by one, the last placed first; common parts of both sides cancel.
        """
        factors: Counter[int] = Counter()
        waiting: list[int] = []
        done = []

        def add(chain: Iterable[int], factor: int) -> None:
            for frame in chain:
                if self.placed_by[frame] >= 0:
                    if frame not in factors:
                        heapq.heappush(waiting, -self.rank[frame])
                    factors[frame] += factor

        add(self.chains[mate][1], 1)
        add(self.chains[mate][0], -1)
        while waiting:
            frame = self.placed[-heapq.heappop(waiting)]
            factor = factors.pop(frame)
            if factor == 0:
                continue
            first, second = self.chains[self.placed_by[frame]]
            sign = factor if frame in second else -factor
            done.append((frame, float(sign)))
            add((other for other in second if other != frame), -sign)
            add((other for other in first if other != frame), sign)
        return done


def _numbered(frames: Sequence[SnapFrame]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, frame in enumerate(frames):
        if not frame.path or frame.path in numbers:
            raise SnapError(f'frame {brief(frame.path)}: the name is empty, or used twice')
        numbers[frame.path] = number
    return numbers


def _depths(frames: Sequence[SnapFrame], parents: Sequence[int]) -> list[int]:
    """Return each frame's depth: its ancestor count, including itself."""
    depths = [0] * len(parents)
    for start in range(len(parents)):
        path: list[int] = []
        frame = start
        while frame != _WORLD and not depths[frame]:
            if len(path) > len(parents):
                raise SnapError(f'frame {brief(frames[start].path)} is its own ancestor')
            path.append(frame)
            frame = parents[frame]
        depth = depths[frame] if frame != _WORLD else 0
        for above, other in enumerate(reversed(path), 1):
            depths[other] = depth + above
    return depths
