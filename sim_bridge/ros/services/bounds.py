"""Bounding boxes of entities."""

from __future__ import annotations

from itertools import product

import numpy as np

import sim_bridge as sb
from sim_bridge.description.model import Pose
from sim_bridge.world.openplx import OpenPlxScene


def box_around(entity: sb.Robot | OpenPlxScene) -> np.ndarray | None:
    """
    Return the (2, 3) lower and upper corner of the box around a robot or a scene [m].

    Of a robot in the root link's frame, of a scene in its own; None for what has no geometry, or
    one without end.
    """
    if isinstance(entity, OpenPlxScene):
        robots, frame = entity.robots, entity.record.pose
    else:
        robots, root = (entity,), entity.root_link
        frame = Pose(root.p, root.R)
    corners = []
    for geometry in (each for robot in robots for each in robot.geometries):
        low, high = geometry.shape.bounds
        own = np.array(list(product(*zip(low, high, strict=True))))
        if not np.isfinite(own).all():
            return None
        corners.append((own @ geometry.R.T + geometry.p - frame.position) @ frame.rotation)
    if not corners:
        return None
    every = np.concatenate(corners)
    return np.array([every.min(axis=0), every.max(axis=0)])
