"""Contact laws beyond two materials: frames, masses, depths."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_block, G, grounded, push
import numpy as np
import pytest

import sim_bridge as sb

MU, MU2 = 0.3, 0.1
GRAVITY = 9.80665  # used by box friction


def sliding(world, body, velocity, steps=200):
    """Let a body slide from a velocity, (2,); return its mean deceleration, (2,)."""
    body.set_base_velocity((*velocity, 0.0), (0.0, 0.0, 0.0))
    world.step(steps)
    return (np.array(velocity) - body.root_link.v[:2]) / (steps * world.time_step)


def oriented(angle, frame=None, **law):
    """
    Return a world with a block on a table rotated by an angle, and the block.

    frame: function from table and block to the direction's frame, whose axis is x.
    """
    world = sb.World()
    for name in ('wood', 'steel'):
        world.materials.add(sb.Material(name))
    turned = (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))
    table = world.add_body(
        sb.Placed(sb.Box((9.0, 9.0, 0.2)), orientation=turned),
        'table',
        motion='kinematic',
        position=(0.0, 0.0, -0.1),
        material='wood',
    )
    block = add_block(world, name='block', material='steel')
    direction = (frame(table, block) if frame else None), (1.0, 0.0, 0.0)
    world.set_contact_material(
        'steel', 'wood', sb.ContactMaterial(friction=MU, friction2=MU2, direction=direction, **law)
    )
    world.step(20)
    return world, table, block


# --- direction -----------------------------------------------------------------------------------


@pytest.mark.parametrize('model', ['cone', 'pyramid', 'box'])
@pytest.mark.parametrize(
    ('frame', 'angle', 'expected'),
    [
        (None, 0.7, 0.0),
        (lambda table, block: table, 0.7, 0.0),
        (lambda table, block: table.geometries[0], 0.7, 0.7),
        (lambda table, block: ('block', 'block'), 0.7, 0.0),
        (lambda table, block: 'table', 0.7, 0.0),
    ],
)
def test_direction_brakes_by_each_coefficient(model, frame, angle, expected):
    """Brake by mu_u g along the axis and by mu_v g across, in any frame."""
    gravity = GRAVITY if model == 'box' else G
    for coefficient, turn in ((MU, 0.0), (MU2, np.pi / 2)):
        world, _, block = oriented(angle, frame, friction_model=model)
        along = np.array([np.cos(expected + turn), np.sin(expected + turn)])
        found = sliding(world, block, along)
        np.testing.assert_allclose(found, coefficient * gravity * along, atol=1e-6)


def test_direction_turns_with_its_frame():
    """Follow the frame while it rotates: across it the block brakes by mu_v g."""
    world, table, block = oriented(0.0, lambda table, block: table)
    for angle in (0.5, 1.3):
        table.set_base_pose((0.0, 0.0, -0.1), (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)))
        world.step()
        for coefficient, turn in ((MU, 0.0), (MU2, np.pi / 2)):
            along = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            np.testing.assert_allclose(
                sliding(world, block, along), coefficient * G * along, atol=1e-6
            )


def test_direction_of_a_pair_overrides_the_shapes():
    """Use the contact material's direction, although the block has one."""
    world = grounded({'friction': MU, 'friction2': MU2, 'direction': (None, (0.0, 2.0, 0.0))})
    block = add_block(world, fdir1=(1.0, 0.0, 0.0))
    world.step(20)
    np.testing.assert_allclose(sliding(world, block, (1.0, 0.0)), (MU2 * G, 0.0), atol=1e-6)


def test_direction_goes_with_its_robot():
    """Refuse a frame outside the world, and drop the direction when its robot is removed."""
    world, table, block = oriented(0.0, lambda table, block: table)
    for frame, words in (('chair', 'table'), (('table', 'leg'), 'table')):
        law = sb.ContactMaterial(direction=(frame, (1, 0, 0)))
        with pytest.raises(sb.UnknownNameError, match=words):
            world.set_contact_material('steel', 'wood', law)
    world.remove(table)
    assert world.materials.contact_material('wood', 'steel').direction is None
    world.add_ground(material='wood')
    world.step(10)


def test_direction_finds_its_body_when_others_come():
    """Keep the frame when body indices change, and in copies, pickles and snapshots."""
    world, table, block = oriented(0.0, lambda table, block: table)
    first = world.add_body(sb.Sphere(0.1), mass=1.0, position=(3.0, 0.0, 1.0))
    world.step(10)
    world.remove(first)
    block.set_base_velocity((0.3, 0.4, 0.0), (0.0, 0.0, 0.0))
    snapshot, others = world.save(), [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(100)
    expected = world.state_hash()
    world.set_contact_material('steel', 'wood', None)
    world.step(10)
    world.restore(snapshot)
    for each in (world, *others):
        if each is not world:
            each.step(100)
            assert each.state_hash() == expected
    world.step(100)
    assert world.state_hash() == expected


# --- friction by masses, by a given normal force, by depth --------------------------------------


@pytest.mark.parametrize('load', [0.0, 100.0])
def test_box_friction_does_not_know_the_load(load):
    """Brake by mu (m1 + m2) 9.80665 in each direction, unchanged under 100 N more."""
    world = grounded({'friction_model': 'box', 'friction': MU, 'friction2': MU2})
    block = add_block(world, mass=2.0, fdir1=(1.0, 0.0, 0.0))
    world.step(20)
    block.set_base_velocity((1.0, 1.0, 0.0), (0.0, 0.0, 0.0))
    push(world, block.root_link, (0.0, 0.0, -load), 100)
    lost = 0.1 * GRAVITY * np.array([MU, MU2, 0.0])
    np.testing.assert_allclose(block.root_link.v, (1.0, 1.0, 0.0) - lost, atol=1e-7)


def test_box_friction_takes_the_masses_of_both_bodies():
    """Slide one block on another: the bound has both masses, the load only the upper one."""
    world = sb.World()
    world.set_contact_material(
        'default', 'default', sb.ContactMaterial(friction_model='box', friction=MU)
    )
    world.materials.add(sb.Material('ice', friction=0.0))
    world.set_contact_material('ice', 'default', sb.ContactMaterial(friction=0.0))
    world.add_ground(material='ice')
    lower = add_block(world, size=(4.0, 4.0, 0.1), mass=3.0)
    upper = add_block(world, mass=2.0, lift=0.1)
    world.step(20)
    upper.set_base_velocity((1.5, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(50)
    impulse = 0.05 * MU * (3.0 + 2.0) * GRAVITY
    np.testing.assert_allclose(upper.root_link.v[0], 1.5 - impulse / 2.0, atol=1e-7)
    np.testing.assert_allclose(lower.root_link.v[0], impulse / 3.0, atol=1e-7)


def test_friction_of_a_given_normal_force():
    """Brake by mu F at each of four points, under any load."""
    law = {
        'friction_model': 'constant_normal_force',
        'normal_force': 5.0,
        'friction': MU,
        'friction2': MU2,
    }
    world = grounded(law)
    block = add_block(world, mass=2.0, fdir1=(1.0, 0.0, 0.0))
    world.step(20)
    found = sliding(world, block, (1.0, 1.0), 100)
    np.testing.assert_allclose(found, 4 * 5.0 / 2.0 * np.array([MU, MU2]), atol=1e-6)


@pytest.mark.parametrize('factor', [1.0, 2.5])
def test_friction_of_a_given_normal_force_grows_with_the_depth(factor):
    """Brake by mu F d k at each of four points with depth d."""
    stiffness, force = 2000.0, 3000.0
    world = grounded(
        {
            'friction_model': 'constant_normal_force',
            'normal_force': force,
            'friction': MU,
            'depth_factor': factor,
            'stiffness': stiffness,
            'damping': 100.0,
        }
    )
    block = add_block(world, mass=2.0)
    world.step(2000)
    depth = 2.0 * G / (4 * stiffness)
    found = sliding(world, block, (1.0, 0.0), 50)
    np.testing.assert_allclose(found[0], 4 * MU * force * depth * factor / 2.0, rtol=1e-5)


# --- fewer points --------------------------------------------------------------------------------


def comb(world, number=5, **options):
    """Add a plate on number x number feet, each a box with its four corners."""
    feet = [
        sb.Placed(sb.Box((0.02, 0.02, 0.04)), position=(0.1 * i - 0.2, 0.1 * k - 0.2, 0.02))
        for i in range(number)
        for k in range(number)
    ]
    plate = sb.Placed(sb.Box((0.5, 0.5, 0.02)), position=(0.0, 0.0, 0.05))
    return world.add_body([*feet, plate], mass=4.0, **options)


@pytest.mark.parametrize(('bins', 'most'), [(2, 4), (3, 9), (10, 100)])
def test_reduction_keeps_few_points_in_bins(bins, most):
    """Bear the whole weight with at most one point per bin, and list the others."""
    world = grounded({'reduce': True, 'bins': bins, 'friction': MU})
    comb(world)
    world.step()
    contacts = world.contacts
    assert len(contacts) == 100
    bearing = np.linalg.norm(contacts.forces, axis=1) > 0.0
    assert 0 < np.count_nonzero(bearing) <= most
    np.testing.assert_allclose(np.abs(contacts.forces[:, 2].sum()), 4.0 * G, rtol=1e-6)


def test_reduced_body_stands_and_slides_as_the_whole_one():
    """Rest at the same height and brake by mu g, with and without reduction."""
    for law in ({'reduce': True}, {'reduce': False}, {}):
        world = grounded({'friction': MU} | law)
        body = comb(world)
        world.step(200)
        np.testing.assert_allclose(body.root_link.p, np.zeros(3), atol=2e-9)
        np.testing.assert_allclose(sliding(world, body, (1.0, 0.0), 100), (MU * G, 0.0), atol=1e-6)
        np.testing.assert_allclose(body.root_link.w, np.zeros(3), atol=1e-7)


def test_materials_reduce_only_if_both_say_so():
    """Reduce only between two materials with reduction, as in AGX."""
    for both in (True, False):
        world = sb.World()
        world.add_ground(material=sb.Material('floor', reduce=both))
        comb(world, material=sb.Material('foot', reduce=True))
        world.step()
        bearing = np.count_nonzero(np.linalg.norm(world.contacts.forces, axis=1) > 0.0)
        assert (bearing <= 9) == both


def test_tilted_bodies_keep_the_deepest_point():
    """Bear a tilted comb on its lowest edge, whatever its other points."""
    tilted = (0.0, np.sin(0.05), 0.0, np.cos(0.05))
    depths = []
    for reduce in (True, False):
        world = grounded({'reduce': reduce})
        body = comb(world, position=(0.0, 0.0, 0.0), orientation=tilted)
        body.set_base_pose((0.0, 0.0, 0.21 * np.sin(0.1)), tilted)
        world.step(400)
        depths.append(body.root_link.p)
    np.testing.assert_allclose(depths[0], depths[1], atol=1e-6)


# --- contact area --------------------------------------------------------------------------------

MODULUS = 1e6


def elastic(**law):
    """Return a world with ground and the contact area approach."""
    return grounded({'stiffness': MODULUS, 'damping': 0.02 * MODULUS, 'contact_area': True} | law)


def test_depth_is_pressure_over_modulus_times_rest_length():
    """Sink by m g L / (E A): a quarter of the depth for four times the footprint."""
    depths = []
    for size in ((0.1, 0.2, 0.03), (0.2, 0.4, 0.03)):
        world = elastic()
        block = add_block(world, size=size, mass=5.0)
        world.step(2000)
        depth = size[2] / 2 - block.root_link.p[2]
        assert depth == pytest.approx(5.0 * G * size[2] / (MODULUS * size[0] * size[1]), rel=1e-6)
        depths.append(depth)
    assert depths[0] == pytest.approx(4.0 * depths[1], rel=1e-6)


@pytest.mark.parametrize(
    ('limits', 'height', 'length'),
    [
        ({}, 0.2, 0.05),
        ({'max_rest_length': 0.1}, 0.2, 0.1),
        ({'min_rest_length': 0.04}, 0.02, 0.04),
    ],
)
def test_rest_length_stays_within_its_limits(limits, height, length):
    """Take the block's height as rest length, within the law's limits."""
    world = elastic(**limits)
    block = add_block(world, size=(0.2, 0.3, height), mass=5.0)
    world.step(2000)
    depth = height / 2 - block.root_link.p[2]
    assert depth == pytest.approx(5.0 * G * length / (MODULUS * 0.06), rel=1e-6)


def test_round_bodies_press_as_on_an_elastic_foundation():
    """Bear E / L times the overlap volume: pi R d² of a ball, 4/3 l d sqrt(2 R d) of a rod."""
    radius, length, mass = 0.1, 0.5, 2.0
    foundation = MODULUS / 0.05
    for shape, volume in (
        (sb.Sphere(radius), lambda d: np.pi * radius * d * d),
        (
            sb.Capsule(radius, length),
            lambda d: np.pi * radius * d * d + (4 / 3 * length * d * np.sqrt(2 * radius * d)),
        ),
    ):
        world = elastic()
        body = world.add_body(
            shape,
            mass=mass,
            position=(0.0, 0.0, radius),
            orientation=(0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)),
        )
        world.step(3000)
        depth = radius - body.root_link.p[2]
        assert foundation * volume(depth) == pytest.approx(mass * G, rel=1e-5)


def test_corner_has_an_area():
    """Bear a block on its corner without a division by zero area."""
    world = elastic()
    body = world.add_body(
        sb.Box((0.1, 0.1, 0.1)),
        mass=1.0,
        position=(0.0, 0.0, 0.09),
        orientation=(0.3647, 0.2798, 0.1159, 0.8805),
    )
    for _ in range(300):
        world.step()
        assert np.isfinite(body.root_link.p).all()
    assert body.root_link.p[2] > 0.04


# --- wrong laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('law', 'words'),
    [
        ({'normal_force': 3.0}, 'normal_force = 3'),
        ({'friction_model': 'constant_normal_force'}, 'normal_force = None'),
        ({'depth_factor': 3.0}, 'depth_factor = 3'),
        ({'direction': (1, 0, 0)}, 'direction = '),
        ({'direction': 'x'}, 'direction = '),
        ({'direction': (None, (0, 0, 0))}, 'non-zero length'),
        ({'direction': (3, (1, 0, 0))}, 'frame'),
        ({'reduce': 3}, 'reduce = 3'),
        ({'bins': 1}, 'bins = 1'),
        ({'bins': 2.5}, 'bins = 2.5'),
        ({'min_rest_length': 0.0}, 'min_rest'),
        ({'min_rest_length': 0.2, 'max_rest_length': 0.1}, 'min_rest_length = 0.2'),
        ({'direction': (('a', 3), (1, 0, 0))}, 'frame'),
        ({'direction': (None, (1, 0))}, '3'),
    ],
)
def test_invalid_laws_are_refused(law, words):
    """Name the wrong value, and the valid ones."""
    with pytest.raises(sb.InvalidValueError, match=words):
        sb.ContactMaterial(**law)


# --- shapes that are not convex ------------------------------------------------------------------

SHEET = np.array([(-4, -4, 0), (4, -4, 0), (4, 4, 0), (-4, 4, 0)]), [(0, 1, 2), (0, 2, 3)]
GROUNDS = {
    'terrain': (sb.TriangleMesh(*SHEET, bottom_margin=1.0), 0.0),
    'field': (sb.HeightField(np.zeros((3, 3)), (8.0, 8.0)), 0.0),
    'ring': (sb.HollowCylinder(4.0, 0.2, 1.0), -0.1),
}
LAWS = [
    {'friction': MU},
    {'friction': MU, 'friction2': MU2, 'direction': (None, (0, 1, 0))},
    {'friction': MU, 'friction_model': 'pyramid', 'direction': (None, (3, 4, 0))},
    {'friction_model': lambda pair: sb.PairFriction(MU)},
    {'friction': MU, 'solver': 'direct_and_iterative'},
    {'friction': MU, 'reduce': True},
    {'friction': MU, 'motion': 0.2, 'motion2': 0.1, 'direction': (None, (1, 0, 0))},
    {'friction': MU, 'adhesion': 3.0, 'adhesive_overlap': 1e-3},
]


def slid(ground, height, shape, law):
    """Return the end position of a 1 kg body after sliding for 60 ms from 1 m/s."""
    world = sb.World()
    world.add_body(ground, motion='static', position=(0, 0, height), material=sb.Material('g'))
    body = world.add_body(shape, mass=1.0, position=(0, 2.5, 0.05), material=sb.Material('b'))
    world.set_contact_material('b', 'g', sb.ContactMaterial(**law))
    world.step(100)
    body.set_base_velocity((1.0, 0.0, 0.0))
    world.step(60)
    return body.root_link.p


@pytest.mark.parametrize('ground', GROUNDS)
@pytest.mark.parametrize('law', LAWS)
def test_laws_of_pairs_hold_on_terrain_and_hollow_shapes(ground, law):
    """Slide on a mesh, a height field and a ring as on a plane, as a box and as a tube."""
    for shape in sb.Box((0.2, 0.2, 0.1)), sb.HollowCylinder(0.1, 0.1, 0.05):
        expected = slid(sb.Plane(), 0.0, shape, law)
        np.testing.assert_allclose(slid(*GROUNDS[ground], shape, law), expected, atol=1e-6)
