"""Terrain: sunken bodies rise; height fields change, and move."""

from __future__ import annotations

from pathlib import Path
import pickle

from meshes import block, lumpy_ball, sheet
import numpy as np
import pytest
import vehicles

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

HALF = 0.1


def flat(x, y):
    """Return heights of zero."""
    return 0.0 * x


def hills(x, y):
    """Return heights of gentle hills."""
    return 0.05 * np.sin(3.0 * x) * np.cos(2.0 * y)


def grounds(height):
    """Return the same ground as a height field and as an open mesh."""
    vertices, triangles = sheet(20, 4.0, height)
    x, y = np.meshgrid(*2 * [np.linspace(-2.0, 2.0, 21)])
    heights = height(x, y)
    return (
        sb.HeightField(heights, (4.0, 4.0)),
        sb.TriangleMesh(vertices, triangles[:, ::-1], bottom_margin=1.0),
    )


BODIES = {
    'box': sb.Box((2 * HALF,) * 3),
    'mesh': sb.TriangleMesh(*block(np.full(3, HALF), 4)),
    'ball': sb.TriangleMesh(HALF * lumpy_ball()[0], lumpy_ball()[1]),
}


def rise(ground, start, steps, body='box', y=0.02):
    """Let a body rise from an initial centre height; return its link."""
    world = sb.World()
    if ground is None:
        world.add_ground()
    else:
        world.add_body(ground, motion='static')
    risen = world.add_body(BODIES[body], density=1000.0, position=(0.03, y, start))
    world.step(steps)
    return risen.root_link


@pytest.mark.parametrize('kind', [0, 1])
@pytest.mark.parametrize('start', [-0.05, -0.15, -0.5])
def test_a_sunken_box_rises_as_from_a_plane(kind, start):
    """Rise without tilting, as fast as from a plane, and come to rest on the surface."""
    box, plane = (rise(ground, start, 400) for ground in (grounds(flat)[kind], None))
    assert box.p[2] == pytest.approx(plane.p[2], abs=3e-4)
    assert box.p[2] == pytest.approx(start + 0.04, abs=3e-4)
    np.testing.assert_allclose(box.R, np.eye(3), atol=1e-3)
    assert rise(grounds(flat)[kind], start, 7000).p[2] == pytest.approx(HALF, abs=1e-6)


@pytest.mark.parametrize('kind', [0, 1])
@pytest.mark.parametrize('start', [0.02, -0.05, -0.15, -0.5])
@pytest.mark.parametrize('body', ['mesh', 'ball'])
def test_a_sunken_mesh_rises_as_from_a_plane(kind, start, body):
    """Rise without tilting, as fast as from a plane, half in the ground or wholly."""
    assert rise(grounds(flat)[kind], start, 400, body).p[2] == pytest.approx(
        start + 0.04, abs=1e-3
    )


@pytest.mark.parametrize('kind', [0, 1])
def test_a_sunken_mesh_comes_out_of_hills_and_rests(kind):
    """Rise at the correction speed from uneven ground; rest on flat ground."""
    mesh = rise(grounds(hills)[kind], -0.4, 1000, 'mesh')
    assert mesh.p[2] == pytest.approx(-0.3, abs=3e-3)
    mesh = rise(grounds(flat)[kind], -0.05, 2500, 'mesh')
    assert mesh.p[2] == pytest.approx(HALF, abs=1e-5)
    np.testing.assert_allclose(mesh.R, np.eye(3), atol=2e-3)


def test_a_mesh_of_fewer_triangles_than_its_body_is_ground():
    """Push a body out of a ground mesh, whether body or ground has more triangles."""
    vertices, triangles = sheet(1, 4.0)
    ground = sb.TriangleMesh(vertices, triangles, bottom_margin=1.0)
    assert rise(ground, -0.15, 400, 'mesh').p[2] == pytest.approx(-0.11, abs=1e-3)


@pytest.mark.parametrize('kind', [0, 1])
def test_a_sunken_box_rises_from_hills(kind):
    """Rise at the same speed from uneven ground."""
    # the field's cells and the mesh's are cut along different diagonals: mirror images
    y = (-0.02, 0.02)[kind]
    box = rise(grounds(hills)[kind], -0.4, 1000, y=y)
    assert box.p[2] == pytest.approx(-0.3, abs=3e-3)
    assert rise(grounds(hills)[kind], -0.15, 4000, y=y).p[2] > 0.9 * HALF


def test_terrain_ends_at_its_margin_and_its_border():
    """Let bodies fall below the margin or beside the terrain, also in distance queries."""
    terrain = grounds(flat)[1]
    assert rise(terrain, -1.5, 100).p[2] < -1.54
    assert rise(sb.TriangleMesh(terrain.vertices, terrain.triangles), -0.15, 100).p[2] < -0.19
    ball = sb.Sphere(0.1)
    for place, expected in [
        ((0.1, 0.2, 0.3), 0.2),
        ((0.1, 0.2, -0.3), -0.4),
        ((2.4, 0.1, -0.3), 0.4),
    ]:
        found = sb.distance(ball, (place, (0, 0, 0, 1)), terrain, ((0, 0, 0), (0, 0, 0, 1)))
        assert found[0] == pytest.approx(expected, abs=1e-9)


def test_only_an_open_mesh_is_terrain():
    """Refuse a margin on a closed mesh, or a margin that is not positive."""
    corners = np.vstack([np.zeros(3), np.eye(3)])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    with pytest.raises(InvalidValueError, match='closed'):
        sb.TriangleMesh(corners, faces, bottom_margin=1.0)
    with pytest.raises(InvalidValueError, match='bottom_margin'):
        sb.TriangleMesh(corners, faces[:2], bottom_margin=0.0)


def world_on_ground(**settings):
    """Return a world with a field, its geometry, and the link of a ball resting on it."""
    world = sb.World(**settings)
    field = world.add_body(
        sb.HeightField(np.zeros((21, 21)), (4.0, 4.0)), 'field', motion='static'
    ).geometries[0]
    ball = world.add_body(sb.Sphere(HALF), 'ball', density=1000.0, position=(0.0, 0.0, HALF))
    world.step(600)
    return world, field, ball.root_link


@pytest.mark.parametrize('sleep', [False, True])
def test_a_resting_ball_follows_raised_and_lowered_ground(sleep):
    """Lift a body on a block of heights, and let it fall again, also asleep."""
    world, field, ball = world_on_ground(sleep=sleep)
    assert ball.p[2] == pytest.approx(HALF, abs=1e-5)
    for height in (0.02, 0.05, -0.1):
        field.set_heights(np.full((5, 5), height), 8, 8)
        world.step(2000)
        assert ball.p[2] == pytest.approx(height + HALF, abs=1e-4)
        assert field.shape.heights[8:13, 8:13].tolist() == [[height] * 5] * 5
        assert np.count_nonzero(field.shape.heights) == 25
    far = sb.distance(
        field.shape, ((0, 0, 0), (0, 0, 0, 1)), sb.Sphere(0.1), ((0, 0, 1.0), (0, 0, 0, 1))
    )[0]
    assert far == pytest.approx(1.0, abs=1e-9)


def test_far_raised_ground_is_found_by_the_broad_phase():
    """Let a ball fall onto ground far above its initial height."""
    world, field, ball = world_on_ground()
    ball.robot.set_base_pose((0.0, 0.0, 6.5))
    field.set_heights(np.full((21, 21), 6.0))
    world.step(1500)
    assert ball.p[2] == pytest.approx(6.0 + HALF, abs=1e-4)


def test_changed_heights_are_saved_restored_and_copied():
    """Keep changed heights in snapshots, copies, pickles and additions; reset keeps them."""
    world, field, ball = world_on_ground()
    before = world.save()
    first = world.state_hash()
    field.set_heights([[0.03]], 10, 10)
    assert world.state_hash() != first
    raised = world.save()
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    field.set_heights([[1.5]], 0, 0)
    world.restore(raised)
    assert field.shape.heights[0, 0] == 0.0
    for each in (world, *twins):
        each.step(400)
    assert {each.state_hash() for each in twins} == {world.state_hash()}
    assert ball.p[2] > HALF + 0.025
    world.reset()
    assert field.shape.heights[10, 10] == 0.03
    world.add_body(sb.Sphere(0.1), mass=1.0, position=(1.0, 1.0, 1.0))
    assert field.shape.heights[10, 10] == 0.03
    assert world.add_copy(field.link.robot, 'again').geometries[0].shape.heights[10, 10] == 0.0
    world = twins[0]
    world.restore(before)
    assert world.state_hash() == first


def test_blocks_that_do_not_fit_are_refused():
    """Name the wrong value, and change nothing."""
    world, field, ball = world_on_ground()
    before = world.state_hash()
    for arguments in (
        ([[np.nan]],),
        ([1.0],),
        (np.zeros((3, 3)), 19, 0),
        ([[1.0]], 21, 0),
        ([[1.0]], 0, -1),
        ('high',),
        (np.zeros((0, 3)),),
    ):
        with pytest.raises(InvalidValueError):
            field.set_heights(*arguments)
    with pytest.raises(InvalidValueError, match='HeightField'):
        ball.robot.geometries[0].set_heights([[1.0]])
    assert world.state_hash() == before
    solid = world.add_body(
        sb.HeightField(np.ones((2, 2)), (1.0, 1.0), bottom=0.5), motion='static'
    ).geometries[0]
    with pytest.raises(InvalidValueError, match='0.5'):
        solid.set_heights([[0.4]])


def test_a_field_with_a_bottom_weighs_its_prisms():
    """Sum the prisms below the cells' triangles, against a box and a manual sum."""
    box = sb.HeightField(np.full((3, 4), 0.2), (2.0, 1.0), bottom=-0.1).mass_properties(500.0)
    expected = sb.Box((2.0, 1.0, 0.3)).mass_properties(500.0)
    assert box.mass == pytest.approx(expected.mass, rel=1e-12)
    np.testing.assert_allclose(box.center_of_mass, (0.0, 0.0, 0.05), atol=1e-12)
    np.testing.assert_allclose(box.inertia, expected.inertia, atol=1e-9)

    heights = np.random.default_rng(1).uniform(0.0, 1.0, (6, 5))
    field = sb.HeightField(heights, (2.0, 1.5), bottom=-0.3)
    cell, total = 0.5 * 0.3, 0.0
    for y in range(5):
        for x in range(4):
            a, b, c, d = (
                heights[y, x],
                heights[y, x + 1],
                heights[y + 1, x + 1],
                heights[y + 1, x],
            )
            total += cell / 2 * ((a + b + d) / 3 + 0.3) + cell / 2 * ((b + c + d) / 3 + 0.3)
    world = sb.World(gravity=(0, 0, 0))
    bed = world.add_body(field, density=1300.0)
    assert bed.mass == pytest.approx(1300.0 * total, rel=1e-12)
    # it moves, and a body on it moves along
    ball = world.add_body(sb.Sphere(0.1), mass=1e-3, position=(0.0, 0.0, 1.2))
    bed.set_base_velocity((0.0, 0.0, 0.5))
    world.step(3000)
    assert ball.root_link.v[2] > 0.4
    with pytest.raises(InvalidValueError, match='bottom'):
        sb.World().add_body(sb.HeightField(heights, (2.0, 1.5)))
    with pytest.raises(InvalidValueError, match='bottom'):
        sb.HeightField(heights, (2.0, 1.5), bottom=0.5)


def drive_over_hills(load, turn_on):
    """Drive over a height field for 3 s; return the way along x and heights above the ground."""
    world = sb.World()
    world.add_body(grounds(hills)[0], motion='static')
    robot = load(world)
    world.step(500)
    turn_on(robot)
    start, heights = robot.links[0].p.copy(), []
    for _ in range(30):
        world.step(100)
        p = robot.links[0].p
        heights.append(p[2] - hills(p[0], p[1]))
    assert abs(p[1]) < 0.01
    return p[0] - start[0], np.array(heights)


def test_wheels_drive_over_hills():
    """Roll along the hills' arc by the wheels' rotation, at a wheel's radius above them."""

    def turn_on(robot):
        for end in ('front', 'rear'):
            for side in ('left', 'right'):
                joint = robot.joint(f'{end}_{side}')
                joint.control = 'velocity'
                joint.target_velocity = 4.0

    way, heights = drive_over_hills(
        lambda world: world.load_urdf(vehicles.skid_steered(), position=(-1.2, 0.0, 0.2)), turn_on
    )
    assert 0.95 * 1.2 < way < 1.2
    np.testing.assert_allclose(heights, vehicles.RADIUS, atol=0.015)


def test_crawlers_drive_over_hills():
    """Drive along the hills' arc by the tracks' running length, and stay on the hills."""

    def turn_on(robot):
        for crawler in robot.crawlers:
            crawler.speed = 0.4

    urdf = Path(__file__).parents[2] / 'urdf' / 'tracked_vehicle.urdf'
    way, heights = drive_over_hills(
        lambda world: world.load_urdf(urdf, position=(-1.2, 0.0, 0.3)), turn_on
    )
    assert 0.9 * 1.2 < way <= 1.2 + 1e-3
    assert np.ptp(heights) < 0.03


def test_changed_heights_weigh_on_request():
    """Keep the mass while heights change, until it is computed from them."""
    world = sb.World(gravity=(0, 0, 0))
    bed = world.add_body(
        sb.HeightField(np.full((3, 3), 0.5), (1.0, 2.0), bottom=-0.5), density=10.0
    )
    bed.geometries[0].set_heights(np.full((3, 3), 1.5))
    assert bed.mass == pytest.approx(20.0)
    bed.root_link.update_mass_properties(density=10.0)
    assert bed.mass == pytest.approx(40.0)
    np.testing.assert_allclose(bed.root_link.c, (0.0, 0.0, 0.5), atol=1e-12)
