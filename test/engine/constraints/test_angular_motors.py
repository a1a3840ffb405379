"""Angular motors of one to three user axes, and in Euler mode: closed forms, and ODE's AMotor."""

from __future__ import annotations

import math

from linkages import body, G, imbalance, turn, X, Y, Z
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from benchmarks.mechanism import Motion
from benchmarks.peers import libode, ode
import sim_bridge as sb

INERTIA = np.array([0.02, 0.03, 0.04])
ANCHOR = np.array([0.2, 0.0, 0.1])


def floating(inertia=INERTIA, time_step=1e-3, **parts):
    """Return a world without gravity, and a body floating in it."""
    world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0))
    return world, body(world, inertia=inertia, **parts)


def motor_about(kind, world, one):
    """Put a motor between world and body, rotating about y only; return that axis."""
    if kind == 'euler':
        return world.add_angular_motor(None, one, [Y, Z], euler=True).axes[0]
    if kind == 'hinge':
        return world.add_joint('hinge', None, one, np.zeros(3), Y)
    return world.add_angular_motor(None, one, [3.0 * Y], fixed_on=[kind])


@pytest.mark.parametrize('kind', ['first', 'second', 'euler', 'hinge'])
def test_one_axis_is_driven_as_a_hinge_is(kind):
    """Accelerate by T / I, keep the speed, brake by friction: a hinge axis' settings."""
    world, one = floating()
    axis = motor_about(kind, world, one)
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 8.0, 0.3
    world.step(500)
    assert (axis.motor_effort, axis.ddq) == (pytest.approx(0.3), pytest.approx(10.0))
    assert (axis.dq, axis.q) == (pytest.approx(5.0), pytest.approx(1.25))
    np.testing.assert_allclose(one.root_link.w, 5.0 * Y, atol=1e-12)
    world.step(1500)
    assert (axis.dq, axis.motor_effort) == (pytest.approx(8.0), pytest.approx(0.0, abs=1e-12))
    assert axis.q == pytest.approx(3.2 + 8.0 * 1.2)
    axis.control, axis.friction = 'effort', 0.12
    world.step(1000)
    assert axis.friction_effort == pytest.approx(-0.12)
    assert axis.dq == pytest.approx(4.0)
    world.step(1500)
    assert axis.dq == pytest.approx(0.0, abs=1e-12)
    assert axis.q == pytest.approx(12.8 + 8.0, abs=1e-2)
    np.testing.assert_array_less(imbalance(world), 1e-9)


@pytest.mark.parametrize('kind', ['first', 'second', 'euler'])
def test_servo_swings_as_a_spring_and_a_damper(kind):
    """Converge to the damped oscillation about the target, with the squared time step."""
    kp, kd, inertia, target, errors = 2.0, 0.05, INERTIA[1], 0.4, []
    decay = 0.5 * kd / inertia
    pace = math.sqrt(kp / inertia - decay**2)
    for time_step in (2e-3, 1e-3):
        world, one = floating(time_step=time_step)
        axis = motor_about(kind, world, one)
        axis.control, axis.kp, axis.kd, axis.target_position = 'servo', kp, kd, target
        worst = 0.0
        for _ in range(20):
            world.step(round(0.05 / time_step))
            t = world.time
            swing = math.cos(pace * t) + decay / pace * math.sin(pace * t)
            worst = max(worst, abs(axis.q - target * (1.0 - math.exp(-decay * t) * swing)))
        errors.append(worst)
    assert errors[1] < 1e-3
    assert 1.8 < errors[0] / errors[1] < 4.2


def test_stops_of_a_user_axis_hold_its_summed_angle():
    """Stop a spin at a stop beyond a whole turn."""
    world, one = floating()
    axis = motor_about('first', world, one)
    axis.upper, axis.u = 7.0, 0.1
    world.step(4000)
    # an angle summed from rates cannot be moved back to the stop within the step
    assert 7.0 <= axis.q < 7.0 + 1e-3 * math.sqrt(2.0 * 7.0 * 0.1 / INERTIA[1])
    assert axis.dq == pytest.approx(0.0, abs=1e-12)
    assert axis.stop_effort == pytest.approx(-0.1)
    np.testing.assert_allclose(one.root_link.R, turn(Y, axis.q), atol=1e-8)


# --- several user axes ---------------------------------------------------------------------------


def test_user_axes_at_an_angle_act_each_for_itself():
    """Rotate a ball by the sum of both torques, until each axis has its own rate."""
    world, one = floating((0.02, 0.02, 0.02))
    skew = (X + Z) / math.sqrt(2.0)
    motor = world.add_angular_motor(None, one, [Z, skew])
    for axis, speed in zip(motor.axes, (1.0, 2.0), strict=True):
        axis.control, axis.target_velocity, axis.max_effort = 'velocity', speed, 0.1
    world.step(10)
    torque = 0.1 * (Z + skew)
    np.testing.assert_allclose(one.root_link.w, 0.01 * torque / 0.02, atol=1e-15)
    np.testing.assert_allclose(motor.feedback(about='joint', part='motor').t2, torque, atol=1e-15)
    np.testing.assert_allclose(motor.reaction[1], torque, atol=1e-15)
    np.testing.assert_allclose(motor.dq, [one.root_link.w @ Z, one.root_link.w @ skew], atol=1e-15)
    world.step(5000)
    # among all rotations with these rates, the one without any part outside the motor axes
    both = np.linalg.pinv([Z, skew]) @ (1.0, 2.0)
    np.testing.assert_allclose(one.root_link.w, both, atol=1e-12)
    np.testing.assert_allclose(motor.dq, (1.0, 2.0), atol=1e-12)


def test_three_user_axes_set_the_whole_turning():
    """Rotate an asymmetric body at the set rates, against its gyroscopic torques."""
    world, one = floating()
    tilted = turn((1, 2, 3), 0.7)
    motor = world.add_angular_motor(None, one, tilted.T)
    rates = np.array([1.0, -2.0, 3.0])
    for axis, rate in zip(motor.axes, rates, strict=True):
        axis.control, axis.target_velocity = 'velocity', rate
    w = tilted @ rates
    world.step()
    np.testing.assert_allclose(one.root_link.w, w, atol=1e-12)
    for _ in range(10):
        world.step(100)
        np.testing.assert_allclose(one.root_link.w, w, atol=1e-12)
        np.testing.assert_allclose(motor.q, rates * (world.time - 5e-4), atol=1e-10)
    # the angles are summed from the steps' mean rates, and these rotate the body
    angle = np.linalg.norm(w) * (world.time - 5e-4)
    np.testing.assert_allclose(one.root_link.R, turn(w, angle), atol=1e-5)
    inertia = one.root_link.R @ np.diag(INERTIA) @ one.root_link.R.T
    efforts = [axis.motor_effort for axis in motor.axes]
    np.testing.assert_allclose(tilted @ efforts, np.cross(w, inertia @ w), atol=1e-3)
    np.testing.assert_allclose(tilted @ efforts, motor.reaction[1], atol=1e-12)


def between(euler, time_step=1e-3, count=3):
    """
    Put a motor with skew axes between two rotating bodies on a ball joint.

    Returns the world, the bodies, the motor, and its axes as given: sides and vectors.
    """
    world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0))
    first = body(world, rotation=turn((1, 1, 0), 0.4), mass=2.0, inertia=INERTIA)
    second = body(world, (0.3, 0.1, 0.2), turn((0, 1, 1), 0.9), inertia=INERTIA[::-1])
    first.set_base_velocity((0.1, 0.0, 0.2), (0.5, -0.3, 0.4))
    ball = world.add_joint('ball', first, second, ANCHOR)
    ball.dq = (0.6, 0.4, -0.5)
    z, x = turn((2, -1, 1), 0.8).T[[2, 0]]
    axes = [('first', z), ('second', x), ('first', (0.2, 1.0, 0.3))][: 2 if euler else count]
    sides, vectors = zip(*axes, strict=True)
    motor = world.add_angular_motor(
        first, second, vectors, fixed_on=None if euler else sides, euler=euler
    )
    return world, (first, second), motor, axes


@pytest.mark.parametrize('euler', [False, True])
def test_angle_accelerations_match_the_motion(euler):
    """Compute the change of the rates from the step before to the step after."""
    world, _, motor, _ = between(euler, 1e-4)
    world.step(3000)
    rates, told, angles = [], [], []
    for _ in range(3):
        rates.append(motor.dq)
        told.append(motor.ddq)
        angles.append(motor.q)
        world.step()
    np.testing.assert_allclose(told[1], (rates[2] - rates[0]) / 2e-4, atol=1e-5)
    np.testing.assert_allclose(rates[1], (angles[2] - angles[0]) / 2e-4, atol=1e-6)
    assert np.abs(told[1]).max() > 0.1
    assert [axis.ddq for axis in motor.axes] == [motor.ddq[k] for k in range(3)]


# --- Euler mode ----------------------------------------------------------------------------------


def test_euler_angles_are_measured():
    """Agree with intrinsic rotations about z, -y and x, in the frames' axes."""
    world, (first, second), motor, ((_, z), (_, x)) = between(True)
    start = np.array([x, np.cross(z, x), z]).T
    on_first, on_second = (one.root_link.R.T @ start for one in (first, second))
    np.testing.assert_allclose(motor.q, 0.0, atol=1e-15)
    for _ in range(10):
        world.step(100)
        seen = (first.root_link.R @ on_first).T @ second.root_link.R @ on_second
        expected = Rotation.from_matrix(seen).as_euler('ZYX') * (1.0, -1.0, 1.0)
        np.testing.assert_allclose(motor.q, expected, atol=1e-12)
    assert np.abs(motor.q).max() > 0.2


def test_euler_servos_bear_a_weight():
    """Rotate a body on a ball joint to angles that sag by its weight's torques about each axis."""
    world = sb.World()
    one = body(world, 0.15 * X)
    world.add_joint('ball', None, one, np.zeros(3))
    motor = world.add_angular_motor(None, one, [Z, X], euler=True)
    targets, kp = (0.5, -0.4, 0.3), 1e3
    for axis, target in zip(motor.axes, targets, strict=True):
        axis.control, axis.kp, axis.kd, axis.target_position = 'servo', kp, 20.0, target
    world.step(3000)
    a, b, c = motor.q
    np.testing.assert_allclose(one.root_link.R, turn(Z, a) @ turn(-Y, b) @ turn(X, c), atol=1e-9)
    bearing = np.cross(one.root_link.wc, G * Z)
    efforts = [axis.motor_effort for axis in motor.axes]
    np.testing.assert_allclose(
        efforts, [bearing @ axis.direction for axis in motor.axes], atol=1e-6
    )
    np.testing.assert_allclose(motor.q, targets - np.array(efforts) / kp, atol=1e-6)
    np.testing.assert_allclose(motor.reaction[1], bearing, atol=1e-6)
    np.testing.assert_allclose(motor.feedback(about='joint', part='motor').t2, bearing, atol=1e-6)


def test_euler_motor_turns_about_its_first_axis_alone():
    """Swing a tilted body about z, with two locked angles, at the closed form's torque."""
    world, one = floating(time_step=1e-4)
    motor = world.add_angular_motor(None, one, [Z, X], euler=True)
    first, middle, last = motor.axes
    middle.control = 'servo'
    middle.kp, middle.kd, middle.target_position = 100.0, 3.0, -0.6
    last.control = 'velocity'
    first.control = 'velocity'
    world.step(10000)
    middle.control = 'velocity'
    first.control, first.u = 'effort', 0.05
    world.step(5000)
    tilted = one.root_link.R.T @ Z
    about = tilted @ np.diag(INERTIA) @ tilted
    assert middle.q == pytest.approx(-0.6, abs=1e-6)
    assert (first.q, first.dq) == (
        pytest.approx(0.5 * 0.05 / about * 0.25, rel=1e-3),
        pytest.approx(0.025 / about),
    )
    np.testing.assert_allclose(one.root_link.w, first.dq * Z, atol=1e-9)
    assert first.ddq == pytest.approx(0.05 / about, rel=1e-5)


# --- ODE -----------------------------------------------------------------------------------------

# settings of the motors: speed and greatest effort of each axis, or None
LOCK = (0.0, math.inf)
DRIVES = {
    'one user axis': (False, [(1.5, 0.02)]),
    'two user axes': (False, [(1.5, 0.02), (-1.0, 0.05)]),
    'three user axes': (False, [(1.5, 0.02), (-1.0, 0.05), (0.5, 0.03)]),
    'locked user axes': (False, [LOCK, (-1.0, 0.05), LOCK]),
    # the speeds of ODE's outer axes are the angle rates times the cosine of the middle angle
    'Euler: middle motor': (True, [None, (1.5, 0.02), None]),
    'Euler: outer axes locked': (True, [LOCK, (1.5, 0.02), LOCK]),
    'Euler: middle locked': (True, [None, LOCK, None]),
}


def place(positions, rotations):
    """Return the bodies' poses in one vector."""
    return np.concatenate([np.ravel(positions), np.ravel(rotations)])


def ode_motion(euler, drives, time_step, duration):
    """Return the final poses of ODE's bodies, and the motor's angles in Euler mode."""
    _, bodies, _, axes = between(euler, count=len(drives))
    links = [one.root_link for one in bodies]
    world = libode.world_create()
    libode.set_gravity(world, 0.0, 0.0, 0.0)
    libode.set_cfm(world, 0.0)
    moved = [ode.add_body(world, link.m, link.I, finite_rotation=True) for link in links]
    ode.place(
        moved,
        Motion(
            *(np.array([getattr(link, name) for link in links]) for name in ('p', 'R', 'v', 'w'))
        ),
    )
    ball, motor = (libode.create_joint[kind](world, None) for kind in ('Ball', 'AMotor'))
    for joint in (ball, motor):
        libode.attach(joint, *moved)
    libode.place_joint['BallAnchor'](ball, *ANCHOR)
    libode.motor_mode(motor, int(euler))
    libode.motor_count(motor, len(drives))
    for number, (side, axis) in zip((0, 2) if euler else range(3), axes, strict=False):
        libode.motor_axis(motor, number, ('first', 'second').index(side) + 1, *axis)
    for number, given in enumerate(drives):
        if given:
            # dParamVel and dParamFMax; rates of the first body against the second
            libode.motor_parameter(motor, 0x100 * number + 2, -given[0])
            libode.motor_parameter(motor, 0x100 * number + 5, given[1])
    for _ in range(round(duration / time_step)):
        libode.world_step(world, time_step)
    motion = ode.read_motion(moved)
    angles = [-libode.motor_angle(motor, number) for number in range(3)] if euler else None
    libode.world_destroy(world)
    return place(motion.com, motion.rotation), angles


@pytest.mark.parametrize(('euler', 'drives'), DRIVES.values(), ids=DRIVES)
def test_ode_tends_to_our_motors_motion(euler, drives):
    """Halve the distance to ODE's AMotor motion with half the time step; compare the angles."""
    world, bodies, motor, _ = between(euler, 2.5e-4, len(drives))
    driven = [pair for pair in zip(motor.axes, drives, strict=True) if pair[1]]
    for axis, (speed, strength) in driven:
        axis.control, axis.target_velocity, axis.max_effort = 'velocity', speed, strength
    world.step(4000)
    links = [one.root_link for one in bodies]
    ours = place([link.p for link in links], [link.R for link in links])
    errors = []
    for time_step in (1e-3, 5e-4):
        theirs, angles = ode_motion(euler, drives, time_step, 1.0)
        errors.append(np.abs(theirs - ours).max())
    assert errors[1] < 1e-3
    assert 1.8 < errors[0] / errors[1] < 2.2
    if euler:
        np.testing.assert_allclose(angles, motor.q, atol=2e-3)
    assert max(abs(axis.motor_effort) for axis, _ in driven) > 1e-3
