"""Line segments against geometries: by the shapes' definitions, triangle by triangle, by ODE."""

from __future__ import annotations

import copy
import ctypes
import itertools
import math

from meshes import lumpy_ball
import numpy as np
import pytest
from ray_shapes import CONVEX, crossings, HOLLOW, surfaces

from benchmarks.peers import libode as ode
import sim_bridge as sb
from sim_bridge.foundation.rotation import matrix_from_quaternion

UP = math.sqrt(0.5)
ARM = """
<robot name="arm">
  <link name="world"/>
  <link name="bob">
    <inertial><origin xyz="2 0 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="2 0 0"/><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="world"/><child link="bob"/><axis xyz="0 1 0"/><origin xyz="0 0 1"/>
  </joint>
</robot>"""


def posed(shape, random=None):
    """Return a world with a static body of one shape, its rotation and its position."""
    q, p = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)
    if random is not None:
        q, p = random.normal(size=4), random.uniform(-3.0, 3.0, 3)
        q /= np.linalg.norm(q)
    world = sb.World()
    world.add_body(shape, motion='static', position=p, orientation=q)
    return world, matrix_from_quaternion(q), p


# --- hits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('shape', 'p0', 'p1', 'distance', 'normal'),
    [
        (sb.Sphere(0.5), (-2, 0, 0), (2, 0, 0), 1.5, (-1, 0, 0)),
        (sb.Sphere(0.5), (0, 0, 0), (2, 0, 0), 0.5, (1, 0, 0)),
        (sb.Sphere(0.5), (0.3, 0, -1), (0.3, 0, 1), 0.6, (0.6, 0, -0.8)),
        (sb.Box((1, 2, 3)), (0, 0, 5), (0, 0, -5), 3.5, (0, 0, 1)),
        (sb.Box((1, 2, 3)), (-1, -0.4, 0.2), (1, 1.6, 0.2), UP, (-1, 0, 0)),
        (sb.Capsule(0.5, 2.0), (0, 0, 5), (0, 0, -5), 3.5, (0, 0, 1)),
        (sb.Capsule(0.5, 2.0), (0, 5, 0.9), (0, -5, 0.9), 4.5, (0, 1, 0)),
        (sb.Capsule(0.5, 2.0), (5, 0, 1.3), (-5, 0, 1.3), 4.6, (0.8, 0, 0.6)),
        (sb.Cylinder(0.5, 2.0), (0.2, 0, 5), (0.2, 0, -5), 4.0, (0, 0, 1)),
        (sb.Cylinder(0.5, 2.0), (0.3, 5, 0.2), (0.3, -5, 0.2), 4.6, (0.6, 0.8, 0)),
        (sb.Cone(1.0, 2.0), (0.5, 0, -3), (0.5, 0, 3), 2.0, (0, 0, -1)),
        (sb.Cone(1.0, 2.0), (0.5, 0, 3), (0.5, 0, -3), 3.0, (2 / 5**0.5, 0, 1 / 5**0.5)),
        (sb.Cone(1.0, 2.0), (3, 0, 0), (-3, 0, 0), 2.5, (2 / 5**0.5, 0, 1 / 5**0.5)),
        (sb.Cone(1.0, 2.0, 0.5), (3, 0, 0), (-3, 0, 0), 2.25, (4 / 17**0.5, 0, 1 / 17**0.5)),
        (sb.Cone(1.0, 2.0, 0.5), (0.4, 0.2, 3), (0.4, 0.2, -3), 2.0, (0, 0, 1)),
        (sb.Cone(0.5, 2.0, 1.0), (0, 3, 0), (0, -3, 0), 2.25, (0, 4 / 17**0.5, -1 / 17**0.5)),
        (sb.Cone(0.5, 2.0, 1.0), (0.75, 0, 3), (0.75, 0, -3), 2.0, (0, 0, 1)),
        (sb.Cone(0.5, 2.0, 1.0), (0.75, 0, -3), (0.75, 0, 3), 3.0, (4 / 17**0.5, 0, -1 / 17**0.5)),
        # a pipe: from outside, through its mouth, from inside its wall and from its bore
        (sb.HollowCylinder(0.5, 2.0, 0.3), (0, -3, 0), (0, 3, 0), 2.5, (0, -1, 0)),
        (sb.HollowCylinder(0.5, 2.0, 0.3), (0.4, 0, 3), (0.4, 0, -3), 2.0, (0, 0, 1)),
        (
            sb.HollowCylinder(0.5, 2.0, 0.3),
            (0, 0, 2),
            (0.6, 0, -2),
            0.5 * (0.6**2 + 4**2) ** 0.5,
            (-1, 0, 0),
        ),
        (sb.HollowCylinder(0.5, 2.0, 0.3), (-0.4, 0, 0), (3, 0, 0), 0.1, (1, 0, 0)),
        (sb.HollowCylinder(0.5, 2.0, 0.3), (0, 0, 0), (0, 3, 0), 0.3, (0, -1, 0)),
        (
            sb.HollowCone(1.0, 2.0, 0.5),
            (0, 0, 0),
            (3, 0, 0),
            0.25,
            (-4 / 17**0.5, 0, -1 / 17**0.5),
        ),
        (
            sb.HollowCone(1.0, 2.0, 0.5),
            (0.1, 0, -3),
            (0.1, 0, 3),
            3.6,
            (-4 / 17**0.5, 0, -1 / 17**0.5),
        ),
        (sb.Ellipsoid((1, 2, 3)), (0, 5, 0), (0, -5, 0), 3.0, (0, 1, 0)),
        (sb.Plane(), (0, 0, 2), (1.5, 0, 0), 2.5, (0, 0, 1)),
        (sb.Plane(), (0, 0, -2), (0, 0, 2), 2.0, (0, 0, 1)),
    ],
)
def test_closed_forms(shape, p0, p1, distance, normal):
    """Hit each shape at its formula's point, with depth (1 - t) |p1 - p0|."""
    world, *_ = posed(shape)
    hit = world.raycast(p0, p1)
    length = np.linalg.norm(np.subtract(p1, p0))
    assert distance * (1 - 1e-15) < length
    np.testing.assert_allclose(
        [hit.distance, hit.depth, *hit.normal], [distance, length - distance, *normal], atol=1e-14
    )
    np.testing.assert_allclose(hit.point, p0 + distance / length * np.subtract(p1, p0), atol=1e-14)
    assert hit.link.robot is hit.robot is world.robots['body']


@pytest.mark.parametrize('name', [*CONVEX, *HOLLOW])
def test_segments_hit_solids_at_their_surface(name):
    """Hit a rotated shape at the first sign change of its function, with its gradient."""
    shape, function = (CONVEX | HOLLOW)[name]
    random = np.random.default_rng(17)
    along, count = np.linspace(0.0, 1.0, 4001), 0
    for _ in range(60):
        world, R, p = posed(shape, random)
        p0, p1 = p + random.normal(size=(2, 3)) * random.choice([0.4, 1.0])
        inside = function((p0 + along[:, None] * (p1 - p0) - p) @ R) < 0.0
        changes = np.flatnonzero(inside[1:] != inside[:-1])
        hit, culled = world.raycast(p0, p1), world.raycast(p0, p1, cull=True)
        entry = next((k for k in changes if inside[k + 1]), None)
        assert (hit is not None) == (len(changes) > 0)
        assert (culled is not None) == (entry is not None)
        for one, first in ((hit, next(iter(changes), None)), (culled, entry)):
            if one is None:
                continue
            count += 1
            share = one.distance / np.linalg.norm(p1 - p0)
            assert along[first] - 1e-12 <= share <= along[first + 1] + 1e-12
            x = (one.point - p) @ R
            assert abs(function(x)) < 1e-13
            h = 1e-6 * np.eye(3)
            gradient = R @ (function(x + h) - function(x - h))
            np.testing.assert_allclose(one.normal, gradient / np.linalg.norm(gradient), atol=1e-5)
    assert count > 25


@pytest.mark.parametrize('name', ['mesh', 'open mesh', 'height field'])
def test_segments_meet_surfaces_as_triangle_by_triangle(name):
    """Hit the first triangle of a mesh or a height field, from both sides and from inside."""
    shape, triangles = surfaces()[name]
    random = np.random.default_rng(23)
    world, R, p = posed(shape, random)
    p0 = p + random.normal(size=(400, 3)) * random.choice([0.3, 1.0, 3.0], (400, 1)) @ R.T
    p1 = p + random.normal(size=(400, 3)) @ R.T
    hits = world.raycasts(p0, p1)
    for row in range(400):
        t, normal = crossings(triangles, (p0[row] - p) @ R, (p1[row] - p0[row]) @ R)
        length = np.linalg.norm(p1[row] - p0[row])
        np.testing.assert_allclose(hits.distances[row], t * length, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(hits.depths[row], (1 - t) * length, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(hits.normals[row], R @ normal, atol=1e-9)
    assert 100 < (hits.indices >= 0).sum() < 390


@pytest.mark.parametrize('far', [0.0, 1e3])
def test_nothing_slips_between_triangles(far):
    """Hit a closed mesh and a height field through all corners and edges, also from far away."""
    vertices, triangles = lumpy_ball()
    sizes = 0.5 * np.linspace(-1.0, 1.0, 9)
    x, y = np.meshgrid(sizes, sizes)
    edges = 0.5 * (vertices[triangles] + np.roll(vertices[triangles], -1, axis=1)).reshape(-1, 3)
    for shape, aims, start in (
        (sb.TriangleMesh(vertices, triangles), np.vstack([vertices, edges]), (0.01, 0.02, 0)),
        (
            sb.HeightField(0.1 * x * y, (1.0, 1.0)),
            np.column_stack([x.ravel(), y.ravel(), 0.1 * (x * y).ravel()]),
            (0, 0, 9.0),
        ),
    ):
        world, *_ = posed(shape)
        ways = aims - start
        hits = world.raycasts(start - far * ways, aims + 0.1 * ways)
        inner = np.abs(aims[:, :2]).max(axis=1) < 0.49 if start[2] else slice(None)
        assert (hits.indices[inner] == 0).all()


def test_lines_wholly_inside_miss_and_zero_lengths_too():
    """Miss every shape from inside without leaving it, and with zero-length segments."""
    inside = {
        **{name: shape for name, (shape, _) in CONVEX.items() if name != 'plane'},
        'mesh': surfaces()['mesh'][0],
    }
    for shape in inside.values():
        world, *_ = posed(shape)
        assert world.raycast((0, 0, -0.05), (0.02, 0.01, 0.1)) is None
        assert world.raycast((0, 0, 0), (0, 0, 0)) is None
        assert world.raycast((0, 0, 0), (0, 0, 9), cull=True) is None
        assert world.raycast((0, 0, 0), (0, 0, 9)).normal[2] > 0.1
    world, *_ = posed(sb.Plane())
    assert world.raycast((0, 0, -1), (5, 0, -1)) is None
    assert world.raycast((0, 0, 0), (5, 0, 0)) is None


def test_lines_through_a_bore_miss_and_see_the_world_behind():
    """Pass through a pipe unhindered, from outside and from within."""
    world, *_ = posed(HOLLOW['pipe'][0])
    ball = world.add_body(sb.Sphere(0.3), motion='static', position=(0, 0, 5))
    for start in ((0, 0, -3), (0.3, 0.2, -3), (0, 0, 0), (0, 0, 0.6), (0, 0.39, 0)):
        assert world.raycast(start, (0, 0, 9)).robot is ball
        assert world.raycast(start, (0, 0, 9), cull=True).robot is ball
    every = world.raycasts([(-3, 0, 0)], [(3, 0, 0)], every=True)
    assert len(every) == 1 and every.distances[0] == 2.5


def test_a_cone_close_to_a_cylinder_is_hit_like_one():
    """Lose no accuracy with a distant apex."""
    for top in (0.5 + 1e-15, 0.5 - 1e-12, 0.5 + 1e-8):
        world, *_ = posed(sb.Cone(0.5, 2.0, top))
        for ends in (
            ((3, 0.1, 0.2), (-3, 0.2, 0.5)),
            ((0.3, 0, 3), (0.3, 0, -3)),
            ((0.3, 0, 0), (0.2, 2, -0.3)),
        ):
            whole, _, _ = posed(sb.Cylinder(0.5, 2.0))
            assert world.raycast(*ends).distance == pytest.approx(
                whole.raycast(*ends).distance, abs=3e-8
            )


def test_lines_along_the_axis_hit_the_tip_of_cones():
    """Hit a tip from outside and from the bore ending in it, at any orientation."""
    random = np.random.default_rng(1)
    for number in range(40):
        radius, length = random.uniform(0.1, 2.0, 2)
        top = (0.0, 0.5)[number % 2] * radius
        shape = sb.HollowCone(radius, length, random.uniform(0.01, 0.99) * radius, top)
        world, R, p = posed(shape, random)
        tip, way = p + 0.5 * length * R[:, 2], R[:, 2] * length * random.uniform(1.0, 5.0)
        for sign in (1.0, -1.0):
            hit = world.raycast(tip + sign * way, tip - sign * way)
            np.testing.assert_allclose(hit.point, tip, atol=1e-12)


def test_lines_along_faces_and_edges():
    """Count lines in a face, an edge or the surface as inside the shape, without a nan."""
    world, *_ = posed(sb.Box((1, 1, 1)))
    assert world.raycast((-2, 0, 0.5), (2, 0, 0.5)).distance == 1.5
    assert world.raycast((-2, 0.5, 0.5), (2, 0.5, 0.5)).distance == 1.5
    world, *_ = posed(sb.Cylinder(0.5, 1.0))
    assert world.raycast((0.5, 0, 2), (0.5, 0, -2)).distance == 1.5
    world, *_ = posed(sb.Cone(1.0, 2.0))
    along = world.raycast((-1.0, 0, 3.0), (2.0, 0, -3.0))
    # rounding decides between the points on the cone
    assert math.hypot(1, 2) - 1e-9 <= along.distance <= math.hypot(2, 4) + 1e-9


@pytest.mark.parametrize('name', ['sphere', 'box', 'capsule', 'cylinder', 'plane'])
def test_depths_and_normals_match_odes_rays(name):
    """Match dCollide with a dRay on the point, the distance and, up to its sign, the normal."""
    shape, _ = CONVEX[name]
    random = np.random.default_rng(31)
    world, R, p = posed(shape, random)
    geom = {
        'sphere': lambda: ode.create_sphere(None, 0.6),
        'box': lambda: ode.create_box(None, 0.6, 0.8, 1.0),
        'capsule': lambda: ode.create_capsule(None, 0.3, 0.8),
        'cylinder': lambda: ode.create_cylinder(None, 0.4, 0.9),
        'plane': lambda: ode.create_plane(None, *R[:, 2], R[:, 2] @ p),
    }[name]()
    if name != 'plane':
        ode.geom_set_position(geom, *p)
        ode.geom_set_rotation(geom, (ode.real * 12)(*np.column_stack([R, np.zeros(3)]).ravel()))
    hits = 0
    for _ in range(200):
        p0 = p + 3.0 * random.normal(size=3)
        # ODE's capsules and cylinders are hit only by rays from outside
        p1 = p + 0.4 * random.normal(size=3)
        way = p1 - p0
        length = np.linalg.norm(way)
        ray = ode.create_ray(None, length)
        ode.ray_set(ray, *p0, *way)
        found = (ode.real * 16)()
        count = ode.collide(ray, geom, 1, ctypes.byref(found), 31 * 8)
        hit = world.raycast(p0, p1)
        assert (hit is not None) == bool(count)
        if hit is not None:
            hits += 1
            np.testing.assert_allclose(hit.point, found[:3], atol=1e-9)
            np.testing.assert_allclose(np.abs(hit.normal @ found[4:7]), 1.0, atol=1e-9)
            assert hit.distance == pytest.approx(found[8], abs=1e-9)
    assert hits > 60


# --- scenes ----------------------------------------------------------------------------------


def scene(random, count=60):
    """Return a world of shapes of all kinds at random places, on a plane."""
    shapes = [shape for name, (shape, _) in (CONVEX | HOLLOW).items() if name != 'plane']
    shapes += [shape for shape, _ in surfaces().values()]
    world = sb.World()
    world.add_ground(height=-4.0)
    for number in range(count):
        q = random.normal(size=4)
        world.add_body(
            sb.Placed(shapes[number % len(shapes)], groups={'even' if number % 2 == 0 else 'odd'}),
            motion='static',
            position=random.uniform(-4, 4, 3),
            orientation=q / np.linalg.norm(q),
        )
    return world


def test_scenes_against_every_geometry_alone():
    """Return the nearest of all geometries, or all in order, as for each alone."""
    random = np.random.default_rng(5)
    world = scene(random)
    p0, p1 = random.uniform(-6, 6, (2, 150, 3))
    alone = np.array(
        [world.raycasts(p0, p1, only=geometry).distances for geometry in world.geometries]
    )
    nearest = np.where(np.isnan(alone), np.inf, alone).min(axis=0)
    hits, every = world.raycasts(p0, p1), world.raycasts(p0, p1, every=True)
    np.testing.assert_array_equal(np.where(hits.indices < 0, np.inf, hits.distances), nearest)
    np.testing.assert_array_equal(
        alone[hits.indices, np.arange(150)][hits.indices >= 0], nearest[hits.indices >= 0]
    )
    assert len(every) == (~np.isnan(alone)).sum()
    np.testing.assert_array_equal(alone[every.indices, every.rays], every.distances)
    order = np.lexsort((every.distances, every.rays))
    np.testing.assert_array_equal(order, np.arange(len(every)))
    single = [world.raycast(*ends) for ends in zip(p0[:20], p1[:20], strict=True)]
    for one, other in zip(single, hits[:20], strict=True):
        assert (one is None) == (other is None)
        assert one is None or (one.distance, one.geometry) == (other.distance, other.geometry)


def test_filters():
    """Leave out geometries skipped, disabled, sensing, in other groups or not requested."""
    world = sb.World()
    bodies = [
        world.add_body(
            sb.Placed(sb.Sphere(0.1), groups={name}), name, motion='static', position=(k, 0, 0)
        )
        for k, name in enumerate('abcd')
    ]
    first = {
        '': {},
        'b': {'skip': bodies[0]},
        'c': {'skip': [bodies[0], bodies[1].root_link]},
        'd': {'groups': ['d', 'x']},
    }
    for name, options in first.items():
        hit = world.raycast((-1, 0, 0), (9, 0, 0), **options)
        assert hit.robot.name == (name or 'a')
    assert world.raycast((-1, 0, 0), (9, 0, 0), only=bodies[2:], skip=bodies[2]).robot is bodies[3]
    bodies[0].geometries[0].enabled = False
    bodies[1].geometries[0].sensor = True
    assert world.raycast((-1, 0, 0), (9, 0, 0)).robot is bodies[2]
    assert world.raycast((-1, 0, 0), (9, 0, 0), sensors=True).robot is bodies[1]
    assert world.raycast((-1, 0, 0), (9, 0, 0), only=[]) is None
    assert sb.World().raycast((0, 0, 0), (1, 1, 1)) is None
    assert len(world.raycasts(np.zeros((0, 3)), np.zeros((0, 3)))) == 0


def test_moving_bodies_are_seen_at_their_place():
    """See a falling ball at its current place, and leave the state unchanged."""
    world = sb.World()
    ball = world.add_body(sb.Sphere(0.1), mass=1.0)
    twin = copy.copy(world)
    for _ in range(5):
        world.step(20)
        twin.step(20)
        before = world.state_hash()
        hit = world.raycast((0, 0, 5), (0, 0, -5))
        assert hit.point[2] == pytest.approx(ball.root_link.p[2] + 0.1, abs=1e-12)
        assert hit.link is ball.root_link
        assert world.state_hash() == before == twin.state_hash()
    world.remove(ball)
    assert world.raycast((0, 0, 5), (0, 0, -5)) is None


def test_changes_between_calls_are_seen():
    """Hit the same as a fresh copy of the world after each kind of change."""
    world = sb.World()
    ball = world.add_body(sb.Sphere(0.2), mass=1.0, position=(0, 0, 3))
    box = world.add_body(sb.Box((0.4, 0.4, 0.4)), motion='static', position=(1, 0, 0))
    field = world.add_body(
        sb.HeightField(np.zeros((3, 3)), (6, 6)), motion='static', position=(0, 0, -1)
    )
    arm = world.load_urdf(ARM)
    x = np.linspace(-2.5, 2.5, 41)
    p0 = np.column_stack([x, 0.0 * x, 0.0 * x + 5.0])
    p1 = p0 - (0.0, 0.0, 9.0)
    first = world.save()
    known = []

    def change_heights():
        field.geometries[0].set_heights([[0.5]], 1, 1)

    for change in (
        lambda: None,
        lambda: world.step(50),
        lambda: arm.q.fill(1.0),
        lambda: ball.set_base_pose((0.5, 0, 2)),
        lambda: box.set_base_pose((-1, 0, 1)),
        lambda: setattr(box.geometries[0], 'position', (0.1, 0, 0.3)),
        lambda: setattr(box.geometries[0], 'orientation', (0, 0.6, 0, 0.8)),
        lambda: setattr(ball.geometries[0], 'enabled', False),
        lambda: setattr(ball.geometries[0], 'enabled', True),
        lambda: setattr(box.geometries[0], 'sensor', True),
        change_heights,
        lambda: world.add_body(sb.Sphere(0.3), 'late', motion='static', position=(2, 0, 2)),
        lambda: world.remove(world.robots['late']),
        lambda: world.restore(first),
        lambda: world.step(20),
        world.reset,
    ):
        change()
        hits, anew = world.raycasts(p0, p1), copy.copy(world).raycasts(p0, p1)
        single = world.raycast(p0[18], p1[18])
        for name in ('indices', 'points', 'normals', 'distances', 'depths'):
            np.testing.assert_array_equal(getattr(hits, name), getattr(anew, name))
        assert single.distance == hits.distances[18]
        known.append(hits.points.tobytes() + hits.indices.tobytes())
    # every change except the first changes the hits
    assert all(one != other for one, other in itertools.pairwise(known))


@pytest.mark.parametrize('count', [1, 8, 33, 300])
def test_trees_of_all_depths_miss_nothing(count):
    """Find the balls of the closed form, the nearest and all, among few and many."""
    random = np.random.default_rng(count)
    world, centres = sb.World(), random.uniform(-9.0, 9.0, (count, 3))
    radius = 0.3
    for centre in centres:
        world.add_body(sb.Sphere(radius), motion='static', position=centre)
    p0, p1 = random.uniform(-10.0, 10.0, (2, 200, 3))
    p0[0], p1[0] = centres[0] - 3.0, centres[0] + 3.0
    length = np.linalg.norm(p1 - p0, axis=1)
    d = ((p1 - p0) / length[:, None])[:, None]
    o = p0[:, None] - centres
    middle = -(o * d).sum(axis=2)
    room = radius**2 - ((o + middle[..., None] * d) ** 2).sum(axis=2)
    half = np.sqrt(np.maximum(room, 0.0))
    first = np.where(middle > half, middle - half, middle + half)
    first[(room < 0.0) | (first < 0.0) | (first > length[:, None])] = np.inf
    nearest = first.argmin(axis=1)
    hits, every = world.raycasts(p0, p1), world.raycasts(p0, p1, every=True)
    is_hit = first.min(axis=1) < np.inf
    np.testing.assert_array_equal(hits.indices, np.where(is_hit, nearest, -1))
    np.testing.assert_allclose(hits.distances[is_hit], first.min(axis=1)[is_hit], atol=1e-11)
    rows, balls = np.nonzero(first < np.inf)
    found = sorted(zip(every.rays, every.indices, strict=True))
    assert sorted(zip(rows, balls, strict=True)) == found and len(rows) > 0


def test_bad_arguments_are_named():
    """Name the row and the non-finite value, mismatched shapes, foreign objects."""
    world, *_ = posed(sb.Sphere(1.0))
    other, *_ = posed(sb.Sphere(1.0))
    with pytest.raises(sb.InvalidValueError, match=r'p1\[1\].*nan'):
        world.raycasts((0, 0, 0), [(1, 0, 0), (np.nan, 0, 0)])
    with pytest.raises(sb.InvalidValueError, match='p0.*inf'):
        world.raycast((0, np.inf, 0), (1, 0, 0))
    for far in (2e100, 10**400):
        with pytest.raises(sb.InvalidValueError, match=r'p1.*at most 1e\+100'):
            world.raycast((0, 0, 0), (1, far, 0))
    for p0, p1 in (((0, 0), (1, 0, 0)), ('abc', (1, 0, 0)), ([(0, 0, 0)] * 2, [(1, 0, 0)] * 3)):
        with pytest.raises(sb.InvalidValueError, match=r'p[01]'):
            world.raycasts(p0, p1)
    with pytest.raises(sb.InvalidValueError, match=r'p0.*\(1, 3\)'):
        world.raycast([(0, 0, 0)], [(1, 0, 0)])
    assert len(world.raycasts(np.zeros((0, 3)), (1, 0, 0))) == 0
    for name, value in (
        ('skip', other.robots['body']),
        ('only', 'body'),
        ('groups', 'a'),
        ('cull', 1),
        ('sensors', None),
    ):
        with pytest.raises(sb.InvalidValueError, match=name):
            world.raycast((0, 0, 0), (1, 0, 0), **{name: value})


# --- a million degenerate ones ------------------------------------------------------------------


def degenerate(random, count):
    """Return segments with all lengths, on a grid of special places, slightly off it, parallel."""
    special = np.array([0.0, 0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 1.0, -0.3, -0.4, -0.5, -0.6, -1.0])
    p0, p1 = random.choice(special, (2, count, 3))
    way = (p1 - p0) * 10.0 ** random.choice([-160, -12, -3, 0, 0, 3, 9], (count, 1))
    off = 10.0 ** random.choice([-300, -17, -16, -12, -8], (count, 1))
    way = way + random.choice([0, 0, 1], (count, 1)) * off * random.normal(size=(count, 3))
    return p0 - random.choice([0.0, 0.5, 1.0], (count, 1)) * way, p0 + way


def sound(count):
    """Cast degenerate segments at every shape; check each hit's values."""
    random = np.random.default_rng(count)
    shapes = [shape for shape, _ in (*CONVEX.values(), *HOLLOW.values(), *surfaces().values())]
    for shape in shapes:
        world, *_ = posed(shape)
        p0, p1 = degenerate(random, count // len(shapes))
        for cull in (False, True):
            hits = world.raycasts(p0, p1, cull=cull)
            hit = hits.indices >= 0
            assert hit.any()
            length = np.linalg.norm(p1 - p0, axis=1)
            assert np.isfinite(hits.points[hit]).all()
            np.testing.assert_allclose(np.linalg.norm(hits.normals[hit], axis=1), 1.0, atol=1e-12)
            assert (hits.distances[hit] >= 0.0).all() and (hits.depths[hit] >= 0.0).all()
            assert (hits.distances[hit] <= length[hit]).all()
            assert np.isnan(hits.points[~hit]).all() and np.isnan(hits.depths[~hit]).all()


def test_degenerate_segments():
    """Return plausible hits for segments along faces, through edges and of extreme lengths."""
    sound(20_000)


@pytest.mark.long
def test_a_million_degenerate_segments():
    """Return plausible hits for a million of them."""
    sound(1_000_000)


def test_height_field_cells_have_a_lower_left_and_an_upper_right_triangle():
    """Hit the plane through three corners on both sides of a cell's diagonal, as in AGX."""
    heights = np.array([(1.0, 0.2, 0.0), (0.3, -0.4, 0.1), (0.0, 0.5, 0.7)])
    world = sb.World()
    world.add_body(sb.HeightField(heights, (2.0, 2.0)), motion='static')
    for row in range(2):
        for column in range(2):
            a, b = heights[row, column : column + 2]
            d, c = heights[row + 1, column : column + 2]
            for u, v in ((0.2, 0.3), (0.6, 0.3), (0.6, 0.6), (0.2, 0.9)):
                x, y = column - 1.0 + u, row - 1.0 + v
                below = a + (b - a) * u + (d - a) * v
                above = c + (d - c) * (1.0 - u) + (b - c) * (1.0 - v)
                hit = world.raycast((x, y, 5.0), (x, y, -5.0))
                expected = below if u + v < 1.0 else above
                assert hit.point[2] == pytest.approx(expected, abs=1e-12)
