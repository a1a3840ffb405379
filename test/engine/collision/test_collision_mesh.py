"""Meshes and height fields: distances against Coal, contact points against geometry."""

from __future__ import annotations

import coal
from colliding import Bodies, Shapes
from meshes import (
    block,
    coal_convex,
    coal_mesh,
    CONVEX,
    convex_record,
    lumpy_ball,
    mesh_record,
    random_pose,
    random_rotation,
    sheet,
    soup,
)
import numpy as np
import pytest

from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.geometry import BOX, CAPSULE, HEIGHT_FIELD, PLANE, SOLID, SPHERE

ACCURACY = 1e-6
IDENTITY = (np.eye(3), np.zeros(3))
# Coal's iteration tolerance: its default is too coarse for comparison, finer ones sometimes fail
COAL_TOLERANCE = 1e-7


def tightened(request):
    """Make Coal compute as exactly as it can."""
    request.gjk_tolerance = request.epa_tolerance = COAL_TOLERANCE
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    return request


def coal_distance(shape_a, pose_a, shape_b, pose_b):
    """Return Coal's signed distance."""
    return coal.distance(
        shape_a,
        coal.Transform3s(*pose_a),
        shape_b,
        coal.Transform3s(*pose_b),
        tightened(coal.DistanceRequest()),
        coal.DistanceResult(),
    )


def soup_distance(shape, pose, mesh, mesh_pose):
    """Return the least of Coal's signed distances to each triangle."""
    return min(
        coal_distance(shape, pose, coal_mesh((mesh[0][corners], np.array([[0, 1, 2]]))), mesh_pose)
        for corners in mesh[1]
    )


@pytest.mark.parametrize('shape', CONVEX)
def test_convex_against_mesh_as_coal(shape):
    """Measure the same as Coal: the distance to the mesh if apart, to each face in contact."""
    rng = np.random.default_rng(shape)
    mesh = soup(rng, 60)
    pair = Shapes([convex_record(shape), mesh_record(mesh)])
    theirs, their_mesh = coal_convex(shape), coal_mesh(mesh)
    apart = 0
    for _ in range(120):
        pose, mesh_pose = random_pose(rng, 0.8), random_pose(rng, 0.3)
        distance, point, other, normal = pair.measure(pose, mesh_pose)
        expected = coal_distance(theirs, pose, their_mesh, mesh_pose)
        assert (distance > 0.0) == (expected > 0.0)
        if distance <= 0.0:
            expected = soup_distance(theirs, pose, mesh, mesh_pose)
        apart += distance > 0.0
        assert distance == pytest.approx(expected, abs=ACCURACY)
        np.testing.assert_allclose(
            np.subtract(point, other), np.multiply(distance, normal), atol=ACCURACY
        )
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-9)
    assert 20 < apart < 110


def test_mesh_against_mesh_as_coal():
    """Measure two meshes like Coal if they are apart, with the same verdict otherwise."""
    rng = np.random.default_rng(3)
    first, second = soup(rng, 15), lumpy_ball(5, 6)
    theirs, their_second = coal_mesh(first), coal_mesh(second)
    pair = Shapes([mesh_record(first), mesh_record(second)])
    apart = 0
    for _ in range(60):
        poses = random_pose(rng, 1.0), random_pose(rng, 1.0)
        distance, point, other, normal = pair.measure(*poses)
        expected = coal_distance(theirs, poses[0], their_second, poses[1])
        assert (distance > 0.0) == (expected > 0.0)
        if distance > 0.0:
            apart += 1
            assert distance == pytest.approx(expected, abs=ACCURACY)
            np.testing.assert_allclose(
                np.subtract(point, other), np.multiply(distance, normal), atol=ACCURACY
            )
    assert 10 < apart < 55


@pytest.mark.parametrize('shape', CONVEX)
def test_convex_against_height_field_as_coal(shape):
    """Overlap a height field like Coal; above it, match the distance to its triangles."""
    rng = np.random.default_rng(10 + shape)
    heights = 0.4 * rng.normal(size=(7, 9))
    pair = Shapes(
        [convex_record(shape), GeometryRecord(HEIGHT_FIELD, size=(1.2, 0.9), heights=heights)]
    )
    # Coal's first row is the one at the greatest y; it cuts along the other diagonal, so its
    # field is turned by a right angle
    field = coal.HeightFieldOBBRSS(1.8, 2.4, heights.T, heights.min() - 2.4)
    turn = np.array([(0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
    top, theirs = coal_mesh(field_triangles(heights, (1.2, 0.9))), coal_convex(shape)
    apart = 0
    for _ in range(150):
        local = random_rotation(rng), rng.uniform(-1.0, 1.0, 3) * (1.2, 0.9, 1.4)
        field_pose = random_pose(rng, 1.0)
        pose = field_pose[0] @ local[0], field_pose[0] @ local[1] + field_pose[1]
        distance, point, other, normal = pair.measure(pose, field_pose)
        result = coal.CollisionResult()
        coal.collide(
            theirs,
            coal.Transform3s(*pose),
            field,
            coal.Transform3s(field_pose[0] @ turn, field_pose[1]),
            tightened(coal.CollisionRequest()),
            result,
        )
        assert (distance <= 0.0) == result.isCollision()
        if distance > 0.0:
            apart += 1
            expected = coal_distance(theirs, pose, top, field_pose)
            assert distance == pytest.approx(expected, abs=ACCURACY)
            np.testing.assert_allclose(
                np.subtract(point, other), np.multiply(distance, normal), atol=ACCURACY
            )
    assert 20 < apart < 130


def field_triangles(heights, half):
    """Make a mesh from a height field's surface."""
    rows, columns = heights.shape
    x, y = np.meshgrid(
        np.linspace(-half[0], half[0], columns), np.linspace(-half[1], half[1], rows)
    )
    near = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    above = near + columns
    return (
        np.column_stack([x.ravel(), y.ravel(), heights.ravel()]),
        np.vstack(
            [
                np.column_stack([near, near + 1, above]),
                np.column_stack([near + 1, above + 1, above]),
            ]
        ),
    )


def test_plane_against_mesh():
    """Measure a plane and a mesh by the lowest vertex, and touch it there."""
    rng = np.random.default_rng(4)
    mesh = lumpy_ball()
    still = Shapes([GeometryRecord(PLANE), mesh_record(mesh)])
    moving = Bodies([mesh_record(mesh), GeometryRecord(PLANE)])
    for _ in range(30):
        pose, plane = random_pose(rng, 0.7), random_pose(rng, 0.3)
        height = (mesh[0] @ pose[0].T + pose[1] - plane[1]) @ plane[0][:, 2]
        distance, _, lowest, normal = still.measure(plane, pose)
        assert distance == pytest.approx(height.min(), abs=1e-12)
        np.testing.assert_allclose(normal, -plane[0][:, 2])
        assert (np.subtract(lowest, plane[1]) @ plane[0][:, 2]) == pytest.approx(height.min())
        found = moving.touched(pose, plane)
        below = np.sum(height <= 1e-4)
        assert len(found) == below if below <= 8 else 4 <= len(found) <= 8
        if height.min() <= 1e-4:
            assert min(c.gap for c in found) == pytest.approx(height.min(), abs=1e-12)
        for c in found:
            np.testing.assert_allclose(c.normal, plane[0][:, 2], atol=1e-15)
            assert np.min(np.abs(height - c.gap)) < 1e-12


def test_shapes_inside_a_solid_overlap():
    """Overlap with shapes enclosed by a closed mesh, however far its faces; not by an open one."""
    mesh = lumpy_ball()
    ball = GeometryRecord(SPHERE, size=(0.1,))
    opened = mesh[0], mesh[1][1:]
    for surface, is_solid in ((mesh, True), (opened, False)):
        pair = Shapes([ball, mesh_record(surface)])
        assert bool(pair.geometry.flags[1] & SOLID) is is_solid
        inside, *_ = pair.measure((np.eye(3), np.array((0.1, 0.2, 0.1))), IDENTITY)
        assert (inside < 0.0) is is_solid
        outside, *_ = pair.measure((np.eye(3), np.array((0.1, 0.2, 1.1))), IDENTITY)
        assert outside > 0.0


def test_inside_out_mesh_is_turned():
    """Treat a closed mesh as solid, whichever way its triangles run."""
    vertices, triangles = lumpy_ball()
    geometry = build_geometry([mesh_record((vertices, triangles[:, ::-1]))])
    assert geometry.flags[0] & SOLID
    x = geometry.vertex[geometry.triangle]
    assert np.einsum('ij,ij->', x[:, 0], np.cross(x[:, 1], x[:, 2])) > 0.0


@pytest.mark.parametrize('surface', ['mesh', 'height field'])
@pytest.mark.parametrize('depth', [1e-3, 1e-5, -5e-5])
def test_box_on_fine_floor_rests_on_its_corners(surface, depth):
    """Push a box on a floor with many triangles straight up, by points out to its corners."""
    half = np.array((0.31, 0.23, 0.1))
    floor = (
        mesh_record(sheet(20, 2.0))
        if surface == 'mesh'
        else GeometryRecord(HEIGHT_FIELD, size=(1.0, 1.0), heights=np.zeros((21, 21)))
    )
    bodies = Bodies([floor, GeometryRecord(BOX, size=half)])
    rng = np.random.default_rng(6)
    for _ in range(20):
        angle = rng.uniform(0.0, 3.0)
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        p = np.array((*rng.uniform(-0.4, 0.4, 2), half[2] - depth))
        found = bodies.touched(IDENTITY, (R, p))
        assert 4 <= len(found) <= 8
        for contact in found:
            np.testing.assert_allclose(contact.normal, (0.0, 0.0, -1.0), atol=1e-6)
            assert contact.gap == pytest.approx(-depth, abs=1e-9)
        corners = [R @ (sx * half[0], sy * half[1], 0.0) + p for sx in (-1, 1) for sy in (-1, 1)]
        for corner in corners:
            nearest = min(np.linalg.norm((contact.point - corner)[:2]) for contact in found)
            assert nearest < 0.12, 'the points must span the face'


@pytest.mark.parametrize('shape', [SPHERE, CAPSULE, BOX])
def test_sliding_over_inner_edges_never_pushes_sideways(shape):
    """Keep the normal upright while a shape slides over a flat mesh's edges, slightly sunk."""
    floor = mesh_record(sheet(10, 2.0))
    size = {SPHERE: (0.1,), CAPSULE: (0.1, 0.2), BOX: (0.05, 0.08, 0.1)}[shape]
    R = np.eye(3) if shape != CAPSULE else np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    bodies = Bodies([GeometryRecord(shape, size=size), floor])
    for sunk in (0.0, 1e-4, 3e-3):
        for x in np.linspace(-0.43, 0.41, 60):
            p = np.array((x, 0.37 * x + 0.01, 0.1 - sunk))
            found = bodies.touched((R, p), IDENTITY)
            assert found
            for contact in found:
                np.testing.assert_allclose(contact.normal, (0.0, 0.0, 1.0), atol=2e-3)
                assert contact.gap == pytest.approx(-sunk, abs=1e-6)


def test_ridge_and_valley():
    """Touch a ridge at its edge with a normal between the faces', a valley on both sides."""

    def roof(sign):
        return mesh_record(sheet(2, 2.0, lambda x, y: -sign * np.abs(x)))

    ball = GeometryRecord(SPHERE, size=(0.2,))
    on_ridge = Bodies([ball, roof(1.0)]).touched((np.eye(3), np.array((0.0, 0.3, 0.2))), IDENTITY)
    assert len(on_ridge) == 1
    np.testing.assert_allclose(on_ridge[0].normal, (0.0, 0.0, 1.0), atol=1e-6)
    sqrt2 = np.sqrt(2.0)
    in_valley = Bodies([ball, roof(-1.0)]).touched(
        (np.eye(3), np.array((0.0, 0.3, 0.2 * sqrt2))), IDENTITY
    )
    normals = sorted(tuple(contact.normal) for contact in in_valley)
    assert len(normals) == 2
    np.testing.assert_allclose(
        normals, [(-1 / sqrt2, 0.0, 1 / sqrt2), (1 / sqrt2, 0.0, 1 / sqrt2)], atol=1e-6
    )


def test_corner_sunk_deeper_than_the_cells_is_pushed_out():
    """Push along the floor's normal even if every triangle alone would push sideways."""
    floor = mesh_record(sheet(200, 2.0))
    tilt = np.arctan(np.sqrt(2.0))
    about_z = np.array([[1, -1, 0], [1, 1, 0], [0, 0, np.sqrt(2.0)]]) / np.sqrt(2.0)
    c, s = np.cos(tilt), np.sin(tilt)
    on_corner = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ about_z
    p = np.array((0.003, 0.002, 0.1 * np.sqrt(3.0) - 0.03))
    found = Bodies([GeometryRecord(BOX, size=(0.1, 0.1, 0.1)), floor]).touched(
        (on_corner, p), IDENTITY
    )
    deepest = min(found, key=lambda contact: contact.gap)
    np.testing.assert_allclose(deepest.normal, (0.0, 0.0, 1.0), atol=1e-6)
    assert deepest.gap == pytest.approx(-0.03, abs=1e-6)


@pytest.mark.parametrize('is_mesh', [False, True])
def test_block_stands_on_a_mesh(is_mesh):
    """Stand a box, or its mesh, on a closed mesh: four corners, upright normals."""
    base = mesh_record(block((1.0, 1.0, 0.5), 6))
    half = (0.2, 0.3, 0.4)
    top = mesh_record(block(half, 2)) if is_mesh else GeometryRecord(BOX, size=half)
    bodies = Bodies([base, top])
    for depth in (1e-4, -5e-5):
        pose = np.eye(3), np.array((0.11, -0.07, 0.9 - depth))
        found = bodies.touched(IDENTITY, pose)
        assert 4 <= len(found) <= 8
        for contact in found:
            np.testing.assert_allclose(contact.normal, (0.0, 0.0, -1.0), atol=1e-6)
            assert contact.gap == pytest.approx(-depth, abs=1e-9)
        for sx in (-1, 1):
            for sy in (-1, 1):
                corner = pose[1][:2] + (sx * half[0], sy * half[1])
                assert min(np.linalg.norm(c.point[:2] - corner) for c in found) < 1e-6


def halted(contacts, velocity, h):
    """Slow down so that no contact's gap is negative after h seconds (projected Gauss-Seidel)."""
    v = np.array(velocity, float)
    for _ in range(2000):
        for contact in contacts:
            approach = contact.gap / h + v @ contact.normal
            v -= min(0.0, approach) * contact.normal
    return v


@pytest.mark.parametrize('surface', ['mesh', 'height field'])
def test_fast_ball_does_not_tunnel(surface):
    """Report contacts ahead that keep a small ball outside at ten radii per step."""
    rng = np.random.default_rng(11)
    radius, h, speed = 0.01, 1e-3, 100.0
    ball = GeometryRecord(SPHERE, size=(radius,))
    if surface == 'mesh':
        vertices, triangles = lumpy_ball()
        target = mesh_record((vertices, triangles))
        centres = vertices[triangles].mean(axis=1)
        aims = np.vstack([centres, vertices, vertices[triangles[:, :2]].mean(axis=1)])
        aims = aims[rng.permutation(len(aims))[:150]]
    else:
        heights = 0.2 * rng.normal(size=(9, 9))
        target = GeometryRecord(HEIGHT_FIELD, size=(1.0, 1.0), heights=heights)
        rows, columns = rng.integers(1, 8, (2, 150))
        aims = np.column_stack([columns / 4 - 1.0, rows / 4 - 1.0, heights[rows, columns]])
    still, bodies = Shapes([ball, target]), Bodies([ball, target], h)
    shots = 0
    for aim in aims:
        back = aim / np.linalg.norm(aim) if surface == 'mesh' else np.array((0.0, 0.0, 1.0))
        back = back + 0.6 * rng.normal(size=3)
        p = aim + back / np.linalg.norm(back) * rng.uniform(0.02, 0.09)
        start, *_ = still.measure((np.eye(3), p), IDENTITY)
        if start < 0.0:
            continue
        shots += 1
        velocity = speed * (aim - p) / np.linalg.norm(aim - p)
        found = bodies.touched(
            (np.eye(3), p), IDENTITY, velocity=[[0, 0, 0, *velocity], np.zeros(6)]
        )
        end = p + h * halted(found, velocity, h)
        distance, *_ = still.measure((np.eye(3), end), IDENTITY)
        assert distance > -0.5 * radius, 'its centre must stay outside'
    assert shots > 60


def test_face_ahead_is_a_contact_though_another_is_nearer():
    """Stop a ball skimming over a floor at the step ahead of its motion."""
    step = mesh_record(sheet(40, 2.0, lambda x, y: np.where(x > 0.0, 0.2, 0.0)))
    ball = GeometryRecord(SPHERE, size=(0.01,))
    p = np.array((-0.12, 0.03, 0.012))
    found = Bodies([ball, step]).touched(
        (np.eye(3), p), IDENTITY, velocity=[[0, 0, 0, 120.0, 0, 0], np.zeros(6)]
    )
    ahead = [contact for contact in found if contact.normal[0] < -0.5]
    assert len(ahead) == 1
    # the step rises from x = 0 to 0.05, one cell
    assert ahead[0].gap < 0.13


def degenerate_mesh(rng):
    """Make a mesh with folded, flat, tiny and repeated triangles, and doubled vertices."""
    vertices, triangles = soup(rng, 20)
    vertices = np.vstack([vertices, vertices[:6], vertices[:1] + 1e-13, np.zeros((2, 3))])
    n = len(vertices)
    odd = [(0, 0, 0), (1, 1, 2), (3, 60, 4), (0, 60, 66), (0, 1, 61), (n - 1, n - 2, n - 1)]
    collinear = np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0, 0, 0]])
    vertices = np.vstack([vertices, collinear])
    return vertices, np.vstack([triangles, triangles[:3], odd, [(n, n + 1, n + 2)]])


def test_nothing_is_ever_nan():
    """Give finite points, gaps and unit normals in random and degenerate configurations."""
    rng = np.random.default_rng(12)
    flat = GeometryRecord(HEIGHT_FIELD, size=(1.0, 1.0), heights=np.zeros((2, 2)))
    cliff = GeometryRecord(
        HEIGHT_FIELD, size=(0.5, 1e-6), heights=np.array([[0.0, 1e3, 0.0], [0.0, 0.0, -1e3]])
    )
    others = [convex_record(shape) for shape in CONVEX]
    others += [
        GeometryRecord(SPHERE, size=(0.0,)),
        GeometryRecord(BOX, size=(0.0, 0.0, 0.0)),
        GeometryRecord(BOX, size=(1e-9, 1.0, 1.0)),
        GeometryRecord(PLANE),
        GeometryRecord(CAPSULE, size=(0.0, 1.0)),
        mesh_record(lumpy_ball(3, 3)),
        flat,
        mesh_record(degenerate_mesh(rng)),
    ]
    targets = [mesh_record(degenerate_mesh(rng)), flat, cliff, mesh_record(block((1, 1, 0.0)))]
    scenes = [Bodies([*others, target], room=2000) for target in targets]
    for _ in range(6):
        poses = [random_pose(rng, rng.choice([0.0, 0.01, 0.7])) for _ in others]
        for bodies in scenes:
            found = bodies.touched(*poses, random_pose(rng, 0.1))
            for contact in found:
                assert np.all(np.isfinite(contact.point)) and np.isfinite(contact.gap)
                assert np.linalg.norm(contact.normal) == pytest.approx(1.0, abs=1e-6)
            counts = {}
            for contact in found:
                counts[contact.pair] = counts.get(contact.pair, 0) + 1
            assert max(counts.values()) <= 8


def test_contacts_are_in_order_and_repeat():
    """Order by geometries and feature; repeat the same bits after any calls between."""
    rng = np.random.default_rng(13)
    records = [convex_record(shape) for shape in CONVEX] * 6
    records += [
        mesh_record(lumpy_ball()),
        GeometryRecord(PLANE),
        GeometryRecord(HEIGHT_FIELD, size=(2, 2), heights=0.3 * rng.normal(size=(9, 9))),
    ]
    bodies = Bodies(records, room=3000)
    poses = [[random_pose(rng, 0.7) for _ in records] for _ in range(2)]
    velocity = rng.normal(size=(len(records), 6))
    results = []
    for pose in (poses[0], poses[1], poses[0]):
        bodies.collide(*pose, velocity=velocity)
        contacts = bodies.contacts
        count = contacts.size[COUNT]
        results.append([array[:count].tobytes() for array in contacts[1:]])
        keys = np.column_stack([contacts.geometry[:count], contacts.feature[:count]]).tolist()
        assert keys == sorted(keys)
        assert count > 100
    assert results[0] == results[2] != results[1]


def test_features_stay_while_the_same_features_touch():
    """Keep feature numbers from step to step while a box slides within the same triangles."""
    floor = mesh_record(sheet(2, 4.0))
    box = GeometryRecord(BOX, size=(0.2, 0.2, 0.2))
    bodies = Bodies([floor, box])
    features = [
        {
            contact.feature
            for contact in bodies.touched(IDENTITY, (np.eye(3), np.array((x, 0.4, 0.2 - 1e-5))))
        }
        for x in (1.2, 1.2 + 1e-4, 1.21)
    ]
    assert features[0] == features[1] == features[2]
    assert len(features[0]) >= 4
