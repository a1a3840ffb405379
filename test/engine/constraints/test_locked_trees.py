"""Constraint joints acting on locked tree joints."""

from __future__ import annotations

import math

from linkages import body, imbalance, X, Z
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb

SOLVERS = ('direct', 'iterative', 'split')
INERTIA = 0.04  # about Z, of `body`

# settings that lock a joint, the name of the locking effort, and its value as the joint yields
LOCKS = {
    'friction': ({'friction': 5.0}, 'friction_effort', 5.0),
    'motor': ({'control': 'velocity', 'max_effort': 5.0}, 'motor_effort', 5.0),
    'stop': ({'upper': 0.0}, 'stop_effort', 0.0),
}
# settings that push by 3 N m, and changes to 20 N m in the opposite direction
PUSHES = {
    'effort': ({'u': 3.0}, {'u': -20.0}),
    'spring': ({'stiffness': 10.0, 'reference': 0.3}, {'reference': -2.0}),
    'servo': (
        {'control': 'servo', 'kp': 10.0, 'kd': 0.1, 'target_position': 0.3},
        {'target_position': -2.0},
    ),
    'motor': (
        {'control': 'velocity', 'max_effort': 3.0, 'target_velocity': 1.0},
        {'max_effort': 20.0, 'target_velocity': -1.0},
    ),
}


def assign(thing, values):
    """Set several attributes."""
    for name, value in values.items():
        setattr(thing, name, value)


def pushed(lock, push):
    """Lock a tree joint, and push it by an angular motor beside it."""
    world = sb.World()
    one = body(world)
    joint = world.add_joint('hinge', None, one, np.zeros(3), Z, tree=True)
    motor = world.add_angular_motor(None, one, [Z])
    assign(joint, lock)
    assign(motor, push)
    world.step(10)
    return world, joint, motor


@pytest.mark.parametrize('push', PUSHES)
@pytest.mark.parametrize('lock', LOCKS)
def test_locked_joints_bear_pushes(lock, push):
    """Bear a push by the joint's lock, and yield to a stronger one."""
    (locking, effort, greatest), (begin, end) = LOCKS[lock], PUSHES[push]
    world, joint, motor = pushed(locking, begin)
    assert (joint.q, joint.dq) == (0.0, 0.0)
    assert getattr(joint, effort) == pytest.approx(-3.0)
    np.testing.assert_allclose(motor.feedback().t2, 3.0 * Z, atol=1e-12)
    np.testing.assert_allclose(joint.feedback().t2, -3.0 * Z, atol=1e-12)
    np.testing.assert_array_less(imbalance(world), 1e-9)
    assign(motor, end)
    world.step(10)
    assert joint.dq < -0.1
    assert getattr(joint, effort) == pytest.approx(greatest)
    assert world.report.converged


def test_a_push_beyond_a_motor_turns_it_round():
    """Reverse with the push less the motor's greatest effort."""
    world, joint, motor = pushed(LOCKS['motor'][0], {})
    motor.u = -20.0
    world.step(100)
    assert joint.dq == pytest.approx(-(20.0 - 5.0) / INERTIA * 0.1)


@pytest.mark.parametrize('friction', [1.0, 0.3])
def test_compliant_joints_pull_at_locked_ones(friction):
    """Hold a lever by friction, or not, against a soft ball joint 1 cm away."""
    world, stiffness, damping = sb.World(), 100.0, 1.0
    lever = body(world, 0.5 * X)
    joint = world.add_joint('hinge', None, lever, np.zeros(3), Z)
    joint.friction = friction
    gain = world.time_step * stiffness + damping
    soft = world.add_joint(
        'ball',
        None,
        lever,
        (0.5, 0.01, 0.0),
        anchor2=0.5 * X,
        erp=world.time_step * stiffness / gain,
        cfm=1.0 / gain,
    )
    world.step(1000)
    if friction > 0.5:
        assert joint.q == 0.0
        assert joint.friction_effort == pytest.approx(-0.5)
        assert soft.feedback().f2[1] == pytest.approx(1.0)
    else:
        assert joint.q > 0.005
    np.testing.assert_array_less(imbalance(world), 1e-9)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('strength', [0.01, 1.0, math.inf])
def test_motor_of_a_loop_starts_against_friction(strength, solver):
    """Drive a four-bar at its last joint, with all other joints locked by friction at first."""
    world = sb.World(solver=solver, gravity=(0.0, 0.0, 0.0))
    robot = world.load_urdf(path_of('four_bar'))
    for name in robot.joint_names:
        robot.joint(name).friction = 0.05
    world.step(10)
    motor = robot.joint('coupler_rocker')
    motor.control, motor.target_velocity, motor.max_effort = 'velocity', 1.0, strength
    world.step(200)
    assert motor.dq == pytest.approx(1.0 if strength > 0.1 else 0.0)
    np.testing.assert_array_less(imbalance(world), 1e-9)
    assert world.report.converged


def test_contradicting_joints_are_reported():
    """Weld a body to the world, and demand 5 cm distance."""
    world = sb.World()
    one = body(world)
    world.add_joint('fixed', None, one)
    world.step()
    assert world.report.converged
    elsewhere = world.add_joint('ball', None, one, 0.05 * X, anchor2=np.zeros(3))
    world.step()
    assert not world.report.converged
    assert elsewhere.error[0] == pytest.approx(0.05)
