"""Narrow phase against Coal, on random poses for every pair of convex shapes."""

from __future__ import annotations

from itertools import combinations_with_replacement

import coal
from meshes import coal_hull
import numpy as np
import pytest

from benchmarks.collision import DISTANCE, hull_record, partings, random_rotations, SHAPES, survey
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    PLANE,
    SPHERE,
)

PAIRS = [pair for pair in combinations_with_replacement(SHAPES, 2) if pair != (PLANE, PLANE)]
POSES = 150
ACCURACY = 1e-6
# Coal's iteration tolerance: its default is too coarse for comparison, finer ones sometimes fail
COAL_TOLERANCE = 1e-7


def random_shape(random, kind):
    """Make a shape about 1 m wide, as a record and for Coal."""
    size = tuple(random.uniform(0.2, 0.8, 3))
    if kind == CONE:
        size = (*size[:2], 0.0)
    if kind == HULL:
        points = random.normal(size=(random.integers(5, 40), 3)) * size
        return hull_record(points), coal_hull(points)
    theirs = {
        PLANE: lambda: coal.Halfspace(np.array((0.0, 0.0, 1.0)), 0.0),
        SPHERE: lambda: coal.Sphere(size[0]),
        CAPSULE: lambda: coal.Capsule(size[0], 2.0 * size[1]),
        BOX: lambda: coal.Box(*(2.0 * np.array(size))),
        CYLINDER: lambda: coal.Cylinder(size[0], 2.0 * size[1]),
        CONE: lambda: coal.Cone(size[0], 2.0 * size[1]),
        ELLIPSOID: lambda: coal.Ellipsoid(*size),
    }[kind]()
    return GeometryRecord(kind, size=size), theirs


def random_poses(random, count):
    """Draw (count, 24) poses for two shapes that are apart as often as not."""
    offset = random.normal(size=(count, 3))
    offset *= random.uniform(0.0, 2.5, (count, 1)) / np.linalg.norm(offset, axis=1, keepdims=True)
    base = random.normal(size=(count, 3))
    return np.hstack(
        [
            random_rotations(random, count).reshape(count, 9),
            base + offset,
            random_rotations(random, count).reshape(count, 9),
            base,
        ]
    )


def ask_coal(shape_a, shape_b, pose):
    """Return Coal's signed distance, and its unit normal from b to a."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = COAL_TOLERANCE
    request.gjk_max_iterations, request.epa_max_iterations = 1000, 200
    distance = coal.distance(
        shape_a,
        coal.Transform3s(pose[:9].reshape(3, 3), pose[9:12]),
        shape_b,
        coal.Transform3s(pose[12:21].reshape(3, 3), pose[21:]),
        request,
        result,
    )
    return distance, *-result.normal


def best_partings(random, geometry, pair, pose, n, rounds=400):
    """Search at random for the directions with the greatest separation."""
    best_n, best = n, partings(geometry, pair, pose, n)
    for round_ in range(rounds):
        spread = 10.0 ** (-8.0 * round_ / rounds)
        trial = best_n + spread * random.normal(size=best_n.shape)
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        parted = partings(geometry, pair, pose, trial)
        is_better = parted > best
        best_n = np.where(is_better[:, None], trial, best_n)
        best = np.maximum(best, parted)
    return best


@pytest.mark.parametrize(
    ('kind', 'other'), PAIRS, ids=[f'{SHAPES[a]}-{SHAPES[b]}' for a, b in PAIRS]
)
def test_distance_as_coal(kind, other):
    """
    Measure the same distance, depth and normal as Coal.

    The signed distance is the greatest separation along any direction. Coal has found it if its
    own normal separates the shapes that far, and ours no farther. Otherwise no direction may
    separate them farther than ours.
    """
    random = np.random.default_rng(100 * kind + other)
    shapes = [(random_shape(random, kind), random_shape(random, other)) for _ in range(5)]
    geometry = build_geometry([record for pair in shapes for record, _ in pair])
    rows = np.arange(POSES) % len(shapes)
    pair, pose = np.column_stack([2 * rows, 2 * rows + 1]), random_poses(random, POSES)
    found = survey(geometry, pair, pose, 0.0, DISTANCE).distance
    gap, x, y, n = found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:]
    theirs = np.array(
        [ask_coal(shapes[row][0][1], shapes[row][1][1], pose[k]) for k, row in enumerate(rows)]
    )
    their_gap, their_n = theirs[:, 0], theirs[:, 1:]

    assert 0.1 * POSES < np.sum(gap > 0.0) < 0.9 * POSES
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(x - y, gap[:, None] * n, atol=ACCURACY)
    np.testing.assert_allclose(partings(geometry, pair, pose, n), gap, atol=1e-9)

    with np.errstate(invalid='ignore'):
        their_parting = partings(geometry, pair, pose, their_n)
        is_right = (np.abs(their_parting - their_gap) < ACCURACY) & (gap < their_gap + ACCURACY)
    assert np.mean(is_right) > 0.9
    np.testing.assert_allclose(gap[is_right], their_gap[is_right], atol=ACCURACY)
    doubtful = ~is_right
    best = best_partings(random, geometry, pair[doubtful], pose[doubtful], n[doubtful])
    np.testing.assert_allclose(best, gap[doubtful], atol=ACCURACY)

    angle = np.linalg.norm(np.cross(n, their_n), axis=1)
    is_unique = is_right & ((angle < 0.1) | (their_parting < gap - ACCURACY))
    assert np.mean(is_unique) > 0.85
    off = is_unique & ~(angle < 1e-3)
    # along an imprecise normal from Coal, the separation is smaller
    assert np.all(their_parting[off] < gap[off] - 1e-10)
    assert np.mean(off) < 0.05


@pytest.mark.parametrize('other', SHAPES, ids=SHAPES.values())
def test_distance_of_truncated_cones(other):
    """Separate truncated cones, also upside down, as far as any direction does, and no farther."""
    random = np.random.default_rng(other)
    cones = [GeometryRecord(CONE, size=tuple(random.uniform(0.1, 0.8, 3))) for _ in range(5)]
    records = [(cone, random_shape(random, other)[0]) for cone in cones]
    # a cylinder, and two cones against each other
    records += [(GeometryRecord(CONE, size=(0.3, 0.4, 0.3)), records[0][1]), (cones[0], cones[1])]
    geometry = build_geometry([record for pair in records for record in pair])
    rows = np.arange(POSES) % len(records)
    pair, pose = np.column_stack([2 * rows, 2 * rows + 1]), random_poses(random, POSES)
    limit = 0.05
    found = survey(geometry, pair, pose, limit)
    gap, x, y, n = np.split(found.distance, [1, 4, 7], axis=1)
    assert 0.1 * POSES < np.sum(gap > 0.0) < 0.9 * POSES
    np.testing.assert_allclose(x - y, gap * n, atol=ACCURACY)
    np.testing.assert_allclose(partings(geometry, pair, pose, n), gap[:, 0], atol=1e-9)
    # a plane separates along its normal only
    best = gap[:, 0] if other == PLANE else best_partings(random, geometry, pair, pose, n)
    np.testing.assert_allclose(best, gap[:, 0], atol=ACCURACY)
    assert np.array_equal(found.count > 0, gap[:, 0] <= limit)
    least = np.min(np.where(found.valid(), found.gap, np.inf), axis=1)
    touching = found.count > 0
    np.testing.assert_allclose(least[touching], gap[touching, 0], atol=ACCURACY)


def test_contacts_as_distances():
    """Touch exactly up to the limit, with the deepest contact equal to the distance."""
    random = np.random.default_rng(5)
    kinds = [kind for kind in SHAPES for _ in range(4)]
    geometry = build_geometry([random_shape(random, kind)[0] for kind in kinds])
    pair = np.array(
        [
            (a, b)
            for a in range(len(kinds))
            for b in range(a)
            if kinds[a] != PLANE or kinds[b] != PLANE
        ]
    )
    limit = 0.05
    found = survey(geometry, pair, random_poses(random, len(pair)), limit)
    distance = found.distance[:, 0]
    assert np.array_equal(found.count > 0, distance <= limit)
    touching = found.count > 0
    assert 100 < touching.sum() < len(pair) - 50
    least = np.min(np.where(found.valid(), found.gap, np.inf), axis=1)
    np.testing.assert_allclose(least[touching], distance[touching], atol=ACCURACY)
