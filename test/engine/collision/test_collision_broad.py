"""Broad phase: all overlapping box pairs, in one order, and the pairs that may collide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_bridge.compiler.entry import entry
from sim_bridge.engine.collision.broad.filters import is_closed
from sim_bridge.engine.collision.broad.grid import grid_overlaps
from sim_bridge.engine.collision.broad.overlaps import (
    FEW,
    few_overlaps,
    find_overlaps,
    many_overlaps,
)
from sim_bridge.engine.collision.broad.pairs import classify_pairs
from sim_bridge.engine.collision.broad.place import place_geometries
from sim_bridge.engine.collision.broad.tree import tree_overlaps
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.collision.collide import start_collision
from sim_bridge.engine.data.collision_scratch import make_collision_scratch, PairCount
from sim_bridge.engine.data.contact_points import make_contacts, OVERFLOW
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    ENABLED,
    HEIGHT_FIELD,
    HOLLOW,
    HULL,
    KINEMATIC,
    MESH,
    PLANE,
    SENSOR,
    SLICE,
    SPHERE,
    STATIC,
    TRIANGLE,
)
from sim_bridge.foundation.errors import InvalidValueError


@entry
def _few(box, found):
    return few_overlaps(box, found)


@entry
def _many(box, scratch, found):
    return many_overlaps(box, scratch, found)


@entry
def _grid(box, scratch, found):
    return grid_overlaps(box, scratch, found)


@entry
def _tree(box, scratch, found):
    return tree_overlaps(box, scratch, found)


@entry
def _anew(geometry, pose, velocity, root, h, margin, scratch):
    place_geometries(geometry, pose, velocity, root, h, margin, scratch)
    find_overlaps(scratch.box, scratch)
    classify_pairs(geometry, scratch, scratch.counts[PairCount.FOUND], True)


@entry
def _start(geometry, pose, velocity, root, h, margin, scratch, contacts):
    start_collision(geometry, pose, velocity, root, h, margin, scratch, contacts)


class Finder:
    """The broad-phase methods with their scratch memory for n boxes."""

    def __init__(self, n, pairs):
        """Allocate the scratch arrays, filled as if left by an earlier step."""
        geometry = build_geometry([GeometryRecord(SPHERE, size=(1.0,))] * n)
        self.scratch = make_collision_scratch(geometry, 1, pairs)
        for array in self.scratch:
            array.fill(7)

    def find(self, method, box):
        """Return the number of overlaps, and the pairs left by the method."""
        s = self.scratch
        total = {
            'few': lambda: _few(box, s.found),
            'many': lambda: _many(box, s, s.found),
            'grid': lambda: _grid(box, s, s.found),
            'tree': lambda: _tree(box, s, s.found),
        }[method]()
        return total, [tuple(pair) for pair in s.found[: max(total, 0)].tolist()]


def boxes(kind, n, rng):
    """Make boxes for one kind of scene: rows of least and greatest corners."""
    side = n ** (1 / 3)
    centre = rng.uniform(0.0, side, (n, 3))
    half = np.full((n, 3), 0.5)
    if kind == 'sizes':
        half = np.exp(rng.normal(-1.0, 1.0, (n, 3)))
    elif kind == 'sheets':
        half = np.where(rng.integers(0, 3, n)[:, None] == np.arange(3), 1e-3, 1.0)
    elif kind == 'clusters':
        centre[: n // 2] += (1e4, -3e3, 50.0)
    elif kind == 'one place':
        centre[:] = 3.0
    elif kind == 'line':
        centre[:, 1:] = 0.0
    elif kind == 'points':
        half[:] = 0.0
        centre = np.round(centre)
    box = np.hstack([centre - half, centre + half])
    if kind == 'floor':
        box[0] = -100.0, -100.0, -1.0, 100.0, 100.0, 0.3
    elif kind == 'planes':
        box[0] = -np.inf, -np.inf, -np.inf, np.inf, np.inf, 0.3
        box[n - 1] = [-np.inf] * 3 + [np.inf] * 3
    return box


def brute_force(box):
    """List all overlapping box pairs."""
    low, high = box[:, :3], box[:, 3:]
    touch = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
    return [tuple(pair) for pair in np.argwhere(np.triu(touch, 1)).tolist()]


KINDS = ('pile', 'sizes', 'sheets', 'clusters', 'one place', 'line', 'points', 'floor', 'planes')


@pytest.mark.parametrize('n', [2, 5, FEW, FEW + 1, 300])
@pytest.mark.parametrize('kind', KINDS)
def test_all_overlaps_are_found_in_order(kind, n):
    """Find exactly the pairs found by comparing all boxes, ascending, after any earlier step."""
    box = boxes(kind, n, np.random.default_rng(n))
    expected = brute_force(box)
    finder = Finder(n, n * n)
    for method in ('few', 'many'):
        assert finder.find(method, box) == (len(expected), expected), method


@pytest.mark.parametrize('kind', KINDS)
def test_grid_and_tree_agree(kind):
    """Find the same pairs with every method."""
    box = boxes(kind, 500, np.random.default_rng(3))
    expected = brute_force(box)
    finder = Finder(500, 130_000)
    total, pairs = finder.find('tree', box)
    assert (total, sorted(pairs)) == (len(expected), expected)
    total, pairs = finder.find('grid', box)
    assert total == -1 or (total, sorted(pairs)) == (len(expected), expected)
    if kind in ('pile', 'floor', 'planes'):
        assert total >= 0, 'the grid is made for this'


def test_result_does_not_depend_on_history():
    """Return the same arrays with or without earlier searches for other boxes."""
    rng = np.random.default_rng(5)
    box, other = boxes('sizes', 200, rng), boxes('pile', 200, rng)
    fresh, used = Finder(200, 40_000), Finder(200, 40_000)
    used.find('many', other)
    assert used.find('many', box) == fresh.find('many', box)


@pytest.mark.parametrize('method', ['few', 'many'])
def test_lack_of_room_is_reported(method):
    """Return the number of pairs even without room for them, and write no further."""
    box = boxes('pile', 100, np.random.default_rng(6))
    finder = Finder(100, 10)
    memory = np.full((50, 2), 7)
    finder.scratch = finder.scratch._replace(found=memory[:11])
    total, _ = finder.find(method, box)
    assert total == len(brute_force(box)) > 10
    assert np.all(memory[11:] == 7)


def start(records, pose, velocity=None, root=None, excluded=(), h=1e-3, margin=1e-4, pairs=None):
    """Run the first stage; return the scratch arrays and the contacts."""
    geometry = build_geometry(records, excluded)
    pose = np.asarray(pose, float)
    scratch, contacts = make_collision_scratch(geometry, 8, pairs), make_contacts(8)
    _start(
        geometry,
        pose,
        np.zeros((len(pose), 6)) if velocity is None else velocity,
        np.arange(len(pose)) if root is None else root,
        h,
        margin,
        scratch,
        contacts,
    )
    return scratch, contacts


def pairs_of(scratch):
    """List the pairs passed to the narrow phase."""
    return [tuple(pair) for pair in scratch.pair[: scratch.counts[PairCount.PAIRS], :2].tolist()]


def at(*positions):
    """Make poses without rotation."""
    return [[1, 0, 0, 0, 1, 0, 0, 0, 1, *position] for position in positions]


def random_rotation(rng):
    """Make a random rotation matrix."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def test_filters():
    """Let pairs collide by bodies, flags, groups, masks and exclusions as documented."""
    rng = np.random.default_rng(8)
    n = 60
    records = [
        GeometryRecord(
            PLANE if k < 3 else SPHERE,
            size=(1.0,),
            body=int(rng.integers(-1, 20)),
            group=1 << int(rng.integers(0, 3)),
            mask=int(rng.integers(1, 8)),
            flags=int(
                rng.choice(
                    [
                        0,
                        ENABLED,
                        ENABLED,
                        ENABLED | STATIC,
                        ENABLED | STATIC | SENSOR,
                        ENABLED | STATIC | KINEMATIC,
                    ]
                )
            ),
        )
        for k in range(n)
    ]
    excluded = [tuple(rng.integers(-1, 20, 2).tolist()) for _ in range(25)]
    barred = {frozenset(pair) for pair in excluded}

    def may_collide(a, b):
        is_static = [r.body < 0 or r.flags & STATIC for r in (a, b)]
        is_watched = (a.flags | b.flags) & (SENSOR | KINEMATIC) == SENSOR | KINEMATIC
        return (
            a.body != b.body
            and a.flags & b.flags & ENABLED
            and (is_watched or not all(is_static))
            and not (a.shape == PLANE and b.shape == PLANE)
            and a.group & b.mask
            and b.group & a.mask
            and frozenset((a.body, b.body)) not in barred
        )

    scratch, _ = start(records, at(*np.zeros((20, 3))), excluded=excluded)
    expected = [
        (i, j) for i in range(n) for j in range(i + 1, n) if may_collide(records[i], records[j])
    ]
    assert len(expected) > 100
    assert pairs_of(scratch) == expected


def test_kept_pairs_are_complete():
    """Find the same pairs as a new search, after any motion or change since the last step."""
    rng, n, h, margin = np.random.default_rng(11), 40, 1e-2, 1e-4
    records = [GeometryRecord(PLANE), GeometryRecord(PLANE, body=3)]
    records += [
        GeometryRecord(
            shape,
            size=(0.3, 0.2, 0.1),
            body=k % 20,
            flags=ENABLED,
            position=rng.normal(0.0, 0.3, 3),
            rotation=random_rotation(rng),
        )
        for k, shape in enumerate(rng.choice([SPHERE, BOX, CAPSULE, CYLINDER], n))
    ]
    geometry = build_geometry(records)
    contacts, root = make_contacts(8), np.arange(20)
    kept, kept_steps = make_collision_scratch(geometry, 8), 0
    position, rotation = rng.normal(0.0, 1.0, (20, 3)), [random_rotation(rng) for _ in root]
    for step in range(400):
        speed = 10.0 ** rng.uniform(-4, 0) if step % 50 == 0 else 10.0**-3.5
        velocity = speed * rng.normal(size=(20, 6))
        position = position + h * velocity[:, 3:]
        rotation = [
            Rotation.from_rotvec(h * w).as_matrix() @ R
            for w, R in zip(velocity[:, :3], rotation, strict=True)
        ]
        if step % 40 == 7:
            geometry.flags[rng.integers(n)] ^= ENABLED
            geometry.frame[2 + rng.integers(n), 9:] += rng.normal(0.0, 0.3, 3)
            kept.counts[PairCount.IS_KEPT] = 0
        pose = np.array([[*R.ravel(), *p] for R, p in zip(rotation, position, strict=True)])
        fresh, before = make_collision_scratch(geometry, 8), kept.wide_box.copy()
        _start(geometry, pose, velocity, root, h, margin, kept, contacts)
        _start(geometry, pose, velocity, root, h, margin, fresh, contacts)
        kept_steps += np.array_equal(before, kept.wide_box)
        anew = make_collision_scratch(geometry, 8, 1000)
        _anew(geometry, pose, velocity, root, h, margin, anew)
        assert pairs_of(kept) == pairs_of(fresh) == pairs_of(anew), step
        near = np.unique(pairs_of(anew))
        np.testing.assert_array_equal(kept.box[near], anew.box[near])
    assert kept_steps > 200, 'most steps use the list'


def test_shape_numbers_have_the_order_required_by_comparisons():
    """Derive from the numbers which shapes are surfaces, and which pairs need arithmetic only."""
    round_ones = {CYLINDER, CONE, ELLIPSOID}
    convex = {SPHERE, CAPSULE, BOX, HULL, *round_ones}
    others = {MESH, HOLLOW, HEIGHT_FIELD}
    shapes = {PLANE, *others, *convex}
    assert {shape for shape in shapes if shape >= MESH} == others
    assert {shape for shape in shapes if BOX < shape < MESH} == {HULL, *round_ones}
    assert shapes == set(range(HEIGHT_FIELD + 1)) and not shapes & {TRIANGLE, SLICE}
    closed = (
        {frozenset({PLANE, shape}) for shape in convex}
        | {frozenset({SPHERE, shape}) for shape in convex - {HULL}}
        | {frozenset({a, b}) for a in (CAPSULE, BOX) for b in (CAPSULE, BOX)}
    )
    for a in shapes - others:
        for b in shapes - others:
            assert is_closed(a, b) == (frozenset({a, b}) in closed), (a, b)


def test_a_triangle_is_no_shape_of_a_geometry():
    """Refuse shapes made only by the narrow phase."""
    with pytest.raises(InvalidValueError, match='shape'):
        build_geometry([GeometryRecord(TRIANGLE)])


@pytest.mark.parametrize(
    ('shape', 'size'),
    [
        (SPHERE, (0.3,)),
        (CAPSULE, (0.1, 0.4)),
        (BOX, (0.1, 0.2, 0.5)),
        (CYLINDER, (0.3, 0.2)),
        (ELLIPSOID, (0.1, 0.3, 0.6)),
        (HULL, ()),
    ],
)
def test_boxes_hold_the_shapes(shape, size):
    """Put the tightest box around every shape in every pose, plus half the margin."""
    rng = np.random.default_rng(9)
    vertices = rng.normal(size=(30, 3)) if shape == HULL else None
    triangles = np.array([[i, j, k] for i in range(3) for j in range(3) for k in range(3)])
    if shape == HULL:
        from scipy.spatial import ConvexHull

        triangles = ConvexHull(vertices).simplices
    record = GeometryRecord(
        shape,
        size=size,
        vertices=vertices,
        triangles=triangles,
        body=0,
        rotation=random_rotation(rng),
        position=rng.normal(size=3),
    )
    R, p = random_rotation(rng), rng.normal(size=3)
    scratch, _ = start([record], [[*R.ravel(), *p]], margin=2e-3)
    cloud = surface_points(shape, size, vertices, rng) @ (R @ record.rotation).T
    cloud += R @ record.position + p
    low, high = scratch.box[0, :3] + 1e-3, scratch.box[0, 3:] - 1e-3
    assert np.all(low <= cloud.min(axis=0) + 1e-9) and np.all(cloud.max(axis=0) <= high + 1e-9)
    if shape != HULL:  # a hull's box rotates with it
        np.testing.assert_allclose([low, high], [cloud.min(axis=0), cloud.max(axis=0)], atol=0.02)


def surface_points(shape, size, vertices, rng):
    """Scatter points over a shape, including its corners."""
    d = rng.normal(size=(20_000, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    if shape == SPHERE:
        return size[0] * d
    if shape == CAPSULE:
        return size[0] * d + np.outer(np.sign(d[:, 2]), (0.0, 0.0, size[1]))
    if shape == BOX:
        return np.array(np.meshgrid(*[(-s, s) for s in size])).reshape(3, -1).T
    if shape == CYLINDER:
        rim = d[:, :2] / np.linalg.norm(d[:, :2], axis=1, keepdims=True) * size[0]
        return np.column_stack([rim, size[1] * np.sign(d[:, 2])])
    return d * size if shape == ELLIPSOID else vertices


@pytest.mark.parametrize('tilt', [0.0, 0.3, 2.0])
def test_planes_meet_what_comes_near(tilt):
    """Pair a plane, level or tilted, with exactly the bodies whose boxes come near it."""
    rng = np.random.default_rng(10)
    c, s = np.cos(tilt), np.sin(tilt)
    turned = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    plane = GeometryRecord(PLANE, rotation=turned, position=(0.0, 0.0, 0.1))
    records = [plane] + [GeometryRecord(SPHERE, size=(0.2,), body=k) for k in range(80)]
    positions = rng.uniform(-2.0, 2.0, (80, 3))
    scratch, _ = start(records, at(*positions))
    n = turned[:, 2]
    height = (positions - plane.position) @ n - 0.2 * np.abs(n).sum()
    found = {b for a, b in pairs_of(scratch) if a == 0}
    assert {k + 1 for k in np.flatnonzero(height < 0.9e-4)} == found


def test_reach_grows_with_speed():
    """Pair geometries that can meet within the step, by velocity and rotation about the tree."""
    ball = [GeometryRecord(SPHERE, size=(0.1,), body=k) for k in range(2)]
    still, fast, turning = np.zeros((2, 6)), np.zeros((2, 6)), np.zeros((2, 6))
    fast[0, 3] = 100.0
    turning[0, 2] = 100.0
    poses = at((0.0, 0.0, 0.0), (0.25, 0.0, 0.0))
    assert pairs_of(start(ball, poses, still)[0]) == []
    assert pairs_of(start(ball, poses, fast)[0]) == [(0, 1)]
    # a ball turning about its own centre stays in place, a ball on an arm does not
    assert pairs_of(start(ball, poses, turning)[0]) == []
    poses = at((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.25, 1.0, 0.0))
    arm = [GeometryRecord(SPHERE, size=(0.1,), body=k) for k in (1, 2)]
    velocity = np.zeros((3, 6))
    velocity[:2, 2] = 100.0
    assert pairs_of(start(arm, poses, velocity, np.array([0, 0, 2]))[0]) == [(0, 1)]
    rod = [
        GeometryRecord(CAPSULE, size=(0.1, 0.5), body=0),
        GeometryRecord(SPHERE, size=(0.1,), body=1),
    ]
    poses = at((0.0, 0.0, 0.0), (0.23, 0.0, 0.5))
    assert pairs_of(start(rod, poses, still)[0]) == []
    turning[0] = 0.0, 100.0, 0.0, 0.0, 0.0, 0.0
    assert pairs_of(start(rod, poses, turning)[0]) == [(0, 1)]


def test_lack_of_room_for_pairs_overflows():
    """Report too many pairs for the room, and return none instead of some."""
    records = [GeometryRecord(SPHERE, size=(1.0,), body=k) for k in range(60)]
    scratch, contacts = start(records, at(*np.zeros((60, 3))), pairs=100)
    assert contacts.size[OVERFLOW] == 1
    assert scratch.counts[PairCount.FOUND] == 60 * 59 // 2
    assert pairs_of(scratch) == []
