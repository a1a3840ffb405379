"""Shapes added, moved, removed and excluded while a world runs."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_ball, add_block, G, grounded
import numpy as np
import pytest
from robots import joint, link, robot
from shipped import path_of

import sim_bridge as sb

HALF_TURN = (0.0, 0.0, 1.0, 0.0)
LEG = sb.Placed(sb.Sphere(0.05), position=(0.1, 0.0, -0.2), name='leg')


def grouped(body):
    """Add shapes in more groups than allowed: at most 63 different ones per world."""
    world = body.robot.world
    before = world.save(), len(body.geometries)
    try:
        for k in range(70):
            name = f'group {k}'
            world.set_group_collision(name, name, False)
            body.add_geometry(sb.Placed(sb.Sphere(0.01), groups=[name]))
    finally:
        assert len(body.geometries) == len(body.robot.slot.geometries) > before[1]
        for geometry in body.geometries[before[1] :]:
            geometry.remove()
        world.restore(before[0])


# --- adding and removing -------------------------------------------------------------------------


def test_an_added_shape_is_as_one_from_the_start():
    """Match, bit by bit, a body with the shapes from the beginning; its mass stays."""
    results = []
    for is_late in (False, True):
        world = grounded()
        first, legs = (
            sb.Box((0.3, 0.3, 0.1)),
            [
                sb.Placed(sb.Sphere(0.05), position=(x, y, -0.2))
                for x in (-0.1, 0.1)
                for y in (-0.1, 0.1)
            ],
        )
        table = world.add_body(
            [first, *legs[: 0 if is_late else 4]],
            mass=2.0,
            inertia=(0.1, 0.1, 0.1),
            center_of_mass=(0, 0, 0),
            position=(0, 0, 0.26),
        )
        other = add_block(world, at=(2.0, 0.0), lift=0.01)
        world.step(3)
        if is_late:
            for leg in legs:
                assert table.root_link.add_geometry(leg).link is table.root_link
            assert [each.index for each in world.geometries] == [0, 1, 2, 3, 4, 5, 6]
        assert table.mass == 2.0
        world.step(300)
        assert world.contacts.force_on(table)[2] == pytest.approx(2.0 * G, rel=1e-6)
        assert world.contacts.force_on(other)[2] == pytest.approx(2.0 * G, rel=1e-6)
        results.append(world.state_hash())
    assert results[0] == results[1]


def test_a_body_gets_its_first_contacts_by_an_added_shape():
    """Start to collide in a world without contacts so far, with the shapes' mass on request."""
    world = sb.World()
    body = world.add_body([], mass=1.0, inertia=(1, 1, 1), position=(0, 0, 0.5))
    ground = world.add_body([], motion='static')
    world.step(10)
    plane = ground.root_link.add_geometry(sb.Plane())
    ball = body.root_link.add_geometry(sb.Sphere(0.1), material=sb.Material('lead', density=11e3))
    assert (body.mass, ball.material.name, plane.material.name) == (1.0, 'lead', 'default')
    world.step(600)
    assert body.root_link.p[2] == pytest.approx(0.1, abs=1e-4)
    body.root_link.update_mass_properties()
    assert body.mass == pytest.approx(11e3 * 4 / 3 * np.pi * 1e-3)
    world.step()
    assert world.contacts.force_on(ball)[2] == pytest.approx(body.mass * G, rel=1e-3)


def test_a_removed_shape_is_gone():
    """Let bodies on it fall, keep the other contacts, and refuse its use."""
    world = grounded()
    table = world.add_body(
        [
            sb.Sphere(0.1),
            LEG,
            sb.Placed(sb.Box((0.1, 0.1, 0.1)), position=(0, 0, 1.0), material='default'),
        ],
        mass=1.0,
        motion='static',
        position=(0, 0, 0.5),
    )
    ball = add_ball(world, lift=1.45)
    ball.root_link.add_geometry(sb.Placed(sb.Box((0.02, 0.02, 0.02)), name='mark', sensor=True))
    block = add_block(world, at=(2.0, 0.0))
    world.step(100)
    forces = world.contacts.force_on(block)
    assert world.contacts.force_on(ball)[2] == pytest.approx(2.0 * G, rel=1e-6)
    leg, top = table.geometries[1:]
    leg.surface_velocity = (1.0, 0.0, 0.0)
    top.groups = {'furniture'}
    table.geometries[0].remove()
    assert [each.name for each in table.geometries] == ['leg', top.name]
    np.testing.assert_array_equal(leg.surface_velocity, (1.0, 0.0, 0.0))
    assert top.groups == {'furniture'}
    np.testing.assert_array_equal(world.contacts.force_on(block), forces)
    assert world.contacts.force_on(ball, by=top)[2] == pytest.approx(2.0 * G, rel=1e-6)
    top.remove()
    assert not world.contacts.force_on(ball).any()
    world.step(100)
    assert ball.root_link.v[2] == pytest.approx(-G * 0.1, rel=1e-6)
    np.testing.assert_allclose(world.contacts.force_on(block), forces, atol=1e-6)
    for use in (
        lambda: top.enabled,
        lambda: top.remove(),
        lambda: setattr(top, 'position', LEG),
        lambda: setattr(top, 'groups', {'x'}),
        lambda: top.index,
        lambda: top.p,
        lambda: top.R,
        lambda: top.position,
        lambda: top.orientation,
    ):
        with pytest.raises(sb.StateError, match='was removed from its link'):
            use()


@pytest.mark.parametrize('late', [False, True])
def test_changed_shapes_are_kept(late):
    """Keep added, placed and removed shapes in copies, pickles, snapshots and after changes."""
    world = grounded({'friction': 0.5, 'friction2': 0.1})
    world.add_body(sb.Sphere(0.1), position=(5, 0, 0.1))
    body = add_block(world, lift=0.01, linear_velocity=(0.5, 0.5, 0.0))
    arm = world.load_urdf(path_of('arm'), position=(-3.0, 0.0, 0.0))
    tip = arm.links[-1].add_geometry(sb.Sphere(0.03))
    world.exclude(tip, body.geometries[0])
    removed = body.root_link.add_geometry(sb.Sphere(0.3))
    body.root_link.add_geometry(LEG)
    removed.remove()
    if late:
        world.step(50)
    body.geometries[0].position = (0.05, 0.0, 0.0)
    body.geometries[0].friction_direction = (0.0, 1.0, 0.0)
    snapshot = world.save()
    others = [world.copy(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(100)
    bits = world.state_hash()
    for other in others:
        own = other.robots['body_2']
        assert [each.name for each in own.geometries] == ['body_2_collision_0', 'leg']
        np.testing.assert_array_equal(own.geometries[0].position, (0.05, 0.0, 0.0))
        other.step(100)
        assert other.state_hash() == bits
    body.geometries[0].orientation = HALF_TURN
    body.geometries[0].position = (0.0, 0.0, 0.2)
    world.exclude(tip, body.geometries[0], False)
    world.restore(snapshot)
    np.testing.assert_array_equal(body.geometries[0].position, (0.05, 0.0, 0.0))
    np.testing.assert_array_equal(body.geometries[0].orientation, (0.0, 0.0, 0.0, 1.0))
    world.step(100)
    assert world.state_hash() == bits
    body.motion = 'kinematic'
    body.motion = 'dynamic'
    np.testing.assert_array_equal(body.geometries[0].position, (0.05, 0.0, 0.0))
    assert body.geometries[1].name == 'leg'
    world.step(2)
    body.geometries[1].remove()
    with pytest.raises(sb.InvalidValueError, match='same geometries and joints'):
        world.restore(snapshot)


# --- placing -------------------------------------------------------------------------------------


def test_a_moved_shape_collides_at_its_new_place():
    """Rest at the shape's height, and wake when it leaves; its pose and distance follow."""
    world = grounded(sleep=True)
    body = add_ball(world, lift=0.0)
    world.step(50)
    assert body.is_asleep
    own = body.geometries[0]
    own.position = (0.0, 0.0, 0.05)
    assert not body.is_asleep
    np.testing.assert_allclose(own.p, (0.0, 0.0, 0.15))
    assert world.distance(own, world.robots['ground']).distance == pytest.approx(0.05)
    world.step(300)
    assert body.root_link.p[2] == pytest.approx(0.05, abs=1e-4)
    box = add_block(world, size=(0.6, 0.2, 0.1), at=(3.0, 0.0))
    box.geometries[0].orientation = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    assert world.distance(box, world.robots['ground']).distance == pytest.approx(-0.05)
    np.testing.assert_allclose(box.geometries[0].R[:, 1], (0, 0, 1), atol=1e-12)


def test_friction_direction_follows_its_setting():
    """Brake by the second coefficient across it, before and after its rotation."""
    world = grounded({'friction': 0.4, 'friction2': 0.1})
    block = add_block(world, fdir1=(1.0, 0.0, 0.0))
    own = block.geometries[0]
    for direction, mu in (((1, 0, 0), 0.4), ((0, 2, 0), 0.1), ((1, 0, 0), 0.4)):
        own.friction_direction = direction
        np.testing.assert_allclose(own.friction_direction, np.array(direction) / max(direction))
        block.set_base_velocity((1.0, 0.0, 0.0), (0, 0, 0))
        world.step(20)
        assert block.root_link.v[0] == pytest.approx(1.0 - mu * G * 0.02, rel=1e-6)
    own.friction_direction = None
    assert own.friction_direction is None


# --- keeping apart -------------------------------------------------------------------------------


def test_pairs_of_geometries_are_excluded():
    """Fall through by one shape and rest on another, until the pair may touch again."""
    world = grounded()
    ground = world.robots['ground'].geometries[0]
    shapes = [sb.Placed(sb.Sphere(0.1), position=(0, 0, z)) for z in (0.0, 0.3)]
    body = world.add_body(shapes, mass=1.0, inertia=(1, 1, 1), position=(0, 0, 0.1))
    low, high = body.geometries
    ball = add_ball(world, at=(2.0, 0.0))
    world.exclude(low, ground)
    for _ in range(2):
        # others are excluded too, in any order
        world.exclude(ball.geometries[0], low)
    world.exclude(body.root_link, ball.root_link)
    world.step(600)
    assert body.root_link.p[2] == pytest.approx(-0.2, abs=1e-4)
    assert world.contacts.force_on(high)[2] == pytest.approx(G, rel=1e-6)
    assert ball.root_link.p[2] == pytest.approx(0.1, abs=1e-4)
    with_pair = world.state_hash()
    world.exclude(low, ground, False)
    assert world.state_hash() != with_pair
    world.step(400)
    # a wholly submerged shape comes back slowly
    assert body.root_link.p[2] > -0.19
    world.exclude(high, ground), world.exclude(ground, low)
    world.remove(body)
    world.step()
    assert len(world.simulation.registry.exclusions.geometries) == 0


def test_a_world_of_excluded_geometries_finds_no_contacts():
    """Let the only pair pass through each other, and remove its contacts."""
    world = sb.World()
    world.add_ground()
    ball = add_ball(world)
    world.step(10)
    assert world.contact_count == 1
    world.exclude(ball.geometries[0], world.robots['ground'].geometries[0])
    world.step(10)
    assert world.contact_count == 0
    assert ball.root_link.v[2] == pytest.approx(-G * 0.01)


# --- wrong changes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda own, body: body.add_geometry('box'), 'shapes = '),
        (lambda own, body: body.add_geometry([sb.Sphere(1), sb.Sphere(2)]), 'expected one shape'),
        (lambda own, body: body.add_geometry(sb.Plane()), 'a Plane cannot move'),
        (lambda own, body: body.add_geometry(sb.Placed(sb.Sphere(1), name=own.name)), 'no other'),
        (lambda own, body: body.add_geometry(sb.Sphere(1), material='gold'), "'gold'"),
        (lambda own, body: grouped(body), 'number of different sets of collision groups'),
        (lambda own, body: setattr(own, 'position', (0, 0)), 'position = '),
        (lambda own, body: setattr(own, 'orientation', (0, 0, 0, 0)), 'orientation = '),
        (lambda own, body: setattr(own, 'friction_direction', (0, 0, 0)), 'friction_direction = '),
        (lambda own, body: body.robot.world.exclude(own, body), 'b = .*a link if a is a link'),
        (lambda own, body: body.robot.world.exclude(own, own), 'b = .*another geometry'),
        (lambda own, body: body.robot.world.exclude(body, 'x'), "b = 'x'.*a link or a geometry"),
        (
            lambda own, body: body.robot.world.exclude(add_ball(sb.World()).geometries[0], own),
            'a = .*of this world',
        ),
    ],
)
def test_wrong_changes_change_nothing(change, words):
    """Name the defect, and keep everything."""
    world = grounded()
    body = add_block(world)
    world.step(5)
    before = world.state_hash()
    with pytest.raises(sb.SimBridgeError, match=words):
        change(body.geometries[0], body.root_link)
    assert world.state_hash() == before
    assert len(world.materials) == 1


def test_merged_links_take_shapes():
    """Place a shape by the link's frame on its body, and keep the robot's collision exclusions."""
    world = grounded()
    arm = world.load_urdf(
        robot(
            link('world', 0.0),
            link('low', 1.0),
            link('high', 1.0),
            joint('lift', 'world', 'low', 'prismatic', (0, 0, 1), (0, 0, 1.0)),
            joint('weld', 'low', 'high', 'fixed', (0, 0, 1), (0.3, 0.0, -0.4)),
        )
    )
    foot = arm.link('high').add_geometry(sb.Placed(sb.Sphere(0.1), position=(0.0, 0.0, -0.1)))
    np.testing.assert_allclose(foot.p, (0.3, 0.0, 0.5))
    world.step(600)
    np.testing.assert_allclose(foot.p, (0.3, 0.0, 0.1), atol=1e-4)
    assert world.contacts.force_on(arm)[2] == pytest.approx(2.0 * G, rel=1e-5)
    tank = sb.World()
    tank.add_ground()
    vehicle = tank.load_urdf(path_of('tracked_vehicle'), position=(0, 0, 0.14))
    vehicle.crawlers[0].speed = 0.2
    own = vehicle.crawlers[0].link.add_geometry(sb.Sphere(0.01))
    assert tank.simulation.cache.geometry.track[own.index, 3] == 0.2
    tank.step(10)
