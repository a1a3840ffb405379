"""Hollow cylinders and cones: distances against Coal and closed forms, contacts in the bore."""

from __future__ import annotations

import coal
from colliding import Bodies, Shapes
from meshes import (
    coal_hull,
    coal_mesh,
    CONVEX,
    HULL_POINTS,
    lumpy_ball,
    mesh_record,
    random_pose,
    random_rotation,
    sheet,
)
import numpy as np
import pytest
from test_collision_mesh import coal_distance, field_triangles
import trimesh

from benchmarks.collision import hull_record
from sim_bridge.engine.collision.build import GeometryRecord
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HEIGHT_FIELD,
    HOLLOW,
    HULL,
    PLANE,
    SPHERE,
)

ACCURACY = 1e-6
IDENTITY = (np.eye(3), np.zeros(3))
# radii below and above, half length, bore radii
SHAPES = {
    'cylinder': ((0.4, 0.3, 0.4), (0.25, 0.25)),
    'cone': ((0.5, 0.3, 0.3), (0.4, 0.15)),
    'funnel': ((0.3, 0.4, 0.5), (0.1, 0.45)),
    'hat': ((0.4, 0.3, 0.0), (0.3, 0.0)),
}
# number of sections: their chords are within 1e-6 m of the arcs
SECTIONS = 2048


def hollow_record(name, **fields):
    """Return the record for one of the SHAPES."""
    size, bore = SHAPES[name]
    return GeometryRecord(HOLLOW, size=size, bore=bore, **fields)


def coal_hollow(name, sections=SECTIONS):
    """Make a fine mesh from one of the SHAPES for Coal."""
    (low, half, high), (bore_low, bore_high) = SHAPES[name]
    profile = [(bore_low, -half), (low, -half), (high, half), (bore_high, half)]
    mesh = trimesh.creation.revolve([*profile, profile[0]], sections=sections)
    return coal_mesh((mesh.vertices, mesh.faces))


def small(shape):
    """Make one of the CONVEX shapes at a third of its size, as a record and for Coal."""
    if shape == HULL:
        points = HULL_POINTS / 3.0
        return hull_record(points), coal_hull(points)
    size = tuple(np.array(CONVEX[shape]) / 3.0)
    return GeometryRecord(shape, size=size), {
        SPHERE: lambda: coal.Sphere(size[0]),
        CAPSULE: lambda: coal.Capsule(size[0], 2 * size[1]),
        BOX: lambda: coal.Box(*(2.0 * np.array(size))),
        CYLINDER: lambda: coal.Cylinder(size[0], 2 * size[1]),
        CONE: lambda: coal.Cone(size[0], 2 * size[1]),
        ELLIPSOID: lambda: coal.Ellipsoid(*size),
    }[shape]()


def is_in_wall(point, name):
    """Return whether a point, in a shape's frame, is in the wall of one of the SHAPES."""
    (low, half, high), (bore_low, bore_high) = SHAPES[name]
    share, radius = 0.5 + 0.5 * point[2] / half, np.hypot(point[0], point[1])
    return (
        0.0 <= share <= 1.0
        and radius < low + share * (high - low)
        and radius > bore_low + share * (bore_high - bore_low)
    )


@pytest.mark.parametrize('name', SHAPES)
@pytest.mark.parametrize('shape', CONVEX)
def test_convex_against_hollow_as_coal(shape, name):
    """Measure the same distance as for a fine mesh, in the bore too, and overlap like it."""
    rng = np.random.default_rng(shape)
    record, theirs = small(shape)
    pair, fine = Shapes([record, hollow_record(name)]), coal_hollow(name)
    apart = 0
    for _ in range(80):
        other_pose = random_pose(rng, 1.0)
        local = rng.normal(size=3) * (0.2, 0.2, 0.4)
        pose = random_rotation(rng), other_pose[0] @ local + other_pose[1]
        distance, point, other, normal = pair.measure(pose, other_pose)
        expected = coal_distance(theirs, pose, fine, other_pose)
        if distance < -ACCURACY:
            # the mesh has no inside
            assert expected < ACCURACY or is_in_wall(local, name)
        np.testing.assert_allclose(
            np.subtract(point, other), np.multiply(distance, normal), atol=ACCURACY
        )
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-9)
        if distance > 0.0:
            apart += 1
            assert distance == pytest.approx(expected, abs=ACCURACY)
    assert 20 < apart < 79


HOLE = GeometryRecord(HOLLOW, size=(0.08, 0.05, 0.08), bore=(0.05, 0.05))


def pushing(records, *poses, margin=1e-3):
    """Return the contacts between bodies at poses, sorted by angle about the z axis."""
    found = Bodies(records, margin=margin).touched(*poses)
    return sorted(found, key=lambda contact: np.arctan2(contact.point[1], contact.point[0]))


def test_balls_touch_the_bore_at_computed_points():
    """Touch the wall at one point, and the rim at four, with gaps as computed by hand."""
    offset = np.array((0.004, 0.003, 0.02))
    (contact,) = pushing(
        [GeometryRecord(SPHERE, size=(0.045,)), HOLE], (np.eye(3), offset), IDENTITY
    )
    assert contact.gap == pytest.approx(0.05 - 0.045 - 0.005, abs=1e-12)
    np.testing.assert_allclose(contact.normal, (-0.8, -0.6, 0.0), atol=1e-9)
    np.testing.assert_allclose(contact.point, (0.04, 0.03, 0.02), atol=1e-9)
    height = 0.05 + np.sqrt(0.055**2 - 0.05**2)
    found = pushing(
        [GeometryRecord(SPHERE, size=(0.055,)), HOLE],
        (np.eye(3), np.array((0.0, 0.0, height))),
        IDENTITY,
    )
    assert len(found) == 4
    for contact in found:
        assert contact.gap == pytest.approx(0.0, abs=1e-9)
        assert np.hypot(*contact.point[:2]) == pytest.approx(0.05, abs=1e-9)
        assert contact.normal[2] == pytest.approx((height - 0.05) / 0.055, abs=1e-9)


def test_a_peg_touches_the_bore_along_a_line():
    """Touch at both ends of the line on which a cylinder lies in the bore."""
    found = pushing(
        [GeometryRecord(CYLINDER, size=(0.045, 0.2)), HOLE],
        (np.eye(3), np.array((0.005, 0.0, 0.0))),
        IDENTITY,
    )
    assert sorted(round(contact.point[2], 9) for contact in found) == [-0.05, 0.05]
    for contact in found:
        np.testing.assert_allclose(contact.normal, (-1.0, 0.0, 0.0), atol=1e-9)
        assert contact.gap == pytest.approx(0.0, abs=1e-12)


def test_a_square_peg_touches_with_its_edges():
    """Touch at four edges, at both ends of each."""
    half = 0.05 / np.sqrt(2.0)
    found = pushing([GeometryRecord(BOX, size=(half, half, 0.2)), HOLE], IDENTITY, IDENTITY)
    assert len(found) == 8
    for contact in found:
        assert contact.gap == pytest.approx(0.0, abs=1e-9)
        assert np.abs(contact.point) == pytest.approx((half, half, 0.05), abs=1e-9)


def test_a_lid_rests_on_the_end_and_not_in_its_mouth():
    """Keep a box's contacts on an end within the ring, at its corners or the rim."""
    for half in (0.04, 0.06, 0.2):
        found = pushing(
            [GeometryRecord(BOX, size=(half, half, 0.01)), HOLE],
            (np.eye(3), np.array((0.0, 0.0, 0.06))),
            IDENTITY,
        )
        assert len(found) >= 4
        for contact in found:
            radius = np.hypot(*contact.point[:2])
            assert 0.05 - 1e-9 <= radius <= 0.08 + 1e-9
            assert contact.gap == pytest.approx(0.0, abs=1e-9)
            np.testing.assert_allclose(contact.normal, (0.0, 0.0, 1.0), atol=1e-9)
    assert (
        pushing(
            [GeometryRecord(BOX, size=(0.03, 0.03, 0.01)), HOLE],
            (np.eye(3), np.array((0.0, 0.0, 0.06))),
            IDENTITY,
        )
        == []
    )


def test_nothing_is_ever_nan():
    """Give finite points, gaps and unit normals in random and degenerate configurations."""
    rng = np.random.default_rng(12)
    hollows = [
        GeometryRecord(HOLLOW, size=size, bore=bore)
        for size, bore in [
            *SHAPES.values(),
            ((0.4, 0.3, 0.4), (0.4, 0.4)),
            ((0.4, 0.0, 0.4), (0.2, 0.2)),
            ((0.4, 0.3, 0.4), (0.0, 0.0)),
            ((0.0, 0.3, 0.0), (0.0, 0.0)),
            ((1e-6, 1e3, 1e-6), (0, 0)),
            ((0.0, 0.0, 0.0), (0.0, 0.0)),
        ]
    ]
    records = [small(shape)[0] for shape in CONVEX] + hollows
    records += [
        GeometryRecord(SPHERE, size=(0.0,)),
        GeometryRecord(BOX, size=(0.0, 0.0, 0.0)),
        GeometryRecord(PLANE),
        mesh_record(lumpy_ball(4, 4)),
        mesh_record(sheet(3, 2.0)),
        GeometryRecord(HEIGHT_FIELD, size=(1, 1), heights=0.1 * rng.normal(size=(5, 5))),
    ]
    bodies = Bodies(records, room=4000)
    for spread in (0.0, 0.01, 0.3, 0.3):
        poses = [
            (
                np.eye(3) if spread == 0.0 or k % 3 == 0 else random_rotation(rng),
                spread * rng.normal(size=3),
            )
            for k in range(len(records))
        ]
        found = bodies.touched(*poses)
        assert len(found) > 100
        for contact in found:
            assert np.all(np.isfinite(contact.point)) and np.isfinite(contact.gap)
            assert np.linalg.norm(contact.normal) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize('surface', ['mesh', 'field'])
def test_a_pipe_lies_and_stands_on_surfaces(surface):
    """Touch flat ground with the outer rim, or along a line; a peak pokes into the bore."""
    ground = (
        mesh_record(sheet(4, 1.0))
        if surface == 'mesh'
        else GeometryRecord(HEIGHT_FIELD, size=(0.5, 0.5), heights=np.zeros((5, 5)))
    )
    found = pushing([HOLE, ground], (np.eye(3), np.array((0.01, 0.02, 0.05))), IDENTITY)
    assert len(found) >= 4
    for contact in found:
        assert contact.gap == pytest.approx(0.0, abs=1e-9)
        radius = np.hypot(*(contact.point[:2] - (0.01, 0.02)))
        assert 0.05 - 1e-6 <= radius <= 0.08 + 1e-6
    peak = np.zeros((3, 3))
    peak[1, 1] = 0.3
    size = (0.3, 0.3)
    spike = (
        GeometryRecord(HEIGHT_FIELD, size=size, heights=peak)
        if surface == 'field'
        else (mesh_record(field_triangles(peak, size)))
    )
    # square pyramid with slope 1: its edges enter the bore first
    found = pushing([HOLE, spike], (np.eye(3), np.array((0.0, 0.0, 0.3))), IDENTITY)
    distance = Shapes([HOLE, spike]).measure((np.eye(3), np.array((0.0, 0.0, 0.3))), IDENTITY)[0]
    assert all(abs(contact.gap - distance) > -1e-9 for contact in found)
    assert distance == pytest.approx(0.0, abs=1e-9) or distance > 0.0 or found


def are_linked(R, p, radius):
    """Return whether a circle about z and a circle at a pose are linked, by their crossings."""
    angle = np.linspace(0.0, 2.0 * np.pi, 2001)
    x = p + radius * (np.cos(angle)[:, None] * R[:, 0] + np.sin(angle)[:, None] * R[:, 1])
    through = np.flatnonzero(x[:-1, 2] * x[1:, 2] < 0.0)
    return (np.linalg.norm(x[through, :2], axis=1) < radius).sum() == 1


@pytest.mark.parametrize('bore', [(0.08, 0.08), (0.085, 0.07)])
def test_linked_rings_are_as_far_apart_as_fine_meshes(bore):
    """Match Coal's distance between meshes, and touch there, at any rotation of the rings."""
    ring = GeometryRecord(HOLLOW, size=(0.1, 0.01, 0.1), bore=bore)
    mesh = trimesh.creation.revolve(
        [(bore[0], -0.01), (0.1, -0.01), (0.1, 0.01), (bore[1], 0.01), (bore[0], -0.01)],
        sections=512,
    )
    fine, pair, rng, apart = (
        coal_mesh((mesh.vertices, mesh.faces)),
        Shapes([ring, ring]),
        (np.random.default_rng(7)),
        0,
    )
    bodies = Bodies([ring, ring], margin=0.004)
    while apart < 30:
        R, p = random_rotation(rng), rng.uniform(-0.2, 0.2, 3)
        if not are_linked(R, p, 0.09):
            continue
        expected = coal_distance(fine, (R, p), fine, IDENTITY)
        distance, x, y, n = pair.measure((R, p), IDENTITY)
        np.testing.assert_allclose(np.subtract(x, y), np.multiply(distance, n), atol=ACCURACY)
        if expected > 0.0:
            apart += 1
            # tolerance for the chords in the meshes
            assert distance == pytest.approx(expected, abs=1e-5)
            found = bodies.touched((R, p), IDENTITY)
            assert (len(found) > 0) == (distance <= 0.004)
            if found:
                assert min(each.gap for each in found) == pytest.approx(distance, abs=1e-9)
        else:
            assert distance < 1e-5


def test_pipes_in_pipes_and_on_pipes():
    """Touch a pipe's inner wall with another pipe's outside, and stack pipes."""
    thin = GeometryRecord(HOLLOW, size=(0.045, 0.1, 0.045), bore=(0.04, 0.04))
    for records, sign in (([thin, HOLE], 1.0), ([HOLE, thin], -1.0)):
        poses = (np.eye(3), np.array((0.005, 0.0, 0.0))), IDENTITY
        found = pushing(records, *(poses if sign > 0.0 else poses[::-1]))
        assert sorted(round(contact.point[2], 9) for contact in found) == [-0.05, 0.05]
        for contact in found:
            np.testing.assert_allclose(contact.normal, (-sign, 0.0, 0.0), atol=1e-9)
            assert contact.gap == pytest.approx(0.0, abs=1e-12)
    found = pushing([HOLE, HOLE], (np.eye(3), np.array((0.02, 0.0, 0.1))), IDENTITY)
    assert len(found) >= 3
    for contact in found:
        for centre in (0.0, 0.02):
            radius = np.hypot(contact.point[0] - centre, contact.point[1])
            assert 0.05 - 1e-6 <= radius <= 0.08 + 1e-6
        assert contact.gap == pytest.approx(0.0, abs=1e-9)
