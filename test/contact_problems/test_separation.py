"""Separation between overlapping bodies."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb


def test_two_balls_part_by_their_masses():
    """Move both along the line between them, the heavy one less; the centre of mass stays."""
    world = sb.World()
    light = world.add_body(sb.Sphere(0.5), mass=1.0, position=(0.0, 0.0, 0.0))
    heavy = world.add_body(sb.Sphere(0.5), mass=3.0, position=(0.4, 0.0, 0.0))
    world.step_count = 7
    sb.contact_problems.separate(world, gap=0.2)
    np.testing.assert_allclose(light.root_link.p, [-0.6, 0.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(heavy.root_link.p, [0.6, 0.0, 0.0], atol=1e-8)
    assert world.step_count == 7
    assert not world.find_contacts(margin=0.2 - 1e-9)


def test_separated_bodies_stay_bit_by_bit():
    """Change nothing if all gaps are large enough."""
    world = sb.World()
    world.add_ground()
    world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 0.2))
    before = world.state_hash()
    sb.contact_problems.separate(world, gap=0.1)
    assert world.state_hash() == before


def test_sensors_and_immovable_pairs_do_not_count():
    """Ignore a body in a sensor, and two kinematic ones."""
    world = sb.World()
    zone = world.add_body(sb.Sphere(1.0), 'zone', motion='static')
    zone.geometries[0].sensor = True
    world.add_body(sb.Sphere(0.1), mass=1.0)
    for x in (0.0, 0.05):
        world.add_body(sb.Sphere(0.1), motion='kinematic', position=(x, 0.0, 0.5))
    before = world.state_hash()
    sb.contact_problems.separate(world)
    assert world.state_hash() == before


def test_joints_move_within_their_limits():
    """Bend an arm out of a fixed box, and out of the ground, within its stops."""
    world = sb.World()
    world.add_ground()
    arm = world.load_urdf('arm')
    arm.q = [0.0, 1.0, 0.0, -1.2, 0.0, 0.8, 0.0]
    world.add_body(sb.Box((0.2, 0.2, 0.2)), 'block', motion='static', position=arm.link('tool0').p)
    before = arm.q.copy()
    assert len(world.find_contacts(margin=0.0, a=arm, b=world.robots['block']))
    sb.contact_problems.separate(world, gap=0.01)
    assert not world.find_contacts(margin=0.01 - 1e-9)
    assert ((arm.lower <= arm.q) & (arm.q <= arm.upper)).all()
    assert 0.0 < np.abs(arm.q - before).max() < 1.0


def test_a_jar_without_room_is_refused_and_left_alone():
    """Name two bodies staying too near; restore the world bit by bit."""
    world = sb.World()
    world.add_body(
        [sb.Placed(sb.Box((0.1, 2.0, 2.0)), position=(side * 0.3, 0.0, 0.0)) for side in (-1, 1)],
        'walls',
        motion='static',
    )
    slide = world.add_body(sb.Box((0.8, 0.8, 0.8)), 'block', mass=1.0)
    world.add_joint('slider', None, slide, axis=(1.0, 0.0, 0.0))
    before = world.state_hash()
    with pytest.raises(sb.InfeasibleError, match='walls.*block|block.*walls'):
        sb.contact_problems.separate(world)
    assert world.state_hash() == before


@pytest.mark.parametrize(('gap', 'words'), [(-1.0, 'gap'), (np.nan, 'gap'), ('wide', 'gap')])
def test_a_wrong_gap_is_named(gap, words):
    """Reject invalid lengths."""
    with pytest.raises(sb.InvalidValueError, match=words):
        sb.contact_problems.separate(sb.World(), gap)
    with pytest.raises(sb.InvalidValueError, match='a World'):
        sb.contact_problems.separate(None)
