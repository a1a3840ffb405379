"""
Lens models of cameras, by word.

Distortion coefficients are in OpenCV's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyadd, polyder, polymul, polysub

from sim_bridge.engine.data.lens import (
    BROWN,
    EQUIDISTANT,
    IDENTITY,
    PINHOLE,
    RADIAL,
    SINE,
    TANGENT,
)


class LensModel(NamedTuple):
    """
    A lens model's word in files.

    model, function: in `engine.data.lens`. counts: allowed counts of distortion coefficients.
    preset: coefficients of a model without its own. distortion_model: in CameraInfo,
    '' if ROS has none. published: count of coefficients there.
    """

    model: int
    function: int
    counts: tuple[int, ...]
    preset: tuple[float, ...] = ()
    distortion_model: str = ''
    published: int = 0


LENSES: Mapping[str, LensModel] = MappingProxyType(
    {
        'pinhole': LensModel(PINHOLE, IDENTITY, (0,), (), 'plumb_bob', 5),
        'plumb_bob': LensModel(BROWN, IDENTITY, (0, 4, 5), (), 'plumb_bob', 5),
        'rational_polynomial': LensModel(BROWN, IDENTITY, (0, 8), (), 'rational_polynomial', 8),
        'equidistant': LensModel(EQUIDISTANT, IDENTITY, (0, 4), (), 'equidistant', 4),
        'stereographic': LensModel(RADIAL, TANGENT, (0,), (2.0, 2.0, 0.0)),
        'equisolid_angle': LensModel(RADIAL, SINE, (0,), (2.0, 2.0, 0.0)),
        'orthographic': LensModel(RADIAL, SINE, (0,), (1.0, 1.0, 0.0)),
        'sine': LensModel(RADIAL, SINE, (3,)),
        'tangent': LensModel(RADIAL, TANGENT, (3,)),
        'angle': LensModel(RADIAL, IDENTITY, (3,)),
    }
)
"""
Lens models by word.

The last three have SDF's custom function as their coefficients c1 c2 c3: the radius on the
normalized image is c1 f(angle / c2 + c3).
"""

FUNCTIONS: Mapping[int, tuple[Callable[[float], float], Callable[[float], float]]] = {
    IDENTITY: (lambda phase: phase, lambda phase: 1.0),
    SINE: (math.sin, math.cos),
    TANGENT: (math.tan, lambda phase: 1.0 + math.tan(phase) ** 2),
}
FLAT = (PINHOLE, BROWN)
# share of a polynomial's greatest coefficient
_NEGLIGIBLE = 1e-100


def radius_at(model: LensModel, coefficients: Sequence[float], angle: float) -> float:
    """Return the radius on the normalized image at an angle [rad], without distortion."""
    if model.model in FLAT:
        return math.tan(angle)
    if model.model == EQUIDISTANT:
        return angle
    c1, c2, c3 = coefficients
    return c1 * float(FUNCTIONS[model.function][0](angle / c2 + c3))


def maps(model: LensModel, coefficients: Sequence[float], angle: float) -> bool:
    """Return whether the radius grows from 0 up to an angle [rad], without distortion."""
    if model.model != RADIAL:
        return True
    _, c2, c3 = coefficients
    phase = angle / c2 + c3
    is_growing = model.function == IDENTITY or abs(phase) < 0.5 * math.pi
    return is_growing and radius_at(model, coefficients, angle) > 0.0


def fold_radius(coefficients: Sequence[float]) -> float:
    """
    Return the radius on the normalized image where Brown's radial distortion folds; inf for none.

    coefficients: k1 k2 p1 p2 k3 k4 k5 k6, the missing ones 0; p1 and p2 are left out. The radius
    s a(s²) / b(s²) folds at the first root of its derivative, a b + 2 t (a' b - a b') with t = s²,
    or at a pole.
    """
    k = np.zeros(8)
    k[: len(coefficients)] = coefficients
    above, below = [1.0, k[0], k[1], k[4]], [1.0, k[5], k[6], k[7]]
    rise = polysub(polymul(polyder(above), below), polymul(above, polyder(below)))
    slope = polyadd(polymul(above, below), polymul([0.0, 2.0], rise))
    folds, poles = _positive_roots(slope), _positive_roots(below)
    if not folds or (poles and poles[0] <= folds[0]):
        return math.inf
    first = folds[0]
    gain = np.polyval(above[::-1], first) / np.polyval(below[::-1], first)
    return math.sqrt(first) * float(gain)


def _positive_roots(polynomial: Sequence[float]) -> list[float]:
    """Return the real roots above zero, in order; polynomial: from the constant term up."""
    numbers = np.asarray(polynomial, float)
    numbers = numbers / np.abs(numbers).max(initial=1e-300)
    # negligible terms have roots beyond any lens
    numbers = np.where(np.abs(numbers) < _NEGLIGIBLE, 0.0, numbers)
    roots = np.roots(numbers[::-1])
    is_real = np.abs(roots.imag) <= 1e-9 * (1.0 + np.abs(roots.real))
    return sorted(float(root) for root in roots[is_real].real if root > 0.0)
