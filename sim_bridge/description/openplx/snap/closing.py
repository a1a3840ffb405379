"""Closing of mate loops: least change in the free coordinates (Levenberg-Marquardt)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import math

import numpy as np

from sim_bridge.description.openplx.snap import coordinates
from sim_bridge.description.openplx.snap.structure import State, Structure, TOLERANCE

_MOST_STEPS = 100
# the descent is abandoned after this many steps with next to no gain
_MOST_STALLED = 4
# gradient, relative to the squared residual, counted as zero
_FLAT = 1e-3
# residual below which further steps only change rounding
_ROUNDING = 1e-11
# relative to the greatest singular value
_RANK_TOLERANCE = 1e-8
# number of coordinates or equations above which the normal equations are sparse
_DENSE = 200
# starts used if the present pose leads nowhere, such as at a dead centre: offsets [rad, lengths of
# the mechanism], and the irrational number that spreads them
_OFFSETS = (0.05, 0.5, 1.5, 3.0, 0.2, 1.0, 2.0)
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]
# limits on evaluations of one frame or mate in all: some seconds for the most hopeless assemblies
_EFFORT = 20_000
_EFFORT_OF_MATE = 300


class Closer:
    """
    Solver closing a structure's loops with bounded effort.

    Unknowns are the free coordinates of placing mates. Each step places the frames again, so
    placing mates always hold, and only the loop-closing mates are approached.
    """

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._effort = _EFFORT + _EFFORT_OF_MATE * len(structure.mates)

    def close(
        self, mates: Sequence[int], movers: Collection[int] | None = None, starts: int = 1
    ) -> dict[int, tuple[bool, bool]] | None:
        """
        Move frames until all mates hold; leave them unchanged if this fails.

        movers: placed frames whose coordinates may change; None for all. starts: number of initial
        poses tried; the first is the present pose. Returns the moved frames, each with whether it
        was rotated and whether it was shifted; None if the mates do not hold.
        """
        structure = self._structure
        loops = _Loops(structure, mates, movers)
        before = structure.saved(loops.moving)
        for start in range(starts if loops.size else 1):
            if start:
                structure.restore(before)
                amplitude = _OFFSETS[(start - 1) % len(_OFFSETS)]
                spread = start * _GOLDEN * np.arange(1, loops.size + 1)
                loops.move(amplitude * (2.0 * np.modf(0.5 + spread)[0] - 1.0))
            if self._descend(loops):
                structure.replace(structure.carried(loops.movers))
                return _changes(structure, before, loops.movers)
        structure.restore(before)
        return None

    def freedom(self, mates: Sequence[int], movers: Collection[int]) -> set[int]:
        """Return the movers free to move, to first order, while all mates hold."""
        loops = _Loops(self._structure, mates, movers)
        loops.residual()
        jacobian = loops.jacobian()
        dense = getattr(jacobian, 'toarray', lambda: jacobian)()
        if not np.isfinite(dense).all():
            return set()
        _, values, rows = np.linalg.svd(dense)
        rank = int(np.sum(values > _RANK_TOLERANCE * max(1.0, values.max(initial=0.0))))
        free = np.abs(rows[rank:]).max(axis=0, initial=0.0) > math.sqrt(_RANK_TOLERANCE)
        return {
            frame
            for frame, part in zip(loops.movers, loops.parts, strict=True)
            if free[part].any()
        }

    def _descend(self, loops: _Loops) -> bool:
        """Move to the nearest pose closing the loops; return whether they are closed."""
        residual = loops.residual()
        size, caution, stalled = float(residual @ residual), 1e-3, 0
        for _ in range(_MOST_STEPS if loops.size else 0):
            self._effort -= loops.expense
            # not finite, or closed exactly, or effort exhausted
            if not 0.0 < size < math.inf or self._effort < 0:
                break
            jacobian = loops.jacobian()
            gradient = jacobian.T @ residual
            # the gradient vanishes, but loops are open: a minimum. Near a dead centre it would be
            # greater
            flat = _FLAT * size
            if float(gradient @ gradient) <= flat * flat:
                break
            # quadratic convergence even with free coordinates or redundant constraints
            # (Yamashita and Fukushima 2001), and then the least change
            damping = caution * min(1.0, size) + 1e-12
            try:
                step = -_solved(jacobian, residual, damping)
            # scipy raises RuntimeError for a singular matrix, possible with numbers near overflow
            except (np.linalg.LinAlgError, RuntimeError):
                break
            step /= max(1.0, float(np.abs(step).max()))
            last = self._structure.saved(loops.moving)
            loops.move(step)
            residual_there = loops.residual()
            size_there = float(residual_there @ residual_there)
            if size_there < size:
                stalled = stalled + 1 if size_there > 0.99 * size else 0
                caution *= 0.1 if size_there < 0.5 * size else 1.0
                residual, size = residual_there, size_there
            else:
                self._structure.restore(last)
                if size < _ROUNDING * _ROUNDING:
                    break
                stalled, caution = stalled + (caution > 1e3), 10.0 * caution
            if stalled > _MOST_STALLED:
                break
        return all(self._structure.holds(mate) for mate in loops.mates)


class _Loops:
    """
    Loops closed by some mates: residuals, derivatives, moves.

    movers: frames whose placing mates have free coordinates, in placing order. parts: their slices
    in the vector of all coordinates. size: length of this vector. moving: frames of the loops
    moved by the movers. Lengths are in units of a length of the mechanism, comparable to angles.
    """

    def __init__(
        self, structure: Structure, mates: Sequence[int], movers: Collection[int] | None
    ) -> None:
        self._structure = structure
        self.mates = tuple(mates)
        loops = [structure.loop(mate) for mate in self.mates]
        frames = {frame for loop in loops for frame, _ in loop}
        allowed = frames if movers is None else frames.intersection(movers)
        widths = {frame: len(structure.freedoms(structure.placed_by[frame])) for frame in allowed}
        self.movers = sorted(
            (frame for frame in allowed if widths[frame]), key=structure.rank.__getitem__
        )
        ends = np.cumsum([0, *(widths[frame] for frame in self.movers)]).tolist()
        self.parts = [slice(*pair) for pair in zip(ends[:-1], ends[1:], strict=True)]
        self.size: int = ends[-1]
        self.moving = structure.carried(self.movers) & frames
        self.expense = len(self.moving) + len(self.mates)
        columns = dict(zip(self.movers, self.parts, strict=True))
        # for each mate: the coordinates moving it, and their factors
        self._columns, self._factors = [], []
        for loop in loops:
            parts = [(columns[frame], factor) for frame, factor in loop if frame in columns]
            self._columns.append(
                np.array([k for part, _ in parts for k in range(part.start, part.stop)], dtype=int)
            )
            self._factors.append(
                np.array([f for part, f in parts for _ in range(part.start, part.stop)])
            )
        self._unit = self._length()
        self._rates: list[np.ndarray] = []

    def _length(self) -> float:
        """Return a typical mechanism length [m], 1 if all lengths are zero."""
        placing = [self._structure.placed_by[frame] for frame in self.movers]
        pairs = [self._structure.connectors[mate] for mate in (*self.mates, *placing)]
        lengths = [float(np.linalg.norm(side[:3, 3])) for pair in pairs for side in pair]
        lengths += [float(np.linalg.norm(self._structure.actual(m)[:3, 3])) for m in self.mates]
        length = max(lengths, default=0.0)
        return length if 0.0 < length < math.inf else 1.0

    def move(self, step: np.ndarray) -> None:
        """Change the coordinates by a step (size,)."""
        s = self._structure
        placing = [s.placed_by[frame] for frame in self.movers]
        twists = np.zeros((len(placing), 6))
        for row, (mate, part) in enumerate(zip(placing, self.parts, strict=True)):
            twists[row] = step[part] @ s.freedoms(mate)
        twists[:, :3] *= self._unit
        relatives = np.array([s.relative[mate] for mate in placing])
        moved = coordinates.moved([s.mates[mate] for mate in placing], relatives, twists)
        for mate, relative in zip(placing, moved, strict=True):
            s.relative[mate] = relative
        s.replace(self.moving)

    def residual(self) -> np.ndarray:
        """Return all mates' misfits as one vector."""
        s = self._structure
        values, self._rates = [], []
        for mate in self.mates:
            shift, chords, shift_rate, rate = coordinates.misses(
                s.mates[mate], s.actual(mate), s.strict[mate]
            )
            values += [shift / self._unit, chords]
            self._rates.append(np.vstack([shift_rate / self._unit, rate]))
        return np.concatenate(values)

    def jacobian(self) -> np.ndarray:
        """
        Return the derivative for the last computed residual, (n, size).

        It is a sparse matrix if there are many coordinates.
        """
        s = self._structure
        shifts, turns, points = np.empty((3, self.size, 3))
        for frame, part in zip(self.movers, self.parts, strict=True):
            mate = s.placed_by[frame]
            directions = s.freedoms(mate)
            axes = s.world(mate, 0)[:3, :3].T
            shifts[part] = self._unit * directions[:, :3] @ axes
            turns[part] = directions[:, 3:] @ axes
            points[part] = s.world(mate, 1)[:3, 3]
        blocks = []
        for mate, columns, factors, rate in zip(
            self.mates, self._columns, self._factors, self._rates, strict=True
        ):
            axes, end = s.world(mate, 0)[:3, :3], s.world(mate, 1)[:3, 3]
            turn = turns[columns]
            arm = end - points[columns]
            shift = shifts[columns] + turn[:, _YZX] * arm[:, _ZXY] - turn[:, _ZXY] * arm[:, _YZX]
            twists = np.hstack([shift @ axes, turn @ axes])
            blocks.append(rate @ (twists * factors[:, None]).T)
        count = sum(len(block) for block in blocks)
        if min(count, self.size) <= _DENSE:
            result: np.ndarray = np.zeros((count, self.size))
            row = 0
            for columns, block in zip(self._columns, blocks, strict=True):
                result[row : row + len(block), columns] = block
                row += len(block)
            return result
        from scipy.sparse import csc_array

        rows, start = [], 0
        for columns, block in zip(self._columns, blocks, strict=True):
            rows.append(np.repeat(np.arange(start, start + len(block)), len(columns)))
            start += len(block)
        across = [np.tile(c, len(b)) for c, b in zip(self._columns, blocks, strict=True)]
        values = np.concatenate([block.ravel() for block in blocks])
        place = (np.concatenate(rows), np.concatenate(across))
        sparse: np.ndarray = csc_array((values, place), shape=(count, self.size))
        return sparse


def _changes(
    structure: Structure, before: State, movers: Collection[int]
) -> dict[int, tuple[bool, bool]]:
    """Return the movers with changed coordinates: whether rotated, and whether shifted."""
    changes = {}
    for frame, relative, _ in before:
        if frame in movers:
            change = np.abs(structure.relative[structure.placed_by[frame]] - relative)
            moved = change[:3, :3].max() > TOLERANCE, change[:3, 3].max() > TOLERANCE
            if any(moved):
                changes[frame] = moved
    return dict(sorted(changes.items(), key=lambda item: structure.rank[item[0]]))


def _solved(jacobian: np.ndarray, residual: np.ndarray, damping: float) -> np.ndarray:
    """Return x = (JᵀJ + damping)⁻¹ Jᵀ residual, using the smaller of JᵀJ and JJᵀ."""
    rows, columns = jacobian.shape
    normal = jacobian @ jacobian.T if rows < columns else jacobian.T @ jacobian
    right = residual if rows < columns else jacobian.T @ residual
    if isinstance(normal, np.ndarray):
        normal.flat[:: len(normal) + 1] += damping
        solution: np.ndarray = np.linalg.solve(normal, right)
    else:
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        solution = splu((normal + damping * eye_array(len(right))).tocsc()).solve(right)
    result: np.ndarray = jacobian.T @ solution if rows < columns else solution
    return result
