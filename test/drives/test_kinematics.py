"""Drive kinematics compared with closed forms, rigid-body geometry and integrated motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sim_bridge as sb
from sim_bridge.description.drives import DriveDescription, SteeringDescription, WheelDescription
from sim_bridge.description.mechanism.drives import differential, mecanum, omni, steered
from sim_bridge.drives.kinematics import FixedWheels, kinematics_of, SteeredWheels
from sim_bridge.drives.odometry import moved_pose, Odometry, PlanarPose
from sim_bridge.drives.tracks import tracked_drive
from sim_bridge.foundation.errors import InvalidValueError

TWISTS = [(0.7, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 1.3), (-0.4, 0.25, -0.9)]
NONE = np.zeros(0)


def test_wheels_on_two_sides_follow_the_textbook():
    """Turn at (v ± ω s / 2) / r, for any number of wheels, each side with its radius."""
    wheels = FixedWheels(differential(['a', 'b'], ['c', 'd', 'e'], 0.4, 0.1, 0.11))
    speeds, _ = wheels.motion((0.5, 0.2, 1.5))
    twist = wheels.possible((0.5, 0.2, 1.5))
    left, right = (0.5 - 1.5 * 0.2) / 0.1, (0.5 + 1.5 * 0.2) / 0.11
    np.testing.assert_allclose(speeds, [left, left, right, right, right], rtol=1e-13)
    # lateral motion is impossible with two sides, and omitted
    np.testing.assert_allclose(twist, (0.5, 0.0, 1.5), atol=1e-15)


def test_more_wheels_than_freedoms_give_the_twist_of_least_squares():
    """Average differing wheels on one side."""
    wheels = FixedWheels(differential(['a', 'b'], ['c', 'd'], 0.4, 0.1, 0.1))
    twist = wheels.twist(np.array([1.0, 3.0, 5.0, 9.0]), NONE)
    left, right = 0.1 * 2.0, 0.1 * 7.0
    expected = 0.5 * (left + right), 0.0, (right - left) / 0.4
    np.testing.assert_allclose(twist, expected, atol=1e-14)


@pytest.mark.parametrize('twist', TWISTS)
def test_mecanum_wheels_follow_the_textbook(twist):
    """Turn at (x ∓ y ∓ (l + w) ω) / r, like mecanum_drive_controller, and back."""
    length, width, r = 0.5, 0.4, 0.08
    wheels = FixedWheels(mecanum(['fl', 'fr', 'rr', 'rl'], length, width, r))
    x, y, yaw_rate = twist
    turn = 0.5 * (length + width) * yaw_rate
    expected = np.array([x - y - turn, x + y + turn, x - y + turn, x + y - turn]) / r
    speeds = wheels.motion(twist).speeds
    np.testing.assert_allclose(speeds, expected, atol=1e-13)
    np.testing.assert_allclose(wheels.twist(speeds, NONE), twist, atol=1e-14)


@pytest.mark.parametrize('twist', TWISTS)
def test_a_drive_with_its_frame_elsewhere_moves_that_frame(twist):
    """Give the wheels the speeds for the same body's twist at their middle."""
    at_x, at_y, turned = 0.1, -0.2, 0.4
    names = ['fl', 'fr', 'rr', 'rl']
    there = FixedWheels(mecanum(names, 0.5, 0.4, 0.08, (at_x, at_y, turned)))
    x, y, yaw_rate = twist
    c, s = math.cos(turned), math.sin(turned)
    vx, vy = c * x - s * y, s * x + c * y
    # the middle is at minus the offset: v = v_frame + ω × (middle - frame)
    middle = (vx + yaw_rate * at_y, vy - yaw_rate * at_x, yaw_rate)
    here = FixedWheels(mecanum(names, 0.5, 0.4, 0.08))
    np.testing.assert_allclose(there.motion(twist).speeds, here.motion(middle).speeds, atol=1e-13)


@pytest.mark.parametrize('count', [3, 4, 5])
@pytest.mark.parametrize('twist', TWISTS)
def test_omni_wheels_follow_the_controller_they_are_named_after(twist, count):
    """Turn at (sin(a) x - cos(a) y - R ω) / r, and recover the twist."""
    offset, distance, r = 0.3, 0.25, 0.05
    wheels = FixedWheels(omni([f'w{k}' for k in range(count)], distance, offset, r))
    angles = offset + 2.0 * np.pi * np.arange(count) / count
    x, y, yaw_rate = twist
    expected = (np.sin(angles) * x - np.cos(angles) * y - distance * yaw_rate) / r
    speeds = wheels.motion(twist).speeds
    np.testing.assert_allclose(speeds, expected, atol=1e-13)
    np.testing.assert_allclose(wheels.twist(speeds, NONE), twist, atol=1e-14)


def test_rollers_along_the_driven_direction_are_refused():
    """Name the wheel that could not drive."""
    with pytest.raises(InvalidValueError, match="wheel 'a'"):
        FixedWheels([WheelDescription('a', (0.0, 0.1), 0.1, 0.0, 0.0)])


def test_tracks_get_the_speeds_of_wheels_in_their_places(repository):
    """Increase the track speed difference in a curve; leave straight motion unchanged."""
    vehicle = sb.World().load_urdf(repository / 'urdf' / 'tracked_vehicle.urdf')
    speeds = kinematics_of(tracked_drive(vehicle, 2.0)).motion((0.3, 0.0, 0.5)).speeds
    np.testing.assert_allclose(speeds, [0.3 - 0.22, 0.3 + 0.22], atol=1e-14)
    assert tracked_drive(sb.World().load_urdf(repository / 'urdf' / 'pendulum.urdf')) is None


def car(limit: float = 10.0, driven: str = 'fixed') -> SteeredWheels:
    wheels, axles = steered(['rl', 'rr'], ['sl', 'sr'], 0.5, (0.4, 0.36), 0.1, driven)
    description = DriveDescription('car', 'ackermann', wheels, axles)
    kinematics = kinematics_of(description, [(-limit, limit)] * 2)
    assert isinstance(kinematics, SteeredWheels)
    return kinematics


@pytest.mark.parametrize('driven', ['fixed', 'steered'])
@pytest.mark.parametrize('v', [0.8, -0.8])
@pytest.mark.parametrize('yaw_rate', [0.0, 0.9, -0.9])
def test_all_axles_of_a_car_meet_in_one_point(v, yaw_rate, driven):
    """Move every wheel in its own plane, at its own speed: a rigid body without slip."""
    motion = car(driven=driven).motion((v, 0.0, yaw_rate))
    for y, angle in zip((0.18, -0.18), motion.angles, strict=True):
        velocity = np.array([v - yaw_rate * y, yaw_rate * 0.5])
        across = np.array([-math.sin(angle), math.cos(angle)])
        assert across @ velocity == pytest.approx(0.0, abs=1e-15)
        assert abs(angle) < 0.5 * math.pi
    x = 0.5 if driven == 'steered' else 0.0
    turned = motion.angles if driven == 'steered' else (0.0, 0.0)
    for y, angle, speed in zip((0.2, -0.2), turned, motion.speeds, strict=True):
        along = np.array([math.cos(angle), math.sin(angle)])
        velocity = np.array([v - yaw_rate * y, yaw_rate * x])
        assert 0.1 * speed == pytest.approx(along @ velocity, abs=1e-14)
    back = car(driven=driven).twist(motion.speeds, motion.angles)
    # with wheels outside their kingpins there are two rigid bodies, equal within 1 %
    tolerance = 1e-2 if driven == 'steered' else 1e-12
    np.testing.assert_allclose(back, (v, 0.0, yaw_rate), rtol=tolerance, atol=1e-12)


def test_the_limit_of_the_steering_widens_the_curve():
    """Keep the speed, and the inner wheel at its limit: tan(δ) = κ L / (1 - κ w / 2)."""
    limit = 0.6
    kinematics = car(limit)
    for sign in (1.0, -1.0):
        motion = kinematics.motion((0.5, 0.0, sign * 50.0))
        possible = kinematics.possible((0.5, 0.0, sign * 50.0))
        assert max(abs(motion.angles)) == pytest.approx(limit, abs=1e-12)
        curvature = math.tan(limit) / (0.5 + 0.18 * math.tan(limit))
        assert possible == pytest.approx((0.5, 0.0, sign * 0.5 * curvature))
        back = kinematics.twist(motion.speeds, motion.angles)
        np.testing.assert_allclose(back, possible, atol=1e-12)
    # backwards, the steering is that of the same curve
    np.testing.assert_allclose(
        kinematics.motion((-0.5, 0.0, 50.0)).angles, kinematics.motion((0.5, 0.0, -50.0)).angles
    )


def test_a_car_cannot_turn_on_the_spot_and_a_tricycle_can():
    """Stand with the steering at its limit, or turn about the rear axle's middle."""
    motion = car(0.6).motion((0.0, 0.0, 1.0))
    assert max(motion.angles) == pytest.approx(0.6)
    assert not motion.speeds.any()
    assert car(0.6).possible((0.0, 0.0, 1.0)) == (0.0, 0.0, 0.0)
    # standing without a command, it keeps its steering
    assert car(0.6).motion((0.0, 0.0, 0.0)).angles is None
    wheels = (WheelDescription('front', (0.5, 0.0), 0.1, steering='fork'),)
    tricycle = DriveDescription(
        'tricycle', 'tricycle', wheels, (SteeringDescription('fork', (0.5, 0.0)),)
    )
    kinematics = kinematics_of(tricycle, [(-math.inf, math.inf)])
    motion = kinematics.motion((0.0, 0.0, 1.0))
    np.testing.assert_allclose(motion.angles, [0.5 * math.pi])
    np.testing.assert_allclose(motion.speeds, [0.5 / 0.1])
    back = kinematics.twist(motion.speeds, motion.angles)
    np.testing.assert_allclose(back, (0.0, 0.0, 1.0), atol=1e-12)


@pytest.mark.parametrize(
    'twist',
    [(0.7, 0.2, 1.9), (-0.4, 0.1, -1e-4), (0.3, -0.2, 1e-9), (0.5, 0.0, 0.0), (0.2, 0.0, 40.0)],
)
def test_arcs_are_exact(twist):
    """Agree with an integration of the moving frame, in one step or in many."""
    start = PlanarPose(0.3, -0.2, 0.8)
    x, y, yaw_rate = twist

    def moving(_, pose):
        c, s = math.cos(pose[2]), math.sin(pose[2])
        return [c * x - s * y, s * x + c * y, yaw_rate]

    truth = solve_ivp(moving, (0.0, 1.5), start, rtol=1e-12, atol=1e-13, method='DOP853').y[:, -1]
    np.testing.assert_allclose(
        moved_pose(start, (1.5 * x, 1.5 * y, 1.5 * yaw_rate)), truth, atol=1e-10
    )
    odometry = Odometry()
    odometry.pose = start
    for _ in range(300):
        odometry.advance(twist, 0.005)
    np.testing.assert_allclose(odometry.pose, truth, atol=1e-10)


def test_the_twist_of_odometry_is_the_mean_of_its_window():
    """Average the latest steps by displacement over time."""
    odometry = Odometry(window=2)
    for twist, elapsed in (((9.0, 0.0, 0.0), 1.0), ((1.0, 0.0, 0.0), 0.1), ((4.0, 0.0, 0.0), 0.2)):
        odometry.advance(twist, elapsed)
    assert odometry.twist[0] == pytest.approx((0.1 + 0.8) / 0.3)
    saved = odometry.save()
    odometry.advance((7.0, 0.0, 1.0), 0.1)
    ahead = odometry.save()
    odometry.restore(saved)
    odometry.advance((7.0, 0.0, 1.0), 0.1)
    assert odometry.save() == ahead
