"""Parameters that have one value for all joints, or one for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError


def per_joint(name: str, values: Sequence[float], joints: Sequence[str]) -> np.ndarray:
    """
    Return the value of a parameter for every joint (n,).

    Raises InvalidValueError for another number of values than 1 or n.
    """
    if len(values) not in (1, len(joints)):
        raise InvalidValueError(
            f'parameter {name!r}', values,
            f'1 value or {len(joints)}, one for each of {", ".join(joints)}')
    return np.broadcast_to(np.array(values), (len(joints),))
