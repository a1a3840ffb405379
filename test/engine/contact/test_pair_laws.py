"""Laws of pairs of materials that take more than the two: frames, masses, depths."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_block, G, grounded, push
import numpy as np
import pytest

import sim_bridge as sb

MU, MU2 = 0.3, 0.1
GRAVITY = 9.80665  # that box friction takes


def sliding(world, body, velocity, steps=200):
    """Let a body slide from a velocity (2,), and give its mean deceleration (2,)."""
    body.set_base_velocity((*velocity, 0.0), (0.0, 0.0, 0.0))
    world.step(steps)
    return (np.array(velocity) - body.root_link.v[:2]) / (steps * world.time_step)


def oriented(angle, frame=None, **law):
    """
    Return a world with a block on a table that is turned by an angle, and the block.

    frame: makes of table and block the frame of the direction, whose axis is x.
    """
    world = sb.World()
    for name in ('wood', 'steel'):
        world.materials.add(sb.Material(name))
    turned = (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2))
    table = world.add_body(
        sb.Placed(sb.Box((9.0, 9.0, 0.2)), orientation=turned), 'table', motion='kinematic',
        position=(0.0, 0.0, -0.1), material='wood')
    block = add_block(world, name='block', material='steel')
    direction = (frame(table, block) if frame else None), (1.0, 0.0, 0.0)
    world.set_contact_material('steel', 'wood', sb.ContactMaterial(
        friction=MU, friction2=MU2, direction=direction, **law))
    world.step(20)
    return world, table, block


# --- direction -----------------------------------------------------------------------------------

@pytest.mark.parametrize('model', ['cone', 'pyramid', 'box'])
@pytest.mark.parametrize(('frame', 'angle', 'expected'), [
    (None, 0.7, 0.0), (lambda table, block: table, 0.7, 0.0),
    (lambda table, block: table.geometries[0], 0.7, 0.7),
    (lambda table, block: ('block', 'block'), 0.7, 0.0),
    (lambda table, block: 'table', 0.7, 0.0)])
def test_direction_brakes_by_each_coefficient(model, frame, angle, expected):
    """Brake by mu_u g along the axis and by mu_v g across, in the frame of whatever it is."""
    gravity = GRAVITY if model == 'box' else G
    for coefficient, turn in ((MU, 0.0), (MU2, np.pi / 2)):
        world, _, block = oriented(angle, frame, friction_model=model)
        along = np.array([np.cos(expected + turn), np.sin(expected + turn)])
        found = sliding(world, block, along)
        np.testing.assert_allclose(found, coefficient * gravity * along, atol=1e-6)


def test_direction_turns_with_its_frame():
    """Follow the frame while it turns: across it brakes by mu_v g, whatever it was before."""
    world, table, block = oriented(0.0, lambda table, block: table)
    for angle in (0.5, 1.3):
        table.set_base_pose((0.0, 0.0, -0.1), (0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)))
        world.step()
        for coefficient, turn in ((MU, 0.0), (MU2, np.pi / 2)):
            along = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            np.testing.assert_allclose(
                sliding(world, block, along), coefficient * G * along, atol=1e-6)


def test_direction_of_a_pair_holds_before_those_of_shapes():
    """Take the contact material's direction, although the block has one."""
    world = grounded({'friction': MU, 'friction2': MU2, 'direction': (None, (0.0, 2.0, 0.0))})
    block = add_block(world, fdir1=(1.0, 0.0, 0.0))
    world.step(20)
    np.testing.assert_allclose(sliding(world, block, (1.0, 0.0)), (MU2 * G, 0.0), atol=1e-6)


def test_direction_goes_with_its_robot():
    """Refuse a direction in what is not there, and forget one whose robot is removed."""
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
    """Keep the frame when bodies get other numbers, and in copies, pickles and snapshots."""
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
        'default', 'default', sb.ContactMaterial(friction_model='box', friction=MU))
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
    """Brake by mu F at each of four points, whatever presses."""
    law = {'friction_model': 'constant_normal_force', 'normal_force': 5.0, 'friction': MU,
           'friction2': MU2}
    world = grounded(law)
    block = add_block(world, mass=2.0, fdir1=(1.0, 0.0, 0.0))
    world.step(20)
    found = sliding(world, block, (1.0, 1.0), 100)
    np.testing.assert_allclose(found, 4 * 5.0 / 2.0 * np.array([MU, MU2]), atol=1e-6)


@pytest.mark.parametrize('factor', [1.0, 2.5])
def test_friction_of_a_given_normal_force_grows_with_the_depth(factor):
    """Brake by mu F d k at each of four points that are d deep."""
    stiffness, force = 2000.0, 3000.0
    world = grounded({
        'friction_model': 'constant_normal_force', 'normal_force': force, 'friction': MU,
        'depth_factor': factor, 'stiffness': stiffness, 'damping': 100.0})
    block = add_block(world, mass=2.0)
    world.step(2000)
    depth = 2.0 * G / (4 * stiffness)
    found = sliding(world, block, (1.0, 0.0), 50)
    np.testing.assert_allclose(found[0], 4 * MU * force * depth * factor / 2.0, rtol=1e-5)


@pytest.mark.parametrize(('law', 'words'), [
    ({'normal_force': 3.0}, 'normal_force = 3'),
    ({'friction_model': 'constant_normal_force'}, 'normal_force = None'),
    ({'depth_factor': 3.0}, 'depth_factor = 3'),
    ({'direction': (1, 0, 0)}, 'direction = '), ({'direction': 'x'}, 'direction = '),
    ({'direction': (None, (0, 0, 0))}, 'some length'), ({'direction': (3, (1, 0, 0))}, 'frame'),
    ({'direction': (('a', 3), (1, 0, 0))}, 'frame'), ({'direction': (None, (1, 0))}, '3')])
def test_what_makes_no_law_is_refused(law, words):
    """Name what is wrong, and what would be right."""
    with pytest.raises(sb.InvalidValueError, match=words):
        sb.ContactMaterial(**law)
