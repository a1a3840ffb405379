"""Motor commands: refused, saved, restored, waking."""

from __future__ import annotations

import numpy as np
import pytest
from robots import double_pendulum, joint, link, robot, rotor

import sim_bridge as sb

MIMIC = '<mimic joint="first" multiplier="-2" offset="0.1"/>'


def arm(**options):
    """Return a double pendulum and its world."""
    world = sb.World(**options)
    return world, world.load_urdf(double_pendulum(friction=0.1), name='arm')


def test_control_begins_at_the_joint_position():
    """Select a control without a jerk, after any earlier command."""
    _, body = arm()
    axis = body.joint('a')
    body.q = [0.4, 0.0]
    assert axis.control == 'effort'
    for control in ('position', 'servo', 'velocity'):
        axis.control = control
        assert axis.control == control
        assert (axis.target_position, axis.target_velocity) == (0.4, 0.0)
        axis.target_velocity = 3.0
    axis.control = 'effort'
    assert (axis.target_position, axis.target_velocity) == (0.0, 0.0)


def test_bumpless_switching_leaves_a_resting_joint_at_rest():
    """Switch a supported joint through all controls, without any motion."""
    world, body = arm()
    axis = body.joint('a')
    body.q = [0.4, 0.0]
    body.joint('b').control = 'position'
    axis.kp, axis.kd = 1e7, 1e4
    for control in ('position', 'velocity', 'servo', 'position'):
        axis.control = control
        world.step(50)
        assert body.q[0] == pytest.approx(0.4, abs=2e-6)


def test_wrong_controls_are_named():
    """Name the joint, the value and the alternatives."""
    world, body = arm()
    axis = body.joint('a')
    with pytest.raises(sb.InvalidValueError, match="'torque'.*joint 'a'.*'servo'"):
        axis.control = 'torque'
    with pytest.raises(sb.StateError, match="'effort'.*control to 'position' or 'servo'"):
        axis.target_position = 1.0
    with pytest.raises(sb.StateError, match='target_velocity'):
        axis.target_velocity = 1.0
    axis.control = 'velocity'
    with pytest.raises(sb.StateError, match='target_position'):
        axis.target_position = 1.0
    axis.control = 'servo'
    for wrong in (float('nan'), float('inf'), 'far', [1.0, 2.0], True):
        with pytest.raises(sb.InvalidValueError, match='target_position'):
            axis.target_position = wrong
    flat = world.load_urdf(
        robot(link('world', 0.0), link('puck'), joint('slide', 'world', 'puck', 'planar')),
        name='flat',
    )
    with pytest.raises(sb.StateError, match="'slide' is planar"):
        flat.joint('slide').control = 'velocity'


@pytest.mark.parametrize(
    ('name', 'wrong'),
    [
        ('kp', -1.0),
        ('kp', float('inf')),
        ('kd', 'much'),
        ('max_effort', -1.0),
        ('bounce', 1.5),
        ('stop_erp', -0.1),
        ('stop_cfm', float('inf')),
        ('velocity_limit', -2.0),
        ('kp', '3'),
        ('upper', True),
        ('lower', float('inf')),
        ('upper', float('-inf')),
        ('damping', float('inf')),
        ('stiffness', float('inf')),
        ('reference', float('inf')),
        ('armature', float('inf')),
        ('control', ['velocity']),
    ],
)
def test_wrong_parameters_are_named(name, wrong):
    """Refuse invalid motor and stop parameters, and keep the previous ones."""
    _, body = arm()
    axis = body.joint('a')
    before = getattr(axis, name)
    with pytest.raises(sb.InvalidValueError, match=f"{name} = .*joint 'a'"):
        setattr(axis, name, wrong)
    assert getattr(axis, name) == before


def test_follower_has_no_motor_of_its_own():
    """Name the joint to control instead."""
    world = sb.World()
    pair = world.load_urdf(
        robot(
            link('world', 0.0),
            link('a'),
            link('b'),
            joint('first', 'world', 'a'),
            joint('second', 'world', 'b', xyz=(1, 0, 0), inside=MIMIC),
        )
    )
    with pytest.raises(sb.InvalidValueError, match="follows joint 'first'"):
        pair.joint('second').control = 'position'
    pair.joint('second').control = 'effort'


def test_commands_set_their_targets():
    """Command all joints or some, positions with and without velocities."""
    _, body = arm()
    first, second = body.joints
    first.control, second.control = 'position', 'servo'
    body.command_position([0.5, -0.5], velocities=[1.0, 2.0])
    assert (first.target_position, second.target_position) == (0.5, -0.5)
    assert (first.target_velocity, second.target_velocity) == (1.0, 2.0)
    body.command_position([0.7], joints=['b'])
    assert (second.target_position, second.target_velocity) == (0.7, 0.0)
    body.command_velocity([3.0], joints=['a'])
    assert (first.target_position, first.target_velocity) == (0.5, 3.0)
    body.command_effort([1.0, 2.0])
    np.testing.assert_array_equal(body.u, (1.0, 2.0))


@pytest.mark.parametrize(
    'command',
    [
        lambda body: body.command_position([1.0]),
        lambda body: body.command_position([1.0, np.nan]),
        lambda body: body.command_position([1.0, 2.0], velocities=[1.0]),
        lambda body: body.command_position([1.0, 2.0], velocities=[1.0, np.inf]),
        lambda body: body.command_position([1.0, 2.0], joints=['a', 'nobody']),
        lambda body: body.command_position([1.0, 2.0]),
        lambda body: body.command_velocity([1.0, 2.0, 3.0]),
        lambda body: body.command_velocity(['fast', 'faster']),
    ],
)
def test_wrong_commands_change_nothing(command):
    """Check everything first: the second joint is not controlled by position here."""
    world, body = arm()
    body.joint('a').control, body.joint('b').control = 'position', 'velocity'
    before = world.state_hash()
    with pytest.raises(sb.SimBridgeError, match="'arm'"):
        command(body)
    assert world.state_hash() == before


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_runs_with_motors_repeat_bit_for_bit(solver):
    """Continue equally from a snapshot: it contains commands, parameters and modes."""
    hashes = []
    for _ in range(2):
        world, body = arm(solver=solver)
        world.add_ground()
        first, second = body.joints
        first.control, first.max_effort, first.target_velocity = 'velocity', 6.0, 1.0
        second.control, second.kp, second.kd, second.target_position = 'servo', 30.0, 0.5, 0.8
        world.step(200)
        snapshot, start = world.save(), world.state_hash()
        world.step(300)
        hashes.append(world.state_hash())
        first.control, second.kp = 'position', 5.0
        world.step(100)
        world.restore(snapshot)
        assert world.state_hash() == start
        assert (first.control, second.kp, second.target_position) == ('velocity', 30.0, 0.8)
        world.step(300)
        hashes.append(world.state_hash())
    assert len(set(hashes)) == 1


@pytest.mark.parametrize(
    'change',
    [
        lambda axis: setattr(axis, 'control', 'velocity'),
        lambda axis: setattr(axis, 'target_position', 0.1),
        lambda axis: setattr(axis, 'target_velocity', 0.1),
        lambda axis: setattr(axis, 'kp', 0.1),
        lambda axis: setattr(axis, 'bounce', 0.1),
    ],
)
def test_hash_knows_commands_and_parameters(change):
    """Distinguish worlds by one differing value."""
    world, body = arm()
    body.joint('a').control = 'servo'
    before = world.state_hash()
    change(body.joint('a'))
    assert world.state_hash() != before


def test_reset_keeps_the_controls_and_goes_for_the_start():
    """Hold the robot at its initial position, with its current parameters."""
    world, body = arm()
    first, second = body.joints
    first.control, first.target_position = 'position', 1.0
    first.max_effort = 50.0
    world.step(100)
    world.reset()
    assert (first.control, second.control) == ('position', 'effort')
    assert (first.target_position, first.max_effort) == (0.0, 50.0)
    world.step(100)
    assert body.q[0] == pytest.approx(0.0, abs=1e-12)


def test_commands_outlive_another_robot():
    """Keep control, targets and gains when the world grows."""
    world, body = arm()
    axis = body.joint('a')
    axis.control, axis.kp, axis.target_position = 'servo', 70.0, 0.6
    world.step(5)
    world.load_urdf(rotor(), name='other')
    world.step(5)
    assert (axis.control, axis.kp, axis.target_position) == ('servo', 70.0, 0.6)
    body.command_position([0.9], joints=['a'])
    assert axis.target_position == 0.9


def test_readings_follow_a_new_target():
    """Read the acceleration under the current command, before any step."""
    world = sb.World()
    body = world.load_urdf(rotor(inertia=0.5))
    axis = body.joint('joint')
    axis.control, axis.kp, axis.max_effort = 'servo', 10.0, 4.0
    assert body.ddq[0] == 0.0
    axis.target_position = 0.1
    assert body.ddq[0] == pytest.approx(10.0 * 0.1 / 0.5)
    axis.target_position = 1.0
    assert body.ddq[0] == pytest.approx(4.0 / 0.5)
    axis.control = 'velocity'
    assert body.ddq[0] == 0.0
    axis.target_velocity = -1.0
    assert body.ddq[0] == pytest.approx(-4.0 / 0.5)


def test_moving_joint_under_a_hard_motor_reads_its_mean_effort():
    """Match the motor's effort, during acceleration and at constant speed."""
    world = sb.World()
    body = world.load_urdf(rotor(inertia=0.5))
    axis = body.joint('joint')
    axis.control, axis.target_velocity = 'velocity', 2.0
    world.step()
    assert body.ddq[0] == pytest.approx(2.0 / 1e-3)
    world.step()
    assert body.ddq[0] == 0.0
    body.dq = [1.0]
    axis.max_effort = 3.0
    assert body.ddq[0] == pytest.approx(3.0 / 0.5)
