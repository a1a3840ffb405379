"""Distances and overlaps between steps, compared with Coal."""

from __future__ import annotations

import coal
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion

POINTS = np.random.default_rng(5).normal(size=(12, 3)) * (0.2, 0.3, 0.4)


def coal_hull(points: np.ndarray) -> coal.Convex:
    """Return a hull in Coal's form."""
    vertices = coal.StdVec_Vec3s()
    for point in points:
        vertices.append(point)
    return coal.Convex.convexHull(vertices, False, '')


SHAPES = {
    'box': (sb.Box((0.3, 0.5, 0.7)), lambda: coal.Box(0.3, 0.5, 0.7)),
    'sphere': (sb.Sphere(0.4), lambda: coal.Sphere(0.4)),
    'cylinder': (sb.Cylinder(0.2, 0.9), lambda: coal.Cylinder(0.2, 0.9)),
    'capsule': (sb.Capsule(0.2, 0.9), lambda: coal.Capsule(0.2, 0.9)),
    'cone': (sb.Cone(0.2, 0.9), lambda: coal.Cone(0.2, 0.9)),
    'ellipsoid': (sb.Ellipsoid((0.3, 0.5, 0.7)), lambda: coal.Ellipsoid(0.3, 0.5, 0.7)),
    'hull': (sb.ConvexHull(POINTS), lambda: coal_hull(POINTS)),
}


def random_pose(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a position and a quaternion."""
    turn = random.normal(size=4)
    return random.uniform(-0.7, 0.7, 3), turn / np.linalg.norm(turn)


def transform(pose) -> coal.Transform3s:
    """Return a pose in Coal's form."""
    return coal.Transform3s(matrix_from_quaternion(pose[1]), np.array(pose[0]))


@pytest.mark.parametrize('a', SHAPES)
@pytest.mark.parametrize('b', ['box', 'capsule', 'hull'])
def test_distance_of_loose_shapes_is_coals(a, b):
    """Match Coal's signed distance for shapes outside any world, with points at this distance."""
    random = np.random.default_rng(11)
    for _ in range(10):
        pose_a, pose_b = random_pose(random), random_pose(random)
        own = sb.distance(SHAPES[a][0], pose_a, SHAPES[b][0], pose_b)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.enable_signed_distance = True
        expected = coal.distance(
            SHAPES[a][1](), transform(pose_a), SHAPES[b][1](), transform(pose_b), request, result
        )
        assert own.distance == pytest.approx(expected, abs=1e-5)
        np.testing.assert_allclose(own.point_a - own.point_b, own.distance * own.normal, atol=1e-6)
        assert np.linalg.norm(own.normal) == pytest.approx(1.0, abs=1e-9)


def test_distance_of_links_uses_their_nearest_shapes():
    """Measure links at their current poses, by the nearest pair of geometries."""
    world = sb.World()
    ground = world.add_ground()
    dumbbell = world.add_body(
        [sb.Placed(sb.Sphere(0.1), (0.5, 0, 0)), sb.Placed(sb.Sphere(0.2), (-0.5, 0, 0))],
        position=(0, 0, 1.0),
    )
    found = world.distance(dumbbell.root_link, ground.root_link)
    assert found.distance == pytest.approx(0.8, abs=1e-12)
    np.testing.assert_allclose(found.point_b, [-0.5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.normal, [0, 0, 1], atol=1e-12)
    dumbbell.set_base_pose((0, 0, 1.0), (0, np.sin(0.5), 0, np.cos(0.5)))
    small = dumbbell.geometries[0]
    sine = 0.5 * np.sin(1.0)
    assert world.distance(small, ground.root_link).distance == pytest.approx(
        1.0 - sine - 0.1, abs=1e-12
    )


def test_overlaps_finds_the_geometries_a_shape_touches():
    """Find the geometries, enabled or not, touched by a shape at a pose."""
    world = sb.World()
    ground = world.add_ground()
    near = world.add_body(sb.Box((1, 1, 1)), position=(0, 0, 2))
    far = world.add_body(sb.Box((1, 1, 1)), position=(3, 0, 2))
    far.geometries[0].enabled = False
    assert world.overlaps(sb.Sphere(0.4), (0.8, 0, 2)) == near.geometries
    assert world.overlaps(sb.Sphere(0.4), (1.0, 0, 2)) == []
    assert world.overlaps(sb.Box((4, 0.1, 0.1)), (1.5, 0, 2)) == [
        *near.geometries,
        *far.geometries,
    ]
    assert world.overlaps(sb.Capsule(0.1, 2), (0, 0, 1)) == [*ground.geometries, *near.geometries]
    # their bounding boxes meet here, the shapes do not
    assert world.overlaps(sb.Sphere(0.4), (0.85, 0.85, 2)) == []


def test_planes_have_no_distance():
    """Refuse to measure two planes, and links without geometry."""
    plane = (sb.Plane(), ((0, 0, 0), (0, 0, 0, 1)))
    with pytest.raises(InvalidValueError, match='at most one plane'):
        sb.distance(*plane, *plane)
    world = sb.World()
    ground = world.add_ground()
    nothing = world.add_body([], mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(InvalidValueError, match='at least one on either side'):
        world.distance(nothing.root_link, ground.root_link)


def test_links_of_another_world_are_refused():
    """Refuse links of a world other than the queried one."""
    here, there = sb.World(), sb.World()
    ours, theirs = (
        world.add_body(sb.Sphere(0.1), mass=1.0, position=(x, 0.0, 0.0))
        for world, x in ((here, 0.0), (there, 5.0))
    )
    with pytest.raises(sb.InvalidValueError, match='b .*geometry of this world'):
        here.distance(ours.root_link, theirs.root_link)


def test_planes_overlap_no_planes():
    """Query overlaps of a half-space in a world with ground."""
    world = sb.World()
    world.add_ground()
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 0.05))
    assert world.overlaps(sb.Plane()) == ball.geometries
