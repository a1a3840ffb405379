"""A drive plugin's children, read one by one, with ROS 1's tags as well."""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.description.model import RobotDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_topics import name_in, read_topic, topics_of
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import read_boolean

# for lengths [m] and angles [rad]; smaller values are mistakes
POSITIVE = Numbers(minimum=1e-6)
NOT_NEGATIVE = Numbers(minimum=0.0)
_ANY = Numbers()
_VECTOR = Numbers(count=3)
# names of the ROS 1 plugins for tags of the ROS 2 plugins
ROS1_TAGS = {
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
    'max_wheel_torque': 'wheelTorque',
    'odometry_source': 'odometrySource',
    'update_rate': 'updateRate',
}
# tags without effect here: their message or quantity is always published, or never
_WITHOUT_EFFECT = {
    'ros',
    'publish_wheel_tf',
    'num_wheel_pairs',
    'robot_namespace',
    'steer_p_gain',
    'wheel_torque',
    'legacy_mode',
    'rosDebugLevel',
    'publishTF',
    'publishWheelTF',
    'publishWheelJointState',
    'robotNamespace',
    'legacyMode',
    'alwaysOn',
    'always_on',
    'publish_wheel_odom',
    'right_steering_pid_gain',
    'left_steering_pid_gain',
    'linear_velocity_pid_gain',
    'left_steering_i_range',
    'right_steering_i_range',
    'linear_velocity_i_range',
    'publish_wheel_joint_state',
}


@dataclass
class DriveTags:
    """Plugin children, read one by one."""

    node: Element
    place: Place
    description: RobotDescription
    findings: Findings

    def __post_init__(self) -> None:
        self._read = set(_WITHOUT_EFFECT)

    def texts(self, tag: str) -> list[tuple[str, Place]]:
        """Return the texts from all children with a tag, or with its name in ROS 1."""
        old = ROS1_TAGS.get(tag, tag)
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

    def numbers(self, tag: str, allowed: Numbers = _ANY) -> list[float]:
        """Return the numbers in all children with a tag, without defective ones."""
        found = (
            parse_numbers(text, allowed, place, self.findings, '')
            for text, place in self.texts(tag)
        )
        return [values[0] for values in found if values is not None]

    def vector(self, tag: str) -> tuple[float, ...]:
        """Return the three numbers in the last child with a tag; zeros without one."""
        for text, place in self.texts(tag)[-1:]:
            values = parse_numbers(text, _VECTOR, place, self.findings, '')
            return (0.0,) * 3 if values is None else tuple(values)
        return (0.0,) * 3

    def number(self, tag: str, default: float, allowed: Numbers = _ANY) -> float:
        """Return the number in the last child with a tag."""
        for text, place in self.texts(tag)[-1:]:
            values = parse_numbers(text, allowed, place, self.findings, '')
            return default if values is None else values[0]
        return default

    def flag(self, tag: str, default: bool) -> bool:
        """Return the truth value in the last child with a tag."""
        old = ROS1_TAGS.get(tag, tag)
        self._read |= {tag, old}
        for child in (self.node.findall(tag) or self.node.findall(old))[-1:]:
            value = read_boolean(child, self.place.child(tag, child.line), self.findings)
            return default if value is None else value
        return default

    def topic(self, names: tuple[str, ...], usual: str) -> str:
        """
        Return the topic in the first given tag, remapped; '' if the file does not name it.

        usual: the plugin's topic name.
        """
        ros = topics_of(self.node)
        given = next(filter(None, map(self.text, names)), '')
        renamed = ros.remapped(given or usual, f'~/{given or usual}')
        in_namespace = ros.resolved(given or usual) if given or ros.namespace else ''
        place = self.place.child(names[0], self.place.line)
        return read_topic(renamed or in_namespace, place, self.findings)

    def ignore(self, tag: str) -> None:
        """Warn about a tag whose effect is not simulated."""
        for child in self.node.findall(tag)[-1:]:
            place = self.place.child(tag, child.line)
            self.findings.warning('not-simulated', place, 'is not simulated, ignored')

    def close(self) -> None:
        """Warn about unread tags."""
        for child in self.node:
            if child.tag not in self._read:
                self.findings.warning(
                    'unknown-tag',
                    self.place.child(child.tag, child.line),
                    'is not simulated, ignored',
                )
