"""
Conversion from a URDF to a `RobotDescription`: read, check everything, build.

Every link and joint is first checked against the schema; urdf-parser-py reads only the checked
elements. So the user never sees its output and its errors, and only the needs of a simulation
decide about a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mechanism.constraints import attach
from sim_bridge.description.mechanism.tree import check_mimic_limits, check_tree, resolve_mimics
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place, Report, unknown
from sim_bridge.description.sdf import contact as gazebo_contact
from sim_bridge.description.sdf import gazebo
from sim_bridge.description.sdf.joints import read_gazebo_joints
from sim_bridge.description.sdf.labels import with_labels
from sim_bridge.description.sdf.mimic_plugins import with_mimic_plugins
from sim_bridge.description.sdf.plugin_forces import with_plugin_effects
from sim_bridge.description.sdf.wheel_slip import with_wheel_slip
from sim_bridge.description.urdf import crawlers, drives, extension, xacro_file
from sim_bridge.description.urdf.joints import build_joint
from sim_bridge.description.urdf.links import build_link
from sim_bridge.description.urdf.materials import read_appearances
from sim_bridge.description.urdf.ros2_control import check_initial_values
from sim_bridge.description.urdf.schema import (
    JOINT,
    JOINT_TYPES,
    KNOWN_VERSIONS,
    LINK,
    ROBOT_ATTRIBUTES,
    ROBOT_TAGS,
    SHAPE,
)
from sim_bridge.description.urdf.sensors import read_sensors
from sim_bridge.description.urdf.transmissions import with_transmissions
from sim_bridge.description.xml.document import Document, Element, parse_document, read_source
from sim_bridge.description.xml.schema import clean, clean_or_drop


def read_robot(source: Source, findings: Findings) -> tuple[RobotDescription | None, str]:
    """Return the robot in a URDF, xacro file or XML text, and the report's name for it."""
    name, data = read_source(source.given, findings)
    label = name
    document = None if data is None else parse_document(data, findings)
    if document is not None and xacro_file.is_xacro(name, document):
        document = xacro_file.expand(
            name, document, source.xacro_args, source.package_paths, findings
        )
        # the following line numbers belong to the expanded text
        label = f'{name} (expanded)'
    if document is None:
        return None, label
    description = _robot(document, name, findings)
    if description is not None:
        base = None if name == '<string>' else Path(name).resolve().parent
        description = drives.with_drives(
            document.root, description, base, source.package_paths, findings
        )
        description = with_plugin_effects(document.root, description, findings)
        description = with_wheel_slip(document.root, description, findings)
    return description, label


def _robot(document: Document, source: str, findings: Findings) -> RobotDescription | None:
    root = document.root
    if root.tag != 'robot':
        place = Place('document', line=root.line)
        findings.error('not-a-robot', place, f'the root element is <{root.tag}>, not <robot>')
        return None
    name = root.get('name', '')
    place = Place('robot', name, root.line)
    _check_robot(root, place, findings)
    parts = _read_parts(root, findings)
    appearances = read_appearances(root, findings)
    links = {name: build_link(node, appearances, findings) for name, node in parts.links.items()}
    joints = {name: build_joint(node, findings) for name, node in parts.joints.items()}
    tree_root = check_tree(links, joints.values(), parts.complete, place, findings)
    joints = with_transmissions(root, joints, findings)
    joints = with_mimic_plugins(root, joints, findings)
    joints = resolve_mimics(gazebo.with_joint_physics(root, joints, links, findings), findings)
    check_mimic_limits(joints, findings)
    links = gazebo_contact.with_contact(root, links, findings)
    links = gazebo.with_gravity(root, links, findings)
    links = gazebo.with_wind(root, links, findings)
    links = with_labels(root, links, findings)
    description = RobotDescription(
        name=name or 'robot',
        root=tree_root,
        links=MappingProxyType(links),
        joints=MappingProxyType(joints),
        sensors=(),
        report=Report(source),
        source=source,
        xml=document.text,
        crawlers=crawlers.read_crawlers(root, links, joints, findings),
    )
    extension.check_extension(root, findings)
    loops = [*extension.read_joints(root, findings)]
    loops += read_gazebo_joints(root, description, findings)
    description = replace(description, constraints=attach(loops, description, findings))
    if tree_root:
        inertia.check_links(description, findings)
        if not findings.report(source).errors:
            joints = inertia.check_joints(description, findings)
            description = replace(description, joints=MappingProxyType(joints))
    check_initial_values(root, joints, findings)
    return replace(description, sensors=read_sensors(root, description, findings))


def _check_robot(root: Element, place: Place, findings: Findings) -> None:
    if not place.name:
        findings.warning('missing-attribute', place, 'missing; named "robot"', 'name')
    for attribute, value in root.attrib.items():
        if attribute not in ROBOT_ATTRIBUTES and not attribute.startswith(('xml', 'xsi:')):
            findings.warning(
                'unknown-attribute', place, 'unknown attribute, ignored', attribute, value
            )
    version = root.get('version', KNOWN_VERSIONS[0])
    if version not in KNOWN_VERSIONS:
        message = f'unknown; read as {KNOWN_VERSIONS[-1]}'
        findings.warning('unknown-version', place, message, 'version', version)
    for node in root:
        if node.tag not in ROBOT_TAGS:
            inner = Place(node.tag, node.get('name', ''), node.line)
            findings.warning('unknown-tag', inner, 'unknown tag, ignored')


@dataclass
class _Parts:
    """
    Checked links and joints in a file, by name.

    complete: whether they include every joint in the file.
    """

    links: dict[str, Element]
    joints: dict[str, Element]
    complete: bool = True


def _read_parts(root: Element, findings: Findings) -> _Parts:
    parts = _Parts({}, {})
    for node in root.findall('link'):
        link = _read_link(node, findings)
        if _is_new(link, parts.links, findings):
            parts.links[link.get('name')] = link
    for node in root.findall('joint'):
        joint = _read_joint(node, parts.links, findings)
        if joint is not None and _is_new(joint, parts.joints, findings):
            parts.joints[joint.get('name')] = joint
        else:
            parts.complete = False
    return parts


def _is_new(node: Element, known: Mapping[str, Element], findings: Findings) -> bool:
    name = node.get('name', '')
    if name and name in known:
        place = Place(node.tag, name, node.line)
        message = f'line {known[name].line} has a {node.tag} with this name'
        findings.error('duplicate-name', place, message, 'name', name)
    return bool(name.strip()) and name not in known


def _read_link(node: Element, findings: Findings) -> Element:
    place = Place('link', node.get('name', ''), node.line)
    link = clean(node, LINK, place, findings)
    # a simulation does not need a faulty visual; without a collision it differs
    for tag, part in (('visual', ''), ('collision', 'collision')):
        for shape in node.findall(tag):
            kept = clean_or_drop(shape, SHAPE, place.child(tag, shape.line), findings, part)
            if kept is not None:
                kept.children += shape.findall('material')
                link.children.append(kept)
    return link


def _read_joint(node: Element, links: Mapping[str, Element], findings: Findings) -> Element | None:
    """Return a checked joint; None if it does not connect two links."""
    name = node.get('name', '')
    place = Place('joint', name, node.line)
    joint = clean(node, JOINT, place, findings)
    if joint.attrib.setdefault('type', 'fixed') not in JOINT_TYPES:
        message = f'unknown; the types are {", ".join(JOINT_TYPES)}'
        findings.error('joint-type', place, message, 'type', joint.get('type'))
        joint.attrib['type'] = 'fixed'
    connected = True
    for end in (*joint.findall('parent'), *joint.findall('child')):
        link = end.get('link')
        if link and link not in links:
            message = unknown('link', link, links)
            findings.error('unknown-link', place.child(end.tag, end.line), message, 'link', link)
        connected &= link in links
    joint.children = [child for child in joint if child.tag != 'mimic' or child.get('joint')]
    return joint if connected else None
