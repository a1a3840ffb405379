"""Contacts and distances between steps: points, frames, pairs and margins, compared with Coal."""

from __future__ import annotations

from itertools import combinations

import coal
import numpy as np
import pytest

import sim_bridge as sb

SIZES = (0.1, 0.2, 0.3)
# corners in binary order: x, y, z
CUBE = [
    (0, 1, 3),
    (0, 3, 2),
    (4, 6, 7),
    (4, 7, 5),
    (0, 4, 5),
    (0, 5, 1),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
    (1, 5, 7),
    (1, 7, 3),
]


@pytest.fixture
def stack():
    """Return three stacked cubes on the ground, each 1 mm deep in the next."""
    world = sb.World()
    world.add_ground()
    height = 0.0
    for number, size in enumerate(reversed(SIZES)):
        world.add_body(
            sb.Box((size, size, size)),
            f'cube{number}',
            mass=1.0,
            position=(0.01 * number, 0.0, height + 0.5 * size - 1e-3),
        )
        height += size - 1e-3
    return world


def coal_box(geometry):
    """Return Coal's box for a geometry, and its pose."""
    return coal.Box(*geometry.shape.size), coal.Transform3s(geometry.R, geometry.p)


def scattered(count, seed):
    """Return a world of rotated boxes and spheres, some overlapping."""
    random = np.random.default_rng(seed)
    world = sb.World()
    for number in range(count):
        turn = random.normal(size=4)
        shape = sb.Box(random.uniform(0.2, 0.5, 3)) if number % 3 else sb.Sphere(0.2)
        world.add_body(
            shape,
            mass=1.0,
            position=random.uniform(-0.8, 0.8, 3),
            orientation=turn / np.linalg.norm(turn),
        )
    return world


def test_contacts_need_no_step(stack):
    """Find patches at the current state, and leave the state unchanged."""
    stack.step(3)
    before, kept = stack.state_hash(), stack.contacts.forces.copy()
    found = stack.find_contacts()
    assert [len(patch) for patch in found.patches()] == [4, 4, 4]
    assert stack.state_hash() == before
    np.testing.assert_array_equal(stack.contacts.forces, kept)
    twin = stack.copy()
    stack.find_contacts(margin=1.0)
    stack.find_distances()
    stack.step(5)
    twin.step(5)
    assert stack.state_hash() == twin.state_hash()


def test_points_are_chosen_by_slices_and_masks(stack):
    """Choose points like array elements, and show them briefly."""
    found = stack.find_contacts()
    upper = found[found.points_a[:, 2] > 0.1]
    assert len(upper) == 8 and len(found[:3]) == 3
    np.testing.assert_array_equal(found[[4, 0]].gaps, found.gaps[[4, 0]])
    assert len(found[(found.gaps < 0.0).tolist()]) == 12 and not len(found[[]])
    np.testing.assert_array_equal(upper.gaps, found.gaps[4:])
    assert repr(upper[0]).startswith('<ContactPoint: cube1/cube1 to cube0/cube0, gap -0.001')
    assert repr(found) == '<ContactPoints: 12 points, least gap -0.001 m>'
    problem = stack.contact_problem([upper[0], found[0]])
    np.testing.assert_array_equal(problem.gap, found.gaps[[4, 0]])
    np.testing.assert_allclose(problem.contacts[0].placement_b.p, upper[0].placement_b.p)


def test_sleepers_stay_asleep():
    """Query bodies at rest without waking them."""
    world = sb.World(sleep=True)
    world.add_ground()
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.05))
    world.step(2000)
    assert box.is_asleep
    before = world.state_hash()
    assert len(world.find_contacts()) == 4
    assert box.is_asleep
    assert world.state_hash() == before


def test_points_lie_on_both_surfaces(stack):
    """Return points on each body, a normal from b to a, and matching frames, also in links."""
    stack.robots['cube1'].set_base_pose((0.3, 0.1, 0.4), (0.2, 0.1, 0.3, 0.9))
    for point in stack.find_contacts(margin=0.5):
        np.testing.assert_allclose(
            point.point_a - point.point_b, point.gap * point.normal, atol=1e-12
        )
        for frame, placement, link in (
            (point.frame_a, point.placement_a, point.link_a),
            (point.frame_b, point.placement_b, point.link_b),
        ):
            np.testing.assert_allclose(frame.R[:, 2], point.normal, atol=1e-15)
            np.testing.assert_allclose(frame.R.T @ frame.R, np.eye(3), atol=1e-14)
            assert np.linalg.det(frame.R) == pytest.approx(1.0)
            np.testing.assert_allclose(link.p + link.R @ placement.p, frame.p, atol=1e-14)
            np.testing.assert_allclose(link.R @ placement.R, frame.R, atol=1e-14)
            if isinstance(link.geometries[0].shape, sb.Box):
                reach = np.abs(placement.p) / np.array(link.geometries[0].shape.size)
                assert reach.max() == pytest.approx(0.5, abs=1e-12)
        np.testing.assert_allclose(point.frame_a.p, point.point_a)
        np.testing.assert_allclose(point.position, 0.5 * (point.point_a + point.point_b))
        assert point.robot_a is point.link_a.robot
        assert point.robot_b is point.geometry_b.link.robot


def test_patches_have_all_their_corners():
    """Find more points than a step uses: a prism with twelve sides stands on all corners."""
    world = sb.World()
    world.add_ground()
    angles = np.arange(12) * np.pi / 6
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (0.0, 1.0)])
    world.add_body(sb.ConvexHull(points), mass=1.0)
    world.add_body(sb.Box((4, 4, 0.2)), mass=1.0, position=(0, 0, 1.1))
    world.add_body(sb.ConvexHull(points * (0.5, 0.5, 1.0)), mass=1.0, position=(0, 0, 1.2))
    assert [len(patch) for patch in world.find_contacts().patches()] == [12, 12, 12]
    world.step()
    assert world.contact_count == 24


def test_distances_of_all_pairs_are_coals():
    """Measure every pair in one call as Coal does, with points at this distance."""
    world = scattered(9, 3)
    found = world.find_distances()
    assert len(found) == 36
    for point, (a, b) in zip(found, combinations(world.geometries, 2), strict=True):
        assert (point.geometry_a, point.geometry_b) == (a, b)
        if isinstance(a.shape, sb.Box) and isinstance(b.shape, sb.Box):
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            request.enable_signed_distance = True
            expected = coal.distance(*coal_box(a), *coal_box(b), request, result)
            # Coal iterates if the boxes overlap
            assert point.gap == pytest.approx(expected, abs=1e-9 if expected > 0.0 else 1e-6)
        single = world.distance(a, b)
        assert point.gap == single.distance
        np.testing.assert_array_equal(point.point_a, single.point_a)


def test_margins_choose_among_the_same_points():
    """Find with a small margin the near points among those with a large one."""
    world = scattered(12, 5)
    many = world.find_contacts(margin=0.3)
    for margin in (0.0, 0.05, 0.2):
        few = world.find_contacts(margin=margin)
        near = many.gaps <= margin
        assert len(few) == near.sum()
        np.testing.assert_allclose(few.gaps, many.gaps[near], atol=1e-12)
    assert (many.gaps > 0.2).any() and (many.gaps < 0.0).any()


def test_pairs_have_margins_of_their_own(stack):
    """Return pairs in the given order, each with its margin, in one call."""
    ground, base, middle, top = (
        stack.robots[name] for name in ('ground', 'cube0', 'cube1', 'cube2')
    )
    found = stack.find_contacts(
        pairs=[(top, base, 0.21), (middle.root_link, base), (top, ground, 0.1)]
    )
    assert [(patch[0].robot_a, patch[0].robot_b) for patch in found.patches()] == [
        (middle, base),
        (top, base),
    ]
    np.testing.assert_allclose(found.normals[:, 2], 1.0)
    of_base = stack.find_contacts(a=base)
    assert [(patch[0].robot_a, patch[0].robot_b) for patch in of_base.patches()] == [
        (base, ground),
        (base, middle),
    ]
    (patch,) = stack.find_contacts(a=middle, b=top).patches()
    assert patch[0].robot_a is middle
    np.testing.assert_allclose(patch.normals[:, 2], -1.0)


def test_pairs_of_a_and_b_are_the_colliding_ones(stack):
    """Leave out pairs that would not collide in a step, unless the pair is given."""
    base, middle = stack.robots['cube0'], stack.robots['cube1']
    stack.exclude(base.root_link, middle.root_link)
    assert not len(stack.find_contacts(a=base, b=middle))
    assert not len(stack.find_distances(base, middle))
    assert len(stack.find_contacts(pairs=[(base, middle)])) == 4
    assert len(stack.find_distances(pairs=[(base, middle)])) == 1
    middle.geometries[0].enabled = False
    assert not len(stack.find_contacts(a=middle))


def test_all_kinds_of_shapes_are_found():
    """Find contacts of meshes and height fields with convex shapes and each other."""
    world = sb.World()
    world.add_body(sb.HeightField(np.zeros((5, 5)), (4.0, 4.0)), 'field', motion='static')
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    world.add_body(sb.TriangleMesh(corners, CUBE), 'mesh', mass=1.0, position=(0, 0, 0.1))
    world.add_body(sb.Cylinder(0.1, 0.2), 'can', mass=1.0, position=(0.5, 0, 0.1))
    world.add_body(sb.Box((0.2, 0.2, 0.2)), 'box', mass=1.0, position=(0, 0, 0.3))
    names = {
        (patch[0].robot_a.name, patch[0].robot_b.name) for patch in world.find_contacts().patches()
    }
    assert names == {('field', 'mesh'), ('field', 'can'), ('mesh', 'box')}
    assert world.find_distances(world.robots['can'], world.robots['box'])[0].gap > 0.1


def test_many_points_and_pairs_make_their_own_room():
    """Find hundreds of points and pairs at once."""
    world = sb.World()
    world.add_ground()
    for x in range(12):
        for y in range(12):
            world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.1 * x, 0.1 * y, 0.05))
    found = world.find_contacts(margin=1e-6)
    touching = 144 + 2 * 11 * 12 + 2 * 11 * 11
    assert len(found.patches()) == touching
    assert len(world.find_contacts(margin=0.01).gaps) > 1500
    assert len(world.find_distances()) == 144 + 144 * 143 // 2


def test_an_empty_world_has_no_contacts():
    """Return no contacts in an empty world."""
    world = sb.World()
    assert len(world.find_contacts()) == len(world.find_distances()) == 0
    assert world.find_contacts().patches() == []
    assert world.find_contacts().points_a.shape == (0, 3)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'margin': -1.0}, 'margin = -1.0: expected a number of at least 0'),
        ({'margin': float('nan')}, 'margin = nan'),
        ({'a': 'cube0'}, "a = 'cube0': expected a robot, link or geometry of this world"),
        ({'pairs': [('cube0',)]}, 'pairs = .*pairs \\(a, b\\) or \\(a, b, margin\\)'),
        ({'pairs': 3}, 'pairs = 3'),
    ],
)
def test_wrong_questions_are_refused(stack, arguments, message):
    """Name the wrong value, and the valid ones."""
    with pytest.raises(sb.InvalidValueError, match=message):
        stack.find_contacts(**arguments)


def test_bodies_without_geometries_and_of_other_worlds_are_refused(stack):
    """Refuse links without shapes, links of other worlds, and planes without distance."""
    bare = stack.add_body([], mass=1.0, inertia=(1, 1, 1))
    other = sb.World().add_body(sb.Sphere(0.1), mass=1.0)
    with pytest.raises(sb.InvalidValueError, match='a body with collision geometries'):
        stack.find_contacts(a=bare)
    with pytest.raises(sb.InvalidValueError, match='of this world'):
        stack.find_distances(other)
    second = stack.add_body(sb.Plane(), motion='static')
    with pytest.raises(sb.InvalidValueError, match='at most one plane'):
        stack.find_contacts(pairs=[(second, stack.robots['ground'])])
    with pytest.raises(sb.InvalidValueError, match='either pairs, or a and b'):
        stack.find_contacts(a=second, pairs=[])


def test_more_and_more_pairs_do_not_take_all_memory():
    """Find the contacts of balls moving to one place one after the other."""
    world = sb.World()
    balls = [world.add_body([sb.Sphere(0.1)], mass=1.0, position=(k, 0.0, 0.0)) for k in range(70)]
    for count, ball in enumerate(balls):
        ball.set_base_pose((0.0, 0.0, 0.01 * count / len(balls)))
        near = world.find_contacts(0.0)
        assert len(near) == count * (count + 1) // 2
