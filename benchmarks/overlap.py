"""
Body overlap, computed from their poses, alike for all engines.

An engine's own penetration values are not used.
"""

from __future__ import annotations

from itertools import product

import numba
import numpy as np

from benchmarks.mechanism import Motion
from benchmarks.scene import Scene, shapes_of
from benchmarks.shapes import Box, Placed, Sphere

_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
# each face's corners, drawn in: a box's corners on an equal box lie on both edges
_FACES = np.concatenate([_CORNERS * scale for scale in 1.0 - 0.1 * (1.0 - np.eye(3))])


def spheres(scene: Scene, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Return all sphere centres (n, 3) and radii (n,) [m]."""
    centres, radii = [], []
    for i, shapes in enumerate(shapes_of(scene)):
        for placed in shapes:
            if isinstance(placed.shape, Sphere):
                centres.append(_place(placed, motion, i)[0])
                radii.append(placed.shape.radius)
    return np.array(centres).reshape(-1, 3), np.array(radii)


def sphere_overlaps(scene: Scene, motion: Motion) -> np.ndarray:
    """Return all touching spheres' depths [m] in each other and in the planes."""
    centres, radii = spheres(scene, motion)
    normals = np.array([plane.normal for plane in scene.planes]).reshape(-1, 3)
    offsets = np.array([plane.normal @ plane.position for plane in scene.planes])
    # a sphere has at most twelve equal neighbours; robots' feet have fewer
    depths = np.empty(12 * len(centres) + len(centres) * len(normals))
    return depths[: _collect(centres, radii, normals, offsets, depths)]


def deepest(scene: Scene, motion: Motion) -> float:
    """
    Return the greatest overlap depth [m]; 0 if nothing overlaps.

    It covers spheres in planes and in each other, box corners in planes, and points
    near box corners in other boxes.
    """
    depths = [0.0, *sphere_overlaps(scene, motion)]
    boxes = _boxes(scene, motion)
    loose = len(scene.solids)  # robot bodies do not touch each other
    for body, half, centre, rotation in boxes:
        corners = centre + (_CORNERS * half) @ rotation.T
        faces = centre + (_FACES * half) @ rotation.T
        depths += [
            (plane.normal @ plane.position - corners @ plane.normal).max()
            for plane in scene.planes
        ]
        for other, other_half, other_centre, other_rotation in boxes:
            if other != body and min(other, body) < loose:
                local = (faces - other_centre) @ other_rotation
                depths.append((other_half - np.abs(local)).min(axis=1).max())
    return float(max(depths))


def _boxes(scene, motion):
    return [
        (i, np.array(placed.shape.size) / 2.0, *_place(placed, motion, i))
        for i, shapes in enumerate(shapes_of(scene))
        for placed in shapes
        if isinstance(placed.shape, Box)
    ]


def _place(placed: Placed, motion: Motion, body: int):
    rotation = motion.rotation[body]
    return motion.com[body] + rotation @ placed.position, rotation @ placed.rotation


@numba.njit
def _collect(centres, radii, normals, offsets, depths):
    count = 0
    for i in range(len(centres)):
        for j in range(i):
            reach = radii[i] + radii[j]
            x = centres[i, 0] - centres[j, 0]
            y = centres[i, 1] - centres[j, 1]
            z = centres[i, 2] - centres[j, 2]
            square = x * x + y * y + z * z
            if square < reach * reach and count < len(depths):
                depths[count] = reach - np.sqrt(square)
                count += 1
        for k in range(len(normals)):
            depth = radii[i] + offsets[k]
            for axis in range(3):
                depth -= normals[k, axis] * centres[i, axis]
            if depth > 0.0 and count < len(depths):
                depths[count] = depth
                count += 1
    return count
