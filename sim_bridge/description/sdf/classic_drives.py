"""
Drives of Gazebo Classic's plugins: diff_drive, skid_steer_drive, ackermann_drive and planar_move.

Tags, defaults and units are those of gazebo_ros_pkgs for ROS 2, and for ROS 1 where its tags are
used. Motor torques replace the joints' effort limits, as ODE's fmax does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, repeat
import math

from sim_bridge.description.drives import (
    BaseMotionDescription,
    DriveDescription,
    SpeedLimits,
    WheelDescription,
)
from sim_bridge.description.mechanism.drives import (
    distance_across,
    distance_along,
    steered,
    wheel_radius,
)
from sim_bridge.description.sdf.drive_tags import joints_of, SIZE, topic_of
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, PluginTags

# variance for unmeasured components
_UNMEASURED = 1e12
# [rad] steering angle for a turn nearly on the spot
_STEEPEST = 1.57
# Ackermann fork's tags: the model's own dimensions count, and its effort limits
_OF_FORK = ('wheel_separation', 'wheel_diameter', 'torque', 'publish_odom')
# planar move's tags in ROS 1; in ROS 2 topics are remapped
_PLANAR_ROS1 = ('commandTopic', 'odometryTopic', 'odometryFrame', 'odometryRate', 'robotBaseFrame')


def read_diff_drive(tags: PluginTags) -> DriveDescription:
    """Return a differential drive with one wheel pair or several."""
    left, right = joints_of(tags, 'left_joint'), joints_of(tags, 'right_joint')
    separations = _of_pairs(tags, 'wheel_separation', 0.34, len(left))
    diameters = _of_pairs(tags, 'wheel_diameter', 0.15, len(left))
    most = tags.number('max_wheel_acceleration', 0.0, NOT_NEGATIVE) or math.inf
    is_ros1 = tags.has('leftJoint') or tags.has('rightJoint')
    is_published = tags.flag('publishTf', True) if is_ros1 else tags.flag('publish_odom', False)
    wheels = _pairs(tags, left, right, separations, diameters, 'max_wheel_torque')
    drive = DriveDescription('diff_drive', 'differential', wheels)
    # the plugin limits each wheel's rim acceleration [m/s²]
    along, about = (_accelerating(each) for each in (most, 2.0 * most / separations[0]))
    return replace(
        _with_settings(drive, tags, is_published, is_ros1),
        limits=(along, SpeedLimits(), about),
        is_true=tags.text('odometry_source', default='1').lower() in ('1', 'world'),
    )


def read_skid_steer(tags: PluginTags) -> DriveDescription:
    """Return a differential drive with four wheels, from ROS 1's plugin."""
    left, right = (
        [
            tags.text(f'{side}{end}Joint', default=f'{side}_{end.lower()}_joint')
            for end in ('Front', 'Rear')
        ]
        for side in ('left', 'right')
    )
    separation = tags.number('wheel_separation', 0.4, SIZE)
    diameter = tags.number('wheel_diameter', 0.15, SIZE)
    wheels = _pairs(tags, left, right, [separation] * 2, [diameter] * 2, 'torque')
    drive = DriveDescription('skid_steer_drive', 'differential', wheels, is_true=True)
    return _with_settings(drive, tags, True, tags.flag('broadcastTF', False), (1e-4, 1e-4, 0.01))


def read_ackermann(tags: PluginTags) -> DriveDescription:
    """Return a car with driven rear wheels, whose commands have a steering angle."""
    front, rear, steering = (
        [tags.text(f'{names}_joint', default=f'{names}_joint') for names in pair]
        for pair in (
            ('front_left', 'front_right'),
            ('rear_left', 'rear_right'),
            ('left_steering', 'right_steering'),
        )
    )
    robot = tags.description
    width = _own(distance_across(robot, front[:1], front[1:]))
    wheelbase = _own(distance_along(robot, front, rear))
    # the model's dimensions count, whatever they are
    wheels, axles = steered(
        rear,
        steering,
        wheelbase,
        (_own(distance_across(robot, rear[:1], rear[1:])), width),
        _own(wheel_radius(robot, rear)),
        'fixed',
    )
    most = tags.number('max_speed', 20.0, NOT_NEGATIVE)
    angle = min(tags.number('max_steer', 0.6, SIZE), _STEEPEST)
    is_fork = tags.has('leftHingeJoint')
    for tag in ('max_steering_angle', 'steering_wheel_joint', *_OF_FORK):
        tags.text(tag)
    drive = DriveDescription(
        'ackermann_drive',
        'ackermann',
        wheels,
        axles,
        limits=(SpeedLimits(-most, most), SpeedLimits(), SpeedLimits()),
        curvature_limit=math.tan(angle) / wheelbase,
        steers_by_angle=not is_fork,
        is_true=True,
    )
    # the fork's commands have a yaw rate, as usual; it always publishes odometry
    is_published = is_fork or tags.flag('publish_odom', False)
    return _with_settings(drive, tags, is_published, tags.flag('broadcastTF', False))


def read_planar_move(tags: PluginTags) -> DriveDescription:
    """Return a base's planar motion."""
    is_ros1 = any(map(tags.has, _PLANAR_ROS1))
    update_rate = tags.number('update_rate', 20.0, NOT_NEGATIVE)
    period = 1.0 / update_rate if update_rate and not is_ros1 else 0.0
    timeout = tags.number('cmdTimeout', -1.0)
    rate = tags.number('odometryRate' if is_ros1 else 'publish_rate', 20.0, NOT_NEGATIVE)
    drive = DriveDescription(
        'planar_move',
        'planar',
        (),
        timeout=None if timeout < 0.0 else timeout,
        is_true=True,
        base_motion=BaseMotionDescription(level_period=period),
    )
    is_published = is_ros1 or tags.flag('publish_odom', True)
    return replace(_with_settings(drive, tags, is_published, True), rate=rate)


def _with_settings(
    drive: DriveDescription,
    tags: PluginTags,
    is_published: bool,
    has_tf: bool,
    variances: tuple[float, float, float] = (1e-5, 1e-5, 1e-3),
) -> DriveDescription:
    """
    Return a drive with topics, frames, rates and covariances common to these plugins.

    is_published: whether the plugin publishes odometry. has_tf: default for publishing its pose.
    variances: defaults for x, y and yaw.
    """
    x, y, yaw = (
        tags.number(f'covariance_{word}', usual, NOT_NEGATIVE)
        for word, usual in zip(('x', 'y', 'yaw'), variances, strict=True)
    )
    covariance = (x, y, _UNMEASURED, _UNMEASURED, _UNMEASURED, yaw)
    topic = topic_of(tags, ('odometry_topic',), 'odom')
    for tag in ('publish_distance', 'publish_steerangle'):
        if tags.flag(tag, False):
            tags.ignore(tag)
    return replace(
        drive,
        rate=tags.number('update_rate', 100.0, NOT_NEGATIVE),
        pose_covariance=covariance,
        twist_covariance=covariance,
        provides_tf=tags.flag('publish_odom_tf', has_tf),
        odom_frame=tags.text('odometry_frame'),
        base_frame=tags.text('robot_base_frame'),
        command_topic=topic_of(tags, ('command_topic',), 'cmd_vel'),
        odom_topic=topic or ('odom' if is_published else ''),
        line=tags.node.line,
    )


def _pairs(
    tags: PluginTags,
    left: Sequence[str],
    right: Sequence[str],
    separations: Sequence[float],
    diameters: Sequence[float],
    torque_tag: str,
) -> tuple[WheelDescription, ...]:
    """Return left and right wheels; separations, diameters: by pair [m]."""
    torque = tags.number(torque_tag, 5.0, NOT_NEGATIVE)
    return tuple(
        WheelDescription(joint, (0.0, side * 0.5 * separation), 0.5 * diameter, effort=torque)
        for joints, side in ((left, 1.0), (right, -1.0))
        for joint, separation, diameter in zip(
            joints, _filled(separations, len(joints)), _filled(diameters, len(joints)), strict=True
        )
    )


def _of_pairs(tags: PluginTags, tag: str, usual: float, count: int) -> list[float]:
    """
    Return each wheel pair's length [m]; pairs without one have the last given length.

    usual: length if none is given. Gazebo has it for each pair without its own length, and such
    pairs then work against each other.
    """
    return _filled(tags.numbers(tag, SIZE) or [usual], count)


def _filled(values: Sequence[float], count: int) -> list[float]:
    """Return as many values, the last one repeated."""
    return list(islice(chain(values, repeat(values[-1])), count))


def _accelerating(most: float) -> SpeedLimits:
    return SpeedLimits(
        max_acceleration=most,
        max_deceleration=most,
        max_acceleration_reverse=most,
        max_deceleration_reverse=most,
    )


def _own(size: float | None) -> float:
    """Return a robot's dimension [m]; 1 if it is unknown: other checks report the cause."""
    return 1.0 if size is None or math.isnan(size) else abs(size)
