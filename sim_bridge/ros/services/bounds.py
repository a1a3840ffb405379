"""Bounding boxes for entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

import sim_bridge as sb
from sim_bridge.description.model import GeometryDescription, Pose
from sim_bridge.world.openplx import OpenPlxScene


def box_around(entity: sb.Robot | OpenPlxScene) -> np.ndarray | None:
    """
    Return lower and upper corner (2, 3) for the box around a robot or a scene [m].

    Corners are in the robot's root link frame, or in the scene's frame. A robot without collision
    shapes has the box around its visuals. None for an entity without either, or with an infinite
    shape; see `why_boundless`.
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
        corners = [
            (each - frame.position) @ frame.rotation
            for robot in robots
            for each in _visual_corners(robot)
        ]
    if not corners:
        return None
    every = np.concatenate(corners)
    return np.array([every.min(axis=0), every.max(axis=0)])


def _visual_corners(robot: sb.Robot) -> list[np.ndarray]:
    """Return points on each visual in the world, (n, 3) [m]; mesh files are left out."""
    links = () if robot.description is None else robot.description.links.values()
    found = []
    for own in links:
        link = robot.link(own.name)
        for visual in own.visuals:
            points = _visual_points(visual)
            if points is not None:
                in_link = points @ visual.pose.rotation.T + visual.pose.position
                found.append(in_link @ link.R.T + link.p)
    return found


def _visual_points(visual: GeometryDescription) -> np.ndarray | None:
    """Return points (n, 3) [m] whose hull encloses a visual; None for a mesh file."""
    if visual.kind == 'mesh':
        return None if visual.surface is None else np.asarray(visual.surface[0], dtype=float)
    if visual.kind not in _HALVES:
        # planes have no end
        return None
    half = _HALVES[visual.kind](*visual.size)
    return np.array(list(product(*((-each, each) for each in half))))


# half edges for the box around each visual kind, from its size
_HALVES: Mapping[str, Callable[..., tuple[float, float, float]]] = {
    'box': lambda x, y, z: (x / 2, y / 2, z / 2),
    'sphere': lambda r: (r, r, r),
    'cylinder': lambda r, length: (r, r, length / 2),
    'capsule': lambda r, length: (r, r, length / 2 + r),
    'ellipsoid': lambda x, y, z: (x, y, z),
    'cone': lambda r, length: (r, r, length / 2),
}


def why_boundless(robot: sb.Robot) -> str:
    """Return the reason for a robot without a box."""
    if not robot.geometries:
        return f'{robot.name!r} has no collision shapes, and no visuals other than mesh files'
    return f'{robot.name!r} has an infinite collision shape'
