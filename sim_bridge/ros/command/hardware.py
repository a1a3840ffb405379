"""
The simulator's side of ros2_control's topic-based hardware.

If a URDF's `<ros2_control>` names a topic-based plugin, it defines the topics and each joint's
command interfaces. The robot then subscribes to the plugin's commands and publishes states on the
plugin's topic, without configuration. Topics other than joint_commands and joint_states replace
joint_states, which then belongs to the joint_state_broadcaster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING
import xml.etree.ElementTree as ElementTree

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.command.command_table import QUANTITIES

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.wire.joint_state_reader import JointValues

PLUGINS = (
    'joint_state_topic_hardware_interface/JointStateTopicSystem',
    'topic_based_ros2_control/TopicBasedSystem',
)
# the plugins' defaults
_COMMANDS, _STATES = '/robot_joint_commands', '/robot_joint_states'


@dataclass(frozen=True)
class TopicBasedHardware:
    """
    Topics and interfaces of a plugin.

    commands_topic, states_topic: names; '' for the robot's default topics. interfaces: command
    quantities of each joint, in the order of the plugin's messages. commandable: names of all
    joints except mimic joints.
    """

    commands_topic: str
    states_topic: str
    interfaces: Mapping[str, tuple[str, ...]]
    commandable: frozenset[str]

    def is_from(self, command: JointValues) -> bool:
        """
        Return whether a message may be the plugin's and needs to be split up.

        The plugin always names the same joints. A message with a finite effort for each of them,
        without mimic joints, means the same from any publisher.
        """
        if not self.interfaces:
            return False
        is_plain = (
            not len(command.position)
            and not len(command.velocity)
            and (self._commands_all and not np.isnan(command.effort).any())
        )
        return not is_plain and command.names == list(self.interfaces)

    @cached_property
    def _commands_all(self) -> bool:
        return self.commandable >= self.interfaces.keys()

    def parts(self, command: JointValues) -> list[tuple[int, list[str], np.ndarray]]:
        """
        Return quantity, names and values of the commands in a plugin's message.

        The message names all joints, but has values only for joints with the interface in
        question. Values for mimic joints are left out, and NaN, which the plugin sends for
        interfaces without a controller. Empty without any controller. Raises InvalidValueError.
        """
        parts = []
        for quantity, name in enumerate(QUANTITIES):
            values = getattr(command, name)
            if not len(values):
                continue
            names = command.names
            if len(values) != len(names):
                names = [joint for joint in names if name in self.interfaces.get(joint, ())]
            if len(values) != len(names):
                raise InvalidValueError(
                    f'number of {name} values',
                    len(values),
                    f'{len(command.names)}, one for each name, or {len(names)}, one for each '
                    f'joint with a command interface {name!r} in the ros2_control of the robot',
                )
            is_claimed = ~np.isnan(values)
            if not is_claimed.any():
                continue
            keeps = is_claimed & [joint in self.commandable for joint in names]
            parts.append((quantity, list(compress(names, keeps)), values[keeps]))
        return parts


NO_HARDWARE = TopicBasedHardware('', '', {}, frozenset())
"""Hardware without topics."""


def hardware_of(robot: Robot, prefix: str) -> TopicBasedHardware:
    """
    Return the topic-based hardware in a robot's description, and set the joints' control modes.

    A joint's control mode is position if it has that command interface, else velocity, else
    effort. Returns `NO_HARDWARE` if there is none. prefix: for relative topics. Raises
    InvalidValueError for several plugins with different topics.
    """
    xml = robot.description.xml if robot.description is not None else ''
    if not any(plugin in xml for plugin in PLUGINS):
        return NO_HARDWARE
    systems = [
        system
        for system in ElementTree.fromstring(xml).findall('ros2_control')
        if (system.findtext('hardware/plugin') or '').strip() in PLUGINS
    ]
    if not systems:
        return NO_HARDWARE
    names = [
        (
            _parameter(each, 'joint_commands_topic', _COMMANDS),
            _parameter(each, 'joint_states_topic', _STATES),
        )
        for each in systems
    ]
    if len(set(names)) > 1:
        raise InvalidValueError(
            f'topics of the ros2_control systems of robot {robot.name!r}',
            sorted(set(names)),
            'the same joint_commands_topic and joint_states_topic for all',
        )
    interfaces = {
        joint.get('name', ''): tuple(
            each.get('name', '') for each in joint.findall('command_interface')
        )
        for system in systems
        for joint in system.findall('joint')
    }
    commandable = frozenset(robot.actuated_joints)
    for joint, own in interfaces.items():
        control = next((each for each in ('position', 'velocity') if each in own), 'effort')
        if joint in commandable:
            robot.joint(joint).control = control
    commands, states = names[0]
    return TopicBasedHardware(
        _resolved(commands, prefix, 'joint_commands'),
        _resolved(states, prefix, 'joint_states'),
        interfaces,
        commandable,
    )


def _resolved(name: str, prefix: str, usual: str) -> str:
    """Return a topic's name; '' for the default one."""
    if name in (usual, f'/{usual}', f'/{prefix}{usual}'):
        return ''
    return name if name.startswith('/') else prefix + name


def _parameter(system: ElementTree.Element, name: str, default: str) -> str:
    for parameter in system.findall('hardware/param'):
        if parameter.get('name') == name:
            return (parameter.text or '').strip() or default
    return default
