"""The contact points of one step, as the narrow phase leaves them for the solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector

# entries of Contacts.size
COUNT = 0  # points found
OVERFLOW = 1  # 1 where there was no room for all


class Contacts(NamedTuple):
    """
    Arrays with room for nc points, ordered by (geometry a, geometry b, feature).

    The normal points from the second geometry towards the first, the way the first is pushed.
    """

    size: IntVector
    """(2,) COUNT, OVERFLOW."""
    geometry: IntMatrix
    """(nc, 2) the two geometries, the first the lower number."""
    feature: IntVector
    """(nc,) what touches what: equal from step to step as long as the same features touch."""
    point: FloatMatrix
    """(nc, 3) midway between the two nearest points [m], world."""
    normal: FloatMatrix
    """(nc, 3) unit vector, world."""
    gap: FloatVector
    """(nc,) signed distance [m], negative inside."""


def make_contacts(capacity: int) -> Contacts:
    """Make room for `capacity` points."""
    return Contacts(
        size=np.zeros(2, np.int64), geometry=np.zeros((capacity, 2), np.int64),
        feature=np.zeros(capacity, np.int64), point=np.zeros((capacity, 3)),
        normal=np.zeros((capacity, 3)), gap=np.zeros(capacity))
