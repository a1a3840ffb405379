"""Contacts of shapes outside any world, overlapping boxes, sensors for kinematic bodies."""

from __future__ import annotations

import numpy as np
import pytest
from ray_shapes import CONVEX, surfaces

import sim_bridge as sb

SHAPES = {name: shape for name, (shape, _) in CONVEX.items()}


@pytest.mark.parametrize('name', [*SHAPES, 'mesh', 'height field'])
def test_the_greatest_depth_is_the_negative_distance(name):
    """Agree with `distance` on the depth of loose shapes in geometries."""
    shape = SHAPES.get(name) or surfaces()[name][0]
    random, world = np.random.default_rng(8), sb.World()
    body = world.add_body(shape, 'body', motion='static', position=(0.1, 0.2, 0.3))
    world.add_body(sb.Sphere(0.1), 'far', motion='static', position=(90, 0, 0))
    touching = 0
    before = world.state_hash()
    for loose in (sb.Sphere(0.3), sb.Box((0.3, 0.4, 0.5)), sb.Capsule(0.1, 0.4)):
        for _ in range(8):
            q = random.normal(size=4)
            pose = random.uniform(-0.8, 0.8, 3), q / np.linalg.norm(q)
            found = world.overlap_contacts(loose, *pose)
            gap = sb.distance(loose, pose, shape, ((0.1, 0.2, 0.3), (0, 0, 0, 1)))
            assert bool(found) == (gap.distance <= 0.0)
            touching += bool(found)
            for contact in found:
                assert contact.geometry is body.geometries[0]
                assert contact.depth >= 0.0
                assert np.linalg.norm(contact.normal) == pytest.approx(1.0)
            if found and name not in SHAPES:
                # along triangle normals it may be deeper
                assert max(each.depth for each in found) >= -gap.distance - 1e-6
            elif found:
                deepest = max(found, key=lambda each: each.depth)
                assert deepest.depth == pytest.approx(-gap.distance, abs=1e-6)
                np.testing.assert_allclose(deepest.normal, gap.normal, atol=1e-3)
    assert touching > 3
    assert world.state_hash() == before


def test_a_shape_pushed_out_by_the_depth_just_touches():
    """Move a ball along the normal by the depth, and find depth 0; respect skipped geometries."""
    world = sb.World()
    ground = world.add_ground()
    box = world.add_body(sb.Box((1, 1, 1)), motion='static', position=(0, 0, 0.4))
    ball, place = sb.Sphere(0.2), np.array((0.1, 0.2, 1.05))
    (contact,) = world.overlap_contacts(ball, place)
    np.testing.assert_allclose(contact.normal, (0, 0, 1), atol=1e-12)
    assert contact.depth == pytest.approx(0.05, abs=1e-12)
    np.testing.assert_allclose(contact.point, (0.1, 0.2, 0.875), atol=1e-12)
    moved = place + (contact.depth + 1e-9) * contact.normal
    assert world.overlap_contacts(ball, moved) == []
    low = (0.0, 0.0, 0.1)
    both = {each.geometry.link.robot.name for each in world.overlap_contacts(ball, low)}
    assert both == {'ground', 'body'}
    assert all(
        each.geometry.link.robot is box for each in world.overlap_contacts(ball, low, skip=ground)
    )
    assert world.overlap_contacts(ball, low, skip=[ground, box.root_link]) == []
    with pytest.raises(sb.InvalidValueError, match='shape'):
        world.overlap_contacts('ball')
    with pytest.raises(sb.InvalidValueError, match='skip'):
        world.overlap_contacts(ball, skip='ground')


def test_boxes_around_geometries():
    """Find the geometries whose world-aligned bounding boxes overlap, at the current state."""
    world = sb.World(gravity=(0, 0, 0))
    world.add_ground(height=-5.0)
    turned = world.add_body(
        sb.Box((1, 1, 1)),
        'turned',
        mass=1.0,
        position=(3, 0, 0),
        orientation=(0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)),
    )
    corner = [(2.31, 0.6, -0.1), (2.32, 0.65, 0.1)]

    def names(box):
        return [geometry.link.robot.name for geometry in world.overlapping(box)]

    # overlaps its bounding box, not its shape
    assert names(corner) == ['turned']
    assert world.overlaps(sb.Sphere(0.01), corner[0]) == []
    assert names([(2.0, 0, 0), (2.28, 1, 1)]) == []
    assert names([(-1, -1, -9), (1, 1, -4)]) == ['ground']
    assert names([(-9, -9, -9), (9, 9, 9)]) == ['ground', 'turned']
    turned.set_base_velocity((10, 0, 0))
    world.step(100)
    assert names(corner) == []
    for wrong in ([(0, 0, 0)], [(1, 1, 1), (0, 0, 0)], [(0, 0, 0), (np.nan, 1, 1)], 'box'):
        with pytest.raises(sb.InvalidValueError, match='box'):
            world.overlapping(wrong)


def test_sensors_see_kinematic_bodies_on_static_ones():
    """Report a car moved through a static zone, and push nothing; also after a restore."""
    world = sb.World()
    zone = world.add_body(sb.Placed(sb.Box((1, 1, 1)), sensor=True), 'zone', motion='static')
    world.add_ground(height=-0.2)
    car = world.add_body(
        sb.Cylinder(0.1, 0.1),
        'car',
        motion='kinematic',
        position=(-1, 0, 0),
        linear_velocity=(1, 0, 0),
    )
    seen = []
    for _ in range(20):
        world.step(100)
        seen.append(world.contact_count > 0)
    # its rim enters 0.4 s after the start, and leaves after 1.6 s
    assert seen[4:15] == [True] * 11
    assert not any(seen[:3] + seen[16:])
    np.testing.assert_allclose(car.root_link.p, (1, 0, 0), atol=1e-12)
    car.set_base_pose((0, 0, 0))
    world.step()
    pair = {
        geometry.link.robot.name
        for contact in world.contacts
        for geometry in (contact.geometry_a, contact.geometry_b)
    }
    assert pair == {'zone', 'car'}
    assert not world.contacts.forces.any()
    saved = world.save()
    zone.geometries[0].sensor = False
    world.step()
    assert world.contact_count == 0
    world.restore(saved)
    world.step()
    assert world.contact_count > 0


CUBE = sb.ConvexHull(
    np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.2
)
DEEP = {
    'hull': CUBE,
    'box': sb.Box((0.4, 0.4, 0.4)),
    'mesh': sb.TriangleMesh(CUBE.vertices, CUBE.triangles),
    'ball': sb.Sphere(0.2),
    'cylinder': sb.Cylinder(0.2, 0.4),
    'capsule': sb.Capsule(0.15, 0.2),
}


@pytest.mark.parametrize('name', DEEP)
def test_shapes_deep_in_a_closed_mesh_are_pushed_out(name):
    """Let shapes overlap a cube of triangles by more than half; contacts lead them out."""
    turns = ((0.0, 0.0, 0.0, 1.0), (0.2, -0.1, 0.3, 1.0))
    for offset in ((0.11, 0.03, 0.01), (0.02, -0.14, 0.05)):
        for turn in turns:
            world = sb.World(time_step=0.005, gravity=(0, 0, 0))
            fixed = world.add_body(DEEP['mesh'], motion='static')
            orientation = np.array(turn) / np.linalg.norm(turn)
            body = world.add_body(
                DEEP[name],
                mass=1.0,
                inertia=(0.02, 0.02, 0.02),
                center_of_mass=(0, 0, 0),
                position=offset,
                orientation=orientation,
            )
            assert world.distance(fixed, body).distance < -0.01
            assert world.find_contacts(margin=0.0)
            # a correction moves with at most 0.1 m/s
            world.step(900)
            assert world.distance(fixed, body).distance > -1e-3
            assert np.linalg.norm(body.root_link.v) < 1e-6
