"""
Drives of Gazebo's plugins DiffDrive, MecanumDrive and AckermannSteering, and of gazebo_ros.

Tags and defaults are the plugins' own. The last of several equal tags counts, except for joints:
all of them count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
import math

from sim_bridge.description.drives import DriveDescription, SpeedLimits, WheelDescription
from sim_bridge.description.mechanism.drives import differential, mecanum, steered
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_topics import name_in, PluginTopics, read_topic, topics_of
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import read_boolean

# for lengths [m] and angles [rad]; smaller values are mistakes
_POSITIVE = Numbers(minimum=1e-6)
_NOT_NEGATIVE = Numbers(minimum=0.0)
_ANY = Numbers()
# names of the ROS 1 plugins for tags of the ROS 2 plugins
_ROS1_TAGS = {
    'left_joint': 'leftJoint',
    'right_joint': 'rightJoint',
    'wheel_separation': 'wheelSeparation',
    'wheel_diameter': 'wheelDiameter',
    'max_wheel_acceleration': 'wheelAcceleration',
    'command_topic': 'commandTopic',
    'odometry_topic': 'odometryTopic',
    'odometry_frame': 'odometryFrame',
    'robot_base_frame': 'robotBaseFrame',
    'publish_odom_tf': 'publishOdomTF',
}
# tags without effect here: their message or quantity is always published, or never
_WITHOUT_EFFECT = {
    'ros',
    'update_rate',
    'publish_odom',
    'publish_wheel_tf',
    'odometry_source',
    'num_wheel_pairs',
    'max_wheel_torque',
    'robot_namespace',
    'publish_distance',
    'steer_p_gain',
    'wheel_torque',
    'legacy_mode',
    'rosDebugLevel',
    'publishTf',
    'publishTF',
    'publishWheelTF',
    'publishWheelJointState',
    'updateRate',
    'wheelTorque',
    'torque',
    'robotNamespace',
    'odometrySource',
    'legacyMode',
    'alwaysOn',
    'always_on',
    'publish_wheel_odom',
    'covariance_x',
    'covariance_y',
    'covariance_yaw',
    'right_steering_pid_gain',
    'left_steering_pid_gain',
    'linear_velocity_pid_gain',
    'left_steering_i_range',
    'right_steering_i_range',
    'linear_velocity_i_range',
    'publish_wheel_joint_state',
}


def read_gazebo_drives(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[tuple[DriveDescription, Place]]:
    """Yield the drives from plugins in `<gazebo>` elements, each with its place."""
    counts: dict[str, int] = {}
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            reader = drive_reader(node)
            if reader is None:
                continue
            place = Place('gazebo/plugin', node.get('name', ''), node.line)
            own = Findings()
            tags = _Tags(node, place, description, own)
            drive = _with_settings(reader(tags), tags)
            tags.close()
            is_usable = findings.take_part(own, 'drive')
            count = counts[drive.name] = counts.get(drive.name, 0) + 1
            if count > 1:
                drive = replace(drive, name=f'{drive.name}_{count}')
            if is_usable:
                yield drive, tags.place


def drive_reader(node: Element) -> Callable[[_Tags], DriveDescription] | None:
    """Return a drive plugin's reader; None for any other plugin."""
    filename = node.get('filename', '')
    return next((read for word, read in _READERS.items() if word in filename), None)


@dataclass
class _Tags:
    """Plugin children, read one by one."""

    node: Element
    place: Place
    description: RobotDescription
    findings: Findings

    def __post_init__(self) -> None:
        self._read = set(_WITHOUT_EFFECT)

    def texts(self, tag: str) -> list[tuple[str, Place]]:
        """Return the texts from all children with a tag, or with its name in ROS 1."""
        old = _ROS1_TAGS.get(tag, tag)
        self._read |= {tag, old}
        return [
            (name_in(child), self.place.child(child.tag, child.line))
            for child in self.node.findall(tag) or self.node.findall(old)
        ]

    def has(self, tag: str) -> bool:
        """Return whether there is a child with a tag."""
        return self.node.find(tag) is not None

    def text(self, tag: str, default: str = '') -> str:
        """Return the text from the last child with a tag."""
        return (self.texts(tag) or [(default, self.place)])[-1][0]

    def joints(self, tag: str) -> list[str]:
        """Return the joint names; [''], with an error noted, if there are none."""
        names = [text for text, _ in self.texts(tag) if text]
        if not names:
            self.findings.error('missing-tag', self.place.child(tag, self.place.line), 'missing')
        return names or ['']

    def number(self, tag: str, default: float, allowed: Numbers = _ANY) -> float:
        """Return the number in the last child with a tag."""
        for text, place in self.texts(tag)[-1:]:
            values = parse_numbers(text, allowed, place, self.findings, '')
            return default if values is None else values[0]
        return default

    def flag(self, tag: str, default: bool) -> bool:
        """Return the truth value in the last child with a tag."""
        old = _ROS1_TAGS.get(tag, tag)
        self._read |= {tag, old}
        for child in (self.node.findall(tag) or self.node.findall(old))[-1:]:
            value = read_boolean(child, self.place.child(tag, child.line), self.findings)
            return default if value is None else value
        return default

    def close(self) -> None:
        """Warn about unread tags."""
        for child in self.node:
            if child.tag not in self._read:
                self.findings.warning(
                    'unknown-tag',
                    self.place.child(child.tag, child.line),
                    'is not simulated, ignored',
                )


def _differential(tags: _Tags) -> DriveDescription:
    separation = tags.number('wheel_separation', 1.0, _POSITIVE)
    radius = tags.number('wheel_radius', 0.2, _POSITIVE)
    return DriveDescription(
        'diff_drive',
        'differential',
        differential(
            tags.joints('left_joint'), tags.joints('right_joint'), separation, radius, radius
        ),
    )


def _classic_differential(tags: _Tags) -> DriveDescription:
    left, right = tags.joints('left_joint'), tags.joints('right_joint')
    # the first wheel pair's dimensions apply to all pairs
    separation = tags.number('wheel_separation', 0.34, _POSITIVE)
    radius = 0.5 * tags.number('wheel_diameter', 0.15, _POSITIVE)
    most = tags.number('max_wheel_acceleration', 0.0, _NOT_NEGATIVE) or math.inf
    drive = DriveDescription(
        'diff_drive', 'differential', differential(left, right, separation, radius, radius)
    )
    # the plugin limits the acceleration of each wheel's rim [m/s²]
    along, about = (
        SpeedLimits(
            max_acceleration=each,
            max_deceleration=each,
            max_acceleration_reverse=each,
            max_deceleration_reverse=each,
        )
        for each in (most, 2.0 * most / separation)
    )
    return replace(drive, limits=(along, SpeedLimits(), about))


def _mecanum(tags: _Tags) -> DriveDescription:
    joints = [
        tags.joints(f'{end}_joint')[0]
        for end in ('front_left', 'front_right', 'back_right', 'back_left')
    ]
    wheels = mecanum(
        joints,
        tags.number('wheelbase', 1.0, _POSITIVE),
        tags.number('wheel_separation', 1.0, _POSITIVE),
        tags.number('wheel_radius', 0.2, _POSITIVE),
    )
    return DriveDescription('mecanum_drive', 'mecanum', wheels)


def _ackermann(tags: _Tags) -> DriveDescription:
    left, right = tags.joints('left_joint'), tags.joints('right_joint')
    steering = [tags.joints(f'{side}_steering_joint')[0] for side in ('left', 'right')]
    separation = tags.number('wheel_separation', 1.0, _POSITIVE)
    kingpins = tags.number('kingpin_width', 0.8, _POSITIVE)
    wheelbase = tags.number('wheel_base', 1.0, _POSITIVE)
    radius = tags.number('wheel_radius', 0.2, _POSITIVE)
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
        tags.findings.warning(
            'not-simulated',
            tags.place.child('steering_only', tags.place.line),
            'is not simulated, ignored',
        )
    return DriveDescription(
        'ackermann_steering',
        'ackermann',
        wheels,
        axles,
        steering_limit=tags.number('steering_limit', 0.5, _POSITIVE),
    )


def _wheel(
    tags: _Tags,
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


_READERS: dict[str, Callable[[_Tags], DriveDescription]] = {
    'diff-drive-system': _differential,
    'mecanum-drive-system': _mecanum,
    'ackermann-steering-system': _ackermann,
    'gazebo_ros_diff_drive': _classic_differential,
}


def _with_settings(drive: DriveDescription, tags: _Tags) -> DriveDescription:
    """Return a drive with the limits, topics and frames common to these plugins."""
    linear, lateral, angular = (
        _limits(tags, middle, own)
        for middle, own in zip(('_linear', '_linear', '_angular'), drive.limits, strict=True)
    )
    rate = tags.number('odom_publish_frequency', 50.0, _NOT_NEGATIVE)
    tags.text('robot_base_frame')
    ros = topics_of(tags.node)
    tf_topic = tags.text('tf_topic')
    return replace(
        drive,
        limits=(linear, lateral, angular),
        rate=rate,
        command_topic=_topic(tags, ros, ('topic', 'command_topic'), 'cmd_vel'),
        odom_topic=_topic(tags, ros, ('odom_topic', 'odometry_topic'), 'odom'),
        odom_frame=tags.text('frame_id') or tags.text('odometry_frame'),
        base_frame=tags.text('child_frame_id') or tags.text('robot_base_frame'),
        # Gazebo's own plugins always publish the frame, on this topic
        provides_tf=tags.flag('publish_odom_tf', False) or tf_topic.strip('/') == 'tf',
        line=tags.node.line,
    )


def _topic(tags: _Tags, ros: PluginTopics, names: tuple[str, ...], usual: str) -> str:
    """
    Return the topic in the first of several tags, remapped; '' if the file does not name it.

    usual: name of the topic in the plugin.
    """
    given = next(filter(None, map(tags.text, names)), '')
    place = tags.place.child(names[0], tags.place.line)
    renamed = ros.remapped(given or usual, f'~/{given or usual}')
    in_namespace = ros.resolved(given or usual) if given or ros.namespace else ''
    return read_topic(renamed or in_namespace, place, tags.findings)


def _limits(tags: _Tags, middle: str, own: SpeedLimits) -> SpeedLimits:
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
