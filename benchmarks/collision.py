"""
The narrow phase alone: nanoseconds per shape pair, and a million hard cases without a flaw.

Hard cases pair any two convex shapes, with sizes from 1 mm to 1 km, also flat or with zero size.
They are turned at random, slightly or by right angles. Their centres coincide, are random, are
at the distance at which the shapes touch, or are 1000 km apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import time

import numpy as np

from benchmarks.report import Report, Target
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.collision.broad.filters import is_closed
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.collision.narrow.narrow import collide_closed, collide_pair, distance
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    Geometry,
    HULL,
    PLANE,
    SPHERE,
)
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.math.mat3 import load_m
from sim_bridge.engine.math.vec3 import load3, store3
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.simulation.handles import make_probe

SHAPES = {
    PLANE: 'plane',
    SPHERE: 'sphere',
    CAPSULE: 'capsule',
    BOX: 'box',
    CYLINDER: 'cylinder',
    CONE: 'cone',
    ELLIPSOID: 'ellipsoid',
    HULL: 'hull',
}

# tasks of `survey` for a pair; bits
DISTANCE, CONTACTS = 1, 2

POINTS = 8
HARD_CASES = 1_000_000
BATCH = 50_000

# shapes at rest on each other: kinds, sizes [m], the first one's pitch and height,
# and the target: most nanoseconds per pair
RESTING = [
    (SPHERE, (0.1,), SPHERE, (0.1,), 0.0, 0.2, 30.0),
    (SPHERE, (0.1,), PLANE, (), 0.0, 0.1, 30.0),
    (BOX, (0.1, 0.1, 0.1), PLANE, (), 0.0, 0.1, 100.0),
    (CAPSULE, (0.05, 0.1), PLANE, (), 90.0, 0.05, 100.0),
    (CYLINDER, (0.1, 0.1), PLANE, (), 90.0, 0.1, 100.0),
    (SPHERE, (0.1,), BOX, (0.1, 0.1, 0.1), 0.0, 0.2, 100.0),
    (CAPSULE, (0.05, 0.1), BOX, (0.1, 0.1, 0.1), 90.0, 0.15, 1000.0),
    (BOX, (0.1, 0.1, 0.1), BOX, (0.1, 0.1, 0.1), 0.0, 0.2, 1000.0),
    (CYLINDER, (0.1, 0.1), BOX, (0.1, 0.1, 0.1), 0.0, 0.2, 3000.0),
    (HULL, (0.1,), BOX, (0.1, 0.1, 0.1), 0.0, 0.2, 3000.0),
    (HULL, (0.1,), HULL, (0.1,), 0.0, 0.2, 5000.0),
    (ELLIPSOID, (0.1, 0.1, 0.1), BOX, (0.1, 0.1, 0.1), 0.0, 0.2, 5000.0),
]


@entry
def _measure_pairs(table, pair, pose, distance_out):
    geometry, scratch = world.geometry(table), world.collision(table)
    for row in range(pair.shape[0]):
        gap, x, y, n = distance(
            geometry,
            scratch,
            pair[row, 0],
            pair[row, 1],
            (load_m(pose, row, 0), load3(pose, row, 9)),
            (load_m(pose, row, 12), load3(pose, row, 21)),
        )
        distance_out[row, 0] = gap
        store3(distance_out, row, 1, x)
        store3(distance_out, row, 4, y)
        store3(distance_out, row, 7, n)


@entry
def _collide_pairs(
    table, pair, pose, limit, count_out, feature_out, point_out, normal_out, gap_out
):
    geometry, scratch = world.geometry(table), world.collision(table)
    for row in range(pair.shape[0]):
        a, b = pair[row, 0], pair[row, 1]
        pose_a = load_m(pose, row, 0), load3(pose, row, 9)
        pose_b = load_m(pose, row, 12), load3(pose, row, 21)
        if is_closed(geometry.shape[a], geometry.shape[b]):
            count_out[row] = collide_closed(
                geometry,
                scratch,
                a,
                b,
                pose_a,
                pose_b,
                limit[row],
                (8 * row, feature_out, point_out, normal_out, gap_out),
            )
        else:
            count_out[row] = collide_pair(
                geometry,
                scratch,
                a,
                b,
                pose_a,
                pose_b,
                limit[row],
                (8 * row, feature_out, point_out, normal_out, gap_out),
            )


@dataclass
class Findings:
    """Results of the narrow phase for m pairs, with eight contact point rows each."""

    distance: np.ndarray
    """(m, 10) signed distance, nearest points on a and on b, normal from b to a."""
    count: np.ndarray
    """(m,) contact points."""
    feature: np.ndarray
    """(m, 8)"""
    point: np.ndarray
    """(m, 8, 3)"""
    normal: np.ndarray
    """(m, 8, 3)"""
    gap: np.ndarray
    """(m, 8)"""

    def valid(self) -> np.ndarray:
        """Return a mask for rows with contact points, (m, 8)."""
        return np.arange(POINTS) < self.count[:, None]


def survey(
    geometry: Geometry,
    pair: np.ndarray,
    pose: np.ndarray,
    limit: float | np.ndarray,
    tasks: int = DISTANCE | CONTACTS,
) -> Findings:
    """
    Measure and collide convex geometry pairs, at most one plane in each.

    pair: (m, 2) geometries. pose: (m, 24) world poses of the first and the second, rotation by
    rows and origin. limit: greatest contact point gap [m], for all or (m,).
    """
    m = len(pair)
    found = Findings(
        np.zeros((m, 10)),
        np.zeros(m, np.int64),
        np.zeros(POINTS * m, np.int64),
        np.zeros((POINTS * m, 3)),
        np.zeros((POINTS * m, 3)),
        np.zeros(POINTS * m),
    )
    model, _ = join_models([], (0.0, 0.0, 0.0))
    handle = make_probe(model, make_state(model), geometry).handle
    pair, pose = np.ascontiguousarray(pair, np.int64), np.ascontiguousarray(pose, float)
    if tasks & DISTANCE:
        _measure_pairs(handle, pair, pose, found.distance)
    if tasks & CONTACTS:
        _collide_pairs(
            handle,
            pair,
            pose,
            np.broadcast_to(np.asarray(limit, float), (m,)).copy(),
            found.count,
            found.feature,
            found.point,
            found.normal,
            found.gap,
        )
    return Findings(
        found.distance,
        found.count,
        found.feature.reshape(m, POINTS),
        found.point.reshape(m, POINTS, 3),
        found.normal.reshape(m, POINTS, 3),
        found.gap.reshape(m, POINTS),
    )


def random_rotations(random: np.random.Generator, m: int) -> np.ndarray:
    """Draw (m, 3, 3) rotations from the uniform distribution."""
    q = random.normal(size=(m, 4))
    x, y, z, w = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.stack(
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - z * w),
            2.0 * (x * z + y * w),
            2.0 * (x * y + z * w),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - x * w),
            2.0 * (x * z - y * w),
            2.0 * (y * z + x * w),
            1.0 - 2.0 * (x * x + y * y),
        ],
        axis=1,
    ).reshape(m, 3, 3)


def turn(angle: float, axis: int) -> np.ndarray:
    """Return the rotation about an axis, 0 to 2, by an angle [rad]."""
    matrix = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[i, i] = matrix[j, j] = np.cos(angle)
    matrix[j, i] = np.sin(angle)
    matrix[i, j] = -matrix[j, i]
    return matrix


def box_corners(half: Sequence[float]) -> np.ndarray:
    """Return a box's eight corners."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * np.asarray(half)


def hull_record(points: np.ndarray) -> GeometryRecord:
    """Describe the convex hull of points."""
    from scipy.spatial import ConvexHull

    return GeometryRecord(
        HULL, vertices=np.asarray(points, float), triangles=ConvexHull(points).simplices
    )


def hard_shapes(random: np.random.Generator, per_kind: int) -> tuple[Geometry, np.ndarray]:
    """Make shapes in all sizes, some flat; return them and their radii [m]."""
    records = [GeometryRecord(PLANE)] * per_kind
    sizes = np.zeros((per_kind, 3))
    for kind in list(SHAPES)[1:]:
        size = 10.0 ** random.uniform(-3, 3, (per_kind, 1)) * 10.0 ** random.uniform(
            -1, 0, (per_kind, 3)
        )
        size[::5] = size[::5, :1]
        size[1::7] *= random.integers(0, 2, (len(size[1::7]), 3))
        if kind == CONE:
            # every other cone has an apex
            size[::2, 2] = 0.0
        sizes = np.vstack([sizes, size])
        if kind == HULL:
            records += [
                hull_record(random.normal(size=(random.integers(6, 60), 3)) * s)
                if np.all(s > 0.0)
                else _flat_hull(random, s)
                for s in size
            ]
        else:
            records += [GeometryRecord(kind, size=tuple(s)) for s in size]
    return build_geometry(records), np.max(sizes, axis=1)


def _flat_hull(random: np.random.Generator, size: np.ndarray) -> GeometryRecord:
    """Describe a hull without volume: a rectangle, a line or a point."""
    return GeometryRecord(HULL, vertices=np.unique(box_corners(size), axis=0))


def hard_cases(
    random: np.random.Generator, radius: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw shape pairs (no two planes) and their poses for `survey`."""
    n = len(radius)
    planes = n // len(SHAPES)
    pair = np.column_stack([random.integers(0, n, m), random.integers(planes, n, m)])
    pair = np.where(random.random((m, 1)) < 0.5, pair, pair[:, ::-1])
    right_angles = np.array([turn(0.5 * np.pi * k, axis) for axis in range(3) for k in range(4)])
    rotations = []
    for _ in range(2):
        R = random_rotations(random, m)
        choice = random.random(m)
        straight = right_angles[random.integers(0, len(right_angles), m)]
        R[choice < 0.5] = straight[choice < 0.5].round()
        tilt = choice < 0.25
        angle = 10.0 ** random.uniform(-16, -2, m)
        for row in np.flatnonzero(tilt):
            R[row] = R[row] @ turn(angle[row], row % 3)
        rotations.append(R)
    reach = radius[pair].sum(axis=1)[:, None]
    offset = random.normal(size=(m, 3)) * reach
    choice = random.random(m)
    axis = np.eye(3)[random.integers(0, 3, m)]
    offset = np.where((choice < 0.4)[:, None], axis * reach, offset)
    offset = np.where((choice < 0.2)[:, None], 0.0, offset)
    offset = np.where((choice > 0.95)[:, None], 1e6 * axis, offset)
    base = np.where(random.random((m, 1)) < 0.1, 1e6, 1.0) * random.normal(size=(m, 3))
    pose = np.hstack([rotations[0].reshape(m, 9), base + offset, rotations[1].reshape(m, 9), base])
    return pair, pose


def reaches(geometry: Geometry, g: np.ndarray, R: np.ndarray, n: np.ndarray) -> np.ndarray:
    """
    Compute the extent of shapes g (m,) with rotations R (m, 3, 3) from their origins along n.

    For a plane it is 0 along its normal, infinite in all other directions.
    """
    c = np.einsum('mij,mi->mj', R, n)
    size, kind = geometry.size[g], geometry.shape[g]
    radial, z = np.hypot(c[:, 0], c[:, 1]), np.abs(c[:, 2])
    reach = np.select(
        [
            kind == SPHERE,
            kind == CAPSULE,
            kind == BOX,
            kind == CYLINDER,
            kind == CONE,
            kind == ELLIPSOID,
            kind == PLANE,
        ],
        [
            size[:, 0],
            size[:, 0] + size[:, 1] * z,
            np.sum(size * np.abs(c), axis=1),
            size[:, 0] * radial + size[:, 1] * z,
            np.maximum(
                size[:, 0] * radial - size[:, 1] * c[:, 2],
                size[:, 2] * radial + size[:, 1] * c[:, 2],
            ),
            np.linalg.norm(size * c, axis=1),
            np.where(c[:, 2] > 1.0 - 1e-12, 0.0, np.inf),
        ],
    )
    for hull in np.unique(g[kind == HULL]):
        first, end = geometry.vertex_range[hull]
        rows = g == hull
        reach[rows] = np.max(c[rows] @ geometry.vertex[first:end].T, axis=1)
    return reach


def partings(geometry: Geometry, pair: np.ndarray, pose: np.ndarray, n: np.ndarray) -> np.ndarray:
    """
    Compute the gap between the shapes of each pair along n (m, 3), in plain NumPy.

    Separating two shapes takes a translation at least as long as the signed distance; along the
    normal the signed distance is enough.
    """
    R_a, R_b = pose[:, :9].reshape(-1, 3, 3), pose[:, 12:21].reshape(-1, 3, 3)
    between = np.einsum('mi,mi->m', n, pose[:, 9:12] - pose[:, 21:24])
    return between - reaches(geometry, pair[:, 0], R_a, -n) - reaches(geometry, pair[:, 1], R_b, n)


def flaws(
    geometry: Geometry,
    pair: np.ndarray,
    pose: np.ndarray,
    found: Findings,
    limit: np.ndarray,
    size: np.ndarray,
) -> np.ndarray:
    """
    Return a mask for pairs with a result impossible for two shapes of these sizes.

    All numbers are finite, normals are unit vectors, gaps within the limit, features ascend. The
    distance equals the gap along the normal, and the distance between the nearest points.
    """
    valid = found.valid()
    gap, x, y, n = np.split(found.distance, [1, 4, 7], axis=1)
    # positions are rounded to the last bit
    slack = 1e-6 * size + 1e-14 * np.abs(pose).max(axis=1)
    is_wrong = ~(np.abs(partings(geometry, pair, pose, n) - gap[:, 0]) <= slack)
    is_wrong |= ~(np.linalg.norm(x - y - gap * n, axis=1) <= slack)
    is_wrong |= ~np.all(np.isfinite(found.distance), axis=1)
    is_wrong |= np.abs(np.linalg.norm(found.distance[:, 7:], axis=1) - 1.0) > 1e-9
    is_wrong |= (found.count < 0) | (found.count > POINTS)
    numbers = np.concatenate([found.point, found.normal, found.gap[:, :, None]], axis=2)
    is_wrong |= np.any(valid & ~np.all(np.isfinite(numbers), axis=2), axis=1)
    is_wrong |= np.any(valid & (np.abs(np.linalg.norm(found.normal, axis=2) - 1.0) > 1e-9), axis=1)
    is_wrong |= np.any(valid & ~(found.gap <= limit[:, None]), axis=1)
    later = valid[:, 1:]
    is_wrong |= np.any(later & (found.feature[:, 1:] <= found.feature[:, :-1]), axis=1)
    return is_wrong


def survey_hard_cases(seed: int, m: int, per_kind: int = 100) -> Iterator[tuple[int, int]]:
    """Go through m hard cases in batches; yield each batch's cases and flaws."""
    random = np.random.default_rng(seed)
    geometry, radius = hard_shapes(random, per_kind)
    for first in range(0, m, BATCH):
        pair, pose = hard_cases(random, radius, min(BATCH, m - first))
        limit = 1e-3 * radius[pair].min(axis=1)
        found = survey(geometry, pair, pose, limit)
        size = radius[pair].max(axis=1)
        yield len(pair), int(flaws(geometry, pair, pose, found, limit, size).sum())


def time_pair(records: Sequence[GeometryRecord], pose: np.ndarray, repeats: int = 20_000) -> float:
    """Measure the processor time to find one pair's contacts [ns]."""
    geometry = build_geometry(records)
    pairs, poses = np.tile([[0, 1]], (repeats, 1)), np.tile(pose, (repeats, 1))
    best = np.inf
    for _ in range(5):
        start = time.thread_time()
        survey(geometry, pairs, poses, 1e-4, CONTACTS)
        best = min(best, time.thread_time() - start)
    # the same without pairs: cost of the arrays
    start = time.thread_time()
    survey(geometry, pairs, poses, 1e-4, 0)
    return (best - (time.thread_time() - start)) / repeats * 1e9


def _record(kind: int, size: tuple[float, ...]) -> GeometryRecord:
    return hull_record(box_corners(3 * size)) if kind == HULL else GeometryRecord(kind, size=size)


def run() -> Report:
    """Time resting pairs, then look for flaws."""
    report = Report('collision')
    rows, targets = [], []
    for kind, size, other, other_size, pitch, height, most in RESTING:
        pose = np.hstack(
            [
                turn(np.deg2rad(pitch), 0).ravel(),
                (0.01, 0.0, height),
                np.eye(3).ravel(),
                np.zeros(3),
            ]
        )
        title = f'{SHAPES[kind]} on {SHAPES[other]}'
        spent = time_pair([_record(kind, size), _record(other, other_size)], pose)
        rows.append([title, f'{spent:.0f}'])
        targets.append(Target(f'{title} [ns]', spent, most))
        report.data[title] = spent
    report.add_table('Contacts of one resting pair [ns]', ['', 'sim_bridge'], rows)
    start = time.thread_time()
    batches = list(survey_hard_cases(1, HARD_CASES))
    spent = time.thread_time() - start
    cases, wrong = (int(total) for total in np.sum(batches, axis=0))
    report.data |= {'hard cases': cases, 'flaws': wrong, 'seconds': spent}
    report.add_table(
        'Random and degenerate pairs',
        ['cases', 'flaws', 'us per case'],
        [[str(cases), str(wrong), f'{spent / cases * 1e6:.1f}']],
    )
    report.add_targets([*targets, Target('flaws in a million hard cases', wrong, 0.0)])
    return report
