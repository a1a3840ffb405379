"""Mesh tools: decomposition, reduction, oriented volumes and half-edges, on known solids."""

from __future__ import annotations

import importlib.util
import sys

from meshes import cells
import numpy as np
import pytest
from scipy.spatial import ConvexHull as QuickHull
from scipy.spatial.transform import Rotation
import trimesh

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, MissingPackageError
from sim_bridge.shapes.meshes import cutting, decomposition

# least convex parts for prisms, as cell ranges along a grid's x and y
PRISMS = {
    'L': [(0, 1, 0, 2), (1, 2, 0, 1)],
    'T': [(0, 3, 1, 2), (1, 2, 0, 1)],
    'U': [(0, 1, 0, 2), (1, 2, 0, 1), (2, 3, 0, 2)],
    'stair': [(0, 1, 0, 3), (1, 2, 0, 2), (2, 3, 0, 1)],
    'cross': [(0, 1, 1, 2), (1, 2, 0, 3), (2, 3, 1, 2)],
}


def mesh_of(solid: trimesh.Trimesh) -> sb.TriangleMesh:
    return sb.TriangleMesh(solid.vertices, solid.faces)


def prism_of(name: str, seed: int) -> tuple[sb.TriangleMesh, list[np.ndarray]]:
    """Return a prism with uneven sides and a size from 1 mm to 1 km, and its grid lines."""
    rng = np.random.default_rng(seed)
    lines = [np.append(0.0, np.cumsum(rng.uniform(0.3, 1.0, n))) for n in (3, 3, 1)]
    filled = np.zeros((3, 3, 1), bool)
    for left, right, low, high in PRISMS[name]:
        filled[left:right, low:high] = True
    scale, place = 10 ** rng.uniform(-3, 3), rng.normal(size=3)
    lines = [scale * (each + at) for each, at in zip(lines, place, strict=True)]
    return sb.TriangleMesh(*cells(lines, filled)), lines


@pytest.fixture
def prism() -> sb.TriangleMesh:
    return prism_of('L', 0)[0]


def volume(shapes) -> float:
    return sum(each.mass_properties(1.0).mass for each in shapes)


def reach(hulls, mesh) -> float:
    """Return the greatest hull distance outside a closed mesh, over half its longest side."""
    solid = trimesh.Trimesh(mesh.vertices, mesh.triangles)
    farthest = 0.0
    for hull in hulls:
        points = trimesh.sample.sample_surface(
            trimesh.Trimesh(hull.vertices, hull.triangles), 200, seed=1
        )[0]
        outside = points[abs(cutting.windings(solid.triangles, points)) < 0.5]
        each = np.tile(solid.triangles, (len(outside), 1, 1))
        again = np.repeat(outside, len(solid.triangles), axis=0)
        gaps = np.linalg.norm(trimesh.triangles.closest_point(each, again) - again, axis=1)
        gaps = gaps.reshape(len(outside), len(solid.triangles))
        farthest = max(farthest, gaps.min(axis=1).max(initial=0.0))
    return farthest / (np.ptp(mesh.vertices, axis=0).max() / 2)


def uncovered(hulls, mesh) -> float:
    """Return the greatest distance between mesh points and all hulls, over the mesh size."""
    points = trimesh.sample.sample_surface(
        trimesh.Trimesh(mesh.vertices, mesh.triangles), 2000, seed=2
    )[0]
    faces = [QuickHull(hull.vertices).equations for hull in hulls]
    gaps = np.min([(points @ each[:, :3].T + each[:, 3]).max(axis=1) for each in faces], axis=0)
    return gaps.max() / np.ptp(mesh.vertices, axis=0).max()


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('name', PRISMS)
def test_cuts_that_are_roughly_known_are_made_exactly(name, seed):
    """Fill a prism exactly, from slightly wrong boxes around its parts, like CoACD's."""
    mesh, lines = prism_of(name, seed)
    rng = np.random.default_rng(seed)
    low, high = mesh.bounds
    rough = [each + rng.uniform(-0.01, 0.01, len(each)) * (high - low).max() for each in lines]
    boxes = np.array(
        [
            [(rough[0][i], rough[1][k], low[2]), (rough[0][j], rough[1][m], high[2])]
            for i, j, k, m in PRISMS[name]
        ]
    )
    corners = decomposition.parts_of(
        mesh, mesh.half_edges.vertices, rng.permutation(boxes), 0.02, 0
    )
    hulls = [sb.ConvexHull(each) for each in corners]
    assert len(hulls) == len(PRISMS[name])
    assert volume(hulls) == pytest.approx(volume([mesh]), rel=1e-12)
    assert uncovered(hulls, mesh) < 1e-12


@pytest.mark.parametrize('name', ['torus', 'ball'])
def test_cuts_through_round_surfaces_hold_them(name):
    """Contain the whole surface and solid, at any cut."""
    rng = np.random.default_rng(3)
    solid = (
        trimesh.creation.torus(1.0, 0.4, 16, 8)
        if name == 'torus'
        else (trimesh.creation.icosphere(1))
    )
    mesh = mesh_of(solid)
    planes = [np.array([-2.0, *np.sort(rng.uniform(-0.5, 0.5, 2)), 2.0]) for _ in range(3)]
    boxes = np.array(
        [
            [
                [axis[k] for axis, k in zip(planes, at, strict=True)],
                [axis[k + 1] for axis, k in zip(planes, at, strict=True)],
            ]
            for at in np.ndindex(3, 3, 3)
        ]
    )
    corners = decomposition.parts_of(mesh, mesh.half_edges.vertices, boxes, 0.01, 0)
    hulls = [sb.ConvexHull(each) for each in corners]
    assert uncovered(hulls, mesh) < 1e-12
    inside = rng.uniform(-1.0, 1.0, (500, 3))
    inside = inside[abs(cutting.windings(solid.triangles, inside)) > 0.5]
    faces = [QuickHull(hull.vertices).equations for hull in hulls]
    held = np.min([(inside @ each[:, :3].T + each[:, 3]).max(axis=1) for each in faces], axis=0)
    assert held.max() < 1e-12


def test_frame_of_cuts_is_upright_to_faces():
    """Find a turned prism's axes, and keep a round body's."""
    mesh, _ = prism_of('T', 1)
    turn = Rotation.random(random_state=2).as_matrix()
    turned = sb.TriangleMesh(mesh.vertices @ turn.T, mesh.triangles)
    np.testing.assert_allclose(
        np.sort(abs(decomposition.frame_of(turned).T @ turn), axis=1),
        np.tile([0.0, 0.0, 1.0], (3, 1)),
        atol=1e-9,
    )
    for solid in (trimesh.creation.icosphere(2), trimesh.creation.torus(1.0, 0.3)):
        np.testing.assert_array_equal(decomposition.frame_of(mesh_of(solid)), np.eye(3))


def test_a_turned_prism_is_cut_in_two():
    """Cut a turned T exactly into two boxes, equal in each call."""
    mesh, _ = prism_of('T', 1)
    turn = Rotation.random(random_state=2).as_matrix()
    mesh = sb.TriangleMesh(mesh.vertices @ turn.T, mesh.triangles)
    hulls = sb.meshes.decompose(mesh)
    assert len(hulls) == 2
    assert volume(hulls) == pytest.approx(volume([mesh]), rel=1e-9)
    assert uncovered(hulls, mesh) < 1e-12
    for one, other in zip(hulls, sb.meshes.decompose(mesh), strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)


@pytest.mark.long
def test_an_open_surface_is_held():
    """Wrap an open box to find its cuts; contain its walls, and not its interior."""
    tray = trimesh.creation.box((1.0, 0.8, 0.3))
    mesh = sb.TriangleMesh(tray.vertices, tray.faces[(tray.face_normals @ (0, 0, 1)) < 0.5])
    hulls = sb.meshes.decompose(mesh, 0.1)
    # walls are plates without thickness; each other hull contains a corner
    held = np.concatenate([hull.vertices for hull in hulls])
    assert {tuple(each) for each in mesh.vertices.tolist()} <= {tuple(p) for p in held.tolist()}
    solid = [hull for hull in hulls if len(hull.triangles)]
    assert (
        uncovered(solid, sb.TriangleMesh([[0, 0, 0.1], [0.1, 0, 0.1], [0, 0.1, 0.1]], [[0, 1, 2]]))
        > 0.1
    )


@pytest.mark.long
@pytest.mark.parametrize('name', ['torus', 'ring', 'cross', 'stair', 'U', 'forearm'])
def test_decomposition_stays_within_the_threshold(name, robots_folder):
    """Contain solids with hulls within the threshold; fill solids with plane concave edges."""
    if name in PRISMS:
        mesh = prism_of(name, 5)[0]
    elif name == 'forearm':
        mesh = sb.TriangleMesh.from_file(
            robots_folder / 'ur_description/meshes/ur5/collision/forearm.stl'
        )
    else:
        mesh = mesh_of(
            trimesh.creation.torus(1.0, 0.3, 24, 12)
            if name == 'torus'
            else (trimesh.creation.annulus(0.5, 1.0, 0.4, sections=24))
        )
    hulls = sb.meshes.decompose(mesh)
    assert uncovered(hulls, mesh) < 1e-9
    assert reach(hulls, mesh) <= 0.05
    if name in PRISMS:
        assert len(hulls) == len(PRISMS[name])
        assert volume(hulls) == pytest.approx(volume([mesh]), rel=1e-9)
    else:
        assert volume(hulls) == pytest.approx(volume([mesh]), rel=0.06)


def test_few_hulls_can_be_asked_for():
    """Merge down to a given hull count, best pairs first."""
    mesh, lines = prism_of('stair', 2)
    low, high = mesh.bounds
    boxes = np.array(
        [
            [(lines[0][i], lines[1][k], low[2]), (lines[0][j], lines[1][m], high[2])]
            for i, j, k, m in PRISMS['stair']
        ]
    )
    for most in (3, 2, 1):
        found = decomposition.parts_of(mesh, mesh.half_edges.vertices, boxes, 0.01, most)
        assert len(found) == most
    assert volume([sb.ConvexHull(found[0])]) == pytest.approx(
        volume([mesh.convex_hull()]), rel=1e-12
    )


def test_reduction_keeps_the_volume():
    """Halve the triangles of a closed surface; keep it closed, and its volume within 2 %."""
    ball = mesh_of(trimesh.creation.icosphere(3))
    half = sb.meshes.reduce(ball, 0.5)
    assert len(half.triangles) == pytest.approx(0.5 * len(ball.triangles), rel=0.02)
    assert half.is_closed
    volume = ball.mass_properties(1.0).mass
    assert half.mass_properties(1.0).mass == pytest.approx(volume, rel=0.02)
    assert sb.meshes.reduce(ball, 1.0) is ball


@pytest.mark.parametrize('number', range(10))
def test_turned_box_is_recovered(number):
    """Find a turned box's size and pose, and reproduce its corners."""
    rng = np.random.default_rng(number)
    size, place = np.sort(rng.uniform(0.1, 3.0, 3)), rng.normal(size=3)
    turn = Rotation.random(random_state=number).as_matrix()
    solid = trimesh.creation.box(size)
    box = sb.meshes.oriented_box(sb.TriangleMesh(solid.vertices @ turn.T + place, solid.faces))
    np.testing.assert_allclose(box.shape.size, size, atol=1e-9)
    np.testing.assert_allclose(box.position, place, atol=1e-9)
    np.testing.assert_allclose(abs(box.rotation.T @ turn), np.eye(3), atol=1e-9)


def test_turned_cylinder_and_capsule_are_recovered():
    """Find radius, length, centre and axis for turned cylinders and capsules."""
    turn = Rotation.random(random_state=5).as_matrix()
    place = np.array([1.0, -2.0, 0.5])
    tube = trimesh.creation.cylinder(0.3, 2.0, sections=48)
    found = sb.meshes.oriented_cylinder(tube.vertices @ turn.T + place)
    assert (found.shape.radius, found.shape.length) == pytest.approx((0.3, 2.0), rel=1e-9)
    np.testing.assert_allclose(found.position, place, atol=1e-9)
    np.testing.assert_allclose(abs(found.rotation[:, 2] @ turn[:, 2]), 1.0, atol=1e-9)
    across = sb.meshes.oriented_cylinder(tube.vertices @ turn.T + place, axis=0)
    assert across.shape.length == pytest.approx(0.6, rel=0.01)
    pill = trimesh.creation.capsule(2.0, 0.3, count=(32, 32))
    middle = pill.bounds.mean(axis=0) @ turn.T + place
    found = sb.meshes.oriented_capsule(mesh_of(pill).convex_hull().vertices @ turn.T + place)
    assert (found.shape.radius, found.shape.length) == pytest.approx((0.3, 2.0), rel=1e-6)
    np.testing.assert_allclose(found.position, middle, atol=1e-6)


@pytest.mark.parametrize('name', ['oriented_box', 'oriented_cylinder', 'oriented_capsule'])
def test_points_are_inside(name):
    """Contain all points in any set."""
    points = np.random.default_rng(4).normal(size=(200, 3)) * (1.0, 0.5, 0.2)
    placed = getattr(sb.meshes, name)(points)
    x, y, z = ((points - placed.position) @ placed.rotation).T
    if name == 'oriented_box':
        assert (abs(np.stack([x, y, z], axis=1)) <= np.array(placed.shape.size) / 2 + 1e-9).all()
        return
    radius, half = placed.shape.radius, placed.shape.length / 2
    beyond = np.maximum(abs(z) - half, 0.0)
    if name == 'oriented_cylinder':
        assert beyond.max() <= 1e-9
        beyond = 0.0 * beyond
    assert np.sqrt(x**2 + y**2 + beyond**2).max() <= radius + 1e-9


def test_partners_are_mutual(prism):
    """Find partner(partner(e)) = e, from end to origin, in the adjacent triangle."""
    edges = prism.half_edges
    count = len(edges.origins)
    assert count == 3 * len(prism.triangles)
    for e in range(count):
        partner = edges.partner(e)
        assert edges.partner(partner) == e
        assert (edges.origins[partner], edges.ends[partner]) == (edges.ends[e], edges.origins[e])
        assert edges.next(edges.previous(e)) == e == edges.next(edges.next(edges.next(e)))
    solid = trimesh.Trimesh(edges.vertices, edges.triangles, process=False)
    pairs = {tuple(sorted((e // 3, int(p) // 3))) for e, p in enumerate(edges.partners)}
    assert pairs == {tuple(pair) for pair in np.sort(solid.face_adjacency, axis=1).tolist()}


def test_circulator_goes_around_and_jumps_holes():
    """Circulate once counterclockwise around a vertex, across holes."""
    ring = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.arange(6) * np.pi / 3])
    vertices = np.vstack([np.zeros(3), ring])
    whole = np.array([[0, 1 + k, 1 + (k + 1) % 6] for k in range(6)])

    def around(triangles, edge):
        edges = sb.TriangleMesh(vertices, triangles).half_edges
        angles = [
            (*edges.vertices[edges.ends[e]][:2], jumped) for e, jumped in edges.circulate(edge)
        ]
        return [(round(np.degrees(np.arctan2(y, x)) % 360) // 60 % 6, j) for x, y, j in angles]

    assert around(whole, 6) == [
        (2, False),
        (3, False),
        (4, False),
        (5, False),
        (0, False),
        (1, False),
    ]
    # without the last triangle, started in the middle
    assert around(whole[:5], 6) == [(2, False), (3, False), (4, False), (0, True), (1, False)]
    # two triangle groups with only the vertex in common
    assert around(whole[[0, 1, 3, 4]], 3) == [(1, False), (0, True), (3, True), (4, False)]


def test_circulator_ends_at_two_closed_groups():
    """Visit two solids touching in one vertex, and end."""
    one = trimesh.creation.icosahedron()
    other = one.copy()
    other.vertices = 2 * one.vertices[0] - one.vertices
    mesh = sb.TriangleMesh(
        np.vstack([one.vertices, other.vertices]),
        np.vstack([one.faces, other.faces[:, ::-1] + len(one.vertices)]),
    )
    start = int(np.flatnonzero(mesh.triangles.reshape(-1) == 0)[0])
    found = list(mesh.half_edges.circulate(start))
    assert len({edge for edge, _ in found}) == len(found) == 10
    assert [jumped for _, jumped in found].count(True) == 1


def test_bad_input_is_named(prism):
    """Name the invalid input."""
    flat = sb.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    for call in (
        lambda: sb.meshes.decompose(flat),
        lambda: sb.meshes.decompose(prism, threshold=0.0),
        lambda: sb.meshes.decompose(prism, most_hulls=-1),
        lambda: sb.meshes.decompose(prism, seed=1 << 40),
        lambda: sb.meshes.decompose(sb.Box((1, 1, 1))),
        lambda: sb.meshes.reduce(prism, 0.0),
        lambda: sb.meshes.reduce(prism, 0.5, aggressiveness=11),
        lambda: sb.meshes.reduce('mesh', 0.5),
        lambda: sb.meshes.oriented_box(flat),
        lambda: sb.meshes.oriented_box([[0, 0, 0]]),
        lambda: sb.meshes.oriented_cylinder(prism, axis=3),
        lambda: prism.half_edges.partner(-1),
        lambda: prism.half_edges.circulate(10**6),
    ):
        with pytest.raises(InvalidValueError):
            call()


def test_missing_packages_are_named(prism, monkeypatch):
    """Name the package to install."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'coacd' else find(name)
    )
    monkeypatch.setitem(sys.modules, 'fast_simplification', None)
    with pytest.raises(MissingPackageError, match='coacd'):
        sb.meshes.decompose(prism)
    with pytest.raises(MissingPackageError, match='fast-simplification'):
        sb.meshes.reduce(prism, 0.5)
