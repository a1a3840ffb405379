"""Auto-disable and disabling of single bodies, compared with ODE."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_ball, add_block, G, grounded
import numpy as np
from ode_sleep import Bodies
import pytest
from robots import double_pendulum

import sim_bridge as sb

H, MU = 1e-3, 0.3


def sliding(sleep, world_sleep=False):
    """Return a world with a 1 kg block sliding to rest in 0.17 s."""
    world = grounded({'friction': MU}, sleep=world_sleep)
    block = add_block(world, mass=1.0, linear_velocity=(0.5, 0.0, 0.0))
    block.sleep = sleep
    return world, block


@pytest.mark.parametrize(
    'given',
    [
        {},
        {'linear': 0.101},
        {'linear': 0.3, 'steps': 25},
        {'steps': 0, 'time': 0.0305},
        {'steps': 40, 'time': 0.02},
        {'linear': 0.101, 'average_samples': 7},
        {'linear': 0.05, 'average_samples': 30, 'steps': 5},
        {'average_samples': 200},
        {'linear': 1e9, 'steps': 3},
    ],
    ids=str,
)
def test_bodies_fall_asleep_in_the_step_of_ode(given):
    """Stop in the same step as in ODE, which decides at the beginning of the next one."""
    values = {'linear': 0.01, 'angular': 0.01, 'steps': 10, 'time': 0.0, **given}
    bodies = Bodies((0.0, 0.0, -G))
    body = bodies.add((0.0, 0.0, 1.0), (0.5, 0.0, 0.0), values)
    last = 0
    while bodies.is_enabled(body):
        bodies.slide(body, MU * G)
        bodies.step(H)
        last += 1
        assert last < 1000
    world, block = sliding(sb.Sleep(**given))
    while not block.is_asleep:
        world.step()
        assert world.step_count < 1000
    # ODE also checks a body's initial velocity
    assert world.step_count == last - 1 + (given.get('linear', 0.0) > 0.5)
    world.step(10)
    assert block.root_link.p[0] == pytest.approx(bodies.position(body)[0], abs=1e-3)


def test_each_body_has_its_own_parameters():
    """Use the body's parameters, else the world's; islands sleep together, or never."""
    world = grounded(sleep=sb.Sleep(steps=20))
    quick, usual, never, slow, on_slow = (
        add_block(world, at=at, lift=lift)
        for at, lift in (((0, 0), 0), ((2, 0), 0), ((4, 0), 0), ((6, 0), 0), ((6, 0), 0.1))
    )
    quick.sleep, never.sleep, slow.sleep = sb.Sleep(steps=5), False, sb.Sleep(steps=60)
    assert (usual.sleep, never.sleep, quick.sleep.steps) == (None, False, 5)
    asleep = {}
    for _ in range(200):
        world.step()
        for name in ('quick', 'usual', 'never', 'slow', 'on_slow'):
            if locals()[name].is_asleep:
                asleep.setdefault(name, world.step_count)
    assert asleep == {'quick': 5, 'usual': 20, 'slow': 60, 'on_slow': 60}
    world.sleep = None
    assert not usual.is_asleep
    world.step(100)
    assert [body.is_asleep for body in (quick, usual, never)] == [True, False, False]
    quick.sleep = None
    world.step(100)
    assert not quick.is_asleep


def test_kept_velocities_go_with_their_body():
    """Restart the mean velocities when two bodies swap sample counts; the total is unchanged."""
    world = grounded({'friction': MU})
    bodies = [add_block(world, at=(2.0 * k, 0.0)) for k in range(2)]
    bodies[0].sleep, bodies[1].sleep = sb.Sleep(average_samples=8), sb.Sleep(average_samples=5)
    world.step(3)
    bodies[0].sleep, bodies[1].sleep = sb.Sleep(average_samples=5), sb.Sleep(average_samples=8)
    bodies[1].set_base_velocity((0.5, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(5 + 10 - 2)
    assert [body.is_asleep for body in bodies] == [False, False]
    world.step(1)
    assert [body.is_asleep for body in bodies] == [True, False]
    world.step(200)
    assert bodies[1].is_asleep
    with pytest.raises(sb.InvalidValueError, match='average_samples'):
        sb.Sleep(average_samples=2.5)
    assert sb.Sleep(average_samples=4.0).average_samples == 4


def test_own_parameters_are_kept():
    """Keep them in copies, pickles, snapshots and after resets, with the same bits."""
    world, block = sliding(sb.Sleep(average_samples=30, steps=5))
    add_block(world, at=(3.0, 0.0)).sleep = True
    before = world.save()
    world.step(100)
    middle = world.save()
    others = [world.copy(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(150)
    assert block.is_asleep
    bits = world.state_hash()
    for other in others:
        other.step(150)
        assert other.state_hash() == bits
        assert other.robots['body'].sleep == block.sleep
    block.sleep = False
    world.restore(middle)
    assert block.sleep == sb.Sleep(average_samples=30, steps=5)
    world.step(150)
    assert world.state_hash() == bits
    world.restore(before)
    world.step(250)
    assert world.state_hash() == bits
    world.reset()
    assert block.sleep.average_samples == 30
    assert not block.is_asleep


# --- disabling -----------------------------------------------------------------------------------


@pytest.mark.parametrize('integrator', ['midpoint', 'momentum', 'rk5'])
@pytest.mark.parametrize('ground', [False, True])
def test_a_disabled_body_stays_and_goes_on_with_its_velocity(integrator, ground):
    """Rest under any action, as in ODE, until the body is enabled."""
    bodies = Bodies((0.0, 0.0, -G))
    body = bodies.add((0.0, 0.0, 3.0), (1.0, 0.0, 0.0))
    world = sb.World(integrator=integrator)
    ball = add_ball(world, lift=2.9, linear_velocity=(1.0, 0.0, 0.0))
    free = add_ball(world, at=(5.0, 0.0), lift=2.9)
    if ground:
        world.add_ground()
    bodies.disable(body)
    ball.root_link.disable()
    for k in range(50):
        bodies.step(H)
        if k == 10:
            ball.root_link.add_force((50.0, 0.0, 0.0))
        if k == 20:
            world.gravity = (0.0, 0.0, -G)
            world.add_body(sb.Sphere(0.1), position=(9.0, 0.0, 3.0))
        world.step()
    assert ball.is_asleep and not bodies.is_enabled(body)
    np.testing.assert_array_equal(ball.root_link.p, (0.0, 0.0, 3.0))
    assert free.root_link.v[2] == pytest.approx(-G * 0.05)
    np.testing.assert_array_equal(ball.root_link.v, bodies.velocity(body))
    bodies.enable(body)
    ball.enable()
    assert not ball.is_asleep
    for _ in range(100):
        bodies.step(H)
    world.step(100)
    np.testing.assert_allclose(ball.root_link.v, bodies.velocity(body), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ball.root_link.p, bodies.position(body), atol=G * H * 0.1)


def test_a_joint_to_an_awake_body_wakes():
    """Wake at the next step, as in ODE, but not by a joint to a disabled or static body."""
    bodies = Bodies((0.0, 0.0, 0.0))
    odes = [bodies.add((x, 0.0, 3.0)) for x in (0.0, 1.0, 5.0, 6.0)]
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    ours = [add_ball(world, at=(x, 0.0), lift=2.9) for x in (0.0, 1.0, 5.0, 6.0)]
    for first, second in ((0, 1), (2, 3)):
        bodies.join(odes[first], odes[second])
        world.add_joint('ball', ours[first], ours[second], (first + 0.5, 0.0, 3.0), tree=False)
    for each in (1, 2, 3):
        bodies.disable(odes[each])
        ours[each].disable()
    held = add_ball(world, at=(8.0, 0.0), lift=2.9)
    world.add_joint('ball', held, None, tree=False)
    held.disable()
    for _ in range(3):
        bodies.step(H)
        world.step()
        assert [not body.is_asleep for body in ours] == [bool(bodies.is_enabled(b)) for b in odes]
    assert [body.is_asleep for body in ours] == [False, False, True, True]
    assert held.is_asleep


def test_touch_wakes_a_disabled_body():
    """Hold until an awake body touches, in the air and on the ground."""
    world = grounded()
    shelf = add_block(world, lift=1.0)
    below = add_block(world, at=(0.0, 0.1))
    shelf.disable(), below.disable()
    world.step(100)
    assert shelf.is_asleep and below.is_asleep
    assert shelf.root_link.p[2] == 1.05
    add_ball(world, lift=1.12)
    while shelf.is_asleep:
        world.step()
        assert world.time < 0.3
    assert below.is_asleep
    while below.is_asleep:
        world.step()
        assert world.time < 1.0
    # the shelf has fallen onto it
    assert shelf.root_link.v[2] < -1.0


def test_a_disabled_robot_rests_as_a_whole():
    """Keep all joint positions, under gravity and efforts; swing on when enabled."""
    world = sb.World()
    arm = world.load_urdf(double_pendulum())
    arm.q = [0.5, 1.0]
    arm.links[-1].disable()
    arm.u = [1.0, 1.0]
    world.step(100)
    np.testing.assert_array_equal(arm.q, [0.5, 1.0])
    before = world.save()
    arm.enable()
    arm.u = [0.0, 0.0]
    world.step(100)
    assert np.abs(arm.q - [0.5, 1.0]).max() > 0.01
    world.restore(before)
    for other in (world, world.copy(), pickle.loads(pickle.dumps(world))):
        other.step(50)
        assert other.robots[arm.name].is_asleep
    world.reset()
    assert not arm.is_asleep


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'average_samples': 0}, 'average_samples = 0.*whole number from 1'),
        ({'steps': 2.5}, 'steps = 2.5'),
        ({'linear': -1.0}, 'linear = -1.0'),
        ({'time': float('inf')}, 'time = inf'),
        ({'angular': float('nan')}, 'angular = nan'),
    ],
)
def test_wrong_parameters_of_sleep(values, words):
    """Name the wrong value."""
    with pytest.raises(sb.InvalidValueError, match=words):
        sb.Sleep(**values)
    block = add_block(sb.World())
    with pytest.raises(sb.InvalidValueError, match="sleep = 'often'.*Sleep"):
        block.sleep = 'often'
