"""Convex decomposition: CoACD finds the cuts, and the mesh is cut exactly there."""

from __future__ import annotations

import importlib.util

import numpy as np

from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, MissingPackageError
from sim_bridge.foundation.validation import instance_of, number_from, whole_number
from sim_bridge.shapes.half_edges import HalfEdges
from sim_bridge.shapes.meshes.cutting import concave_levels, corners_inside, Cutter, Part
from sim_bridge.shapes.meshes.merging import merge
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh

# limits for one mesh; robot link meshes take seconds to minutes
LIMITS = Limits(seconds=1800.0, memory_bytes=8 << 30, answer_bytes=1 << 28)

HINT = 'pip install "coacd>=1.0.7", of the extra `meshes`'
_DECOMPOSER = 'sim_bridge.foreign.mesh_decomposer'
# grid resolution for the wrap around an open surface; only cut positions depend on it
_WRAP = 30
# CoACD uses C's unsigned int
_MOST = (1 << 31) - 1
# a turned frame is used only if it aligns this additional share of the mesh area
_BETTER = 0.01
# number of face normals tried as axes; sine or cosine tolerance for perpendicular or parallel ones
_DIRECTIONS, _PARALLEL = 16, 1e-6


def decompose(
    mesh: TriangleMesh, threshold: float = 0.05, most_hulls: int = 0, seed: int = 0
) -> tuple[ConvexHull, ...]:
    """
    Return convex hulls that together contain a mesh, and little else.

    threshold: allowed hull reach beyond the mesh, from 0.01 (fine) to 1 (coarse), relative
    to half its longest side. most_hulls: 0, or the greatest hull count, which may then exceed
    the threshold. seed: random seed; the same call gives the same hulls.

    Cuts are perpendicular to three axes: the mesh's axes, or face normals if more of the surface
    is perpendicular to them. Cuts go through concave edges in planes across the axes. If all
    concave edges of a solid lie in these planes, and none is within the threshold, the parts fill
    the solid exactly. Other concave edges, for example on round surfaces, are approximated.

    A surface that is not closed is wrapped to find its cuts; its hulls contain its triangles.

    Raises InvalidValueError for other values, for a mesh that is flat or cannot be decomposed,
    MissingPackageError without the extra `meshes`.

    Source: Wei et al., Approximate convex decomposition for 3D meshes with collision-aware
    concavity and tree search, 2022.
    """
    instance_of('mesh', mesh, TriangleMesh, 'a TriangleMesh', 'decompose')
    threshold = number_from(
        'threshold', threshold, 0.01, 1.0, 'decompose', 'a number from 0.01 to 1'
    )
    for name, value in (('most_hulls', most_hulls), ('seed', seed)):
        if whole_number(name, value) > _MOST:
            raise InvalidValueError(name, value, f'a whole number up to {_MOST}', 'decompose')
    if not len(mesh.convex_hull().triangles):
        raise InvalidValueError('mesh', mesh, 'a surface that is not flat', 'decompose')
    if importlib.util.find_spec('coacd') is None:
        raise MissingPackageError('the decomposition of a mesh', HINT)
    frame = frame_of(mesh)
    edges = mesh.half_edges
    points = edges.vertices @ frame
    boxes = _boxes_of_parts(mesh, points, threshold, seed)
    corners = parts_of(mesh, points, boxes, threshold, most_hulls)
    return tuple(ConvexHull(each @ frame.T) for each in corners)


def parts_of(
    mesh: TriangleMesh, points: FloatArray, boxes: FloatArray, threshold: float, most_hulls: int
) -> list[FloatArray]:
    """
    Return a mesh's hull corners.

    points: its half-edge vertices in the cut frame. boxes: (k, 2, 3) around
    CoACD's parts, in the same frame. Other arguments as in `decompose`.
    """
    unit = float(np.ptp(points, axis=0).max()) / 2
    corners_of = mesh.half_edges.triangles
    if _volume(points[corners_of]) < 0.0:
        # a negative volume means that the surface is inside out
        corners_of = corners_of[:, ::-1]
    edges = HalfEdges(points, corners_of)
    triangles = points[corners_of]
    cutter = Cutter(unit, concave_levels(edges, unit))
    endless = np.array([[-np.inf] * 3, [np.inf] * 3])
    parts = cutter.parts(Part(triangles, endless), boxes)
    inside = corners_inside(triangles, np.array([part.box for part in parts]))
    corners = [
        each
        for part, more in zip(parts, inside, strict=True)
        if len(each := np.concatenate([part.triangles.reshape(-1, 3), more]))
    ]
    solid = [each for each in corners if not _is_flat(each, unit)]
    flat = [] if edges.is_closed else [each for each in corners if _is_flat(each, unit)]
    return merge(solid, threshold * unit, most_hulls) + flat


def frame_of(mesh: TriangleMesh) -> FloatArray:
    """Return the cut axes as columns: perpendicular to as much surface area as possible."""
    edges = mesh.half_edges
    a, b, c = (edges.vertices[edges.triangles[:, k]] for k in range(3))
    crosses = np.cross(b - a, c - a)
    areas = np.linalg.norm(crosses, axis=1)
    normals, areas = crosses[areas > 0.0] / areas[areas > 0.0, None], areas[areas > 0.0]
    found: list[FloatArray] = []
    left = areas.copy()
    while len(found) < _DIRECTIONS and left.any():
        found.append(normals[left.argmax()])
        left[np.abs(normals @ found[-1]) > 1 - _PARALLEL] = 0.0

    def aligned(frame: FloatArray) -> float:
        return float(areas[(np.abs(normals @ frame) > 1 - _PARALLEL).any(axis=1)].sum())

    frames = [
        np.column_stack([one, two, np.cross(one, two)])
        for one in found
        for two in found
        if abs(one @ two) < _PARALLEL
    ]
    own = np.eye(3)
    best = max(frames, key=aligned, default=own)
    return best if aligned(best) > aligned(own) + _BETTER * areas.sum() else own


def _boxes_of_parts(
    mesh: TriangleMesh, points: FloatArray, threshold: float, seed: int
) -> FloatArray:
    """Return the boxes (k, 2, 3) around the parts that CoACD finds."""
    options = {
        'threshold': threshold,
        'seed': seed,
        'merge': False,
        'preprocess_resolution': _WRAP,
    }
    content = points.tobytes() + mesh.half_edges.triangles.astype(np.int32).tobytes()
    try:
        _, answer = read_apart(
            _DECOMPOSER, LIMITS, {'vertices': len(points), 'options': options}, content
        )
        if not answer or len(answer) % 48:
            raise ReadingError('CoACD returned no parts')
        boxes = np.frombuffer(answer).reshape(-1, 2, 3)
        if not np.isfinite(boxes).all():
            raise ReadingError('CoACD returned parts with coordinates that are not finite')
    except ReadingError as err:
        raise InvalidValueError(
            'mesh', mesh, f'a surface that can be decomposed ({err})', 'decompose'
        ) from err
    return boxes


def _is_flat(points: FloatArray, unit: float) -> bool:
    """Return whether points have no significant volume."""
    return bool(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[-1] < 1e-9 * unit)


def _volume(triangles: FloatArray) -> float:
    a, b, c = (triangles[:, k] - triangles.mean(axis=(0, 1)) for k in range(3))
    return float(np.einsum('ij,ij->', a, np.cross(b, c)) / 6)
