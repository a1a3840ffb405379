"""Contact points of resting shapes: number, places, order and feature names."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from benchmarks.collision import box_corners, hull_record, random_rotations, survey, turn
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

HALF = np.array((0.3, 0.2, 0.1))
CORNERS = np.array([(x, y) for x in (-0.3, 0.3) for y in (-0.2, 0.2)])
LIMIT = 1e-3


class Touch:
    """The contact points of one pair."""

    def __init__(self, records, R, p):
        """Collide the first shape, at a pose, with the second shape at the origin."""
        pose = np.hstack([np.ravel(R), p, np.eye(3).ravel(), np.zeros(3)])[None]
        found = survey(build_geometry(records), np.array([[0, 1]]), pose, LIMIT)
        rows = found.valid()[0]
        self.point, self.normal = found.point[0][rows], found.normal[0][rows]
        self.gap, self.feature = found.gap[0][rows], found.feature[0][rows]
        self.distance = found.distance[0, 0]

    def __len__(self):
        """Return the number of points."""
        return len(self.gap)


def box(kind, half):
    """Make a box, as a BOX or as a HULL."""
    return hull_record(box_corners(half)) if kind == HULL else GeometryRecord(kind, size=half)


def ground(kind):
    """Make a floor whose surface is at height 0."""
    if kind == PLANE:
        return GeometryRecord(PLANE)
    position = (0.0, 0.0, -1.0)
    if kind == HULL:
        return hull_record(box_corners((2.0, 2.0, 1.0)) + position)
    return GeometryRecord(BOX, size=(2.0, 2.0, 1.0), position=position)


def floor_pose(kind, R, p):
    """Return arguments to place a shape on a floor; the survey ignores the floor's own frame."""
    lift = np.array((0.0, 0.0, 1.0 if kind == BOX else 0.0))
    return R, p + lift


def assert_at(points, expected, atol=1e-9):
    """Require each expected place (u, v) among the points, and no other."""
    assert len(points) == len(expected)
    order = np.lexsort(np.round(points, 6).T)
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        points[order], expected[np.lexsort(np.round(expected, 6).T)], atol=atol
    )


@pytest.mark.parametrize('floor', [PLANE, BOX, HULL])
@pytest.mark.parametrize('kind', [BOX, HULL])
@pytest.mark.parametrize('depth', [1e-2, 1e-5, 0.0, -1e-4])
def test_box_rests_on_four_corners(kind, floor, depth):
    """Touch at the four lower corners, midway between both surfaces, with an upright normal."""
    angle = 0.4
    R, p = turn(angle, 2), np.array((0.1, -0.2, HALF[2] - depth))
    touch = Touch([box(kind, HALF), ground(floor)], *floor_pose(floor, R, p))
    assert_at(touch.point[:, :2], CORNERS @ R[:2, :2].T + p[:2])
    np.testing.assert_allclose(touch.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(touch.normal, [(0.0, 0.0, 1.0)] * 4, atol=1e-9)
    height = -0.5 * depth + (1.0 if floor == BOX else 0.0)
    np.testing.assert_allclose(touch.point[:, 2], height, atol=1e-9)
    assert np.all(np.diff(touch.feature) > 0)


@pytest.mark.parametrize('first', [BOX, HULL])
@pytest.mark.parametrize('second', [BOX, HULL])
def test_crossed_boxes_touch_where_their_faces_overlap(first, second):
    """Touch at the corners of the rectangle shared by both faces, and of the octagon."""
    records = [box(first, (0.5, 0.1, 0.1)), box(second, (0.1, 0.4, 0.1))]
    touch = Touch(records, np.eye(3), np.array((0.0, 0.0, 0.2)))
    assert_at(touch.point, [(x, y, 0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    square = [box(kind, (0.2, 0.2, 0.1)) for kind in (first, second)]
    octagon = Touch(square, turn(0.25 * np.pi, 2), np.array((0.0, 0.0, 0.2)))
    near, far = 0.2 * (np.sqrt(2.0) - 1.0), 0.2
    assert_at(
        octagon.point,
        [
            (sx * x, sy * y, 0.1)
            for x, y in ((near, far), (far, near))
            for sx in (-1, 1)
            for sy in (-1, 1)
        ],
    )


def test_box_on_an_edge_and_on_a_corner():
    """Touch a plane at the two ends of an edge, and at one corner."""
    plane = GeometryRecord(PLANE)
    body = GeometryRecord(BOX, size=HALF)
    R = turn(0.5, 0)
    lowest = (box_corners(HALF) @ R.T)[:, 2].min()
    edge = Touch([body, plane], R, np.array((0.0, 0.0, -lowest)))
    assert len(edge) == 2
    np.testing.assert_allclose(np.sort(edge.point[:, 0]), (-0.3, 0.3), atol=1e-12)
    R = turn(0.5, 0) @ turn(0.4, 1)
    lowest = (box_corners(HALF) @ R.T)[:, 2].min()
    assert len(Touch([body, plane], R, np.array((0.0, 0.0, -lowest)))) == 1


def test_crossed_edges_touch_in_one_point():
    """Touch two boxes edge on edge at the crossing, along the normal to both edges."""
    side = 0.2
    R_a = turn(0.25 * np.pi, 0)
    R_b = turn(0.25 * np.pi, 1)
    p = np.array((0.0, 0.0, 2.0 * np.sqrt(2.0) * side - 1e-4))
    cube = GeometryRecord(BOX, size=(side, side, side))
    touch = Touch([cube, cube], R_b.T @ R_a, R_b.T @ p)
    assert len(touch) == 1
    np.testing.assert_allclose(R_b @ touch.normal[0], (0.0, 0.0, 1.0), atol=1e-9)
    np.testing.assert_allclose(R_b @ touch.point[0], 0.5 * p, atol=1e-9)
    assert touch.gap[0] == pytest.approx(-1e-4, abs=1e-12)


@pytest.mark.parametrize('floor', [PLANE, BOX])
@pytest.mark.parametrize('kind', [CYLINDER, CONE])
def test_cylinder_and_cone_stand_on_their_rim(kind, floor):
    """Stand on rim points that enclose the centre."""
    touch = Touch(
        [GeometryRecord(kind, size=(0.2, 0.3)), ground(floor)],
        *floor_pose(floor, turn(0.7, 2), np.array((0.1, 0.0, 0.3 - 1e-5))),
    )
    assert 4 <= len(touch) <= 8
    arm = touch.point[:, :2] - (0.1, 0.0)
    rim = np.linalg.norm(arm, axis=1)
    assert np.all((np.abs(rim - 0.2) < 1e-6) | (rim < 1e-6))
    for angle in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False):
        assert np.max(arm @ (np.cos(angle), np.sin(angle))) > 0.1
    np.testing.assert_allclose(touch.gap, -1e-5, atol=1e-9)


@pytest.mark.parametrize('floor', [PLANE, BOX])
@pytest.mark.parametrize('kind', [CYLINDER, CAPSULE])
def test_cylinder_and_capsule_lie_on_a_line(kind, floor):
    """Lie on the two ends of a straight line."""
    touch = Touch(
        [GeometryRecord(kind, size=(0.1, 0.3)), ground(floor)],
        *floor_pose(floor, turn(0.5 * np.pi, 1), np.array((0.0, 0.0, 0.1 - 1e-5))),
    )
    assert_at(touch.point[:, :2], [(-0.3, 0.0), (0.3, 0.0)], 1e-6)
    np.testing.assert_allclose(touch.gap, -1e-5, atol=1e-9)


@pytest.mark.parametrize('floor', [PLANE, BOX, HULL])
@pytest.mark.parametrize('kind', [SPHERE, ELLIPSOID])
def test_round_shapes_touch_in_one_point(kind, floor):
    """Touch right below the centre."""
    touch = Touch(
        [GeometryRecord(kind, size=(0.2, 0.2, 0.2)), ground(floor)],
        *floor_pose(floor, np.eye(3), np.array((0.3, 0.1, 0.2 - 1e-5))),
    )
    assert_at(touch.point[:, :2], [(0.3, 0.1)], 1e-6)
    assert touch.gap[0] == pytest.approx(-1e-5, abs=1e-9)


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        (BOX, PLANE),
        (BOX, BOX),
        (HULL, BOX),
        (HULL, HULL),
        (CYLINDER, PLANE),
        (CYLINDER, BOX),
        (CAPSULE, BOX),
        (CONE, PLANE),
    ],
)
def test_features_keep_their_names(first, second):
    """Keep the same feature numbers for the same points while a resting shape trembles."""
    sizes = {BOX: (0.3, 0.2, 0.1), CYLINDER: (0.2, 0.1), CAPSULE: (0.1, 0.2), CONE: (0.2, 0.1)}
    shape = (
        hull_record(box_corners(HALF))
        if first == HULL
        else GeometryRecord(first, size=sizes[first])
    )
    upright = turn(0.5 * np.pi, 1) if first == CAPSULE else np.eye(3)
    rest = np.array((0.02, 0.01, 0.1 - 1e-4))
    random = np.random.default_rng(3)
    names = []
    for step in range(20):
        tremble = turn(1e-6 * random.normal(), step % 3) @ upright
        touch = Touch(
            [shape, ground(second)],
            *floor_pose(second, tremble, rest + 1e-6 * random.normal(size=3)),
        )
        names.append(touch.feature.tolist())
        assert names[-1] == sorted(set(names[-1]))
    assert all(name == names[0] for name in names)
    assert len(names[0]) >= 2


def test_points_lie_on_both_surfaces():
    """Keep every point within half its gap from both boxes' surfaces, along the normal."""
    random = np.random.default_rng(8)
    geometry = build_geometry([GeometryRecord(BOX, size=HALF), box(HULL, HALF)] * 2)
    pair = np.array([(0, 2), (0, 3), (1, 3)] * 200)
    count = len(pair)
    pose = np.hstack(
        [
            random_rotations(random, count).reshape(count, 9),
            0.35 * random.normal(size=(count, 3)),
            np.tile([*np.eye(3).ravel(), 0.0, 0.0, 0.0], (count, 1)),
        ]
    )
    found = survey(geometry, pair, pose, LIMIT)
    assert 100 < np.sum(found.count > 0) < count
    for row in range(count):
        R, p = pose[row, :9].reshape(3, 3), pose[row, 9:12]
        for k in range(found.count[row]):
            half = 0.5 * found.gap[row, k] * found.normal[row, k]
            above, below = found.point[row, k] + half, found.point[row, k] - half
            assert np.max(np.abs((above - p) @ R) - HALF) < 1e-6
            assert np.max(np.abs(below) - HALF) < 1e-6


@pytest.mark.parametrize('kinds', [(BOX, BOX), (HULL, HULL), (BOX, HULL)])
def test_sides_aligned_to_rounding_are_clipped_in_place(kinds):
    """Find all points within both boxes, no deeper than the overlap, at angles below 1e-8."""
    rng = np.random.default_rng(4)
    for _ in range(400):
        half = rng.uniform((0.002, 0.05, 0.05), 0.3)
        other = np.where(rng.random() < 0.5, half, [0.1, half[1], 0.2])
        tiny, angle = 10.0 ** rng.uniform(-11.0, -8.0), rng.uniform(0.0, 1.5)
        R = Rotation.from_rotvec(tiny * rng.normal(size=3)).as_matrix() @ turn(angle, 1)
        depth = 10.0 ** rng.uniform(-6.0, -3.0)
        p = np.array(
            [
                other[0] + np.abs(R[0]) @ half - depth,
                0.1 * tiny * rng.normal(),
                other[2] * rng.uniform(-1.0, 1.0),
            ]
        )
        touch = Touch([box(kinds[0], half), box(kinds[1], other)], R, p)
        for point, gap in zip(touch.point, touch.gap, strict=True):
            assert gap >= touch.distance - 1e-7
            assert (np.abs(R.T @ (point - p)) <= half + abs(gap) + 1e-7).all()
            assert (np.abs(point) <= other + abs(gap) + 1e-7).all()
