"""Shapes as functions that are negative inside: expected ray hits without casting rays."""

from __future__ import annotations

from meshes import lumpy_ball
import numpy as np

import sim_bridge as sb

POINTS = np.random.default_rng(5).normal(size=(30, 3)) * (0.4, 0.5, 0.3)
HULL = sb.ConvexHull(POINTS)


def _across(x):
    return np.hypot(x[..., 0], x[..., 1])


def _capsule(x):
    z = np.clip(x[..., 2], -0.4, 0.4)
    return np.linalg.norm(x - z[..., None] * (0, 0, 1), axis=-1) - 0.3


def _tapered(x, bottom, length, top):
    wall = bottom + (top - bottom) * (x[..., 2] / length + 0.5)
    return np.maximum(_across(x) - wall, np.abs(x[..., 2]) - length / 2)


def _hollow(x, bottom, length, inner, top, top_inner):
    bore = inner + (top_inner - inner) * (x[..., 2] / length + 0.5)
    return np.maximum(_tapered(x, bottom, length, top), bore - _across(x))


def _hull(x):
    from scipy.spatial import ConvexHull

    planes = ConvexHull(POINTS).equations
    return (x @ planes[:, :3].T + planes[:, 3]).max(axis=-1)


CONVEX = {
    'sphere': (sb.Sphere(0.6), lambda x: np.linalg.norm(x, axis=-1) - 0.6),
    'box': (sb.Box((0.6, 0.8, 1.0)), lambda x: (np.abs(x) - (0.3, 0.4, 0.5)).max(axis=-1)),
    'capsule': (sb.Capsule(0.3, 0.8), _capsule),
    'cylinder': (
        sb.Cylinder(0.4, 0.9),
        lambda x: np.maximum(_across(x) - 0.4, np.abs(x[..., 2]) - 0.45),
    ),
    'cone': (
        sb.Cone(0.5, 1.2),
        lambda x: np.maximum(_across(x) - 0.5 * (0.6 - x[..., 2]) / 1.2, -0.6 - x[..., 2]),
    ),
    'truncated cone': (sb.Cone(0.5, 1.2, 0.2), lambda x: _tapered(x, 0.5, 1.2, 0.2)),
    'funnel': (sb.Cone(0.2, 1.2, 0.5), lambda x: _tapered(x, 0.2, 1.2, 0.5)),
    'ellipsoid': (
        sb.Ellipsoid((0.3, 0.5, 0.7)),
        lambda x: np.linalg.norm(x / (0.3, 0.5, 0.7), axis=-1) - 1.0,
    ),
    'hull': (HULL, _hull),
    'plane': (sb.Plane(), lambda x: x[..., 2]),
}
"""Shapes, and functions of points (…, 3) in their frames that grow from inside to outside."""

HOLLOW = {
    'pipe': (sb.HollowCylinder(0.5, 1.2, 0.4), lambda x: _hollow(x, 0.5, 1.2, 0.4, 0.5, 0.4)),
    'hollow cone': (
        sb.HollowCone(0.3, 1.2, 0.2, 0.6, 0.45),
        lambda x: _hollow(x, 0.3, 1.2, 0.2, 0.6, 0.45),
    ),
    'tent': (sb.HollowCone(0.6, 1.2, 0.5), lambda x: _hollow(x, 0.6, 1.2, 0.5, 0.0, 0.0)),
}
"""Shapes with a bore, and their functions."""

FIELD_HEIGHTS = 0.3 * np.random.default_rng(3).normal(size=(7, 9))


def field_triangles():
    """Return the surface triangles of `HeightField(FIELD_HEIGHTS, (4, 3))`, (n, 3, 3)."""
    rows, columns = FIELD_HEIGHTS.shape
    x, y = np.meshgrid(np.linspace(-2.0, 2.0, columns), np.linspace(-1.5, 1.5, rows))
    p = np.stack([x, y, FIELD_HEIGHTS], axis=-1)
    near, right, far, up = p[:-1, :-1], p[:-1, 1:], p[1:, 1:], p[1:, :-1]
    return np.concatenate(
        [
            np.stack(corners, axis=2).reshape(-1, 3, 3)
            for corners in ((near, right, up), (right, far, up))
        ]
    )


def surfaces():
    """Return triangle meshes and a height field, each with its triangles, (n, 3, 3)."""
    vertices, triangles = lumpy_ball()
    return {
        'mesh': (sb.TriangleMesh(vertices, triangles), vertices[triangles]),
        'open mesh': (sb.TriangleMesh(vertices, triangles[20:]), vertices[triangles[20:]]),
        'height field': (sb.HeightField(FIELD_HEIGHTS, (4.0, 3.0)), field_triangles()),
    }


def crossings(triangles, start, way):
    """Return t, 0 to 1, and unit normal of the first triangle hit by start + t way."""
    edge1, edge2 = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normal = np.cross(edge1, edge2)
    area = normal @ way
    from_corner = start - triangles[:, 0]
    with np.errstate(all='ignore'):
        t = -np.einsum('ij,ij->i', normal, from_corner) / area
        turned = np.cross(from_corner, way)
        u = np.einsum('ij,ij->i', edge2, turned) / -area
        v = np.einsum('ij,ij->i', edge1, turned) / area
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t <= 1)
    if not hit.any():
        return np.nan, np.full(3, np.nan)
    first = np.flatnonzero(hit)[np.argmin(t[hit])]
    return t[first], normal[first] / np.linalg.norm(normal[first])
