"""Drives of Gazebo's plugins: motion compared with the closed forms of their commands."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest
from vehicles import car, CHASSIS, plugin, RADIUS, skid_steered, steering, vehicle, wheel

import sim_bridge as sb
from sim_bridge.description import drives_from_mapping, load_description
from sim_bridge.description.report import Findings
from sim_bridge.description.yaml.drives import read_drive
from sim_bridge.description.yaml.section import Section
from sim_bridge.drives.drive import Drive

STEP = 0.002


def tags(**values):
    return ''.join(f'<{tag}>{text}</{tag}>' for tag, text in values.items())


def with_plugin(text, filename, *parts, **values):
    own = plugin(filename, ''.join(parts) + tags(**values))
    return load_description(text.replace('</robot>', own + '</robot>'))


class Run:
    """A robot with its first drive on level ground."""

    def __init__(self, description, height=RADIUS, gravity=(0.0, 0.0, -9.81), step=STEP):
        self.world = sb.World(time_step=step, gravity=gravity)
        self.world.add_ground()
        self.robot = self.world.add_robot(description, position=(0.0, 0.0, height))
        self.drive = Drive(self.robot, description.drives[0])

    def go(self, twist, time, others=(0.0, 0.0, 0.0)):
        self.drive.command(*twist, others)
        step = self.world.time_step
        for _ in range(round(time / step)):
            self.drive.advance(step)
            self.world.step()
            self.drive.observe(step)
        return self

    @property
    def pose(self):
        root = self.robot.root_link
        return np.array([*root.p[:2], math.atan2(root.R[1, 0], root.R[0, 0])])


def radius_of(run, twist, time=2.0):
    """Return the radius of the circle driven at a twist, from arc and turn, after a start."""
    run.go(twist, 1.0)
    start = run.pose
    run.go(twist, time)
    chord = np.hypot(*(run.pose - start)[:2])
    turn = math.remainder(run.pose[2] - start[2], 2.0 * math.pi)
    return chord / (2.0 * math.sin(0.5 * turn))


PLANAR = 'libgazebo_ros_planar_move.so'


@pytest.mark.parametrize('friction', [0.0, 1.0])
def test_a_moved_base_covers_the_commanded_distance(friction):
    """Slide a box forwards, sideways and in curves, whatever its friction on the ground."""
    run = Run(with_plugin(vehicle(''), PLANAR), 0.5 * CHASSIS[2])
    run.world.materials.add(sb.Material('default', friction=friction))
    run.go((0.0, 0.0, 0.0), 0.1)
    run.go((0.5, 0.2, 0.0), 2.0)
    np.testing.assert_allclose(run.pose, (1.0, 0.4, 0.0), atol=5e-3)
    run.go((0.0, 0.0, 0.0), 0.2)
    np.testing.assert_allclose(run.pose, (1.0, 0.4, 0.0), atol=5e-3)
    # a half circle with radius v / yaw rate
    run.go((0.3, 0.0, 0.6), math.pi / 0.6)
    np.testing.assert_allclose(run.pose[:2], (1.0, 1.4), atol=0.02)
    assert abs(math.remainder(run.pose[2] - math.pi, 2.0 * math.pi)) < 0.02
    # odometry is the true pose
    np.testing.assert_allclose(run.drive.pose[:2], run.pose[:2], atol=1e-9)


def test_a_moved_base_stops_at_a_wall_and_on_command():
    """Push against a wall without passing it, then come back at the commanded speed."""
    run = Run(with_plugin(vehicle(''), PLANAR), 0.5 * CHASSIS[2])
    wall = run.world.add_body(sb.Box((0.1, 2.0, 1.0)), motion='static', position=(0.6, 0.0, 0.5))
    run.go((0.5, 0.0, 0.0), 2.0)
    face = 0.55 - 0.5 * CHASSIS[0]
    assert run.pose[0] == pytest.approx(face, abs=2e-3)
    assert wall.motion == 'static'
    run.go((-0.5, 0.0, 0.0), 0.5)
    assert run.pose[0] == pytest.approx(face - 0.25, abs=0.01)


def test_a_moved_base_falls_by_gravity():
    """Leave height to gravity, after Gazebo's plugin between its updates."""
    run = Run(with_plugin(vehicle(''), PLANAR), 2.0)
    run.go((0.5, 0.0, 0.0), 0.5)
    assert run.robot.root_link.p[2] == pytest.approx(2.0 - 0.5 * 9.81 * 0.25, abs=1e-3)
    assert run.pose[0] == pytest.approx(0.25, abs=1e-6)


def test_a_snapshot_of_a_moved_base_continues_to_the_bit():
    """Repeat motion and odometry from a saved state."""
    run = Run(with_plugin(vehicle(''), PLANAR), 0.5 * CHASSIS[2])
    run.go((0.4, 0.0, 0.5), 0.11)
    world, drive = run.world.save(), run.drive.save()
    results = []
    for _ in range(2):
        run.world.restore(world)
        run.drive.restore(drive)
        run.go((0.4, 0.1, -0.5), 0.2)
        results.append((run.world.state_hash(), run.drive.save().odometry))
    assert results[0] == results[1]


def test_velocity_control_moves_in_all_six_directions():
    """Fly a screw line: a circle with radius v / yaw rate, rising at a constant speed."""
    description = with_plugin(
        vehicle(''),
        'gz-sim-velocity-control-system',
        initial_linear='0.1 0 0.2',
        initial_angular='0 0 0',
    )
    run = Run(description, 1.0, gravity=(0.0, 0.0, 0.0))
    assert run.drive.twist == (0.0, 0.0, 0.0)
    for _ in range(100):
        run.drive.advance(STEP)
        run.world.step()
        run.drive.observe(STEP)
    np.testing.assert_allclose(run.robot.root_link.p, (0.02, 0.0, 1.04), atol=1e-4)
    run.go((0.5, 0.0, 1.0), math.pi, (0.1, 0.0, 0.0))
    expected = (0.02, 1.0, 1.04 + 0.1 * math.pi)
    np.testing.assert_allclose(run.robot.root_link.p, expected, atol=5e-3)
    # roll rate about the base's own x axis, which points backwards now
    run.go((0.0, 0.0, 0.0), 0.5, (0.0, 0.4, 0.0))
    np.testing.assert_allclose(run.robot.root_link.w, (-0.4, 0.0, 0.0), atol=5e-3)


ACKERMANN = {
    'front_left_joint': 'front_left',
    'front_right_joint': 'front_right',
    'rear_left_joint': 'rear_left',
    'rear_right_joint': 'rear_right',
    'left_steering_joint': 'steer_left',
    'right_steering_joint': 'steer_right',
    'max_steer': 0.5,
    'max_speed': 1.0,
}


@pytest.mark.parametrize(('speed', 'angle'), [(0.5, 0.3), (-0.5, 0.3), (0.5, -0.9)])
def test_classic_cars_take_steering_angles(speed, angle):
    """Drive circles with radius L / tan(angle), with at most `max_steer`; turn left for +."""
    run = Run(with_plugin(car(), 'libgazebo_ros_ackermann_drive.so', **ACKERMANN))
    run.go((0.0, 0.0, angle), 1.0)
    given = math.copysign(min(abs(angle), 0.5), angle)
    # it steers at rest: the cotangents of both angles differ by width / wheelbase
    left, right = (run.robot.joint(f'steer_{side}').q for side in ('left', 'right'))
    assert 1.0 / math.tan(right) - 1.0 / math.tan(left) == pytest.approx(0.75, rel=1e-3)
    assert 0.5 / math.tan(right) + 0.5 / math.tan(left) == pytest.approx(
        1.0 / math.tan(given), rel=1e-3
    )
    start = run.pose[2]
    run.go((speed, 0.0, angle), 2.0)
    assert math.copysign(1.0, run.pose[2] - start) == math.copysign(1.0, angle)
    before = run.pose
    run.go((speed, 0.0, angle), 1.0)
    turn = run.pose[2] - before[2]
    assert turn == pytest.approx(abs(speed) * math.tan(given) / 0.4, rel=0.01)


def test_classic_cars_drive_straight_and_no_faster_than_allowed():
    """Cover the commanded distance within 2 %; `max_speed` bounds the speed."""
    run = Run(with_plugin(car(), 'libgazebo_ros_ackermann_drive.so', **ACKERMANN))
    run.go((0.6, 0.0, 0.0), 3.0)
    assert run.pose[0] == pytest.approx(1.8, rel=0.02)
    before = run.pose
    run.go((5.0, 0.0, 0.0), 1.0)
    run.go((5.0, 0.0, 0.0), 1.0)
    assert run.pose[0] - before[0] == pytest.approx(2.0, rel=0.2)
    assert run.drive.reckoned_twist[0] == pytest.approx(1.0, rel=0.01)


def test_cars_of_a_fork_take_yaw_rates():
    """Read the tags of ROS 1 in AgileX' fork, whose commands are ordinary twists."""
    joints = {
        'leftFrontJoint': 'front_left',
        'rightFrontJoint': 'front_right',
        'leftRearJoint': 'rear_left',
        'rightRearJoint': 'rear_right',
        'leftHingeJoint': 'steer_left',
        'rightHingeJoint': 'steer_right',
        'wheelSeparation': 0.3,
        'wheelDiameter': 2.0 * RADIUS,
    }
    run = Run(with_plugin(car(), 'libgazebo_ros_ackerman.so', **joints))
    run.go((0.4, 0.0, 0.2), 2.0)
    before = run.pose[2]
    run.go((0.4, 0.0, 0.2), 1.0)
    assert run.pose[2] - before == pytest.approx(0.2, rel=0.01)


@pytest.mark.parametrize('limit', [0.3, 0.5])
def test_gazebos_car_turns_no_tighter_than_its_limit(limit):
    """Bound the radius by L / sin(steering_limit), as the plugin does."""
    description = with_plugin(
        car(),
        'gz-sim-ackermann-steering-system',
        left_joint='rear_left',
        right_joint='rear_right',
        left_steering_joint='steer_left',
        right_steering_joint='steer_right',
        wheel_separation=0.3,
        kingpin_width=0.3,
        wheel_base=0.4,
        wheel_radius=RADIUS,
        steering_limit=limit,
    )
    run = Run(description)
    # the rear axle is 0.2 m behind base_link
    radius = abs(radius_of(run, (0.4, 0.0, 2.0)))
    assert radius == pytest.approx(math.hypot(0.4 / math.sin(limit), 0.2), rel=0.01)


SKID = {
    'leftFrontJoint': 'front_left',
    'rightFrontJoint': 'front_right',
    'leftRearJoint': 'rear_left',
    'rightRearJoint': 'rear_right',
    'wheelSeparation': 0.4,
    'wheelDiameter': 2.0 * RADIUS,
}
DIFF = {'num_wheel_pairs': 2, 'wheel_separation': 0.4, 'wheel_diameter': 2.0 * RADIUS}
PAIRS = (
    '<left_joint>front_left</left_joint><left_joint>rear_left</left_joint>'
    '<right_joint>front_right</right_joint><right_joint>rear_right</right_joint>'
)


@pytest.mark.parametrize(
    ('filename', 'parts', 'values'),
    [
        ('libgazebo_ros_skid_steer_drive.so', (), SKID),
        ('libgazebo_ros_diff_drive.so', (PAIRS,), DIFF),
    ],
)
def test_skid_steered_robots_of_gazebo_classic_tell_their_true_motion(filename, parts, values):
    """
    Drive straight by command, turn by b² / (a² + b²) of it, and report the true turn.

    Both plugins publish the model's pose by default, not that of the wheels.
    """
    run = Run(with_plugin(skid_steered(0.15, 0.2), filename, *parts, **values))
    run.go((0.5, 0.0, 0.0), 2.0)
    assert run.pose[0] == pytest.approx(1.0, rel=0.02)
    run.go((0.0, 0.0, 1.0), 0.5)
    start = run.pose[2]
    run.go((0.0, 0.0, 1.0), 1.5)
    share = 0.2**2 / (0.15**2 + 0.2**2)
    assert run.pose[2] - start == pytest.approx(1.5 * share, rel=0.02)
    np.testing.assert_allclose(run.drive.pose, run.pose, atol=1e-9)
    assert run.drive.reckoned_twist[2] == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize('torque', [0.3, 50.0])
def test_plugins_give_the_torque_of_their_motors(torque):
    """Accelerate at 4 τ / (r (m + 4 I / r²)), whatever effort limits the URDF has."""
    text = skid_steered().replace('effort="20.0"', 'effort="1.0"')
    run = Run(
        with_plugin(text, 'libgazebo_ros_diff_drive.so', PAIRS, **DIFF, max_wheel_torque=torque)
    )
    assert list(run.robot.effort_limits) == [torque] * 4
    run.go((0.5, 0.0, 0.0), 0.1)
    rolling = 8.0 + 4 * 0.5 + 4 * 0.4 * 0.5
    slow = 4 * torque / RADIUS / rolling * 0.1
    if torque < 1.0:
        assert run.drive.reckoned_twist[0] == pytest.approx(slow, rel=0.01)
    else:
        assert run.pose[0] > 0.5 * 0.1 - 0.5 * 0.5**2 / 9.81 - 1e-3


TRICYCLE = {
    'type': 'tricycle_controller/TricycleController',
    'traction_joint_name': 'front',
    'steering_joint_name': 'steer',
    'wheelbase': 0.4,
    'wheel_radius': RADIUS,
    'steering': {'max_position': 1.57},
}


def test_limits_of_a_tricycle_without_effect_are_named():
    """Warn of limits for the steering's rate; NaN stands for no limit."""
    limits = {'max_position': 1.57, 'max_velocity': 1.0, 'min_velocity': math.nan}
    findings = Findings()
    mapping = {'base': TRICYCLE | {'steering': limits}}
    [section] = Section({'drives': mapping}, '', findings).sections('drives')
    description = load_description(vehicle(steering('steer', 0.2, 0.0, 1.57)))
    assert read_drive(section, TRICYCLE['type'], description, findings)
    [warning] = findings.report('').warnings
    assert (warning.attribute, warning.value) == ('max_velocity', '1.0')


def test_a_tricycle_with_a_driven_front_wheel_follows_its_closed_forms():
    """Turn at v / L sin of the wheel's angle; turn on the spot about the rear axle's middle."""
    parts = wheel('rear_left', -0.2, 0.15) + wheel('rear_right', -0.2, -0.15)
    parts += steering('steer', 0.2, 0.0, 1.57)
    parts += wheel('front', 0.0, 0.0, parent='steer_link')
    description = load_description(vehicle(parts))
    drives = drives_from_mapping({'base': TRICYCLE}, description)
    assert drives[0].timeout == 0.5
    run = Run(replace(description, drives=drives))
    run.go((0.5, 0.0, 0.0), 0.5)
    start = run.pose
    run.go((0.5, 0.0, 0.0), 2.0)
    assert run.pose[0] - start[0] == pytest.approx(1.0, rel=0.02)
    run.go((0.4, 0.0, 0.8), 0.5)
    start = run.pose
    run.go((0.4, 0.0, 0.8), 1.5)
    assert run.pose[2] - start[2] == pytest.approx(1.2, rel=0.01)
    assert run.robot.joint('steer').q == pytest.approx(math.atan(0.4 * 0.8 / 0.4), rel=1e-3)
    # the wheel slows down while it turns to its side
    run.go((0.0, 0.0, 1.0), 1.0)
    start = run.pose
    run.go((0.0, 0.0, 1.0), 1.0)
    turn = math.remainder(run.pose[2] - start[2], 2.0 * math.pi)
    assert turn == pytest.approx(1.0, rel=0.02)
    x, y, yaw = run.pose - start
    heading = start[2]
    axle = np.array(
        [
            x - 0.2 * (math.cos(heading + yaw) - math.cos(heading)),
            y - 0.2 * (math.sin(heading + yaw) - math.sin(heading)),
        ]
    )
    np.testing.assert_allclose(axle, 0.0, atol=5e-3)
