"""Gazebo's plugins JointPositionController and JointController: command topics for joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from sim_bridge.description.plugin_inputs import JointInput
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, plugins_of, PluginTags, reader_of

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.xml.document import Element

# integral shares and output limits: the joint's own limits hold
_WITHOUT_EFFECT = ('i_max', 'i_min', 'cmd_max', 'cmd_min', 'cmd_offset')


def read_joint_inputs(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[JointInput]:
    """Yield the plugins' inputs; defective ones are left out."""
    for node in plugins_of(root):
        read = reader_of(node, JOINT_READERS)
        if read is None:
            continue
        own = Findings()
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        entry = read(PluginTags(node, place, description, own))
        if findings.take_part(own, 'controller') and entry is not None:
            yield entry


def _position(tags: PluginTags) -> JointInput | None:
    joints = _joints(tags)
    gains = tags.number('p_gain', 1.0, NOT_NEGATIVE), tags.number('d_gain', 0.01, NOT_NEGATIVE)
    if tags.number('i_gain', 0.0):
        child = tags.last('i_gain')
        assert child is not None
        message = 'is not simulated, ignored'
        tags.findings.warning('not-simulated', tags.at(child), message, value=child.text)
    index = int(tags.number('joint_index', 0.0, NOT_NEGATIVE))
    topic = _topic(tags, f'joint/{joints[0]}/{index}/cmd_pos' if joints else '')
    is_exact = tags.flag('use_velocity_commands')
    initial = tags.number('initial_position', 0.0)
    tags.close(_WITHOUT_EFFECT)
    return JointInput(
        topic, joints, 'position', None if is_exact else gains, initial, tags.node.line
    )


def _velocity(tags: PluginTags) -> JointInput | None:
    joints = _joints(tags)
    topic = _topic(tags, f'joint/{joints[0]}/cmd_vel' if joints else '')
    initial = tags.number('initial_velocity', 0.0)
    tags.close((*_WITHOUT_EFFECT, 'use_force_commands', 'p_gain', 'i_gain', 'd_gain'))
    return JointInput(topic, joints, 'velocity', None, initial, tags.node.line)


def _joints(tags: PluginTags) -> tuple[str, ...]:
    """Return all joint names; note errors for joints without a single axis."""
    if not tags.children('joint_name'):
        tags.axis('joint_name')
    found = [tags.axis_at(child) for child in tags.children('joint_name')]
    return tuple(joint.name for joint in found if joint is not None)


def _topic(tags: PluginTags, usual: str) -> str:
    """Return the topic: given in full, below the model, or the usual one there."""
    if tags.flag('use_actuator_msg'):
        message = 'commands by actuator messages are not simulated'
        tags.findings.error('not-simulated', tags.place, message, 'use_actuator_msg')
    name = tags.description.name
    below = tags.text('sub_topic')
    given = tags.text('topic') or f'model/{name}/{below or usual}'
    return tags.topic(given, 'topic', 'sub_topic')


JOINT_READERS: Mapping[str, Callable[[PluginTags], JointInput | None]] = {
    'joint-position-controller-system': _position,
    'joint-controller-system': _velocity,
}
"""Readers by parts of plugins' file names."""
