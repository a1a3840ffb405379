"""Bounding boxes for entities."""

from __future__ import annotations

from itertools import product

import numpy as np

import sim_bridge as sb
from sim_bridge.description.model import Pose
from sim_bridge.world.openplx import OpenPlxScene


def box_around(entity: sb.Robot | OpenPlxScene) -> np.ndarray | None:
    """
    Return lower and upper corner (2, 3) for the box around a robot or a scene [m].

    Corners are in the robot's root link frame, or in the scene's frame. None for an entity without
    geometries, or with an infinite one; see `why_boundless`.
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


def why_boundless(robot: sb.Robot) -> str:
    """Return the reason for a robot without a box."""
    if not robot.geometries:
        return f'{robot.name!r} has no collision shapes; bounds enclose these, not visuals'
    return f'{robot.name!r} has an infinite collision shape'
