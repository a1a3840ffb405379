"""Motors that press, push and wake touched bodies."""

from __future__ import annotations

import math

from carts import FRICTION, LIMIT
from contact_worlds import add_block, G, grounded
import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb

SOLVERS = ('direct', 'iterative', 'split')
PUSHER = (
    '<link name="pusher"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" '
    'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
    '<box size="0.1 0.1 0.05"/></geometry></collision></link>'
)


def press(solver):
    """Return a world with ground, and a block on a vertical rail pressed down by its joint."""
    world = grounded({'friction': 0.5}, solver=solver)
    block = (
        '<link name="block"><inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" '
        'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<box size="0.2 0.2 0.2"/></geometry></collision></link>'
    )
    robot_ = world.load_urdf(
        robot(
            link('world', 0.0),
            block,
            joint(
                'joint',
                'world',
                'block',
                'prismatic',
                (0, 0, 1),
                (0, 0, 0.12),
                inside=LIMIT.format(-1, 1, 1e9, 10),
            ),
            name='press',
        )
    )
    return world, robot_, robot_.joint('joint')


def ground_force(world):
    """Return the summed vertical force over all contacts with a vertical normal [N]."""
    contacts = world.contacts
    on_ground = np.abs(contacts.normals[:, 2]) > 0.9
    return np.abs(contacts.forces[on_ground, 2]).sum()


@pytest.mark.parametrize('solver', SOLVERS)
def test_motor_presses_on_the_ground_with_its_strength(solver):
    """Find weight plus strength in the contacts, under each control."""
    world, body, axis = press(solver)
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', -0.5, 30.0
    world.step(500)
    assert axis.motor_effort == -30.0
    assert ground_force(world) == pytest.approx(30.0 + 2.0 * G, rel=1e-5)
    axis.control, axis.target_position = 'position', -0.5
    world.step(100)
    assert ground_force(world) == pytest.approx(30.0 + 2.0 * G, rel=1e-5)
    axis.control, axis.kp, axis.kd, axis.target_position = 'servo', 500.0, 20.0, -0.06
    world.step(500)
    pushed = 500.0 * (body.q[0] + 0.06)
    assert pushed == pytest.approx(20.0, rel=1e-2)
    assert ground_force(world) == pytest.approx(pushed + 2.0 * G, rel=1e-4)


@pytest.mark.parametrize('solver', SOLVERS)
def test_stiff_arm_presses_on_the_ground_until_its_weakest_joint_yields(solver):
    """Let position motors meet the ground with their bounded strength, unlike a wall."""
    world = grounded({'friction': 0.0}, solver=solver)
    tip = (
        '<link name="tip"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" '
        'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.3 0 0"/>'
        '<geometry><sphere radius="0.05"/></geometry></collision></link>'
    )
    arm = world.load_urdf(
        robot(
            link('world', 0.0),
            link('upper', 1.0),
            tip,
            joint('a', 'world', 'upper', axis=(0, 1, 0), xyz=(0, 0, 0.3)),
            joint('b', 'upper', 'tip', axis=(0, 1, 0), xyz=(0.4, 0, 0)),
            name='arm',
        )
    )
    for axis, strength in zip(arm.joints, (1000.0, 30.0), strict=True):
        axis.control, axis.max_effort = 'position', strength
        axis.velocity_limit = 0.2
    first, second = arm.joints
    # with the upper arm level, the lower arm hangs down into the ground
    second.target_position = 1.55
    world.step(6000)
    assert world.report.converged
    assert ground_force(world) > 0.0
    assert second.motor_effort == 30.0
    assert arm.dq == pytest.approx([0.0, 0.0], abs=1e-9)
    weight, force = 0.5 * G, ground_force(world)
    reach = 0.3 * math.cos(arm.q[1])
    assert force * reach == pytest.approx(30.0, rel=1e-5)
    assert first.motor_effort == pytest.approx(force * (0.4 + reach) - weight * 0.4, rel=1e-5)


def test_joint_stuck_by_friction_yields_to_a_pushing_body():
    """Slide ahead of a kinematic body, held only by friction."""
    world = sb.World()
    body = world.load_urdf(
        robot(
            link('world', 0.0),
            PUSHER,
            joint(
                'joint',
                'world',
                'pusher',
                'prismatic',
                (1, 0, 0),
                inside=LIMIT.format(-9, 9, 1e9, 10) + FRICTION.format(4.0),
            ),
            name='slide',
        )
    )
    ram = world.add_body(
        sb.Box((0.1, 0.1, 0.1)), motion='kinematic', position=(-0.2, 0.0, 0.0), name='ram'
    )
    ram.set_base_velocity((0.1, 0.0, 0.0))
    world.step(2000)
    assert body.dq[0] == pytest.approx(0.1, rel=1e-9)
    assert body.joint('joint').friction_effort == -4.0
    assert np.abs(world.contacts.forces[:, 0]).sum() == pytest.approx(4.0, rel=1e-6)


def test_motor_wakes_touched_bodies():
    """Push a block that has fallen asleep; sleep with the motor off, wake with its command."""
    world = grounded(sleep=True)
    body = world.load_urdf(
        robot(
            link('world', 0.0),
            PUSHER,
            joint(
                'joint',
                'world',
                'pusher',
                'prismatic',
                (1, 0, 0),
                (-0.4, 0, 0.05),
                inside=LIMIT.format(-1, 9, 1e9, 10),
            ),
            name='pusher',
        )
    )
    block = add_block(world, size=(0.4, 0.4, 0.1))
    axis = body.joint('joint')
    axis.control, axis.target_velocity = 'velocity', 0.3
    world.step(300)
    assert block.is_asleep
    world.step(700)
    assert not block.is_asleep
    assert block.root_link.p[0] > 0.1
    axis.target_velocity = -0.3
    world.step(500)
    assert block.is_asleep


@pytest.mark.parametrize('solver', SOLVERS)
def test_motor_pushes_a_block_against_its_friction(solver):
    """Give μ times the load while a block slides ahead at the target velocity."""
    world = grounded({'friction': 0.5}, solver=solver)
    body = world.load_urdf(
        robot(
            link('world', 0.0),
            PUSHER,
            joint(
                'joint',
                'world',
                'pusher',
                'prismatic',
                (1, 0, 0),
                (-0.4, 0, 0.05),
                inside=LIMIT.format(-1, 9, 1e9, 10),
            ),
            name='pusher',
        )
    )
    add_block(world, size=(0.4, 0.4, 0.1))
    axis = body.joint('joint')
    axis.control, axis.target_velocity = 'velocity', 0.3
    world.step(1500)
    assert body.dq[0] == 0.3
    # friction between the two also bears on the ground: at most it lifts the block by its μ
    assert axis.motor_effort > (1.0 - 1e-9) * 0.5 * 2.0 * G / (1.0 + 0.5 * 0.5)
    assert axis.motor_effort == pytest.approx(0.5 * ground_force(world), rel=1e-6)
