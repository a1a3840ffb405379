"""
Drives of Gazebo's plugins DiffDrive, MecanumDrive, AckermannSteering and VelocityControl.

Those of gazebo_ros are in `sdf.classic_drives`. Tags and defaults are the plugins' own. The last
of several equal tags counts, except for joints: all of them count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
import math

from sim_bridge.description.drives import (
    BaseMotionDescription,
    DriveDescription,
    SpeedLimits,
    WheelDescription,
)
from sim_bridge.description.mechanism.drives import differential, mecanum, steered
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.classic_drives import (
    read_ackermann,
    read_diff_drive,
    read_planar_move,
    read_skid_steer,
)
from sim_bridge.description.sdf.drive_tags import (
    joints_of,
    ROS1_TAGS,
    SIZE,
    topic_of,
    WITHOUT_EFFECT,
)
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, PluginTags
from sim_bridge.description.xml.document import Element


def read_gazebo_drives(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[tuple[DriveDescription, Place]]:
    """Yield the drives from plugins in `<gazebo>` elements, each with its place."""
    counts: dict[str, int] = {}
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            if not is_drive(node):
                continue
            place = Place('gazebo/plugin', node.get('name', ''), node.line)
            own = Findings()
            tags = PluginTags(node, place, description, own, ROS1_TAGS)
            drive = _read(node.get('filename', ''), tags)
            tags.close(WITHOUT_EFFECT)
            is_usable = findings.take_part(own, 'drive')
            count = counts[drive.name] = counts.get(drive.name, 0) + 1
            if count > 1:
                drive = replace(drive, name=f'{drive.name}_{count}')
            if is_usable:
                yield drive, tags.place


def is_drive(node: Element) -> bool:
    """Return whether a plugin is a drive."""
    filename = node.get('filename', '')
    return any(word in filename for word in (*_READERS, *_CLASSIC_READERS))


def _read(filename: str, tags: PluginTags) -> DriveDescription:
    for word, read in _CLASSIC_READERS.items():
        if word in filename:
            return read(tags)
    read = next(read for word, read in _READERS.items() if word in filename)
    return _with_settings(read(tags), tags)


def _differential(tags: PluginTags) -> DriveDescription:
    separation = tags.number('wheel_separation', 1.0, SIZE)
    radius = tags.number('wheel_radius', 0.2, SIZE)
    return DriveDescription(
        'diff_drive',
        'differential',
        differential(
            joints_of(tags, 'left_joint'),
            joints_of(tags, 'right_joint'),
            separation,
            radius,
            radius,
        ),
    )


def _mecanum(tags: PluginTags) -> DriveDescription:
    joints = [
        joints_of(tags, f'{end}_joint')[0]
        for end in ('front_left', 'front_right', 'back_right', 'back_left')
    ]
    wheels = mecanum(
        joints,
        tags.number('wheelbase', 1.0, SIZE),
        tags.number('wheel_separation', 1.0, SIZE),
        tags.number('wheel_radius', 0.2, SIZE),
    )
    return DriveDescription('mecanum_drive', 'mecanum', wheels)


def _ackermann(tags: PluginTags) -> DriveDescription:
    left, right = joints_of(tags, 'left_joint'), joints_of(tags, 'right_joint')
    steering = [joints_of(tags, f'{side}_steering_joint')[0] for side in ('left', 'right')]
    separation = tags.number('wheel_separation', 1.0, SIZE)
    kingpins = tags.number('kingpin_width', 0.8, SIZE)
    wheelbase = tags.number('wheel_base', 1.0, SIZE)
    radius = tags.number('wheel_radius', 0.2, SIZE)
    wheels, axles = steered(
        [left[0], right[0]], steering, wheelbase, (separation, kingpins), radius, 'fixed'
    )
    if max(len(left), len(right)) > 1:
        # the robot shows which wheels are steered: the parents of their joints are steered links
        steered_links = {
            tags.description.joints[name].child
            for name in steering
            if name in tags.description.joints
        }
        wheels = tuple(
            wheel
            for side, joints in enumerate((left, right))
            for wheel in (
                _wheel(tags, joint, side, steered_links, steering, (wheelbase, separation, radius))
                for joint in joints
            )
        )
    if tags.flag('steering_only', False):
        tags.ignore('steering_only')
    limit = tags.number('steering_limit', 0.5, SIZE)
    return DriveDescription(
        'ackermann_steering',
        'ackermann',
        wheels,
        axles,
        # the plugin bounds the curve's radius, not a wheel's angle
        curvature_limit=math.sin(min(limit, 0.5 * math.pi)) / wheelbase,
    )


def _velocity_control(tags: PluginTags) -> DriveDescription:
    if tags.children('link_name'):
        tags.ignore('link_name')
    (x, y, z), (roll, pitch, yaw) = (tags.vector('initial_linear'), tags.vector('initial_angular'))
    motion = BaseMotionDescription(is_spatial=True, initial=(x, y, yaw, z, roll, pitch))
    return DriveDescription('velocity_control', 'spatial', (), is_true=True, base_motion=motion)


def _wheel(
    tags: PluginTags,
    joint: str,
    side: int,
    steered_links: set[str],
    steering: Sequence[str],
    sizes: tuple[float, float, float],
) -> WheelDescription:
    """Return a wheel on a side, 0 for left. sizes: wheelbase, separation and radius [m]."""
    wheelbase, separation, radius = sizes
    known = tags.description.joints.get(joint)
    is_steered = known is not None and known.parent in steered_links
    return WheelDescription(
        joint,
        (wheelbase if is_steered else 0.0, (0.5 - side) * separation),
        radius,
        steering=steering[side] if is_steered else '',
    )


_READERS: dict[str, Callable[[PluginTags], DriveDescription]] = {
    'diff-drive-system': _differential,
    'mecanum-drive-system': _mecanum,
    'ackermann-steering-system': _ackermann,
    'velocity-control-system': _velocity_control,
}
_CLASSIC_READERS: dict[str, Callable[[PluginTags], DriveDescription]] = {
    'gazebo_ros_diff_drive': read_diff_drive,
    'gazebo_ros_skid_steer_drive': read_skid_steer,
    'gazebo_ros_ackermann_drive': read_ackermann,
    'gazebo_ros_ackerman.': read_ackermann,
    'gazebo_ros_planar_move': read_planar_move,
}


def _with_settings(drive: DriveDescription, tags: PluginTags) -> DriveDescription:
    """Return a drive with the limits, topics and frames common to these plugins."""
    linear, lateral, angular = (
        _limits(tags, middle, own)
        for middle, own in zip(('_linear', '_linear', '_angular'), drive.limits, strict=True)
    )
    rate = tags.number('odom_publish_frequency', 50.0, NOT_NEGATIVE)
    tags.text('robot_base_frame')
    tf_topic = tags.text('tf_topic')
    return replace(
        drive,
        limits=(linear, lateral, angular),
        rate=rate,
        command_topic=topic_of(tags, ('topic', 'command_topic'), 'cmd_vel'),
        odom_topic=topic_of(tags, ('odom_topic', 'odometry_topic'), 'odom'),
        odom_frame=tags.text('frame_id') or tags.text('odometry_frame'),
        base_frame=tags.text('child_frame_id') or tags.text('robot_base_frame'),
        # Gazebo's own plugins always publish the frame, on this topic
        provides_tf=tags.flag('publish_odom_tf', False) or tf_topic.strip('/') == 'tf',
        line=tags.node.line,
    )


def _limits(tags: PluginTags, middle: str, own: SpeedLimits) -> SpeedLimits:
    """
    Return limits for one velocity component, with values for this component before general ones.

    min_ and max_ tags limit backward and forward motion.
    """
    values = {}
    for quantity in ('velocity', 'acceleration', 'jerk'):
        for end in ('min', 'max'):
            general = tags.number(f'{end}_{quantity}', math.nan)
            values[end, quantity] = tags.number(f'{end}{middle}_{quantity}', general)

    def amount(end: str, quantity: str, default: float) -> float:
        value = values[end, quantity]
        return default if math.isnan(value) else abs(value)

    up = amount('max', 'acceleration', own.max_acceleration)
    down = amount('min', 'acceleration', up)
    jerk = amount('max', 'jerk', math.inf)
    most = amount('max', 'velocity', math.inf)
    return SpeedLimits(
        -amount('min', 'velocity', most),
        most,
        up,
        down,
        down,
        up,
        jerk,
        amount('min', 'jerk', jerk),
    )
