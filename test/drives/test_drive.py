"""Robot drives on the ground: real contact compared with closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shipped import path_of
from vehicles import (
    car,
    mecanum_friction,
    plugin,
    RADIUS,
    roller_wheel,
    rolling_radius,
    skid_steered,
    vehicle,
    wheel,
)

import sim_bridge as sb
from sim_bridge.control.course import Pace, SquareCourse
from sim_bridge.description import drives_from_mapping, load_description
from sim_bridge.drives.drive import Drive
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

STEP = 0.002
LEFT, RIGHT = ['front_left', 'rear_left'], ['front_right', 'rear_right']


class Ground:
    """A vehicle with a drive, on the ground in its own world."""

    def __init__(self, text, drive=None, height=RADIUS, step=STEP, **world):
        self.world = sb.World(time_step=step, **world)
        self.world.add_ground()
        description = load_description(text)
        self.robot = self.world.add_robot(description, position=(0.0, 0.0, height))
        declared = description.drives or drives_from_mapping({'base': drive}, description)
        self.drive = Drive(self.robot, declared[0])
        self.step = step

    def go(self, twist, time, force=None):
        """Drive at a twist for a time [s]; force: constant pull on the chassis [N]."""
        self.drive.command(*twist)
        for _ in range(round(time / self.step)):
            if force is not None:
                # applied at ground level, so that it causes no tipping moment
                root = self.robot.root_link
                self.robot.link('chassis').add_force(force, [root.p[0], root.p[1], 0.0])
            self.drive.advance(self.step)
            self.world.step()
            self.drive.observe(self.step)

    @property
    def twist(self):
        """The true root link twist in its own axes: forward, left, yaw rate."""
        root = self.robot.root_link
        return (*(root.R.T @ root.v)[:2], root.w[2])

    @property
    def pose(self):
        """The true root link x, y and yaw."""
        root = self.robot.root_link
        return np.array([*root.p[:2], math.atan2(root.R[1, 0], root.R[0, 0])])


def differential(**more):
    return {'type': 'differential', 'left_wheel_names': LEFT, 'right_wheel_names': RIGHT, **more}


@pytest.fixture
def rover():
    return Ground(path_of('rover'))


def square(ground, **pace):
    """Drive a square by wheel odometry, answered at 100 Hz."""
    course = SquareCourse(1.0, 1, Pace(0.5, 1.0, 0.4, 1.5))
    path = []
    for _ in range(4000):
        x, y, yaw = ground.drive.odometry.pose
        speed, yaw_rate = course.twist(x, y, yaw)
        ground.go((speed, 0.0, yaw_rate), 5 * ground.step)
        path.append((*ground.pose, *ground.drive.odometry.pose))
        if course.is_over and ground.drive.is_at_rest:
            return np.array(path)
    raise AssertionError('the course does not end')


def test_the_rover_drives_a_square(rover):
    """
    Close it, in truth, within the error that wheels cannot observe.

    A wheel's contact is a line 5 mm long; the rolling point is anywhere on it. The wheel distance,
    and with it every angle, is therefore uncertain by 5 mm in 320 mm: 0.098 rad over a lap. After
    four sides of 1 m the error is at most the sum of their errors.
    """
    path = square(rover)
    share = 0.005 / 0.32
    turned = np.abs(np.diff(np.unwrap(path[:, 5]))).sum()
    off = math.remainder(path[-1, 2] - path[-1, 5], 2.0 * math.pi)
    assert turned == pytest.approx(2.0 * math.pi, rel=0.02)
    assert abs(off) <= share * turned
    # each side is rotated by the errors at previous corners; steering adds a little
    bound = 1.0 * sum(k * share * 0.5 * math.pi for k in (1, 2, 3)) + 0.01
    assert np.hypot(*(path[-1, :2] - path[0, :2])) <= bound
    # by wheel odometry, the course closes within its tolerance
    assert np.hypot(*path[-1, 3:5]) <= 0.01
    # all four corners of the square were reached
    for corner in ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0)):
        assert np.hypot(*(path[:, :2] - corner).T).min() <= bound
    # on a straight, wheels and truth agree up to contact slip
    straight = path[path[:, 3] < 0.9][:50]
    np.testing.assert_allclose(straight[:, 0], straight[:, 3], atol=1e-5)


def test_wheels_on_points_tell_the_truth():
    """Compute the true pose from wheels with point contacts and no slip."""
    ground = Ground(
        car(),
        {
            'type': 'ackermann',
            'traction_joints_names': ['rear_right', 'rear_left'],
            'steering_joints_names': ['steer_right', 'steer_left'],
            'linear': {'x': {'max_acceleration': 1.0}},
            'angular': {'z': {'max_acceleration': 1.0}},
        },
    )
    described = ground.drive.description
    assert described.steering[0].position == pytest.approx((0.4, 0.15))
    assert described.offset == pytest.approx((-0.2, 0.0))
    ground.go((0.5, 0.0, 0.4), 2.0)
    start, then = ground.pose, ground.drive.odometry.pose
    ground.go((0.5, 0.0, 0.4), 3.0)
    v, _, yaw_rate = ground.twist
    assert yaw_rate == pytest.approx(0.4, rel=1e-3)
    assert v == pytest.approx(0.5, rel=1e-3)

    # the drive frame is in the middle of the rear axle, 0.2 m behind base_link
    def axle(pose):
        return np.array(
            [pose[0] - 0.2 * math.cos(pose[2]), pose[1] - 0.2 * math.sin(pose[2]), pose[2]]
        )

    moved = np.linalg.norm((axle(ground.pose) - axle(start))[:2])
    reckoned = math.hypot(
        ground.drive.odometry.pose.x - then.x, ground.drive.odometry.pose.y - then.y
    )
    # the chord of an arc of 1.2 rad with radius v / ω
    assert moved == pytest.approx(2.0 * 1.25 * math.sin(0.6), rel=2e-3)
    assert reckoned == pytest.approx(moved, rel=2e-3)
    # the reported pose is base_link's; it moves sideways in a curve
    np.testing.assert_allclose(ground.drive.pose, ground.pose, atol=3e-3)
    np.testing.assert_allclose(ground.drive.reckoned_twist, ground.twist, atol=1e-3)
    assert ground.twist[1] == pytest.approx(0.2 * 0.4, rel=1e-2)
    turned = ground.drive.odometry.pose.yaw - then.yaw
    assert turned == pytest.approx(ground.pose[2] - start[2], abs=2e-3)


@pytest.mark.parametrize('friction', [0.4, 1.0])
def test_skid_steering_turns_by_the_closed_form(friction):
    """
    Turn slower than the wheels indicate, by b² / (a² + b²), for any friction.

    Wheels at (±a, ±b) with speed v, on a vehicle turning at ω, slide by (ω b - v, ω a). All carry
    the same load; without a total moment, b (v - ω b) = a (ω a). The separation multiplier
    compensates for it.
    """
    a, b = 0.15, 0.2
    share = b * b / (a * a + b * b)
    for multiplier in (1.0, 1.0 / share):
        ground = Ground(skid_steered(a, b), differential(wheel_separation_multiplier=multiplier))
        ground.world.materials.add(sb.Material('default', friction=friction))
        ground.go((0.0, 0.0, 1.0), 1.5)
        assert ground.twist[2] == pytest.approx(share * multiplier, rel=2e-3)
        assert ground.drive.odometry.twist[2] == pytest.approx(1.0, rel=1e-9)
        np.testing.assert_allclose(ground.twist[:2], 0.0, atol=1e-6)


@pytest.mark.parametrize('force', [-12.0, 7.0])
def test_slip_is_that_of_the_closed_form(force):
    """
    Fall behind by slip · F / 4 if four wheels share a force F.

    Contact slip is a velocity per force (ODE's slip1). The wheels turn at the commanded speed,
    each with torque r F / 4, and the vehicle moves with them minus the slip.
    """
    slip = 0.01
    ground = Ground(skid_steered(), differential())
    ground.world.materials.add(sb.Material('slippery', slip=slip))
    for geometry in ground.robot.geometries:
        geometry.material = 'slippery'
    ground.go((0.5, 0.0, 0.0), 2.0, force=[force, 0.0, 0.0])
    assert ground.twist[0] == pytest.approx(0.5 + slip * force / 4.0, abs=1e-6)
    assert ground.drive.odometry.twist[0] == pytest.approx(0.5, abs=1e-9)
    for name in LEFT + RIGHT:
        effort = ground.robot.joint(name).axes[0].motor_effort
        assert effort == pytest.approx(-RADIUS * force / 4.0, abs=1e-4)


def test_motors_give_no_more_than_their_limit():
    """Accelerate with the limit force, a = 4 τ / (r (m + 4 I / r²)), up to the target."""
    torque = 0.3
    text = skid_steered().replace('effort="20.0"', f'effort="{torque}"')
    ground = Ground(text, differential())
    ground.go((2.0, 0.0, 0.0), 0.5)
    rolling = 8.0 + 4 * 0.5 + 4 * 0.4 * 0.5
    assert ground.twist[0] == pytest.approx(4 * torque / RADIUS / rolling * 0.5, rel=1e-3)


def test_speed_limits_of_joints_slow_the_whole_twist():
    """Keep to the path if a wheel cannot turn as fast as the twist requires."""
    ground = Ground(path_of('rover'))
    ground.drive = Drive(
        ground.robot,
        drives_from_mapping(
            {
                'base': {
                    'type': 'differential',
                    'left_wheel_names': ['left_wheel_joint'],
                    'right_wheel_names': ['right_wheel_joint'],
                }
            },
            load_description(
                path_of('rover').read_text().split('<gazebo>\n    <plugin')[0] + '</robot>'
            ),
        )[0],
    )
    ground.drive.command(1.4, 0.0, 3.0)
    ground.drive.advance(STEP)
    left, right = (
        ground.robot.joint(f'{side}_wheel_joint').target_velocity for side in ('left', 'right')
    )
    # 1.4 ± 0.16 · 3 m/s, and at most 15 rad/s · 0.1 m
    assert right == pytest.approx(15.0)
    assert left / right == pytest.approx((1.4 - 0.48) / (1.4 + 0.48))


MECANUM = {
    'fl': (0.2, 0.2, 0.25 * math.pi),
    'fr': (0.2, -0.2, -0.25 * math.pi),
    'rr': (-0.2, -0.2, 0.25 * math.pi),
    'rl': (-0.2, 0.2, -0.25 * math.pi),
}


def mecanum(radius):
    return {
        'type': 'mecanum',
        'wheel_names': [*MECANUM],
        'kinematics': {'wheels_radius': radius, 'sum_of_robot_center_projection_on_X_Y_axis': 0.4},
    }


def rollers(kind):
    """Return a vehicle with rollers, and its drive's parameters."""
    if kind == 'mecanum':
        parts = ''.join(
            roller_wheel(name, x, y, 0.0, roller) for name, (x, y, roller) in MECANUM.items()
        )
        return vehicle(parts), mecanum(rolling_radius())
    names = ['a', 'b', 'c']
    parts = ''
    for k, name in enumerate(names):
        angle = 2.0 * math.pi * k / 3
        parts += roller_wheel(
            name,
            0.25 * math.cos(angle),
            0.25 * math.sin(angle),
            angle - 0.5 * math.pi,
            0.5 * math.pi,
        )
    return vehicle(parts), {
        'type': 'omni',
        'wheel_names': names,
        'wheel_radius': rolling_radius(),
        'robot_radius': 0.25,
        'wheel_offset': 0.0,
    }


@pytest.mark.parametrize('kind', ['mecanum', 'omni'])
def test_wheels_with_rollers_drive_in_all_directions(kind):
    """
    Move forwards, sideways and in rotation on wheels with real rollers: rings of turning balls.

    Their height varies by 3 % while rolling, and with it the distance per turn.
    """
    text, parameters = rollers(kind)
    limits = {'max_acceleration': 2.0}
    parameters |= {
        'linear': {'x': limits, 'y': limits},
        'angular': {'z': {'max_acceleration': 5.0}},
    }
    for twist in ((0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 1.0)):
        ground = Ground(text, parameters, height=0.1)
        ground.go(twist, 0.5)
        start, then = ground.pose, np.array(ground.drive.odometry.pose)
        ground.go(twist, 0.8)
        moved, reckoned = ground.pose - start, np.array(ground.drive.odometry.pose) - then
        scale = 0.8 * max(map(abs, twist))
        np.testing.assert_allclose(moved, np.multiply(twist, 0.8), atol=0.04 * scale)
        np.testing.assert_allclose(reckoned, moved, atol=0.04 * scale)


@pytest.mark.parametrize('frame', ['base_link', 'chassis'])
def test_friction_stands_in_for_the_rollers_of_mecanum_wheels(frame):
    """
    Drive in all directions on balls that slide freely in the rolling direction of rollers.

    The direction is fixed in the turning chassis, not in the wheels. Nothing is lost then:
    wheels without slip and lift move the vehicle according to their kinematics.
    """
    text = vehicle(
        ''.join(wheel(name, x, y) for name, (x, y, _) in MECANUM.items()),
        ''.join(mecanum_friction(name, roller, frame) for name, (_, _, roller) in MECANUM.items()),
    )
    if frame == 'chassis':
        # rotate the drive frame in the base
        text = text.replace(
            '<child link="chassis"/>', '<child link="chassis"/><origin rpy="0 0 0.5"/>'
        )
        for name, (_, _, roller) in MECANUM.items():
            text = text.replace(
                mecanum_friction(name, roller, frame), mecanum_friction(name, roller - 0.5, frame)
            )
    parameters = mecanum(RADIUS)
    limits = {'max_acceleration': 2.0}
    parameters |= {
        'linear': {'x': limits, 'y': limits},
        'angular': {'z': {'max_acceleration': 5.0}},
    }
    ground = Ground(text, parameters)
    for twist in ((0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 1.0), (0.2, -0.2, 0.5)):
        ground.go(twist, 1.0)
        assert ground.twist == pytest.approx(twist, abs=2e-3)


def test_a_snapshot_continues_to_the_bit(rover):
    """Repeat motion and odometry from a saved state in the middle of a curve."""
    rover.go((0.6, 0.0, 0.8), 0.4)
    world, drive = rover.world.save(), rover.drive.save()
    results = []
    for _ in range(2):
        rover.world.restore(world)
        rover.drive.restore(drive)
        rover.go((0.1, 0.0, -0.5), 0.4)
        results.append((rover.world.state_hash(), rover.drive.odometry.save()))
    assert results[0] == results[1]


def test_a_drive_takes_over_at_the_speed_there_is(rover):
    """Start its limiters from the twist of wheels driven by something else."""
    for name in ('left_wheel_joint', 'right_wheel_joint'):
        rover.robot.joint(name).target_velocity = 4.0
    rover.world.step(1000)
    rover.drive.start()
    assert rover.drive.twist == pytest.approx((0.4, 0.0, 0.0), abs=1e-3)


def test_undrivable_joints_are_refused():
    """Name the joint or value, and accepted ones."""
    ground = Ground(skid_steered(), differential())
    for wrong in ((math.nan, 0.0, 0.0), (0.0, math.inf, 0.0)):
        with pytest.raises(InvalidValueError, match="drive 'base'"):
            ground.drive.command(*wrong)
    other = sb.World().load_urdf(path_of('pendulum'))
    with pytest.raises(UnknownNameError, match="joint 'front_left'.*drive 'base'"):
        Drive(other, ground.drive.description)


def test_open_loop_odometry_integrates_the_command():
    """Ignore that the motors are too weak."""
    text = skid_steered().replace('effort="20.0"', 'effort="0.05"')
    ground = Ground(text, differential(open_loop=True))
    ground.go((1.0, 0.0, 0.0), 0.5)
    assert ground.drive.odometry.pose.x == pytest.approx(0.5)
    assert ground.pose[0] < 0.1
    ground = Ground(text, differential(position_feedback=False))
    ground.go((1.0, 0.0, 0.0), 0.5)
    assert ground.drive.odometry.pose.x == pytest.approx(ground.pose[0], rel=1e-2)


def test_gazebos_car_drives_all_its_wheels():
    """Determine steered wheels from the links."""
    tags = ''.join(
        f'<{tag}>{text}</{tag}>'
        for tag, text in (
            ('left_joint', 'front_left'),
            ('left_joint', 'rear_left'),
            ('right_joint', 'front_right'),
            ('right_joint', 'rear_right'),
            ('left_steering_joint', 'steer_left'),
            ('right_steering_joint', 'steer_right'),
            ('wheel_separation', 0.3),
            ('kingpin_width', 0.3),
            ('wheel_base', 0.4),
            ('wheel_radius', 0.1),
            ('max_acceleration', 1.0),
            ('min_acceleration', -1.0),
        )
    )
    text = car().replace('</robot>', plugin('gz-sim-ackermann-steering-system', tags) + '</robot>')
    ground = Ground(text)
    steered = {wheel.joint: wheel.steering for wheel in ground.drive.description.wheels}
    assert steered == {
        'front_left': 'steer_left',
        'front_right': 'steer_right',
        'rear_left': '',
        'rear_right': '',
    }
    ground.go((0.5, 0.0, 0.4), 2.5)
    assert ground.twist[2] == pytest.approx(0.4, rel=1e-3)
    assert ground.drive.odometry.twist == pytest.approx((0.5, 0.0, 0.4), rel=1e-3)


@pytest.mark.parametrize('forward', [0.1, 0.0])
def test_rollers_turn_the_vehicle_about_its_base(forward):
    """Turn about base_link with wheels off its centre, and report its pose."""
    text, parameters = rollers('omni')
    # wheels 0.1 m ahead of the base
    text = text.replace(
        '<joint name="base_joint" type="fixed"><parent link="base_link"/>',
        '<joint name="base_joint" type="fixed"><parent link="base_link"/><origin xyz="0.1 0 0"/>',
    )
    for name in 'abc':
        text = text.replace(
            f'<joint name="{name}" type="continuous"><parent link="base_link"/>',
            f'<joint name="{name}" type="continuous"><parent link="chassis"/>',
        )
    ground = Ground(text, parameters, height=0.1)
    assert ground.drive.description.offset == pytest.approx((0.1, 0.0))
    ground.go((forward, 0.0, 0.5), 1.0)
    turn = 0.5
    expected = forward * math.sin(turn) / turn, forward * (1.0 - math.cos(turn)) / turn, turn
    np.testing.assert_allclose(ground.drive.pose, expected, atol=0.01)
    np.testing.assert_allclose(ground.pose, expected, atol=0.03)


@pytest.mark.parametrize('solver', ['direct', 'split', 'iterative'])
def test_rollers_jammed_against_the_chassis_stall_the_motors(solver):
    """
    Stop wheels whose rollers hit their own chassis, at the motor limits.

    The chassis pushes each roller through its axis: only the locked motors hold it, and they
    yield.
    """
    names = {'fl': (0.2, 0.16), 'fr': (0.2, -0.16), 'rr': (-0.2, -0.16), 'rl': (-0.2, 0.16)}
    world = sb.World(solver=solver)
    world.add_ground()
    robot = world.load_urdf(
        vehicle(
            ''.join(
                roller_wheel(name, x, y, 0.0, math.copysign(0.25 * math.pi, x * y))
                for name, (x, y) in names.items()
            )
        ),
        position=(0.0, 0.0, 0.1),
    )
    wheels = [robot.joint(name) for name in names]
    for joint in wheels:
        joint.control, joint.target_velocity = 'velocity', 5.0
    world.step(600)
    assert np.abs([joint.dq for joint in wheels]).max() < 0.1
    np.testing.assert_allclose(
        [robot.motor_efforts[robot.joint_names.index(name)] for name in names], 20.0
    )
    assert np.linalg.norm(robot.root_link.v) < 0.05
