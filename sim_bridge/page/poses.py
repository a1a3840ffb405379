"""Link poses in the form used by the page."""

from __future__ import annotations

import numpy as np


class Poses:
    """positions: (n, 3) link positions [m], world. rotations: (n, 3, 3)."""

    def __init__(self, poses: np.ndarray):
        """Take poses (n, 12): rotation row by row, position."""
        self.rotations = poses[:, :9].reshape(-1, 3, 3)
        self.positions = poses[:, 9:]

    def points(self, links: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Return points (k, 3) in the world, given (k, 3) in frames of links (k,)."""
        result: np.ndarray = self.positions[links] + np.einsum(
            'kij,kj->ki', self.rotations[links], local
        )
        return result

    def turned(self, links: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Return rotations (k, 3, 3) in the world, given those in frames of links (k,)."""
        result: np.ndarray = self.rotations[links] @ local
        return result


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Return quaternions (n, 4) w x y z for rotations (n, 3, 3) (Shepperd, 1978)."""
    m = rotations
    traces = np.array(
        [
            1.0 + m[:, 0, 0] + m[:, 1, 1] + m[:, 2, 2],
            1.0 + m[:, 0, 0] - m[:, 1, 1] - m[:, 2, 2],
            1.0 - m[:, 0, 0] + m[:, 1, 1] - m[:, 2, 2],
            1.0 - m[:, 0, 0] - m[:, 1, 1] + m[:, 2, 2],
        ]
    ).T
    products = np.empty((len(m), 4, 4))
    products[:, range(4), range(4)] = traces
    for row, column, value in (
        (0, 1, m[:, 2, 1] - m[:, 1, 2]),
        (0, 2, m[:, 0, 2] - m[:, 2, 0]),
        (0, 3, m[:, 1, 0] - m[:, 0, 1]),
        (1, 2, m[:, 0, 1] + m[:, 1, 0]),
        (1, 3, m[:, 0, 2] + m[:, 2, 0]),
        (2, 3, m[:, 1, 2] + m[:, 2, 1]),
    ):
        products[:, row, column] = products[:, column, row] = value
    # each row is the quaternion times one of its components; choose the greatest component
    best = products[np.arange(len(m)), traces.argmax(axis=1)]
    result: np.ndarray = best / np.linalg.norm(best, axis=1, keepdims=True)
    return result
