"""
A mate's constraints and free directions, for the relative pose of its connectors.

A relative pose is the pose of the second connector in the first, a (4, 4) matrix T. Directions are
twists (v, w) in the axes of the first connector: velocity of the second connector's origin, and
angular velocity, both relative to the first connector.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools
import math

import numpy as np

from sim_bridge.description.openplx.snap.model import SnapMate
from sim_bridge.description.openplx.snap.transforms import IDENTITY, rotations
from sim_bridge.description.poses import read_only

# constraints of each kind of mate: translations along x, y, z of the first connector, and axes of
# the second connector whose directions are fixed
_HELD = {
    'lock': ((0, 1, 2), (0, 1, 2)),
    'hinge': ((0, 1, 2), (2,)),
    'prismatic': ((0, 1), (0, 1, 2)),
    'cylindrical': ((0, 1), (2,)),
    'planar': ((2,), (2,)),
    'ball': ((0, 1, 2), ()),
    'distance': ((0, 1, 2), ()),
}
_SIX = np.eye(6)
_YZX, _ZXY = [1, 2, 0], [2, 0, 1]
_TURNS = ('hinge', 'cylindrical')
_SLIDES = ('prismatic', 'cylindrical')


def initial(mate: SnapMate) -> np.ndarray:
    """Return the relative pose at the initial coordinates."""
    result: np.ndarray = IDENTITY.copy()
    if mate.kind in _TURNS and mate.angle:
        result[:3, :3] = rotations(np.array([[0.0, 0.0, mate.angle]]))[0]
    if mate.kind in _SLIDES:
        result[2, 3] = mate.position
    elif mate.kind == 'distance':
        result[2, 3] = mate.distance
    return result


def _held(mate: SnapMate, strict: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the held translations and axes; explicit coordinates are held if `strict`."""
    along, axes = _HELD[mate.kind]
    if strict and mate.explicit_angle and mate.kind in _TURNS:
        axes = (0, 1, 2)
    if strict and mate.explicit_position and mate.kind in _SLIDES:
        along = (0, 1, 2)
    return along, axes


def has_explicit(mate: SnapMate) -> bool:
    """Whether a mate has explicit coordinates beyond its own constraints."""
    return _held(mate, strict=True) != _held(mate, strict=False)


def freedoms(mate: SnapMate, relative: np.ndarray) -> np.ndarray:
    """
    Return a mate's free directions at a pose allowed by it, (n, 6) orthonormal twists.

    Explicit coordinates leave none free.
    """
    if mate.kind == 'distance' and mate.distance != 0.0:
        # directions at right angles to the line between the connectors, and all rotations
        place = relative[:3, 3]
        across = _cross(place, _SIX[np.abs(place).argmin(), :3])
        across /= math.hypot(*across) or 1.0
        other = _cross(place, across)
        result = np.zeros((5, 6))
        result[:2, :3] = across, other / (math.hypot(*other) or 1.0)
        result[2:, 3:] = np.eye(3)
        return result
    return _free(*_held(mate, strict=True))


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a vector product; numpy's takes ten times as long for three numbers."""
    result: np.ndarray = one[_YZX] * other[_ZXY] - one[_ZXY] * other[_YZX]
    return result


@functools.cache
def _free(along: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    shifts = [k for k in range(3) if k not in along]
    turns = {0: (3, 4, 5), 1: (5,), 3: ()}[len(axes)]
    return read_only(np.eye(6)[[*shifts, *turns]])


def moved(mates: Sequence[SnapMate], relatives: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """
    Return the relative poses (n, 4, 4) after moves (n, 6) along free directions.

    The mates allow these poses too.
    """
    result: np.ndarray = relatives.copy()
    result[:, :3, 3] += twists[:, :3]
    for mate, one in zip(mates, result, strict=True):
        if mate.kind == 'distance' and mate.distance != 0.0:
            one[:3, 3] *= abs(mate.distance) / math.hypot(*one[:3, 3])
    result[:, :3, :3] = rotations(twists[:, 3:]) @ relatives[:, :3, :3]
    return result


def misses(
    mate: SnapMate, relative: np.ndarray, strict: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return a relative pose's misfit for a mate, with derivatives.

    strict: whether explicit coordinates count too. Four arrays: translation misfit (m,) [m];
    axis misfit (n,), whose norm is twice the sine of half the angle; and their derivatives with
    respect to the relative twist, (m, 6) and (n, 6).
    """
    along, axes = _held(mate, strict)
    place, rotation = relative[:3, 3], relative[:3, :3]
    target = initial(mate)
    if mate.kind == 'distance' and mate.distance != 0.0:
        length = math.sqrt(float(place @ place))
        direction = place / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
        shift = np.array([length - abs(mate.distance)])
        shift_rate = np.concatenate([direction, np.zeros(3)])[None]
    else:
        shift = (place - target[:3, 3])[list(along)]
        shift_rate = _SIX[list(along)]
    # chords between axes: smooth up to half a turn, unlike angles and sines. The chords of all
    # three axes together count the angle twice
    weight = math.sqrt(0.5) if len(axes) == 3 else 1.0
    chords = weight * (rotation - target[:3, :3])[:, axes].T.ravel()
    rate = np.zeros((3 * len(axes), 6))
    for row, axis in enumerate(axes):
        x, y, z = (weight * rotation[:, axis]).tolist()
        rate[3 * row : 3 * row + 3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    return shift, chords, shift_rate, rate


def nearest(mate: SnapMate, relative: np.ndarray) -> np.ndarray:
    """Return the pose nearest to a relative pose among those allowed by a mate."""
    along, axes = _held(mate, strict=False)
    rows, target = list(along), initial(mate)
    result: np.ndarray = relative.copy()
    if mate.kind == 'distance' and mate.distance != 0.0 and result[:3, 3].any():
        result[:3, 3] *= abs(mate.distance) / math.hypot(*result[:3, 3])
    else:
        result[rows, 3] = target[rows, 3]
    if axes:
        turn = relative[1, 0] - relative[0, 1], relative[0, 0] + relative[1, 1]
        angle = math.atan2(*turn) if len(axes) == 1 else 0.0
        result[:3, :3] = rotations(np.array([[0.0, 0.0, angle]]))[0]
    return result


def gaps(mate: SnapMate, relative: np.ndarray, strict: bool) -> tuple[float, float]:
    """Return a mate's misfit at a relative pose: [m] and [rad]."""
    shift, chords, _, _ = misses(mate, relative, strict)
    half = 0.5 * math.sqrt(float(chords @ chords))
    angle = 2.0 * math.asin(min(1.0, half)) if half == half else math.nan
    return math.sqrt(float(shift @ shift)), angle
