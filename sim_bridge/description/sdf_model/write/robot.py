"""Robot description written as an SDF model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.collision_bits import has_rules
from sim_bridge.description.losses import Format, note_losses
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.model import (
    ConstraintDescription,
    ContactDescription,
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    LinkDescription,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.description.sdf_model.write.joints import write_joint, write_loop
from sim_bridge.description.sdf_model.write.links import LinkWriter
from sim_bridge.description.sdf_model.write.sensors import write_sensor
from sim_bridge.description.sdf_model.write.text import add, add_pose
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.material import Material

_VERSION = '1.11'
_NAMESPACE = 'http://gazebosim.org/schema'
_WORLD = 'world'
_OF_CONTACT = ('friction', 'friction2', 'restitution', 'slip', 'spinning_friction')
FORMAT = Format(
    'SDF',
    {
        LinkDescription: frozenset(('gravity', 'enable_wind')),
        JointDescription: frozenset(('mimic',)),
        JointLimits: frozenset(('velocity',)),
        JointDynamics: frozenset(('damping', 'friction', 'stiffness')),
        GeometryDescription: frozenset(('color', 'texture', 'groups')),
        ContactDescription: frozenset(
            (
                *_OF_CONTACT, 'direction', 'stiffness', 'damping', 'max_velocity', 'layer',
                'self_collide', 'is_sensor', 'enabled',
            )
        ),
        Material: frozenset(_OF_CONTACT),
    },
)  # fmt: skip
"""Properties held by a written SDF model."""


def sdf_text(
    description: RobotDescription,
    *,
    fixed_base: bool = False,
    folder: Path | None = None,
    apart: Iterable[tuple[str, str]] = (),
) -> tuple[str | None, Report]:
    """
    Return a robot as an SDF model, None without a counterpart, and a report of its omissions.

    fixed_base: whether the root link is fixed to the world; a root link 'world' is the world.
    folder: the file's folder; triangles without a file are written to `meshes` there as STL.
    apart: left out, with a warning; SDF names no pairs without collision.
    """
    findings = Findings()
    text = None
    if description.root in description.links:
        description = _with_joint_names(description, findings)
        text = _text(description, fixed_base, folder, findings)
        if list(apart):
            message = 'SDF names no pairs of links without collision: left out'
            findings.warning('unsupported', Place('robot', description.name), message)
    else:
        findings.error('no-links', Place('robot', description.name), 'has no links')
    report = findings.report(description.source)
    return (text if report.ok else None), report


def _with_joint_names(robot: RobotDescription, findings: Findings) -> RobotDescription:
    """Return a robot whose joints have other names than its links, as SDF needs."""
    taken = {*robot.links, *robot.joints, *(each.name for each in robot.constraints)}
    names = {}
    joined: list[JointDescription | ConstraintDescription] = [*robot.joints.values()]
    joined += robot.constraints
    for joint in joined:
        if joint.name in robot.links:
            names[joint.name] = free_name(f'{joint.name}_joint', taken.__contains__)
            taken.add(names[joint.name])
            message = f'a link has this name: the joint is named {names[joint.name]!r} in SDF'
            findings.warning('changed', Place('joint', joint.name, joint.line), message)
    if not names:
        return robot

    def renamed(joint: JointDescription) -> JointDescription:
        rule = joint.mimic
        if rule is not None:
            rule = replace(rule, joint=names.get(rule.joint, rule.joint))
        return replace(joint, name=names.get(joint.name, joint.name), mimic=rule)

    joints = [renamed(each) for each in robot.joints.values()]
    return replace(
        robot,
        joints={each.name: each for each in joints},
        constraints=tuple(
            replace(each, name=names.get(each.name, each.name)) for each in robot.constraints
        ),
        sensors=tuple(
            replace(each, joint=names.get(each.joint, each.joint)) for each in robot.sensors
        ),
    )


def _text(
    robot: RobotDescription, fixed_base: bool, folder: Path | None, findings: Findings
) -> str:
    # the prefix of `gz:expressed_in`
    root = Element('sdf', {'version': _VERSION, 'xmlns:gz': _NAMESPACE})
    model = SubElement(root, 'model', name=robot.name)
    if all(link.contact.self_collide is None for link in robot.links.values()):
        # here links collide by default, in SDF they do not
        add(model, 'self_collide', 'true')
    links = _write_links(model, robot, folder, findings)
    if (fixed_base or robot.is_welded) and robot.root != _WORLD:
        _weld(model, robot)
    for joint in robot.joints.values():
        write_joint(model, joint, findings)
    poses = link_poses(robot)
    for loop in robot.constraints:
        write_loop(model, loop, poses, findings)
    joints = {each.get('name', ''): each for each in model.findall('joint')}
    for sensor in robot.sensors:
        write_sensor(links, joints, sensor, findings)
    note_losses(robot, FORMAT, findings)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _write_links(
    model: Element, robot: RobotDescription, folder: Path | None, findings: Findings
) -> dict[str, Element]:
    """Add all links except the world, each with its pose relative to its parent link."""
    carried: dict[str, JointDescription] = {each.child: each for each in robot.joints.values()}
    writer = LinkWriter(folder, has_rules(robot.links.values()), findings)
    links = {}
    for link in robot.links.values():
        if link.name == _WORLD and link.name == robot.root:
            if link.collisions or link.visuals:
                place = Place('link', link.name, link.line)
                message = 'its shapes belong to the world: left out'
                findings.warning('unsupported', place, message)
            continue
        element = SubElement(model, 'link', name=link.name)
        joint = carried.get(link.name)
        if joint is None:
            add_pose(element, robot.base_pose)
        else:
            parent = '' if joint.parent == _WORLD else joint.parent
            add_pose(element, joint.origin @ joint.child_pose, parent)
        writer.write(element, link)
        links[link.name] = element
    return links


def _weld(model: Element, robot: RobotDescription) -> None:
    name = free_name('world_joint', robot.joints.__contains__)
    joint = SubElement(model, 'joint', name=name, type='fixed')
    add(joint, 'parent', _WORLD)
    add(joint, 'child', robot.root)
