"""
From a Choreonoid body file to a `RobotDescription`: read, check everything, build.

The format is that of Choreonoid's "Body file reference"; numbers that a file leaves out are those
of its loader.
"""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sim_bridge.description.body.keys import key_of, note_unread, Reading, rotation
from sim_bridge.description.body.links import BodyLink, in_joint_order, read_links
from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mechanism.constraints import attach
from sim_bridge.description.mechanism.sensors import attach as place_sensor
from sim_bridge.description.mechanism.tree import check_tree
from sim_bridge.description.model import JointType, RobotDescription, SensorDescription
from sim_bridge.description.report import Findings, Place, Report, unknown
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.description.yaml.constraints import read_joints
from sim_bridge.description.yaml.file import MappingWithLines, read_mapping
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import quaternion_from_matrix

_FORMAT = 'ChoreonoidBody'
_NEXT_VERSION = 2.1
_UNITS = {'degree': math.radians(1.0), 'radian': 1.0}
# about windows, planners and plugins
_NOT_OF_MECHANICS = (
    'name', 'standard_pose', 'link_group', 'possible_ik_interpolation_links',
    'default_ik_interpolation_links', 'possible_support_links', 'default_ik_setup',
    'default_i_k_setup', 'folding_groups', 'symmetric_joints', 'symmetric_ik_links', 'foot_links',
    'body_handlers', 'division_number', 'crease_angle', 'format', 'link_info')
_SELF_COLLISION = (
    'collision_detection', 'collision_detection_rules', 'self_collision_detection_rules')


def read_body(path: Path, findings: Findings) -> RobotDescription | None:
    """Return what a file describes, with everything that is wrong with it among the findings."""
    content = read_mapping(path, findings)
    if content is None:
        return None
    document = Section(content, 'body', findings, 1)
    angle = _header(document, findings)
    if angle is None:
        return None
    reading = Reading(findings, angle)
    links = read_links(document, reading)
    if not links:
        document.error('links', '', 'missing, or holds no link')
        return None
    name = document.text('name', path.stem)
    description = _assembled(document, name, links, path, findings)
    description = _with_loops(document, description, reading)
    for key in _SELF_COLLISION:
        if document.has(key_of(document, key)):
            findings.warning(
                'not-simulated', document.place(key), 'what collides is chosen where the robot is '
                'loaded (self_collision, srdf, exclude)', key)
    note_unread(document, document.place(), findings)
    return description


def _header(document: Section, findings: Findings) -> float | None:
    """Return the unit of angles [rad]; None, with an error noted, for files of another format."""
    for key in _NOT_OF_MECHANICS:
        key_of(document, key)
    if document.peek('format') != _FORMAT:
        other = document.peek(key_of(document, 'model_file'))
        hint = f'; it only refers to {other}: name that file' if other else ''
        document.error('format', document.peek('format'), f'must be {_FORMAT}{hint}')
        return None
    key = key_of(document, 'format_version')
    version = document.number(key, None)
    if version is None or not 1.0 <= version < _NEXT_VERSION:
        document.error(key, document.peek(key), 'must be 1.0 to 2.0')
        return None
    return _UNITS[document.choice(key_of(document, 'angle_unit'), tuple(_UNITS), 'degree')]


def _assembled(
    document: Section, name: str, links: list[BodyLink], path: Path, findings: Findings
) -> RobotDescription:
    """Return the tree of the links, with crawlers and sensors."""
    by_name = {link.description.name: link for link in links}
    wanted = document.text(key_of(document, 'root_link'), links[0].description.name)
    if wanted not in by_name:
        document.error(key_of(document, 'root_link'), wanted, unknown('link', wanted, by_name))
        wanted = links[0].description.name
    root = by_name[wanted]
    carried = _carried(root, links, by_name, findings)
    if root.joint.type not in (JointType.FIXED, JointType.FLOATING):
        root.section.error(
            key_of(root.section, 'joint_type'), root.joint.type.value,
            'the root link is free or fixed')
    is_welded = root.joint.type is JointType.FIXED and root.crawler is None
    is_static = is_welded and all(
        link.joint.type is JointType.FIXED and link.crawler is None for link in carried)
    described = {}
    for link in links:
        own = link.description
        if not link.has_mass and (is_static or (link is root and is_welded)):
            own = replace(own, inertial=None)
        elif not link.has_mass:
            findings.warning(
                'missing-inertial', Place('link', own.name, own.line),
                'has neither mass nor inertia; those of Choreonoid: 1 kg, 1 kg m²')
        described[own.name] = own
    joints = {}
    for link in in_joint_order(carried):
        if link.joint.name in joints:
            link.section.error(
                'joint_name', link.joint.name, 'another joint is called so')
        joints[link.joint.name] = link.joint
    place = Place('body', name, document.line)
    tree_root = check_tree(described, joints.values(), True, place, findings)
    description = RobotDescription(
        name=name, root=tree_root, links=MappingProxyType(described),
        joints=MappingProxyType(joints), sensors=(), report=Report(str(path)), source=str(path),
        crawlers=tuple(
            link.crawler for link in in_joint_order(links) if link.crawler is not None),
        is_welded=is_welded, base_pose=root.joint.origin,
        positions=MappingProxyType({
            link.joint.name: link.position for link in carried if link.position is not None}))
    return replace(description, sensors=_sensors(links, description, findings))


def _carried(
    root: BodyLink, links: list[BodyLink], known: dict[str, BodyLink], findings: Findings
) -> list[BodyLink]:
    """Return the links that another link carries."""
    carried = []
    for link in links:
        if link is root:
            if link.parent:
                link.section.error('parent', link.parent, 'the root link has none')
        elif not link.parent:
            link.section.error('parent', '', f'missing; the root link is {root.description.name}')
        elif link.parent not in known:
            link.section.error('parent', link.parent, unknown('link', link.parent, known))
        else:
            carried.append(link)
    ids = [link.number for link in carried if link.number is not None]
    for link in carried:
        if link.number is not None and ids.count(link.number) > 1:
            findings.warning(
                'duplicate-id', link.section.place(key_of(link.section, 'joint_id')),
                'another joint has this id; they follow each other as in the file', 'joint_id',
                str(link.number))
    return carried


def _sensors(
    links: list[BodyLink], description: RobotDescription, findings: Findings
) -> tuple[SensorDescription, ...]:
    found: dict[str, SensorDescription] = {}
    for link in links:
        for sensor in link.sensors:
            placed = place_sensor(sensor, description, findings)
            if placed is None:
                continue
            name = free_name(placed.name, found.__contains__)
            if name != placed.name:
                place = Place('sensor', placed.name, placed.line)
                findings.warning(
                    'duplicate-name', place, f'a sensor is called so already; called {name!r}')
            found[name] = replace(placed, name=name)
    return tuple(found.values())


def _with_loops(
    document: Section, description: RobotDescription, reading: Reading
) -> RobotDescription:
    """Return the description with its extra joints, its mass properties checked, and a URDF."""
    findings, key = reading.findings, key_of(document, 'extra_joints')
    if document.has(key):
        outer = Section({key: _turned(document, key, reading)}, '', findings, document.line)
        loops = attach(read_joints(outer, findings), description, findings)
        description = replace(description, constraints=loops)
    if description.root:
        inertia.check_links(description, findings)
        if findings.report('').ok:
            joints = inertia.check_joints(description, findings)
            description = replace(description, joints=MappingProxyType(joints))
    return replace(description, xml=urdf_text(description))


def _turned(document: Section, key: str, reading: Reading) -> Any:
    """Return the extra joints with their rotations as the reader of loop joints takes them."""
    joints: list[Any] = []
    for section in document.list_of_sections(key):
        joint = MappingWithLines({name: section.peek(name) for name in section.names()})
        for k in (1, 2):
            given = f'rotation_in_link{k}'
            if section.has(given):
                del joint[given]
                turn = quaternion_from_matrix(rotation(section, reading, given))
                joint[f'orientation{k}'] = turn.tolist()
        joint.lines = {name: section.place(str(name)).line for name in joint}
        joints.append(joint)
    return joints
