"""
The sensor contract, against numbers computed by hand.

Signs, frames, reference points and lever arms.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio
import pytest
from robots import ft, joint, link, pendulum, robot

import sim_bridge as sb

G = 9.81


def imu(reference, inside=''):
    """Declare an IMU on a link, as in Gazebo."""
    sensor = f'<sensor name="imu" type="imu">{inside}</sensor>'
    return f'<gazebo reference="{reference}">{sensor}</gazebo>'


def load(xml):
    """Return a world with one robot."""
    world = sb.World()
    return world, world.load_urdf(xml)


def close(actual, expected, atol=1e-9):
    """Compare vectors."""
    np.testing.assert_allclose(actual, expected, atol=atol)


def hanging(sensor):
    """Return 3 kg on a fixed joint, the centre of mass 0.2 m below it and 0.1 m beside it."""
    return robot(
        link('world', 0.0),
        link('mass', 3.0, (0.1, 0, -0.2)),
        joint('mount', 'world', 'mass', 'fixed', xyz=(0, 0, 2)),
        sensor,
    )


def test_hanging_mass_pulls_down():
    """Read -m g along z, child on parent, and the moment of the offset centre of mass, r x f."""
    world, body = load(hanging(ft('mount')))
    world.step()
    sensor = body.device('ft')
    close(sensor.f, (0, 0, -3 * G))
    close(sensor.tau, np.cross((0.1, 0, -0.2), (0, 0, -3 * G)))
    assert sensor.frame_id == 'mass'


def test_parent_to_child_is_the_opposite():
    """Read the opposite reaction with SDF's measure_direction parent_to_child."""
    opposite = '<measure_direction>parent_to_child</measure_direction>'
    world, body = load(hanging(ft('mount', opposite)))
    world.step()
    close(body.device('ft').f, (0, 0, 3 * G))


def test_sensor_pose_turns_and_shifts_the_wrench():
    """Read about the sensor's origin and in its axes: rolled by 90°, 0.5 m below the joint."""
    world, body = load(hanging(ft('mount', extra='<pose>0 0 -0.5 1.5707963267948966 0 0</pose>')))
    world.step()
    sensor = body.device('ft')
    # in sensor axes world -z is -y; the centre of mass is (0.1, 0, 0.3) away, in link axes
    close(sensor.f, (0, -3 * G, 0))
    torque = np.cross((0.1, 0, 0.3), (0, 0, -3 * G))
    close(sensor.tau, (torque[0], torque[2], -torque[1]))
    assert sensor.frame_id == 'ft'


@pytest.mark.parametrize(
    ('frame', 'expected', 'link_name'),
    [('child', (0, -3 * G, 0), 'mass'), ('parent', (0, 0, -3 * G), 'world')],
)
def test_sdf_frames(frame, expected, link_name):
    """Choose the child's or the parent's axes, about the joint's origin at any sensor pose."""
    xml = robot(
        link('world', 0.0),
        link('mass', 3.0),
        joint('mount', 'world', 'mass', 'fixed', rpy=(math.pi / 2, 0, 0)),
        ft('mount', f'<frame>{frame}</frame>', '<pose>7 7 7 0 0 0</pose>'),
    )
    world, body = load(xml)
    world.step()
    close(body.device('ft').f, expected)
    close(body.device('ft').tau, (0, 0, 0))
    assert body.device('ft').frame_id == link_name


def test_parent_frame_of_a_moving_joint():
    """Express the wrench in the parent's axes while the sensor turns with the child."""
    world, body = load(pendulum(mass=2.0, length=0.5, gazebo=ft('joint', '<frame>parent</frame>')))
    body.q = [0.8]
    body.hold = True
    world.step()
    close(body.device('ft').f, (0, 0, -2 * G))


def test_applied_torque_is_part_of_the_wrench():
    """Carry -tau about the axis: the motor pushes the parent back."""
    world, body = load(
        robot(
            link('world', 0.0),
            link('wheel', 2.0, inertia=(0.5, 0.5, 0.5)),
            joint('axle', 'world', 'wheel', 'continuous', (0, 0, 1)),
            ft('axle'),
        )
    )
    body.u = [4.0]
    world.step(10)
    close(body.device('ft').tau, (0, 0, -4.0))
    close(body.device('ft').f, (0, 0, -2 * G))


def test_stop_torque_is_part_of_the_wrench():
    """Carry the stop torque: held against the stop, the wheel passes no net torque."""
    limit = '<limit lower="-1" upper="0" effort="100" velocity="10"/>'
    world, body = load(
        robot(
            link('world', 0.0),
            link('wheel', 2.0, inertia=(0.5, 0.5, 0.5)),
            joint('axle', 'world', 'wheel', 'revolute', (0, 0, 1), inside=limit),
            ft('axle'),
        )
    )
    body.u = [4.0]
    world.step(10)
    close(body.device('ft').tau, (0, 0, 0))
    assert world.state.force[0] == pytest.approx(-4.0, rel=1e-9)


def spinning_arm(sensor):
    """Return a 2 kg point mass 0.7 m along x on a vertical axle."""
    return robot(
        link('world', 0.0),
        link('arm', 2.0, (0.7, 0, 0), (1e-9, 1e-9, 1e-9)),
        joint('axle', 'world', 'arm', 'continuous', (0, 0, 1)),
        sensor,
    )


def test_spinning_arm_pulls_outwards():
    """Read the centrifugal force m r w² along x in the turning frame."""
    world, body = load(spinning_arm(ft('axle')))
    body.dq = [3.0]
    world.step(500)
    close(body.device('ft').f, (2.0 * 0.7 * 9.0, 0, -2 * G), atol=1e-6)


def test_accelerating_arm_pushes_back():
    """Read -m r alpha across and the centrifugal force along, at the joint state."""
    world, body = load(spinning_arm(ft('axle')))
    body.u = [1.5]
    world.step(400)
    alpha = 1.5 / (2.0 * 0.7**2 + 1e-9)
    close(body.ddq, [alpha])
    expected = (2.0 * 0.7 * body.dq[0] ** 2, -2.0 * 0.7 * alpha, -2 * G)
    close(body.device('ft').f, expected, atol=1e-7)


def test_pendulum_rod_carries_the_textbook_tension():
    """Read m (g cos q + l w²) along the rod at every instant of the swing."""
    world, bob = load(pendulum(mass=2.0, length=0.5, gazebo=ft('joint')))
    bob.q = [1.2]
    for _ in range(20):
        world.step(50)
        tension = 2.0 * (G * math.cos(bob.q[0]) + 0.5 * bob.dq[0] ** 2)
        assert bob.device('ft').f[2] == pytest.approx(-tension, abs=1e-6)


def test_sensor_on_a_fixed_joint_inside_a_moving_arm():
    """Read only the outward load: a 0.4 kg tool on an arm held out."""
    xml = robot(
        link('world', 0.0),
        link('arm', 5.0, (0.5, 0, 0)),
        link('tool', 0.4, (0.05, 0, 0)),
        joint('shoulder', 'world', 'arm', 'continuous', (0, 1, 0)),
        joint('flange', 'arm', 'tool', 'fixed', xyz=(1, 0, 0)),
        ft('flange'),
    )
    world, body = load(xml)
    body.hold = True
    world.step(3)
    close(body.device('ft').f, (0, 0, -0.4 * G))
    close(body.device('ft').tau, np.cross((0.05, 0, 0), (0, 0, -0.4 * G)))
    force, torque = body.joint('flange').reaction
    close(force, (0, 0, 0.4 * G))
    close(torque, np.cross((0.05, 0, 0), (0, 0, 0.4 * G)))


def box(sensor):
    """Return a free box."""
    return robot(link('box', 2.0, (0.02, 0, 0.01), (0.1, 0.2, 0.3)), sensor)


def test_free_fall_reads_nothing():
    """Read no proper acceleration while falling."""
    world, body = load(box(imu('box')))
    world.step(100)
    close(body.device('imu').accelerometer.dv, (0, 0, 0))


def test_rest_reads_g_upwards():
    """Read +g along z at rest, and along -y when rolled by -90°."""

    def mounted(roll):
        return robot(
            link('world', 0.0),
            link('box', 1.0),
            joint('mount', 'world', 'box', 'fixed', rpy=(roll, 0, 0)),
            imu('box'),
        )

    world, body = load(mounted(0.0))
    world.step()
    close(body.device('imu').accelerometer.dv, (0, 0, G))
    close(body.device('imu').gyro.w, (0, 0, 0))
    close(body.device('imu').orientation, (0, 0, 0, 1))
    world, body = load(mounted(-math.pi / 2))
    world.step()
    close(body.device('imu').accelerometer.dv, (0, -G, 0))
    close(body.device('imu').orientation, (-math.sqrt(0.5), 0, 0, math.sqrt(0.5)))


def test_lever_arm_of_the_accelerometer():
    """Read alpha x r + w x (w x r) at a sensor 0.3 m from a vertical axle, besides g."""
    xml = robot(
        link('world', 0.0),
        link('disc', 1.0, inertia=(1, 1, 0.5)),
        joint('axle', 'world', 'disc', 'continuous', (0, 0, 1)),
        imu('disc', '<pose>0.3 0 0.1 0 0 0</pose>'),
    )
    world, body = load(xml)
    body.dq = [2.0]
    body.u = [1.0]
    world.step(100)
    w, alpha = body.dq[0], 1.0 / 0.5
    close(body.device('imu').accelerometer.dv, (-0.3 * w * w, 0.3 * alpha, G), atol=1e-8)
    close(body.device('imu').gyro.w, (0, 0, w))


def test_gyro_reads_in_its_own_axes():
    """Read a turn about z as one about -y on a sensor rolled by -90°, at any angle."""
    xml = robot(
        link('world', 0.0),
        link('disc', 1.0, inertia=(1, 1, 0.5)),
        joint('axle', 'world', 'disc', 'continuous', (0, 0, 1)),
        imu('disc', '<pose>0 0 0 -1.5707963267948966 0 0</pose>'),
    )
    world, body = load(xml)
    body.dq = [2.0]
    world.step(777)
    close(body.device('imu').gyro.w, (0, -2.0, 0))


def turntable():
    """Return a world with a disc turning by 0.2 rad a step, and an IMU on it."""
    world, body = load(
        robot(
            link('world', 0.0),
            link('disc', 1.0, inertia=(1, 1, 0.5)),
            joint('axle', 'world', 'disc', 'continuous', (0, 0, 1)),
            imu('disc'),
        )
    )
    body.dq = [200.0]
    return world, body.device('imu')


@pytest.mark.parametrize('half_turn', ['x', 'y', 'z', None])
def test_orientation_of_any_rotation(half_turn):
    """Give a quaternion near a half turn about each axis, and near zero, to rounding."""
    rng = np.random.default_rng(3)
    world, body = load(robot(link('box', 1.0), imu('box')))
    for _ in range(20):
        quaternion = 0.1 * rng.standard_normal(4)
        quaternion['xyz'.find(half_turn) if half_turn else 3] += 1.0
        quaternion /= np.linalg.norm(quaternion)
        body.set_base_pose((0, 0, 0), quaternion)
        world.step()
        sensor = body.device('imu')
        expected = pinocchio.Quaternion(body.link('box').R.copy()).coeffs()
        measured = sensor.orientation
        close(measured, math.copysign(1.0, measured @ expected) * expected, 1e-15)
        close(np.linalg.norm(measured), 1.0, 1e-15)
        close(abs(measured @ quaternion), 1.0, 1e-12)


def test_orientation_does_not_jump():
    """Follow (0, 0, sin q/2, cos q/2) through two whole turns, including the sign."""
    world, sensor = turntable()
    for step in range(1, 64):
        world.step()
        half = 0.1 * step
        close(sensor.orientation, (0, 0, math.sin(half), math.cos(half)))


def test_orientation_begins_and_goes_on_with_its_sign():
    """Give the same signs after a restore and in one call, and w >= 0 after a reset."""
    world, sensor = turntable()
    world.step(20)
    assert sensor.orientation[3] < 0.0
    snapshot = world.save()
    world.step(20)
    later = sensor.orientation
    world.restore(snapshot)
    assert sensor.orientation[3] < 0.0
    world.step(20)
    np.testing.assert_array_equal(sensor.orientation, later)
    world.reset()
    assert np.isnan(sensor.orientation).all()
    sensor.link.robot.q = [1.1 * math.pi]
    world.step()
    assert sensor.orientation[3] > 0.0


def test_every_device_is_listed_by_its_kind():
    """List an IMU's gyro and accelerometer as devices too."""
    _, body = load(box(imu('box')))
    assert [d.name for d in body.devices(sb.ImuSensor)] == ['imu']
    assert [d.name for d in body.devices(sb.RateGyroSensor)] == ['imu']
    assert [d.name for d in body.devices(sb.AccelerationSensor)] == ['imu']
    assert body.devices(sb.ForceSensor) == []


def test_update_rate_is_the_sensors_own():
    """Sample at 250 Hz in a 1 kHz world: every fourth step, for any partition into calls."""
    world, body = load(box(imu('box', '<update_rate>250</update_rate>')))
    sensor = body.device('imu')
    assert sensor.sample_step == -1
    assert np.isnan(sensor.gyro.w).all()
    seen = []
    for _ in range(12):
        world.step()
        seen.append(sensor.sample_step)
    assert seen == [-1, -1, -1, 4, 4, 4, 4, 8, 8, 8, 8, 12]
    world.step(7)
    assert sensor.sample_step == 16
    assert sensor.update_rate == pytest.approx(250.0)


NOISY = imu(
    'box',
    '<imu><angular_velocity><x><noise type="gaussian"><stddev>0.1</stddev>'
    '<dynamic_bias_stddev>0.05</dynamic_bias_stddev>'
    '<dynamic_bias_correlation_time>1</dynamic_bias_correlation_time>'
    '</noise></x></angular_velocity></imu>',
)


def test_truth_twin_has_no_noise():
    """Keep the true value beside the noisy one."""
    world, body = load(box(NOISY))
    gyro = body.device('imu').gyro
    values = []
    for _ in range(500):
        world.step()
        values.append(gyro.w[0])
        assert abs(gyro.truth.w[0]) < 1e-12
        assert gyro.w[1] == gyro.truth.w[1]
    assert 0.08 < np.std(values) < 0.13
    close(body.device('imu').standard_deviations('angular_velocity'), (0.1, 0, 0))


def test_noise_is_the_same_in_one_call_or_many():
    """Give the same samples for step(50) and for fifty steps; other samples for another seed."""
    readings = []
    for seed, calls in ((0, [50]), (0, [1] * 50), (0, [7] * 7 + [1]), (1, [50])):
        world = sb.World(seed=seed)
        body = world.load_urdf(box(NOISY))
        for n in calls:
            world.step(n)
        readings.append(body.device('imu').gyro.w[0])
    assert readings[0] == readings[1] == readings[2] != readings[3]
