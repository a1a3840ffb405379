"""Shapes: sizes, bounds and mass properties, against closed forms, trimesh and Coal."""

from __future__ import annotations

import contextlib
import math

import coal
import numpy as np
import pytest
import trimesh

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.shapes.placed import as_placed, combined_mass_properties

DENSITY = 700.0

PRIMITIVES = {
    'box': (sb.Box((0.3, 0.5, 0.7)), coal.Box(0.3, 0.5, 0.7)),
    'sphere': (sb.Sphere(0.4), coal.Sphere(0.4)),
    'cylinder': (sb.Cylinder(0.2, 0.9), coal.Cylinder(0.2, 0.9)),
    'capsule': (sb.Capsule(0.2, 0.9), coal.Capsule(0.2, 0.9)),
    'cone': (sb.Cone(0.2, 0.9), coal.Cone(0.2, 0.9)),
    'ellipsoid': (sb.Ellipsoid((0.3, 0.5, 0.7)), coal.Ellipsoid(0.3, 0.5, 0.7)),
}


def random_solid(seed: int) -> np.ndarray:
    """Return points whose hull is an irregular solid away from the origin."""
    random = np.random.default_rng(seed)
    return random.normal(size=(40, 3)) * (0.2, 0.5, 1.0) + (3.0, -2.0, 1.0)


def assert_same_mass(own: sb.Shape, other: trimesh.Trimesh, tolerance: float = 1e-12) -> None:
    """Compare with trimesh, which integrates by another method."""
    other.density = DENSITY
    mass, center, inertia = own.mass_properties(DENSITY)
    np.testing.assert_allclose(mass, other.mass, rtol=tolerance)
    np.testing.assert_allclose(center, other.center_mass, atol=tolerance * 10)
    scale = np.abs(other.moment_inertia).max()
    np.testing.assert_allclose(inertia, other.moment_inertia, atol=100 * tolerance * scale)


def revolved(profile, count=720):
    """Revolve a polygon (n, 2), radius and z, about z; return the mesh."""
    return trimesh.creation.revolve([*profile, profile[0]], sections=count)


def test_truncated_cones_weigh_as_meshes_and_cylinders():
    """Match a fine mesh, a cylinder, and nearly a pointed cone."""
    cone = sb.Cone(0.3, 0.8, top_radius=0.1)
    volume = np.pi * 0.8 / 3 * (0.3**2 + 0.3 * 0.1 + 0.1**2)
    assert cone.mass_properties(1.0).mass == pytest.approx(volume, rel=1e-14)
    mesh = revolved([(0, -0.4), (0.3, -0.4), (0.1, 0.4), (0, 0.4)])
    assert_same_mass(cone, mesh, 5e-5)
    for same, other in (
        (sb.Cone(0.3, 0.8, 0.3), sb.Cylinder(0.3, 0.8)),
        (sb.Cone(0.3, 0.8, 1e-9), sb.Cone(0.3, 0.8)),
    ):
        for mine, theirs in zip(
            same.mass_properties(7.0), other.mass_properties(7.0), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-15)
    with pytest.raises(InvalidValueError, match='top_radius'):
        sb.Cone(0.3, 0.8, -0.1)


def test_hollow_shapes_weigh_as_meshes_and_by_formulas():
    """Match fine meshes, and a tube's formula."""
    tube = sb.HollowCylinder(0.3, 0.8, 0.2).mass_properties(7.0)
    mass = 7.0 * np.pi * 0.8 * (0.3**2 - 0.2**2)
    assert tube.mass == pytest.approx(mass, rel=1e-14)
    assert tube.inertia[2, 2] == pytest.approx(mass * (0.3**2 + 0.2**2) / 2, rel=1e-14)
    same = sb.HollowCone(0.3, 0.8, 0.2, 0.3, 0.2).mass_properties(7.0)
    for mine, theirs in zip(same, tube, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    for cone, radii in (
        (sb.HollowCone(0.3, 0.8, 0.2, 0.15, 0.05), (0.2, 0.3, 0.15, 0.05)),
        (sb.HollowCone(0.3, 0.8, 0.2), (0.2, 0.3, 0.0, 0.0)),
    ):
        heights = (-0.4, -0.4, 0.4, 0.4)
        mesh = revolved(list(zip(radii, heights, strict=True))[: 3 + bool(radii[3])])
        assert_same_mass(cone, mesh, 5e-5)
    for arguments, name in (((0.3, 0.8, 0.3), 'inner_radius'), ((0.3, 0.8, 0.0), 'inner_radius')):
        with pytest.raises(InvalidValueError, match=name):
            sb.HollowCylinder(*arguments)
    for arguments, name in (
        ((0.3, 0.8, 0.2, 0.1, 0.1), 'top_inner_radius'),
        ((0.3, 0.8, 0.4), 'inner_radius'),
        ((0.3, 0.8, 0.2, -1), 'top_radius'),
    ):
        with pytest.raises(InvalidValueError, match=name):
            sb.HollowCone(*arguments)


@pytest.mark.parametrize('name', PRIMITIVES)
def test_primitive_masses_match_coal(name):
    """Give the same volume, centre of mass and inertia as Coal for each primitive."""
    own, other = PRIMITIVES[name]
    mass, center, inertia = own.mass_properties(DENSITY)
    volume = other.computeVolume()
    np.testing.assert_allclose(mass, DENSITY * volume, rtol=1e-14)
    np.testing.assert_allclose(center, other.computeCOM(), atol=1e-15)
    expected = DENSITY * other.computeMomentofInertia()
    if name == 'cone':
        # Coal's values are about the middle of its axis
        arm = np.array(other.computeCOM())
        expected = expected - mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    np.testing.assert_allclose(inertia, expected, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize('name', PRIMITIVES)
def test_boxes_around_primitives_are_tight(name):
    """Give each primitive's least bounding box, in its own frame."""
    own, other = PRIMITIVES[name]
    other.computeLocalAABB()
    np.testing.assert_allclose(own.bounds[0], other.aabb_local.min_, atol=1e-15)
    np.testing.assert_allclose(own.bounds[1], other.aabb_local.max_, atol=1e-15)


def test_primitives_approach_their_triangulations():
    """Give nearly equal masses for a finely triangulated cylinder and the cylinder."""
    fine = trimesh.creation.cylinder(radius=0.2, height=0.9, sections=2000)
    assert_same_mass(sb.Cylinder(0.2, 0.9), fine, 1e-5)
    mesh = sb.TriangleMesh(fine.vertices, fine.faces)
    assert_same_mass(mesh, fine)


@pytest.mark.parametrize('seed', range(5))
def test_hull_is_trimeshs_hull(seed):
    """Wrap points like trimesh, and weigh the solid equally by the divergence theorem."""
    points = random_solid(seed)
    hull, other = sb.ConvexHull(points), trimesh.convex.convex_hull(points)
    assert len(hull.vertices) == len(other.vertices)
    np.testing.assert_array_equal(
        np.unique(hull.vertices, axis=0), np.unique(other.vertices, axis=0)
    )
    assert_same_mass(hull, other)
    np.testing.assert_array_equal(hull.bounds, other.bounds)


def test_triangles_of_a_hull_face_outwards():
    """Order each triangle so that its normal points away from the solid."""
    hull = sb.ConvexHull(random_solid(7))
    a, b, c = (hull.vertices[hull.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    outward = np.einsum('ij,ij->i', normals, a - hull.vertices.mean(axis=0))
    assert (outward > 0.0).all()


def test_corners_inside_a_hull_are_dropped():
    """Keep a cube's eight corners, with points inside, on its surface or repeated."""
    corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T.astype(float)
    inside = np.random.default_rng(0).uniform(0.1, 0.9, (50, 3))
    hull = sb.ConvexHull(np.concatenate([corners, inside, corners]))
    assert {tuple(v) for v in hull.vertices.tolist()} == {tuple(v) for v in corners.tolist()}
    assert hull.mass_properties(1.0).mass == pytest.approx(1.0, rel=1e-14)


def test_flat_points_make_a_plate_without_mass():
    """Accept points in one plane, as in flat meshes, but without mass."""
    plate = sb.ConvexHull([(0, 0, 1), (2, 0, 1), (2, 1, 1), (0, 1, 1), (1, 0.5, 1)])
    assert len(plate.vertices) == 4 and len(plate.triangles) == 0
    with pytest.raises(InvalidValueError, match='volume'):
        plate.mass_properties(1000.0)


def test_hull_needs_more_than_a_line():
    """Reject points on one line, and too few points."""
    with pytest.raises(InvalidValueError, match='on one line'):
        sb.ConvexHull([(0, 0, 0), (1, 1, 1), (2, 2, 2), (5, 5, 5)])
    with pytest.raises(InvalidValueError, match='on one line'):
        sb.ConvexHull([(0, 0, 0), (1, 0, 0)])


def test_closed_mesh_weighs_the_same_inside_out():
    """Weigh a non-convex torus equally with either triangle orientation."""
    torus = trimesh.creation.torus(1.0, 0.25)
    assert_same_mass(sb.TriangleMesh(torus.vertices, torus.faces), torus)
    assert_same_mass(sb.TriangleMesh(torus.vertices, torus.faces[:, ::-1]), torus)


def test_open_mesh_has_no_mass():
    """Reject a mass for a mesh with a hole, mixed orientation or no area, with a hint."""
    torus = trimesh.creation.torus(1.0, 0.25)
    turned = torus.faces.copy()
    turned[0] = turned[0, ::-1]
    for faces in torus.faces[1:], turned, [*torus.faces, (0, 0, 1)]:
        mesh = sb.TriangleMesh(torus.vertices, faces)
        assert not mesh.is_closed
        with pytest.raises(InvalidValueError, match='a closed surface, a convex hull instead'):
            mesh.mass_properties(1000.0)


def test_mesh_is_closed_by_its_coordinates():
    """Recognize a closed surface without shared vertices, as in an STL file."""
    cube = trimesh.creation.box((1, 2, 3))
    loose = sb.TriangleMesh(cube.triangles.reshape(-1, 3), np.arange(36).reshape(12, 3))
    assert loose.is_closed
    assert_same_mass(loose, cube)


def test_height_field_keeps_its_grid():
    """Store heights by rows along y, and the bounds around the ground below them."""
    heights = np.array([[0.0, 1.0, 2.0], [0.5, 0.5, 3.0]])
    field = sb.HeightField(heights, (4.0, 2.0))
    np.testing.assert_array_equal(field.heights, heights)
    np.testing.assert_array_equal(field.bounds, [[-2, -1, -np.inf], [2, 1, 3]])


@pytest.mark.parametrize('shape', [sb.Plane(), sb.HeightField(np.zeros((2, 2)), (1, 1))])
def test_infinite_shapes_have_no_mass(shape):
    """Reject a mass for infinite ground."""
    with pytest.raises(InvalidValueError, match='finite volume'):
        shape.mass_properties(1000.0)


def test_equal_primitives_are_equal():
    """Compare primitives by their sizes, as values."""
    assert sb.Box((1, 2, 3)) == sb.Box(np.array([1.0, 2.0, 3.0]))
    assert hash(sb.Sphere(1)) == hash(sb.Sphere(1.0))
    assert sb.Cylinder(1, 2) != sb.Cone(1, 2)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: sb.Box((1, 2, -3)), r'size = \(1, 2, -3\) \(Box\): expected 3 positive numbers'),
        (lambda: sb.Box((1, 2)), 'size'),
        (lambda: sb.Box('big'), 'size'),
        (lambda: sb.Sphere(0.0), r'radius = 0.0 \(Sphere\): expected a positive number \[m\]'),
        (lambda: sb.Sphere(math.inf), 'radius'),
        (lambda: sb.Cylinder(1.0, math.nan), r'length = nan \(Cylinder\)'),
        (lambda: sb.Ellipsoid((1, 0, 1)), 'radii'),
        (lambda: sb.ConvexHull([[0, 0, math.nan]]), 'not finite'),
        (lambda: sb.ConvexHull(np.zeros((4, 2))), 'points'),
        (lambda: sb.TriangleMesh(np.zeros((3, 3)), [[0, 1, 3]]), '0 to 3'),
        (lambda: sb.TriangleMesh(np.zeros((3, 3)), [[0.0, 1.0, 2.0]]), 'triangles'),
        (lambda: sb.TriangleMesh(np.zeros((3, 3)), np.zeros((0, 3), int)), 'triangles'),
        (lambda: sb.HeightField([[1.0, 2.0]], (1, 1)), 'heights'),
        (lambda: sb.HeightField(np.zeros((2, 2)), (1, 0)), 'size'),
        (lambda: sb.Box((1, 1, 1)).mass_properties(0.0), 'density'),
        (lambda: sb.Placed('box'), 'shape'),
        (lambda: sb.Placed(sb.Sphere(1), orientation=(0, 0, 0, 0)), 'orientation'),
        (lambda: sb.Placed(sb.Sphere(1), friction_direction=(0, 0, 0)), 'friction_direction'),
        (lambda: sb.Placed(sb.Sphere(1), groups='feet'), 'groups'),
        (lambda: sb.Placed(sb.Sphere(1), material=3), 'material'),
        (lambda: as_placed(3), 'shapes'),
    ],
)
def test_wrong_values_are_refused(make, message):
    """Name a shape's invalid field, its value and the accepted values."""
    with pytest.raises(InvalidValueError, match=message):
        make()


def test_shapes_cannot_be_changed():
    """Reject writes to fields and arrays, so that shapes can be shared."""
    with pytest.raises(AttributeError):
        sb.Sphere(1.0).radius = 2.0
    hull = sb.ConvexHull(random_solid(1))
    with pytest.raises(ValueError, match='read-only'):
        hull.vertices[0, 0] = 1.0


def test_composite_weighs_its_parts():
    """Sum turned and moved parts as trimesh sums their meshes."""
    turn = np.array([0.2, -0.4, 0.1, 0.8])
    turn /= np.linalg.norm(turn)
    parts = as_placed(
        [sb.Box((0.2, 0.4, 0.6)), sb.Placed(sb.Box((0.5, 0.1, 0.3)), (1.0, 2.0, -0.5), turn)]
    )
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_quaternion(turn), (1.0, 2.0, -0.5)
    meshes = [trimesh.creation.box((0.2, 0.4, 0.6)), trimesh.creation.box((0.5, 0.1, 0.3), pose)]
    together = trimesh.util.concatenate(meshes)
    together.density = DENSITY
    mass, center, inertia = combined_mass_properties(parts, [DENSITY, DENSITY])
    assert mass == pytest.approx(together.mass, rel=1e-12)
    np.testing.assert_allclose(center, together.center_mass, atol=1e-12)
    np.testing.assert_allclose(
        inertia, together.moment_inertia, atol=1e-11 * np.abs(inertia).max()
    )


def test_hulls_thinner_than_their_rounding_have_two_sides():
    """Keep both sides of needles, for example in a mesh with one damaged corner."""
    rng = np.random.default_rng(0)
    thin = 0
    for _ in range(200):
        points = 0.01 * rng.normal(size=(12, 3))
        points[0, 0] = 10.0 ** rng.uniform(5.0, 7.0)
        with contextlib.suppress(sb.InvalidValueError):
            hull = sb.ConvexHull(points)
            assert len(hull.polytope.face_plane) >= 2
            thin += len(hull.triangles) > 0
    assert thin > 20


@pytest.mark.parametrize(
    'shape', [sb.Sphere(1e200), sb.Box((1e150, 1e150, 1e150)), sb.Capsule(1e200, 1.0)]
)
def test_mass_that_is_not_finite_is_refused(shape):
    """Reject mass properties for a shape too large for floats."""
    with pytest.raises(InvalidValueError, match='finite'):
        shape.mass_properties(1000.0)
