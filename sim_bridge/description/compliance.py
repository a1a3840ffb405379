"""Compliance of a loop joint: a spring and a damper in each direction."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array

_STIFFNESS = 'a number of at least 0, or inf where it is rigid, or six of them [N/m; N m/rad]'
_DAMPING = 'a finite number of at least 0, or six of them [N s/m; N m s/rad]'


class Compliance(NamedTuple):
    """
    A loop joint's springs and dampers in the directions constrained by its type.

    Six numbers each: along x, y and z of the joint's axes on its first link, then about them. z is
    the joint's axis. The x axis of a distance joint points from anchor to anchor; the y axis of a
    universal or hinge2 joint is at right angles to its two axes. Numbers for free directions are
    ignored.

    stiffness: [N/m; N m/rad]. Infinite: the direction is rigid, whatever its damping.
    damping: [N s/m; N m s/rad].
    """

    stiffness: tuple[float, ...]
    damping: tuple[float, ...] = (0.0,) * 6

    @property
    def yields(self) -> bool:
        """Whether any direction is compliant."""
        return min(self.stiffness) < math.inf


GivenCompliance = tuple[Number | Vector] | tuple[Number | Vector, Number | Vector]
"""Compliance as given by users: stiffness and damping, one number or six numbers each."""


def checked_compliance(stiffness: object, damping: object, place: str) -> Compliance:
    """
    Return the compliance with six numbers each for stiffness and damping.

    Raises InvalidValueError for other values.
    """
    springs = _six('stiffness', stiffness, _STIFFNESS, place)
    dampers = _six('damping', damping, _DAMPING, place)
    if not np.isfinite(dampers).all():
        raise InvalidValueError('damping', damping, _DAMPING, place)
    return Compliance(tuple(springs.tolist()), tuple(dampers.tolist()))


def _six(quantity: str, value: object, expected: str, place: str) -> FloatArray:
    array = real_array(quantity, value, expected, place)
    # the comparison is false for nan, too
    if array.shape not in ((), (6,)) or not (array >= 0.0).all():
        raise InvalidValueError(quantity, value, expected, place)
    return np.broadcast_to(array, 6)
