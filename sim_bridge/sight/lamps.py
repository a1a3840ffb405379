"""Lamps and sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from sim_bridge.engine.data.lighting import DIRECTIONAL, Lighting, POINT, SPOT
from sim_bridge.foundation.errors import InvalidValueError

Rgb = tuple[float, float, float]
"""Linear red, green and blue, relative to white."""

MOST_LAMPS = 31
"""One bit each in an integer."""
_KINDS = {'directional': DIRECTIONAL, 'point': POINT, 'spot': SPOT}


@dataclass(frozen=True)
class Lamp:
    """
    Lamp, as in SDF.

    kind: 'directional', 'point' or 'spot'. color: light on a surface at right angles, before
    attenuation. direction: of the light, world. position [m]. range: reach of the light [m].
    attenuation: constant, linear and quadratic divisor. inner, outer: full cone angles of a spot
    [rad], with the exponent `falloff` between them.
    """

    kind: str = 'directional'
    color: Rgb = (0.7, 0.7, 0.7)
    direction: Rgb = (-0.5, 0.1, -0.9)
    position: Rgb = (0.0, 0.0, 0.0)
    cast_shadows: bool = True
    range: float = math.inf
    attenuation: Rgb = (1.0, 0.0, 0.0)
    inner: float = 0.0
    outer: float = 0.0
    falloff: float = 1.0

    def __post_init__(self) -> None:
        """Raise InvalidValueError for an invalid lamp."""
        place = f'lamp {self.kind!r}'
        if self.kind not in _KINDS:
            raise InvalidValueError('kind', self.kind, f'one of {", ".join(_KINDS)}')
        if not np.linalg.norm(self.direction) > 0.0:
            raise InvalidValueError('direction', self.direction, 'a vector that is not 0', place)
        if min(self.attenuation) < 0.0 or not sum(self.attenuation) > 0.0:
            raise InvalidValueError(
                'attenuation', self.attenuation, '3 numbers from 0, not all 0', place
            )
        if self.kind == 'spot' and not 0.0 <= self.inner <= self.outer < 2.0 * math.pi:
            raise InvalidValueError(
                'cone', (self.inner, self.outer), '0 <= inner <= outer [rad]', place
            )


@dataclass(frozen=True)
class Surroundings:
    """Lamps, ambient light, and the sky's colours at horizon and zenith, all linear."""

    lamps: Sequence[Lamp] = (Lamp(),)
    ambient: Rgb = (0.4, 0.4, 0.4)
    horizon: Rgb = (0.70, 0.77, 0.84)
    zenith: Rgb = (0.13, 0.29, 0.62)

    def __post_init__(self) -> None:
        """Raise InvalidValueError for too many lamps."""
        if len(self.lamps) > MOST_LAMPS:
            raise InvalidValueError('lamps', len(self.lamps), f'at most {MOST_LAMPS}')

    def arrays(self) -> Lighting:
        """Return the arrays for the kernels."""
        lamps = self.lamps
        return Lighting(
            kind=np.array([_KINDS[each.kind] for each in lamps], np.int64),
            place=_rows(
                [
                    (*each.position, *(np.array(each.direction) / np.linalg.norm(each.direction)))
                    for each in lamps
                ],
                6,
            ),
            color=_rows([each.color for each in lamps], 3),
            attenuation=_rows([(each.range, *each.attenuation) for each in lamps], 4),
            cone=_rows(
                [
                    (math.cos(0.5 * each.inner), math.cos(0.5 * each.outer), each.falloff)
                    for each in lamps
                ],
                3,
            ),
            casts=np.array([each.cast_shadows for each in lamps], np.int64),
            sky=np.array([self.ambient, self.horizon, self.zenith], float),
        )


def _rows(values: Sequence[Sequence[float]], columns: int) -> np.ndarray:
    return np.array(values, float).reshape(-1, columns)
