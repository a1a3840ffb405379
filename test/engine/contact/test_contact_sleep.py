"""Auto-disable: bodies at rest are not simulated until a disturbance."""

from __future__ import annotations

from contact_worlds import add_ball, add_block, G, grounded
import numpy as np
import pytest

import sim_bridge as sb


@pytest.fixture
def sleeper():
    """Return a world with a block sleeping on the ground, and the block."""
    world = grounded(sleep=True)
    block = add_block(world, lift=0.001)
    while not block.is_asleep:
        world.step()
        assert world.time < 1.0
    return world, block


def test_rest_takes_as_many_steps_and_as_long_as_asked():
    """Sleep after the given steps and the given time at rest, not before."""
    world = grounded(sleep=sb.Sleep(steps=25, time=0.05))
    block = add_block(world)
    world.step(49)
    assert not block.is_asleep
    world.step(2)
    assert block.is_asleep


def test_nothing_sleeps_unasked():
    """Keep simulating resting bodies by default."""
    world = grounded()
    block = add_block(world)
    world.step(500)
    assert not block.is_asleep


def test_sleeper_stays_to_the_last_bit(sleeper):
    """Neither move nor lose the contact forces."""
    world, block = sleeper
    p, forces = block.root_link.p, world.contacts.forces
    world.step(500)
    assert block.is_asleep
    assert (block.root_link.p == p).all()
    assert (world.contacts.forces == forces).all()
    assert np.abs(forces[:, 2]).sum() == pytest.approx(2.0 * G, rel=1e-6)
    assert (block.root_link.v == 0.0).all()


@pytest.mark.parametrize(
    'stir',
    [
        lambda world, block: block.root_link.add_force((0.0, 0.0, 40.0)),
        lambda world, block: block.set_base_velocity((0.0, 0.0, 0.5)),
        lambda world, block: block.set_base_pose((0.0, 0.0, 1.0)),
        lambda world, block: setattr(world, 'gravity', (0.0, 0.0, 1.0)),
        lambda world, block: add_ball(world, at=(0.0, 0.0), lift=0.1),
    ],
    ids=['push', 'velocity', 'pose', 'gravity', 'another body'],
)
def test_sleeper_wakes(sleeper, stir):
    """Wake by every cause of motion."""
    world, block = sleeper
    stir(world, block)
    world.step()
    assert not block.is_asleep


def test_falling_ball_wakes_the_body_it_hits():
    """Sleep until an awake body touches; all of an island wakes, then sleeps again."""
    world = grounded(sleep=True)
    lower, upper = (add_block(world, size=(0.4, 0.4, 0.1), lift=0.1 * k) for k in range(2))
    ball = add_ball(world, lift=0.5)
    world.step(200)
    assert lower.is_asleep
    assert upper.is_asleep
    while not len(world.contacts.indices) > 8:
        world.step()
    world.step(2)
    assert not (lower.is_asleep or upper.is_asleep or ball.is_asleep)
    world.step(3000)
    assert lower.is_asleep
    assert upper.is_asleep
    assert ball.is_asleep
    assert (ball.root_link.v == 0.0).all()


@pytest.mark.parametrize('hammer_first', [False, True])
def test_push_travels_through_a_row_of_sleepers(hammer_first):
    """Wake the whole row at once: momentum is kept."""
    world = grounded({'friction': 0.0}, sleep=True)

    def add_hammer():
        """Add the body that will hit the row."""
        return add_block(world, size=(0.1, 0.1, 0.1), mass=10.0, at=(-0.3, 0.0))

    hammer = add_hammer() if hammer_first else None
    for k in range(3):
        add_block(world, size=(0.1, 0.1, 0.1), mass=1.0, at=(0.1 * k, 0.0))
    world.step(100)
    hammer = hammer or add_hammer()
    hammer.set_base_velocity((2.0, 0.0, 0.0))
    world.step(300)
    assert world.momentum().linear[0] == pytest.approx(20.0, rel=1e-9)
    assert hammer.root_link.v[0] < 1.9


@pytest.mark.parametrize('motion', ['dynamic', 'kinematic'])
def test_body_falls_when_its_support_is_taken_away(motion):
    """Wake a body when its support is moved elsewhere."""
    world = grounded(sleep=True)
    lower = (
        add_block(world, motion=motion)
        if motion == 'dynamic'
        else world.add_body(sb.Box((0.4, 0.4, 0.1)), motion=motion, position=(0.0, 0.0, 0.05))
    )
    upper = add_block(world, lift=0.1)
    world.step(100)
    assert upper.is_asleep
    lower.set_base_pose((3.0, 0.0, 0.05))
    world.step(500)
    assert upper.root_link.p[2] == pytest.approx(0.05, abs=1e-6)


def test_snapshot_puts_to_sleep_again(sleeper):
    """Return to a sleeping world after any change."""
    world, block = sleeper
    snapshot, before = world.save(), world.state_hash()
    world.materials.add(sb.Material('new'))
    world.exclude(block.root_link, world.robots['ground'].root_link)
    world.set_group_collision('a', 'a', False)
    block.root_link.geometries[0].groups = ['a']
    world.step()
    assert not block.is_asleep
    world.restore(snapshot)
    assert world.state_hash() == before
    assert block.is_asleep
    assert block.root_link.geometries[0].groups == frozenset()
    block.set_base_velocity((0.0, 0.0, -0.01))
    world.step(100)
    assert block.root_link.p[2] == pytest.approx(0.05, abs=1e-6)


def test_moving_floor_wakes():
    """Wake on a kinematic body starting to move, and move with it."""
    world = grounded(sleep=True)
    tray = world.add_body(sb.Box((1.0, 1.0, 0.1)), motion='kinematic', position=(0.0, 0.0, 0.5))
    block = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.65))
    world.step(200)
    assert block.is_asleep
    tray.set_base_velocity((0.1, 0.0, 0.0))
    world.step(1000)
    assert block.root_link.v == pytest.approx([0.1, 0.0, 0.0], abs=1e-6)


def test_slow_turning_keeps_awake():
    """Sleep by the angular threshold too."""
    world = grounded({'friction': 0.0}, sleep=True)
    block = add_block(world)
    block.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, 0.02))
    world.step(500)
    assert not block.is_asleep
    assert block.root_link.w == pytest.approx([0.0, 0.0, 0.02], abs=1e-9)


def test_sleepers_ignore_each_other_and_cost_no_rows():
    """Solve no rows for sleepers."""
    world = grounded(sleep=True)
    for k in range(5):
        add_block(world, at=(1.0 * k, 0.0))
    world.step(100)
    assert all(body.is_asleep for name, body in world.robots.items() if body.motion == 'dynamic')
    world.step()
    assert world.report.islands == 0


def test_sleepers_are_read_as_at_rest(sleeper):
    """Return a resting body's energy and momentum."""
    world, _ = sleeper
    assert world.energy().kinetic == 0.0
    assert np.linalg.norm(world.momentum().linear) == 0.0
