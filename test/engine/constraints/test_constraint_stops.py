"""Constraint joints stop, bounce and sleep as tree joints do."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

EITHER = pytest.mark.parametrize('tree', [True, False])


def swung(tree, step, kind):
    """Return a world with two linked bodies, of which the second moves between bouncing stops."""
    world = sb.World(time_step=step)
    arm = world.add_body(sb.Box((0.2, 0.1, 0.1)), mass=1.0)
    weight = world.add_body(sb.Box((0.1, 0.1, 0.3)), mass=0.5, position=(0.1, 0, -0.2))
    world.add_joint('hinge', None, arm, anchor=(-0.1, 0, 0), axis=(0, 1, 0), tree=tree)
    axis = (0, 1, 0) if kind == 'hinge' else (1, 0, 0)
    joint = world.add_joint(kind, arm, weight, anchor=(0.1, 0, 0), axis=axis, tree=tree)
    joint.upper = 0.3 if kind == 'hinge' else 0.02
    joint.lower, joint.bounce = -joint.upper, 0.7
    return world, joint


@EITHER
@pytest.mark.parametrize('speed', [0.5, 6.0, 30.0])
@pytest.mark.parametrize('bounce', [0.0, 0.5, 1.0])
@pytest.mark.parametrize('step', [1e-3, 5e-3])
def test_stop_is_not_passed_and_returns_the_coefficient(tree, speed, bounce, step):
    """Run into a stop at any speed; come back at the restitution times it."""
    world = sb.World(time_step=step, gravity=(0, 0, 0))
    body = world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, linear_velocity=(speed, 0, 0))
    joint = world.add_joint('slider', None, body, axis=(1, 0, 0), tree=tree)
    joint.lower, joint.upper, joint.bounce = -0.1, 0.1, bounce
    way = [joint.q]
    for _ in range(int(0.4 / speed / step) + 3):
        world.step()
        way.append(joint.q)
        if joint.dq <= 0.0:
            break
    assert np.max(way) <= 0.1 + 1e-12
    assert joint.dq == pytest.approx(-bounce * speed, abs=1e-9)


@EITHER
@pytest.mark.parametrize('kind', ['hinge', 'slider'])
@pytest.mark.parametrize('step', [1e-3, 5e-3])
def test_bouncing_joint_of_a_swinging_pair_stays_within_its_stops(tree, kind, step):
    """Swing for a second against both stops, and pass none."""
    world, joint = swung(tree, step, kind)
    way = np.empty(round(1.0 / step))
    for k in range(len(way)):
        world.step()
        way[k] = joint.q
    assert np.abs(way).max() <= joint.upper + 1e-9
    assert np.ptp(way) > 0.5 * joint.upper


@EITHER
@pytest.mark.parametrize('push', [-1.0, 0.0, 1.0])
def test_joint_comes_back_from_beyond_its_stop(tree, push):
    """Return by a fifth of the excess per step, without gaining velocity."""
    world = sb.World(time_step=0.01, gravity=(0, 0, 0))
    body = world.add_body(sb.Sphere(0.1), mass=1.0)
    joint = world.add_joint('slider', None, body, axis=(1, 0, 0), tree=tree)
    joint.upper = -0.1
    for k in range(1, 21):
        body.root_link.add_force((push, 0, 0))
        world.step()
        if push >= 0.0:
            assert joint.q == pytest.approx(-0.1 + 0.1 * 0.8**k, abs=1e-9)
            assert joint.dq == pytest.approx(0.0, abs=1e-12)
    if push < 0.0:
        assert joint.dq == pytest.approx(push * 0.2, abs=1e-9)
    assert joint.q <= -0.1 + 0.1 * 0.8**20 + 1e-9


def hanging(tree):
    """Return a sleeping pendulum, its world and its hinge."""
    world = sb.World(time_step=0.002, sleep=True)
    body = world.add_body(sb.Box((0.1, 0.1, 0.4)), mass=1.0, position=(0, 0, -0.2))
    hinge = world.add_joint('hinge', None, body, anchor=(0, 0, 0), axis=(0, 1, 0), tree=tree)
    world.step(100)
    assert body.is_asleep
    return world, body, hinge


STIRS = {
    'push': lambda world, body, hinge: body.root_link.add_force((5.0, 0, 0)),
    'effort': lambda world, body, hinge: setattr(hinge, 'u', 1.0),
    'motor': lambda world, body, hinge: setattr(hinge, 'control', 'position'),
    'gravity': lambda world, body, hinge: setattr(world, 'gravity', (3.0, 0, -9.0)),
    'spring': lambda world, body, hinge: setattr(hinge, 'stiffness', 10.0),
    'removal': lambda world, body, hinge: world.remove_joint(hinge),
}


@EITHER
@pytest.mark.parametrize('stir', STIRS)
def test_hanging_body_sleeps_and_wakes(tree, stir):
    """Sleep at rest with only a joint to hold it; wake by every cause of motion."""
    world, body, hinge = hanging(tree)
    hinge.reference = 0.3
    STIRS[stir](world, body, hinge)
    world.step()
    assert not body.is_asleep


@EITHER
def test_swinging_body_is_awake_at_its_turning_points(tree):
    """Swing as without sleep."""
    tracks = []
    for sleep in (False, True):
        world, joint = swung(tree, 0.002, 'hinge')
        world.sleep = sleep
        track = np.empty(1000)
        for k in range(1000):
            world.step()
            track[k] = joint.q
        tracks.append(track)
    np.testing.assert_array_equal(*tracks)


def test_flying_bodies_do_not_sleep():
    """Stay awake without anything that holds."""
    world = sb.World(gravity=(0, 0, 0), sleep=True)
    body = world.add_body(sb.Sphere(0.1), mass=1.0)
    world.step(1000)
    assert not body.is_asleep
