"""Bounding boxes of entities."""

from __future__ import annotations

from itertools import product

import numpy as np

import sim_bridge as sb


def box_around(robot: sb.Robot) -> np.ndarray | None:
    """
    Return the (2, 3) lower and upper corner of a robot's box along the root link's axes [m].

    From the root link's origin; None for a robot without geometry, or with one without end.
    """
    root, corners = robot.root_link, []
    for geometry in robot.geometries:
        low, high = geometry.shape.bounds
        own = np.array(list(product(*zip(low, high, strict=True))))
        if not np.isfinite(own).all():
            return None
        corners.append((own @ geometry.R.T + geometry.p - root.p) @ root.R)
    if not corners:
        return None
    every = np.concatenate(corners)
    return np.array([every.min(axis=0), every.max(axis=0)])
