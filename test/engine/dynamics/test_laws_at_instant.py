"""Accelerations and forces read between steps, right after any user write."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import joint, link, pendulum, robot, rotor

import sim_bridge as sb

LIMIT = '<limit lower="-0.2" upper="0.3" effort="10" velocity="10"/>'
FRICTION = '<dynamics friction="2.0"/>'
SENSOR = (
    '<gazebo reference="joint"><sensor name="ft" type="force_torque"><force_torque/>'
    '</sensor></gazebo>'
)


def load(xml):
    """Return a world with one robot."""
    world = sb.World()
    return world, world.load_urdf(xml)


def free_fall(bob):
    """Return the acceleration of the unconstrained hanging pendulum with length 0.5."""
    return -9.81 / 0.5 * math.sin(bob.q[0])


def test_released_joint_accelerates_at_once():
    """Read the fall right after the hold ends."""
    world, bob = load(pendulum(length=0.5))
    bob.q = [1.0]
    bob.hold = True
    world.step(5)
    assert bob.ddq[0] == 0.0
    bob.hold = False
    assert bob.ddq[0] == pytest.approx(free_fall(bob), rel=1e-6)


def test_joint_leaving_a_stop_moves_freely():
    """Read free motion after writing a velocity, a position or an effort away from the stop."""
    world, cart = load(rotor(kind='prismatic', inside=LIMIT))
    cart.u = [8.0]
    world.step(1000)
    assert (cart.q[0], cart.ddq[0]) == (0.3, 0.0)
    cart.u = [-6.0]
    assert cart.ddq[0] == pytest.approx(-3.0)
    cart.u, cart.dq = [8.0], [-1.0]
    assert cart.ddq[0] == pytest.approx(4.0)
    cart.q, cart.dq = [0.0], [0.0]
    assert cart.ddq[0] == pytest.approx(4.0)


def test_stop_holds_before_the_first_step():
    """Read rest for a loaded joint that leans on its stop from the start."""
    _, cart = load(
        robot(
            link('world', 0.0),
            link('body', 2.0),
            joint(
                'joint',
                'world',
                'body',
                'prismatic',
                (0, 0, 1),
                inside='<limit lower="0" upper="1" effort="9" velocity="9"/>',
            ),
        )
    )
    assert cart.ddq[0] == 0.0


@pytest.mark.parametrize(('effort', 'acceleration'), [(1.9, 0.0), (5.0, 6.0), (-3.0, -2.0)])
def test_friction_at_rest_before_the_first_step(effort, acceleration):
    """Stick below the friction; slide with the excess above it."""
    _, wheel = load(rotor(inertia=0.5, inside=FRICTION))
    wheel.u = [effort]
    assert wheel.ddq[0] == pytest.approx(acceleration, abs=1e-9)


def test_stuck_joint_slides_when_the_effort_grows():
    """Solve the friction law for the effort just written."""
    world, wheel = load(rotor(inertia=0.5, inside=FRICTION))
    world.step(10)
    wheel.u = [5.0]
    assert wheel.ddq[0] == pytest.approx(6.0)


def test_effort_limit_applies_before_the_step():
    """Read the result of a clamped effort."""
    _, cart = load(rotor(kind='prismatic', inside=LIMIT))
    cart.u = [500.0]
    assert cart.ddq[0] == pytest.approx(10.0 / 2.0)


@pytest.mark.parametrize('stopper', ['stop', 'hold', 'friction'])
def test_impact_is_read_as_its_impulse(stopper):
    """Sum the readings of a force sensor while 2 kg at 1 m/s are stopped: 2 N s."""
    inside = {'stop': LIMIT, 'friction': '<dynamics friction="500"/>'}.get(stopper, '')
    world, cart = load(
        rotor(kind='prismatic', inside=inside).replace('</robot>', SENSOR + '</robot>')
    )
    cart.dq = [1.0]
    cart.hold = stopper == 'hold'
    impulse = 0.0
    for _ in range(400):
        world.step()
        impulse += cart.device('ft').f[0] * 1e-3
    assert cart.dq[0] == 0.0
    assert impulse == pytest.approx(2.0, rel=1e-9)


def test_held_mimic_pair_passes_newton():
    """Match the reactions in a mimic pair with the motion of the bodies on each joint."""
    law = '<mimic joint="first" multiplier="-2" offset="0.1"/>'
    world, body = load(
        robot(
            link('world', 0.0),
            link('a', 1.0, (0.2, 0, 0)),
            link('b', 1.5, (0, 0.3, 0)),
            joint('first', 'world', 'a', axis=(0, 1, 0)),
            joint('second', 'world', 'b', axis=(1, 0, 0), xyz=(1, 0, 0), inside=law),
        )
    )
    body.u = [0.7, -0.4]
    world.step(100)
    assert body.ddq[1] == pytest.approx(-2.0 * body.ddq[0], rel=1e-9)
    for name in ('a', 'b'):
        part = body.link(name)
        r = part.wc - part.p
        a = part.dv + np.cross(part.dw, r) + np.cross(part.w, np.cross(part.w, r))
        force, _ = part.joint.reaction
        np.testing.assert_allclose(force, part.m * (a + (0, 0, 9.81)), atol=1e-9)


def test_snapshot_with_a_push_pushes_once():
    """Keep a pending push in the snapshot, and end it with the step as usual."""
    world, cart = load(rotor(kind='prismatic'))
    cart.link('body').add_force((5.0, 0, 0))
    snapshot = world.save()
    world.step()
    after = cart.dq[0]
    world.restore(snapshot)
    world.step()
    assert cart.dq[0] == after
    world.step()
    assert cart.dq[0] == after


def test_gravity_can_be_changed_and_only_as_a_whole():
    """Apply the new gravity at once, to motion and sensors; refuse invalid and partial changes."""
    world, bob = load(pendulum(length=0.5))
    bob.q = [1.0]
    world.gravity = (0, 0, -1.62)
    assert bob.ddq[0] == pytest.approx(-1.62 / 0.5 * math.sin(1.0), rel=1e-6)
    with pytest.raises(ValueError, match='read-only'):
        world.gravity[2] = 0.0
    with pytest.raises(sb.InvalidValueError, match='gravity'):
        world.gravity = 'down'
    with pytest.raises(AttributeError):
        world.time_step = 2e-3


def test_parameters_are_part_of_snapshot_and_hash_and_the_base_of_reset():
    """Distinguish worlds by one parameter; put a moved fixed base back."""
    world, cart = load(rotor(kind='prismatic'))
    snapshot, before = world.save(), world.state_hash()
    cart.joint('joint').damping = 3.0
    cart.set_base_pose((1, 0, 0))
    assert world.state_hash() != before
    world.restore(snapshot)
    assert world.state_hash() == before
    assert cart.joint('joint').damping == 0.0
    cart.set_base_pose((1, 0, 0))
    world.reset()
    np.testing.assert_array_equal(cart.root_link.p, (0, 0, 0))
