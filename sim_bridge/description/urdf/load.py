"""
From a URDF to a `RobotDescription`: read, check everything, build.

Two passes. The first, ours (`clean`), checks every value against the schema and knows the lines;
the second, urdf-parser-py's, turns the clean copy into objects. So its own printing and refusals
never reach the user, and a description is judged by what a simulation needs only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
import xml.etree.ElementTree as ET

from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mechanism.constraints import attach
from sim_bridge.description.mechanism.sensors import with_sensors
from sim_bridge.description.mechanism.tree import check_mimic_limits, check_tree, resolve_mimics
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import (
    DescriptionError,
    ERROR,
    Findings,
    Place,
    Report,
    unknown,
    WARNING,
)
from sim_bridge.description.sdf import contact as gazebo_contact
from sim_bridge.description.sdf import gazebo
from sim_bridge.description.sdf.joints import read_gazebo_joints
from sim_bridge.description.urdf import crawlers, extension, meshes, xacro_file
from sim_bridge.description.urdf.joints import build_joint
from sim_bridge.description.urdf.links import build_link
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
from sim_bridge.description.xml.document import Document, Element, parse_document, read_source
from sim_bridge.description.xml.schema import clean, clean_or_drop
from sim_bridge.description.yaml.constraints import add_extra_joints


def load_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
    extra_joints: str | Path | Mapping[str, object] | None = None,
) -> RobotDescription:
    """
    Read a robot description.

    source: the path of a .urdf or .xacro file, or XML text.
    xacro_args: the values of the xacro file's arguments, by name.
    package_paths: where to look for `package://` files, before the places the environment names.
    extra_sensors: devices to add to those the description declares.
    extra_joints: a YAML file, or a mapping as it would hold, of joints that close loops.

    Raises DescriptionError, with every defect in its `report`, if the description cannot be
    simulated, or else the extra joints cannot. What can be lived with is in the description's own
    `report`.

    """
    description, report = examine_description(
        source, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=extra_sensors)
    if description is None or not report.ok:
        raise DescriptionError(report)
    description = replace(description, report=report)
    return description if extra_joints is None else add_extra_joints(description, extra_joints)


def check_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
) -> Report:
    """Return report of a description that `load_description` would make, without raising it."""
    return examine_description(
        source, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=extra_sensors)[1]


def examine_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
) -> tuple[RobotDescription | None, Report]:
    """Return what could be read of a description, None if nothing could be, and its report."""
    findings = Findings()
    name, data = read_source(source, findings)
    label = name
    document = None if data is None else parse_document(data, findings)
    if document is not None and xacro_file.is_xacro(name, document):
        document = xacro_file.expand(name, document, xacro_args or {}, findings)
        # the lines from here on are not those of the file
        label = f'{name} (expanded)'
    if document is None:
        return None, findings.report(label)
    description = _robot(document, name, findings)
    if description is not None:
        base = None if name == '<string>' else Path(name).resolve().parent
        description = meshes.with_mesh_files(description, base, package_paths, findings)
        description = with_sensors(description, extra_sensors, findings)
    return description, findings.report(label)


def _robot(document: Document, source: str, findings: Findings) -> RobotDescription | None:
    root = document.root
    if root.tag != 'robot':
        hint = {'sdf': '; this is an SDF file', 'mujoco': '; this is an MJCF file'}.get(
            root.tag, ''
        )
        place = Place('document', line=root.line)
        findings.error(
            'not-a-robot', place, f'the root element is <{root.tag}>, not <robot>{hint}'
        )
        return None
    name = root.get('name', '')
    place = Place('robot', name, root.line)
    _check_robot(root, place, findings)
    parts = _read_parts(root, findings)

    # imported here, since worlds without URDFs do without it and the YAML that it brings along
    from urdf_parser_py.urdf import URDF

    parsed = URDF.from_xml_string(ET.tostring(_as_urdf_1_0(name, parts), encoding='unicode'))
    links = {
        link.name: build_link(link, node, Place('link', link.name, node.line), findings)
        for link, node in zip(parsed.links, parts.links.values(), strict=True)
    }
    joints = {
        joint.name: build_joint(joint, node, Place('joint', joint.name, node.line), findings)
        for joint, node in zip(parsed.joints, parts.joints.values(), strict=True)
    }
    tree_root = check_tree(links, joints.values(), parts.complete, place, findings)
    joints = resolve_mimics(gazebo.with_joint_physics(root, joints, links, findings), findings)
    check_mimic_limits(joints, findings)
    links = gazebo_contact.with_contact(root, links, findings)
    links = gazebo.with_gravity(root, links, findings)
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
    The links and joints of a file by name, each checked.

    complete: whether every joint of the file is among them.
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
        message = f'a {node.tag} of this name stands in line {known[name].line}'
        findings.error('duplicate-name', place, message, 'name', name)
    return bool(name.strip()) and name not in known


def _read_link(node: Element, findings: Findings) -> Element:
    place = Place('link', node.get('name', ''), node.line)
    link = clean(node, LINK, place, findings)
    # a shape nobody sees stops no simulation; one that touches nothing would change it
    for tag, severity in (('visual', WARNING), ('collision', ERROR)):
        for shape in node.findall(tag):
            kept = clean_or_drop(shape, SHAPE, place.child(tag, shape.line), findings, severity)
            if kept is not None:
                link.append(kept)
    return link


def _read_joint(node: Element, links: Mapping[str, Element], findings: Findings) -> Element | None:
    """Check a joint; None if it connects nothing."""
    name = node.get('name', '')
    place = Place('joint', name, node.line)
    joint = clean(node, JOINT, place, findings)
    if joint.get('type', 'fixed') not in JOINT_TYPES:
        message = f'unknown; the types are {", ".join(JOINT_TYPES)}'
        findings.error('joint-type', place, message, 'type', joint.get('type'))
        joint.set('type', 'fixed')
    connected = True
    for tag in ('parent', 'child'):
        end = joint.find(tag)
        link = end.get('link', '')
        if link and link not in links:
            message = unknown('link', link, links)
            findings.error('unknown-link', place.child(tag, end.line), message, 'link', link)
        connected &= link in links
    joint.set('type', joint.get('type', 'fixed'))
    for mimic in joint.findall('mimic'):
        if not mimic.get('joint'):
            joint.remove(mimic)
    return joint if connected else None


def _as_urdf_1_0(name: str, parts: _Parts) -> ET.Element:
    """Return the checked parts as a document urdf-parser-py reads: without what URDF got later."""
    robot = ET.Element('robot', {'name': name or 'robot'})
    robot.extend(copy.deepcopy([*parts.links.values(), *parts.joints.values()]))
    for origin in robot.iter('origin'):
        origin.attrib.pop('quat_xyzw', None)
    for capsule in [*robot.iter('capsule')]:
        capsule.tag = 'cylinder'
    for dynamics in robot.iter('dynamics'):
        dynamics.attrib.pop('armature', None)
    for limit in robot.iter('limit'):
        for attribute in ('effort', 'velocity'):
            limit.attrib.setdefault(attribute, 'inf')
    return robot
