"""Several motors on one axis, each with its own limits, friction and springs."""

from __future__ import annotations

from functools import cache
import math

from contact_worlds import push
from linkages import body, G, imbalance, X, Y, Z
import numpy as np
import pytest
from robots import double_pendulum

import sim_bridge as sb

MASS, ARM = 2.0, 0.5
INERTIA = MASS * ARM**2 + 0.03
# relative velocity error: with trees; with rows on a circle, by the square of the step
EXACT = {True: 1e-9, False: 1e-5}

both = pytest.mark.parametrize('tree', [True, False], ids=['tree', 'rows'])


def pendulum(tree=True, time_step=1e-3, gravity=(0.0, 0.0, -G)):
    """Hang a body on a hinge about y, at rest, with a second motor."""
    world = sb.World(time_step=time_step, gravity=gravity)
    one = body(world, (0.0, 0.0, -ARM), mass=MASS)
    joint = world.add_joint('hinge', None, one, np.zeros(3), Y, tree=tree)
    return world, joint, world.add_motor(joint)


def servo(axis, kp, kd, target=0.0, speed=0.0):
    """Set a servo."""
    axis.control, axis.kp, axis.kd = 'servo', kp, kd
    axis.target_position, axis.target_velocity = target, speed


def run(world, joint, duration):
    """Return position and velocity after `duration` seconds."""
    world.step(round(duration / world.time_step))
    return np.array([joint.q, joint.dq])


# --- sums of motors ------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ('first', 'second'),
    [((30.0, 1.0), (50.0, 2.0)), ((0.0, 4.0), (80.0, 0.0)), ((200.0, 0.5), (0.0, 0.0))],
)
def test_two_servos_are_one_with_the_sum_of_gains(tree, first, second):
    """Swing like the single servo, up to the square of the step."""
    apart = []
    for time_step in (1e-3, 5e-4):
        world, joint, motor = pendulum(tree, time_step)
        servo(joint, *first, 0.6)
        servo(motor, *second, 0.6)
        other, single, _ = pendulum(tree, time_step)
        servo(single, *np.add(first, second), 0.6)
        apart.append(np.abs(run(world, joint, 0.5) - run(other, single, 0.5)).max())
    assert apart[0] < 2e-4
    assert apart[1] < max(apart[0] / 3.5, 1e-11)


@both
def test_efforts_add_up_exactly(tree):
    """Accelerate by the sum of commands, including clamped ones, to rounding."""
    world, joint, motor = pendulum(tree, gravity=(0.0, 0.0, 0.0))
    third = world.add_motor(motor)
    joint.u, motor.u, third.u = 3.0, -1.0, 50.0
    third.effort_limit = 4.0
    world.step(200)
    assert joint.dq == pytest.approx((3.0 - 1.0 + 4.0) / INERTIA * 0.2, rel=EXACT[tree])
    assert motor.dq == pytest.approx(joint.dq, rel=1e-12)
    assert motor.q == pytest.approx(third.q, abs=1e-12)


@both
def test_motor_counts_full_turns_of_its_angle(tree):
    """Count from the joint's zero, even if the motor is added elsewhere."""
    world, joint, first = pendulum(tree, gravity=(0.0, 0.0, 0.0))
    joint.control, joint.target_velocity = 'velocity', 20.0
    world.step(1000)
    assert joint.q > 19.0
    late = world.add_motor(joint)
    world.step(500)
    assert first.q == pytest.approx(joint.q, abs=1e-9)
    assert late.q == pytest.approx(joint.q, abs=1e-9)
    world.reset()
    world.step(10)
    assert late.q == pytest.approx(joint.q, abs=1e-9)


@cache
def integrated(duration, start, spring, drive, friction):
    """
    Integrate the clamped laws by semi-implicit Euler with 20 µs and 10 µs, extrapolated.

    spring: stiffness, target, limit. drive: gain, target velocity, least, most.
    """
    ends = []
    for h in (2e-5, 1e-5):
        q, v = start
        k, rest, limit = spring
        gain, speed, least, most = drive
        for _ in range(round(duration / h)):
            effort = min(max(k * (rest - q), -limit), limit)
            effort += min(max(gain * (speed - v), least), most)
            effort -= MASS * G * ARM * math.sin(q)
            free = v + h * effort / INERTIA
            # friction is limited so that it does not reverse the motion
            v = math.copysign(max(abs(free) - h * friction / INERTIA, 0.0), free)
            q += h * v
        ends.append(np.array([q, v]))
    return 2.0 * ends[1] - ends[0]


@both
def test_clamped_spring_drive_and_friction_act_on_one_axis(tree):
    """Match a separate integration of all three at second order, clamped or not."""
    spring, drive, friction = (30.0, 1.2, 6.0), (8.0, 1.5, -1.0, 9.0), 0.7
    for duration in (0.1, 0.35, 0.8):
        truth, apart = integrated(duration, (0.0, 0.0), spring, drive, friction), []
        for time_step in (1e-3, 2.5e-4):
            world, joint, motor = pendulum(tree, time_step)
            servo(joint, spring[0], 0.0, spring[1])
            joint.max_effort, joint.friction = spring[2], friction
            servo(motor, 0.0, drive[0], 0.0, drive[1])
            motor.max_effort, motor.min_effort = drive[3], drive[2]
            reached = run(world, joint, duration)
            assert abs(joint.motor_effort) <= 6.0
            assert -1.0 <= motor.motor_effort <= 9.0
            apart.append(np.abs(reached - truth).max())
        # a servo's initial target is reached only at the end of the first step
        assert apart[0] < 1e-2
        assert apart[1] < max(apart[0] / 3.0, 2e-5)


# --- limits and friction -------------------------------------------------------------------------


@both
@pytest.mark.parametrize('control', ['velocity', 'friction'])
def test_strengths_add_up_at_rest(tree, control):
    """Hold up to the summed strength of both, and yield beyond it, by the difference."""
    for load, moves in ((7.99, False), (8.5, True)):
        world, joint, motor = pendulum(tree, gravity=(0.0, 0.0, 0.0))
        joint.friction = 3.0
        if control == 'velocity':
            motor.control, motor.max_effort = 'velocity', 5.0
        else:
            motor.friction = 5.0
        for _ in range(100):
            push(world, joint.link2, 0.0 * Y, 1, torque=load * Y)
            assert world.report.converged
        if moves:
            assert joint.dq == pytest.approx((load - 8.0) / INERTIA * 0.1, rel=EXACT[tree])
            assert joint.friction_effort == -3.0
        else:
            assert abs(joint.q) < 1e-12
            held = joint.friction_effort + motor.friction_effort + motor.motor_effort
            assert held == pytest.approx(-load, rel=1e-9)


@both
def test_velocity_motors_of_both_pull_by_their_limits(tree):
    """Keep the velocity of the stronger of two contradicting hard motors."""
    world, joint, motor = pendulum(tree, gravity=(0.0, 0.0, 0.0))
    joint.control, joint.target_velocity, joint.max_effort = 'velocity', -1.0, 2.0
    motor.control, motor.target_velocity, motor.max_effort = 'velocity', 1.0, 5.0
    world.step(50)
    assert joint.dq == pytest.approx((5.0 - 2.0) / INERTIA * 0.05, rel=EXACT[tree])
    world.step(500)
    assert joint.dq == pytest.approx(1.0, rel=1e-9)
    assert (joint.motor_effort, motor.motor_effort) == (-2.0, pytest.approx(2.0, rel=1e-9))


def test_a_motor_has_stops_of_its_own():
    """Stop at the nearer of two stops: the motor's elastic one or the joint's rigid one."""
    world, joint, motor = pendulum(gravity=(0.0, 0.0, 0.0))
    # 100 N m/rad and 10 N m s/rad
    motor.upper, motor.stop_cfm, motor.stop_erp = 0.1, 1.0 / 10.1, 0.1 / 10.1
    joint.u = 5.0
    world.step(3000)
    assert joint.q == pytest.approx(0.1 + 5.0 / 100.0, rel=1e-6)
    joint.upper = 0.12
    world.step(200)
    assert joint.q == pytest.approx(0.12, abs=1e-9)


# --- on every joint, between moving bodies -------------------------------------------------------


@both
@pytest.mark.parametrize(
    ('kind', 'number'),
    [
        ('hinge', 0),
        ('slider', 0),
        ('piston', 0),
        ('piston', 1),
        ('planar', 0),
        ('planar', 1),
        ('planar', 2),
    ],
)
def test_each_axis_takes_a_motor(tree, kind, number):
    """Have the same position and rate, and accelerate like a command on the axis itself."""
    reached = []
    for on_motor in (True, False):
        world = sb.World(gravity=(1.0, 2.0, -3.0))
        first = body(world, (0.0, 0.0, 1.0), mass=3.0)
        second = body(world, (0.4, 0.2, 1.1), mass=1.0)
        joint = world.add_joint(kind, first, second, (0.2, 0.1, 1.0), (1.0, 0.5, 0.2), tree=tree)
        axis = joint.axes[number]
        motor = world.add_motor(axis)
        (motor if on_motor else axis).u = 0.5
        world.step(300)
        assert abs(axis.q) > 1e-3
        assert motor.q == pytest.approx(axis.q, abs=1e-9)
        assert motor.dq == pytest.approx(axis.dq, abs=1e-9)
        np.testing.assert_array_less(imbalance(world), 1e-8)
        reached.append([*axis.joint.link2.p, axis.q, axis.dq])
    np.testing.assert_allclose(*reached, atol=1e-5)


def test_axes_of_a_urdf_take_motors():
    """Drive the second joint of a URDF robot, whose axis is not z, from its own zero."""
    reached = []
    for on_motor in (True, False):
        world = sb.World()
        robot = world.load_urdf(double_pendulum())
        robot.q = [0.3, -0.4]
        motor = world.add_motor(robot.joint('b'))
        assert motor.q == pytest.approx(-0.4, abs=1e-12)
        servo(motor if on_motor else robot.joint('b'), 20.0, 0.5, 0.7)
        world.step(500)
        reached.append([*robot.q, *robot.dq])
    np.testing.assert_allclose(*reached, atol=2e-4)


@pytest.mark.parametrize('kind', ['universal', 'ball'])
def test_other_axes_are_refused(kind):
    """Name the alternative, and add nothing."""
    world = sb.World()
    one = body(world)
    axis2 = X if kind == 'universal' else None
    joint = world.add_joint(kind, None, one, np.zeros(3), Z, axis2)
    with pytest.raises(sb.InvalidValueError, match=r'axis = .*\(add_motor\)'):
        world.add_motor(joint)
    if joint.axes:
        with pytest.raises(sb.InvalidValueError, match='add_angular_motor'):
            world.add_motor(joint.axes[1])
    assert list(world.joints) == [kind]


# --- limits of their effect ----------------------------------------------------------------------


def test_motors_add_no_constraint_and_no_collision_exclusion():
    """Leave bodies free and colliding; after removal, keep the joint's collision exclusion."""
    world = sb.World(gravity=(0.0, 0.0, -1.0))
    below = world.add_body(sb.Sphere(0.1), mass=1.0, motion='static')
    above = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 0.25))
    world.add_joint('slider_motor', below, above, axis=Z)
    world.step(1000)
    assert above.root_link.p[2] == pytest.approx(0.2, abs=1e-3)
    assert world.contact_count == 1
    hinge = world.add_joint('hinge', below, above, axis=Z)
    motor = world.add_motor(hinge)
    world.step()
    assert world.contact_count == 0
    world.remove_joint(motor)
    world.step()
    assert world.contact_count == 0


@both
def test_snapshots_and_copies_know_them(tree):
    """Reach the same end, bit for bit."""
    world, joint, motor = pendulum(tree)
    servo(joint, 20.0, 0.1, 0.5)
    servo(motor, 0.0, 5.0, 0.0, 1.0)
    motor.max_effort = 2.0
    world.step(100)
    kept, twin = world.save(), world.copy()
    world.step(100)
    ends = {world.state_hash()}
    world.restore(kept)
    for each in (world, twin):
        each.step(100)
        ends.add(each.state_hash())
    assert len(ends) == 1


ENTRY = {
    'name': 'drive',
    'type': 'hinge_motor',
    'link1': 'upper',
    'link2': 'lower',
    'position1': [0, 0, -0.4],
    'axis': [0, 1, 0],
    'limits': {'effort': 3, 'lower_effort': -1},
    'dynamics': {'friction': 0.1, 'stiffness': 2.0, 'reference': 0.2},
}


def test_files_declare_motors():
    """Read a motor from YAML and from a URDF: without a constraint, with its axis parameters."""
    element = (
        '<sim_bridge><joint name="drive" type="hinge_motor"><link1 name="upper" xyz="0 0 -0.4"/>'
        '<link2 name="lower"/><axis xyz="0 1 0"/><limit effort="3" lower_effort="-1"/><dynamics '
        'friction="0.1" stiffness="2" reference="0.2"/></joint></sim_bridge>'
    )
    text = double_pendulum()
    for robot in (
        sb.World().load_urdf(text, extra_joints={'joints': [ENTRY]}),
        sb.World().load_urdf(text.replace('</robot>', f'{element}</robot>')),
    ):
        motor = robot.joint('drive')
        assert (motor.lower_effort_limit, motor.effort_limit) == (-1.0, 3.0)
        assert (motor.friction, motor.stiffness, motor.reference) == (0.1, 2.0, 0.2)
        # the angle is the joint's, with the URDF's zero at assembly
        robot.q = [0.1, 0.4]
        assert motor.q == pytest.approx(0.4, abs=1e-12)
