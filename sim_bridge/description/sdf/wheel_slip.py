"""WheelSlip of gz-sim and Gazebo Classic: wheels that creep in proportion to their load."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim_bridge.description.model import ONE_AXIS
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_tags import local_name, NOT_NEGATIVE, plugins_of, PluginTags

if TYPE_CHECKING:
    from sim_bridge.description.model import JointDescription, LinkDescription, RobotDescription
    from sim_bridge.description.xml.document import Element

_FILES = ('wheel-slip-system', 'WheelSlipPlugin', 'gazebo_ros_wheel_slip')


def is_wheel_slip(node: Element) -> bool:
    """Return whether a plugin lets wheels slip."""
    return any(word in node.get('filename', '') for word in _FILES)


def with_wheel_slip(
    root: Element, description: RobotDescription, findings: Findings
) -> RobotDescription:
    """Return a description with its wheels' slip; a defective plugin is left out."""
    links = dict(description.links)
    for node in plugins_of(root):
        if not is_wheel_slip(node):
            continue
        own = Findings()
        place = Place('gazebo/plugin', node.get('name', ''), node.line)
        tags = PluginTags(node, place, description, own)
        wheels = [_wheel(tags, child) for child in tags.children('wheel')]
        tags.close(('ros',))
        if not wheels:
            own.error('missing-tag', place.child('wheel', node.line), 'missing')
        if findings.take_part(own, 'wheel slip'):
            links.update({link.name: link for link in wheels if link is not None})
    return replace(description, links=MappingProxyType(links))


def _wheel(tags: PluginTags, node: Element) -> LinkDescription | None:
    """Return a wheel's link with its slip; None, with an error noted, for a defective one."""
    inner = tags.inside(node)
    lateral, longitudinal, load, radius = (
        inner.number(tag, 0.0, NOT_NEGATIVE)
        for tag in (
            'slip_compliance_lateral',
            'slip_compliance_longitudinal',
            'wheel_normal_force',
            'wheel_radius',
        )
    )
    inner.close()
    name = local_name(node.get('link_name', ''), tags.description.links)
    link, joint = tags.description.links.get(name), _spin(tags.description, name)
    if link is None or joint is None:
        message = 'no link on a joint with one axis has this name'
        tags.findings.error('unknown-link', tags.at(node), message, 'link_name', name)
        return None
    for tag, value in (('wheel_normal_force', load), ('wheel_radius', radius)):
        if not value > 0.0:
            place = tags.at(node).child(tag, node.line)
            tags.findings.error('out-of-range', place, 'must be above 0', value=f'{value:g}')
            return None
    contact = replace(
        link.contact, rolling_slip=(lateral * radius / load, longitudinal * radius / load)
    )
    if contact.direction is None:
        x, y, z = (joint.child_pose.rotation.T @ joint.axis).tolist()
        contact = replace(contact, direction=(x, y, z), direction_link=name)
    return replace(link, contact=contact)


def _spin(description: RobotDescription, link: str) -> JointDescription | None:
    """Return a link's parent joint, if it has one axis."""
    return next(
        (
            joint
            for joint in description.joints.values()
            if joint.child == link and joint.type in ONE_AXIS
        ),
        None,
    )
