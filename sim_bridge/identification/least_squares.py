"""Nonlinear least squares within limits, by scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.identification.parameters import Parameters

_TOLERANCE = 1e-7
# minimum initial distance from a limit
_INSIDE = 1e-2


def minimize(
    residuals: Callable[[FloatArray], FloatArray],
    slopes: Callable[[FloatArray], FloatArray],
    z: FloatArray,
    parameters: Parameters,
    loss: str,
    most: int,
) -> FloatArray:
    """
    Return the z (P,) that minimises the residuals.

    z: start. loss: one of LOSSES, for residuals divided by their noise. most: maximum evaluations.
    """
    lower, upper = parameters.lower, parameters.upper
    inside = np.minimum(_INSIDE, 0.5 * (upper - lower))
    begin = np.clip(z, lower + inside, upper - inside)
    # scipy's first step is as long as the start vector: it must not be 0
    found = least_squares(
        lambda x: residuals(x - 1.0),
        begin + 1.0,
        lambda x: slopes(x - 1.0),
        bounds=(lower + 1.0, upper + 1.0),
        loss=loss,
        max_nfev=most,
        xtol=_TOLERANCE,
        ftol=_TOLERANCE,
        gtol=None,
    )
    best: FloatArray = np.clip(found.x - 1.0, lower, upper)
    return best
