"""Line shapes: contacts as described for AGX's line."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from ray_shapes import CONVEX, HOLLOW, surfaces

import sim_bridge as sb


@pytest.mark.parametrize('name', [*CONVEX, *HOLLOW, 'mesh', 'height field'])
def test_a_moving_line_is_a_ray_from_outside(name):
    """Return a ray's point, normal and depth, in a step and in a query, without force."""
    shape = {**CONVEX, **HOLLOW, **surfaces()}[name][0]
    world, random = sb.World(), np.random.default_rng(4)
    target = world.add_body(shape, motion='static', position=(0.0, 0.0, 0.1))
    probe = world.add_body(sb.Line((-0.1, 0.2, 3.0), (0.1, -0.1, 0.0)), motion='kinematic')
    hits = 0
    for _ in range(10):
        probe.set_base_pose((*random.uniform(-0.4, 0.4, 2), 0.0))
        start, end = probe.geometries[0].shape.ends + probe.geometries[0].p
        hit = world.raycast(start, end)
        world.step()
        loose = world.overlap_contacts(sb.Line(start, end), skip=probe)
        if hit is None:
            assert len(world.contacts) == len(loose) == 0
            continue
        hits += 1
        (contact,), (found,) = world.contacts, loose
        for point, depth in (contact.position, contact.depth), (found.point, found.depth):
            np.testing.assert_allclose([*point, depth], [*hit.point, hit.depth], atol=1e-12)
        sign = 1.0 if contact.link_a.robot is probe else -1.0
        np.testing.assert_allclose(sign * contact.normal, hit.normal, atol=1e-12)
        np.testing.assert_allclose(found.normal, hit.normal, atol=1e-12)
        (between,) = world.find_contacts()
        np.testing.assert_allclose(
            [*between.point_a, *between.point_b, between.gap],
            [*hit.point, *hit.point, -hit.depth],
            atol=1e-12,
        )
        assert not contact.force.any() and found.geometry is target.geometries[0]
    assert hits > 2


def test_the_first_point_belongs_to_the_endless_line():
    """Enter convex shapes behind the start; miss meshes around the whole segment."""
    world = sb.World()
    world.add_ground(height=-3.0)
    ball = world.add_body(sb.Sphere(0.5), motion='static')
    inner = sb.Line((0.0, 0.0, 0.1), (0.0, 0.0, -0.2))
    (contact,) = world.overlap_contacts(inner)
    np.testing.assert_allclose(
        [*contact.point, *contact.normal, contact.depth], [0, 0, 0.5, 0, 0, 1, 0.7], atol=1e-15
    )
    world.remove(ball)
    box = sb.ConvexHull(np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), -1).reshape(-1, 3))
    world.add_body(sb.TriangleMesh(box.vertices, box.triangles), motion='static')
    assert world.overlap_contacts(inner) == []
    # a plane is entered from above, also behind the start; it is left from below
    (down,) = world.overlap_contacts(sb.Line((2, 0, -4), (2, 0, -5)))
    (up,) = world.overlap_contacts(sb.Line((2, 0, -4), (2, 0, -1)))
    assert (down.depth, up.depth) == pytest.approx((2.0, 2.0))
    assert world.overlap_contacts(sb.Line((2, 0, -5), (2, 0, -4))) == []


def test_lines_cross_lines():
    """Meet at depth 0, with a normal orthogonal to both; pass each other at a distance."""
    world = sb.World()
    world.add_body(sb.Line((-1, 0, 0), (1, 0, 0)), motion='static')
    (contact,) = world.overlap_contacts(sb.Line((0.25, -1, 0), (0.25, 1, 0)))
    np.testing.assert_allclose(contact.point, (0.25, 0, 0), atol=1e-15)
    np.testing.assert_allclose(np.abs(contact.normal), (0, 0, 1), atol=1e-15)
    assert contact.depth == 0.0
    assert world.overlap_contacts(sb.Line((0.25, -1, 1e-6), (0.25, 1, 1e-6))) == []
    assert world.raycast((0, -1, 0), (0, 1, 0), sensors=True) is None


def test_a_line_on_a_body_is_heard_saved_and_weighs_nothing():
    """Report its contacts to listeners, and be the same after a pickle and a restore."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    target = world.add_body(sb.Box((1, 1, 1)), 'target', motion='static', position=(1.0, 0, -1))
    probe = world.add_body(
        [sb.Box((0.1, 0.1, 0.1)), sb.Placed(sb.Line((0, 0, 0), (0, 0, -1)))], mass=1.0
    )
    assert probe.root_link.c == pytest.approx((0, 0, 0))
    probe.set_base_velocity((1.0, 0.0, 0.0))
    heard = []
    listener = world.on_contact(
        lambda event: heard.append((event.kind, event.geometry_a.name)),
        probe,
        target,
        events=('impact', 'separation'),
    )
    world.step(2000)
    assert [kind for kind, _ in heard] == ['impact', 'separation']
    assert probe.root_link.p == pytest.approx((2, 0, 0)), 'nothing pushed it'
    listener.remove()
    snapshot, other = world.save(), pickle.loads(pickle.dumps(world))
    world.step(5)
    other.step(5)
    assert other.state_hash() == world.state_hash()
    world.restore(snapshot)
    assert world.distance(probe.geometries[1], target).distance == pytest.approx(0.5)
    assert len(sb.view.Scene(world).parts) == 3


def test_wrong_lines_are_refused():
    """Refuse equal ends, lines with force, and lines with mass."""
    world = sb.World()
    with pytest.raises(sb.InvalidValueError, match='apart from the start'):
        sb.Line((1, 2, 3), (1, 2, 3))
    with pytest.raises(sb.InvalidValueError, match='at most'):
        sb.Line((1, 2, 3), (1, 2, 1e200))
    with pytest.raises(sb.InvalidValueError, match='start'):
        sb.Line((1, 2, np.nan), (1, 2, 3))
    line = world.add_body(sb.Line((0, 0, 0), (1, 0, 0)), motion='kinematic').geometries[0]
    with pytest.raises(sb.InvalidValueError, match='True for a line'):
        line.sensor = False
    with pytest.raises(sb.InvalidValueError, match='volume'):
        world.add_body(sb.Line((0, 0, 0), (1, 0, 0)), mass=1.0)
    world.load_scene(
        {'world': {'objects': {'l': {'motion': 'kinematic', 'line': [[0, 0, 0], [1, 0, 0]]}}}}
    )
    assert world.robots['l'].geometries[0].shape == sb.Line((0, 0, 0), (1, 0, 0))
    with pytest.raises(Exception, match='two points'):
        world.load_scene({'world': {'objects': {'m': {'motion': 'static', 'line': [[0, 1]]}}}})
