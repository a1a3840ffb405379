"""
Gazebo's plugins that follow joint trajectories, as trajectory controllers without a manager.

gz-sim's JointTrajectoryController has PID laws for positions and velocities, and jumps from point
to point; gazebo_ros_joint_pose_trajectory sets positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim_bridge.description.controller_settings import (
    EFFORT,
    PidGains,
    POSITION,
    TrajectorySettings,
)
from sim_bridge.description.model import ONE_AXIS
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.ros2_control import ControllerDescription, ControllerManagerDescription
from sim_bridge.description.sdf.plugin_tags import plugins_of, PluginTags, reader_of
from sim_bridge.description.sdf.plugin_topics import topics_of

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element

_NAME = 'joint_trajectory_controller'
# law terms without effect here, if not 0
_IGNORED = ('velocity_i_gain', 'velocity_d_gain', 'position_cmd_offset', 'velocity_cmd_offset')
# limits for terms equal to 0, or ignored with these
_WITHOUT_EFFECT = ('velocity_i_min', 'velocity_i_max', 'velocity_cmd_min', 'velocity_cmd_max')

_Found = tuple[TrajectorySettings, str]


def read_trajectory_plugins(
    root: Element, description: RobotDescription, taken: Sequence[str], findings: Findings
) -> Iterator[ControllerManagerDescription]:
    """
    Yield a manager without a name for each plugin, with one controller.

    description: with its drives. taken: names of other controllers. Defective plugins are left
    out.
    """
    names = set(taken)
    for node in plugins_of(root):
        read = reader_of(node, TRAJECTORY_READERS)
        if read is None:
            continue
        own = Findings()
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        found = read(PluginTags(node, place, description, own))
        if findings.take_part(own, 'controller') and found is not None:
            name = _new_name(names)
            names.add(name)
            yield _manager(name, *found, node.line)


def _manager(
    name: str, settings: TrajectorySettings, topic: str, line: int
) -> ControllerManagerDescription:
    kind = 'joint_trajectory_controller/JointTrajectoryController'
    controller = ControllerDescription(name, kind, line=line, settings=settings)
    renamed = MappingProxyType({f'/{name}/joint_trajectory': topic})
    return ControllerManagerDescription('', controllers=(controller,), remappings=renamed)


def _new_name(taken: set[str]) -> str:
    name, number = _NAME, 2
    while name in taken:
        name, number = f'{_NAME}_{number}', number + 1
    return name


def _laws(tags: PluginTags) -> _Found | None:
    """Return gz-sim's controller, with a PID law for each joint."""
    joints = _joints(tags)
    if not joints:
        return None
    terms = {
        name: _of_joints(tags, f'position_{name}', joints, usual)
        for name, usual in (
            *(('p_gain', 0.0), ('i_gain', 0.0), ('d_gain', 0.0)),
            *(('i_min', 0.0), ('i_max', -1.0), ('cmd_min', 0.0), ('cmd_max', -1.0)),
        )
    }
    damping = _of_joints(tags, 'velocity_p_gain', joints, 0.0)
    gains = {}
    for number, joint in enumerate(joints):
        own = {name: values[number] for name, values in terms.items()}
        least, most = _limits(own['i_min'], own['i_max'])
        lower, upper = _limits(own['cmd_min'], own['cmd_max'])
        gains[joint] = PidGains(
            own['p_gain'],
            own['i_gain'],
            # both act on the joint velocity
            own['d_gain'] + damping[number],
            # limits for the opposite error
            -most,
            max(-least, 0.0),
            lower,
            upper,
        )
    for tag in (*_IGNORED, 'initial_position', 'use_header_start_time'):
        _warn_unless_zero(tags, tag)
    topic = tags.topic(
        tags.text('topic') or f'model/{tags.description.name}/joint_trajectory', 'topic'
    )
    tags.close(_WITHOUT_EFFECT)
    return _settings(joints, EFFORT, gains), topic


def _poses(tags: PluginTags) -> _Found | None:
    """Return gazebo_ros's plugin: positions, without a law."""
    joints = _one_axis_joints(tags.description)
    if not joints:
        return None
    topics = topics_of(tags.node)
    name = 'set_joint_trajectory'
    topic = tags.topic(topics.remapped(name) or topics.resolved(name))
    tags.close(('ros', 'update_rate', 'robotNamespace', 'topicName', 'serviceName', 'updateRate'))
    return _settings(joints, POSITION, {}), topic


def _settings(
    joints: tuple[str, ...], quantity: str, gains: dict[str, PidGains]
) -> TrajectorySettings:
    return TrajectorySettings(
        joints,
        (quantity,),
        gains=MappingProxyType(gains),
        allows_part=True,
        allows_moving_end=True,
        interpolates=False,
    )


def _joints(tags: PluginTags) -> tuple[str, ...]:
    """Return the named joints, or all joints with one axis."""
    if not tags.children('joint_name'):
        return _one_axis_joints(tags.description)
    found = [tags.axis_at(child) for child in tags.children('joint_name')]
    return tuple(dict.fromkeys(joint.name for joint in found if joint is not None))


def _one_axis_joints(description: RobotDescription) -> tuple[str, ...]:
    """Return the commandable joints' names, without those in a drive."""
    driven = {joint for drive in description.drives for joint in drive.joints}
    return tuple(
        name
        for name, joint in description.joints.items()
        if joint.type in ONE_AXIS and joint.mimic is None and name not in driven
    )


def _of_joints(
    tags: PluginTags, tag: str, joints: tuple[str, ...], usual: float
) -> tuple[float, ...]:
    """Return one value for each joint, in their order; the plugin's default for the rest."""
    values = tags.numbers(tag)[: len(joints)]
    return (*values, *[usual] * (len(joints) - len(values)))


def _limits(least: float, most: float) -> tuple[float, float]:
    """Return lower and upper limit; none if they are exchanged."""
    return (least, most) if least <= most else (-math.inf, math.inf)


def _warn_unless_zero(tags: PluginTags, tag: str) -> None:
    for child in tags.children(tag):
        if child.text.strip() not in ('0', '0.0', 'false'):
            message = 'is not simulated, ignored'
            tags.findings.warning('not-simulated', tags.at(child), message, value=child.text)


TRAJECTORY_READERS: Mapping[str, Callable[[PluginTags], _Found | None]] = {
    'joint-trajectory-controller-system': _laws,
    'gazebo_ros_joint_pose_trajectory': _poses,
}
"""Readers by parts of plugins' file names."""
