"""Triangle meshes made in code, and conversions of shapes for Coal and the engine."""

from __future__ import annotations

import coal
import numpy as np
from scipy.spatial import ConvexHull

from sim_bridge.engine.collision.build import GeometryRecord
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    MESH,
    SPHERE,
)

CONVEX = {
    SPHERE: (0.2,),
    CAPSULE: (0.1, 0.3),
    BOX: (0.1, 0.2, 0.3),
    CYLINDER: (0.15, 0.2),
    CONE: (0.2, 0.25),
    ELLIPSOID: (0.1, 0.2, 0.3),
    HULL: (),
}
"""Sizes of the shapes collided with meshes in the tests."""

HULL_POINTS = 0.25 * np.random.default_rng(2).normal(size=(20, 3))


def lumpy_ball(rows=9, columns=14):
    """Return a closed mesh with dents and ridges, about 2 wide."""
    theta = np.linspace(0.0, np.pi, rows + 1)[1:-1, None]
    phi = np.linspace(0.0, 2.0 * np.pi, columns, endpoint=False)[None]
    r = 1.0 + 0.3 * np.sin(3.0 * phi) * np.sin(theta) ** 2
    ring = np.stack(
        [
            r * np.sin(theta) * np.cos(phi),
            r * np.sin(theta) * np.sin(phi),
            np.broadcast_to(0.8 * np.cos(theta), r.shape),
        ],
        axis=-1,
    )
    vertices = np.vstack([ring.reshape(-1, 3), (0.0, 0.0, 0.8), (0.0, 0.0, -0.8)])
    top, bottom = len(vertices) - 2, len(vertices) - 1
    last = (rows - 2) * columns
    triangles = []
    for j in range(columns):
        k = (j + 1) % columns
        triangles += [(top, j, k), (bottom, last + k, last + j)]
        for i in range(rows - 2):
            a, b = i * columns + j, i * columns + k
            triangles += [(a, a + columns, b + columns), (a, b + columns, b)]
    return vertices, np.array(triangles)


def sheet(n, side, height=lambda x, y: 0.0 * x):
    """Return an open mesh of n x n cells over a square around the origin, seen from above."""
    along = np.linspace(-0.5 * side, 0.5 * side, n + 1)
    x, y = np.meshgrid(along, along)
    first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    up = first + n + 1
    triangles = np.vstack(
        [np.column_stack([first, first + 1, up + 1]), np.column_stack([first, up + 1, up])]
    )
    return np.column_stack([x.ravel(), y.ravel(), height(x, y).ravel()]), triangles


def block(half, n=1):
    """Return the closed mesh of a box with sides cut into n x n cells."""
    vertices, triangles = sheet(n, 2.0)
    vertices[:, 2] = 1.0
    sides = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            turn = np.roll(np.eye(3), axis, axis=0) * sign
            if np.linalg.det(turn) < 0.0:
                turn = turn[:, [1, 0, 2]]
            sides.append(vertices @ turn.T)
    count = len(vertices)
    return (np.vstack(sides) * half, np.vstack([triangles + k * count for k in range(6)]))


def cells(lines, filled):
    """
    Return vertices and triangles around the filled cells of a grid, outside out.

    lines: the grid's coordinates along x, y and z. filled: booleans, (nx, ny, nz).
    """
    inner = np.pad(filled, 1)
    corners = np.stack(np.meshgrid(*lines, indexing='ij'), axis=-1)
    quads = []
    for axis in range(3):
        u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
        for side in (0, 1):
            beyond = np.roll(inner, 1 - 2 * side, axis)
            for cell in np.argwhere(inner & ~beyond) - 1:
                first = cell + side * np.eye(3, dtype=int)[axis]
                ring = [first, first + u, first + u + v, first + v]
                quads.append([corners[tuple(each)] for each in (ring if side else ring[::-1])])
    points = np.reshape(quads, (-1, 3))
    first = np.arange(0, len(points), 4)[:, None]
    return points, np.concatenate([first + [0, 1, 2], first + [0, 2, 3]])


def soup(rng, count):
    """Return unconnected triangles."""
    corners = rng.uniform(-1.0, 1.0, (count, 1, 3)) + rng.normal(0.0, 0.3, (count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def convex_record(shape, **fields):
    """Return a record for one of the CONVEX shapes."""
    if shape == HULL:
        fields.update(vertices=HULL_POINTS, triangles=ConvexHull(HULL_POINTS).simplices)
    return GeometryRecord(shape, size=CONVEX[shape], **fields)


def mesh_record(mesh, **fields):
    """Return a mesh record."""
    return GeometryRecord(MESH, vertices=mesh[0], triangles=mesh[1], **fields)


def coal_convex(shape):
    """Return one of the CONVEX shapes for Coal."""
    size = CONVEX[shape]
    if shape == HULL:
        return coal_hull(HULL_POINTS)
    return {
        SPHERE: lambda: coal.Sphere(size[0]),
        CAPSULE: lambda: coal.Capsule(size[0], 2 * size[1]),
        BOX: lambda: coal.Box(*(2.0 * np.array(size))),
        CYLINDER: lambda: coal.Cylinder(size[0], 2 * size[1]),
        CONE: lambda: coal.Cone(size[0], 2 * size[1]),
        ELLIPSOID: lambda: coal.Ellipsoid(*size),
    }[shape]()


# Coal's hulls refer to their input points
_CLOUDS = []


def coal_hull(points):
    """Return the points' convex hull for Coal."""
    cloud = coal.StdVec_Vec3s()
    cloud.extend(list(points))
    _CLOUDS.append(cloud)
    return coal.Convex.convexHull(cloud, True, 'Qt')


def coal_mesh(mesh):
    """Return a mesh for Coal."""
    vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    vertices.extend(list(mesh[0]))
    triangles.extend([coal.Triangle(*map(int, corners)) for corners in mesh[1]])
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(triangles), len(vertices))
    model.addSubModel(vertices, triangles)
    model.endModel()
    return model


def random_rotation(rng):
    """Return a random rotation matrix."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def random_pose(rng, spread):
    """Return a random rotation and position."""
    return random_rotation(rng), rng.normal(size=3) * spread


def pose_rows(*poses):
    """Return poses in the kernels' layout."""
    return np.array([[*np.ravel(R), *p] for R, p in poses])


def prism(radius, half, sides):
    """Return a closed prism around the z axis: vertices and triangles."""
    angle = (np.arange(sides) + 0.5) * 2.0 * np.pi / sides
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    vertices = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (-half, half)])
    triangles = []
    for k in range(sides):
        j = (k + 1) % sides
        triangles += [(k, j, sides + j), (k, sides + j, sides + k)]
    for k in range(1, sides - 1):
        triangles += [(0, k + 1, k), (sides, sides + k, sides + k + 1)]
    return vertices, np.array(triangles)


def thread(inner, outer, turns, pitch, tooth, start, sides):
    """
    Return a closed screw thread with square teeth around the z axis: vertices and triangles.

    tooth: its height along z [m]. start: height of its beginning [m]. sides: per turn.
    """
    angle = 2.0 * np.pi * np.arange(turns * sides + 1) / sides
    height = start + pitch * angle / (2.0 * np.pi)
    corners = ((inner, -tooth), (outer, -tooth), (outer, tooth), (inner, tooth))
    rings = [
        np.stack([r * np.cos(angle), r * np.sin(angle), height + 0.5 * z], axis=1)
        for r, z in corners
    ]
    vertices = np.stack(rings, axis=1).reshape(-1, 3)
    triangles = []
    for k in range(0, len(vertices) - 4, 4):
        for c in range(4):
            a, b, d, e = k + c, k + (c + 1) % 4, k + 4 + (c + 1) % 4, k + 4 + c
            triangles += [(a, b, d), (a, d, e)]
    last = len(vertices) - 4
    triangles += [(0, 2, 1), (0, 3, 2), (last, last + 1, last + 2), (last, last + 2, last + 3)]
    return vertices, np.array(triangles)
