"""Shapes with extreme or zero size in extreme poses: finite, unit normals, true distances."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from benchmarks.collision import (
    flaws,
    hull_record,
    partings,
    random_rotations,
    survey,
    survey_hard_cases,
    turn,
)
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.collision.clip.polytope import polytope
from sim_bridge.engine.data.geometry import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, SPHERE

SIZES = {
    SPHERE: (0.5,),
    CAPSULE: (0.3, 0.4),
    BOX: (0.5, 0.4, 0.3),
    CYLINDER: (0.4, 0.3),
    CONE: (0.4, 0.5),
    ELLIPSOID: (0.5, 0.4, 0.3),
    HULL: (),
}


def record(kind, factor=1.0):
    """Make a shape about 1 m wide times a factor."""
    if kind == HULL:
        points = np.random.default_rng(3).normal(size=(12, 3))
        return hull_record(0.4 * factor * points)
    return GeometryRecord(kind, size=tuple(factor * np.array(SIZES[kind])))


def all_pairs(records):
    """Build a geometry from shapes; return it and all pairs, including a shape with itself."""
    rows = range(len(records))
    return build_geometry(records), np.array(list(combinations_with_replacement(rows, 2)))


def poses_of(R_a, p_a, R_b, p_b, count):
    """Lay out two poses for `count` pairs."""
    return np.tile([*np.ravel(R_a), *p_a, *np.ravel(R_b), *p_b], (count, 1)).astype(float)


def assert_sound(geometry, pair, pose, size):
    """Survey pairs, require possible results, and return them."""
    limit = np.full(len(pair), 1e-3)
    found = survey(geometry, pair, pose, limit)
    is_wrong = flaws(geometry, pair, pose, found, limit, np.broadcast_to(size, len(pair)))
    assert not is_wrong.any(), pair[is_wrong][:5]
    return found


def test_random_and_degenerate_configurations():
    """Find no fault in a sample from the benchmark's million configurations."""
    totals = np.sum(list(survey_hard_cases(7, 6000, per_kind=40)), axis=0)
    assert totals.tolist() == [6000, 0]


@pytest.mark.parametrize('offset', [0.0, 1e-300, 1e-17, 1e-12, 1e-9, 1e-6])
def test_identical_poses(offset):
    """Separate equally oriented shapes with equal or nearly equal centres."""
    geometry, pair = all_pairs([record(kind) for kind in SIZES])
    pose = poses_of(np.eye(3), (offset, 0.0, 0.0), np.eye(3), np.zeros(3), len(pair))
    found = assert_sound(geometry, pair, pose, 1.0)
    assert np.all(found.distance[:, 0] < -0.2)
    assert np.all(found.count > 0)


@pytest.mark.parametrize('axis', [0, 1, 2])
@pytest.mark.parametrize('tilt', [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3])
def test_touching_exactly(axis, tilt):
    """Measure zero between touching shapes, with faces and edges parallel or nearly so."""
    # shapes that reach as far along the axis as their middle
    centred = {CONE} if axis == 2 else set()
    centred |= {SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID}
    geometry, pair = all_pairs([record(kind) for kind in SIZES if kind in centred])
    direction = np.eye(3)[axis]
    R = turn(tilt, (axis + 1) % 3)
    pose = poses_of(R, np.zeros(3), np.eye(3), np.zeros(3), len(pair))
    pose[:, 9:12] -= (
        partings(geometry, pair, pose, np.tile(direction, (len(pair), 1)))[:, None] * direction
    )
    found = assert_sound(geometry, pair, pose, 1.0)
    np.testing.assert_allclose(found.distance[:, 0], 0.0, atol=1e-9 + tilt)
    assert np.all(found.count > 0)


@pytest.mark.parametrize('ratio', [1e-6, 1e-3, 1e3, 1e6])
def test_sizes_far_apart(ratio):
    """Put small shapes on, in and beside shapes a million times as large."""
    kinds = list(SIZES)
    geometry = build_geometry(
        [record(kind) for kind in kinds] + [record(kind, ratio) for kind in kinds]
    )
    count = len(kinds)
    pair = np.array([(a, count + b) for a in range(count) for b in range(count)])
    random = np.random.default_rng(4)
    large = max(1.0, ratio)
    for where in (0.0, 0.3 * large, 2.0 * large):
        pose = poses_of(
            random_rotations(random, 1)[0],
            where * np.array((0.6, 0.0, 0.8)),
            random_rotations(random, 1)[0],
            np.zeros(3),
            len(pair),
        )
        found = assert_sound(geometry, pair, pose, large)
        if where > large:
            assert np.all(found.distance[:, 0] > 0.5 * large)
            assert not found.count.any()


def test_shapes_without_size():
    """Measure points, segments and rectangles as points, segments and rectangles."""
    point = GeometryRecord(BOX, size=(0.0, 0.0, 0.0))
    segment = GeometryRecord(CAPSULE, size=(0.0, 0.5))
    rectangle = GeometryRecord(BOX, size=(0.5, 0.5, 0.0))
    disc = GeometryRecord(CYLINDER, size=(0.5, 0.0))
    needle = GeometryRecord(ELLIPSOID, size=(0.0, 0.0, 0.5))
    geometry, pair = all_pairs([point, segment, rectangle, disc, needle])
    for offset in ((0.0, 0.0, 0.0), (0.0, 0.0, 0.75), (2.0, 0.0, 0.0), (0.5, 0.0, 0.0)):
        pose = poses_of(np.eye(3), offset, np.eye(3), np.zeros(3), len(pair))
        found = assert_sound(geometry, pair, pose, 1.0)
        by_pair = dict(zip(map(tuple, pair.tolist()), found.distance[:, 0], strict=True))
        assert by_pair[0, 0] == pytest.approx(np.linalg.norm(offset), abs=1e-12)
        assert by_pair[2, 2] == pytest.approx(
            np.hypot(max(offset[0] - 1.0, 0.0), offset[2]), abs=1e-9
        )
        assert by_pair[1, 4] == pytest.approx(
            np.hypot(offset[0], max(offset[2] - 1.0, 0.0)), abs=1e-9
        )


def test_small_shape_inside():
    """Give a ball in the middle of a shape the shortest way out."""
    kinds = [kind for kind in SIZES if kind != HULL]
    geometry = build_geometry([record(SPHERE, 0.01), *(record(kind) for kind in kinds)])
    pair = np.array([(0, 1 + row) for row in range(len(kinds))])
    pose = poses_of(np.eye(3), np.zeros(3), np.eye(3), np.zeros(3), len(pair))
    found = assert_sound(geometry, pair, pose, 1.0)
    # from a cone's centre the way out is through its side
    ways = {
        SPHERE: 0.5,
        CAPSULE: 0.3,
        BOX: 0.3,
        CYLINDER: 0.3,
        CONE: 0.2 / np.hypot(0.4, 1.0),
        ELLIPSOID: 0.3,
    }
    np.testing.assert_allclose(
        found.distance[:, 0], [-ways[kind] - 0.005 for kind in kinds], atol=1e-9
    )


def test_a_face_whose_outline_is_no_loop_stays_in_triangles():
    """Make faces for a surface with a hole at its edge, as left by rounding on a hull."""
    corners = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (2, 1, 0), (3, 2, 0), (0, 4, 0)]
    triangles = [(0, 1, 3), (0, 3, 5), (3, 4, 5), (4, 2, 5), (4, 1, 2)]
    faces = polytope(np.array(corners, float), np.array(triangles))
    rings = np.split(faces.face_vertex, faces.face_start[1:-1])
    assert sum(len(ring) - 2 for ring in rings) == len(triangles)
