"""
Conversion of a Choreonoid body file to a `RobotDescription`: read, check everything, build.

The format follows Choreonoid's "Body file reference"; default values are its loader's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sim_bridge.description.body.composed import composed
from sim_bridge.description.body.document import read_document
from sim_bridge.description.body.keys import key_of, note_unread
from sim_bridge.description.body.links import BodyLink, in_joint_order, read_links
from sim_bridge.description.formats import BODY
from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mechanism.constraints import attach
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.mechanism.sensors import attach as place_sensor
from sim_bridge.description.mechanism.tree import check_tree
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointType,
    RobotDescription,
    SensorDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place, Report, unknown
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.description.yaml.constraints import read_joints
from sim_bridge.description.yaml.section import Section
from sim_bridge.foreign.files import noting_files
from sim_bridge.foundation.names import free_name

# m; smaller gaps are rounding errors
_LEAST_GAP = 1e-6
_SELF_COLLISION = (
    'collision_detection',
    'collision_detection_rules',
    'self_collision_detection_rules',
)


def read_robot(source: Source, findings: Findings) -> tuple[RobotDescription | None, str]:
    """Return the robot in a body file, and the report's name for it."""
    path = Path(source.given)
    with noting_files() as files:
        description = _read(path, findings)
    if description is not None:
        description = replace(description, format=BODY.name, files=tuple(files))
    return description, str(path)


def _read(path: Path, findings: Findings) -> RobotDescription | None:
    read = read_document(path, findings, path.parent)
    if read is None:
        return None
    document, reading = read
    whole = composed(document, reading, path)
    links = read_links(whole.links)
    if not links:
        document.error('links', '', 'missing, or holds no link')
        return None
    name = document.text('name', path.stem)
    description = _assembled(document, name, links, path, findings)
    description = _with_loops(whole.joints, description, findings)
    for key in _SELF_COLLISION:
        if document.has(key_of(document, key)):
            findings.warning(
                'not-simulated',
                document.place(key),
                'the collision pairs are chosen when the robot is '
                'loaded (self_collision, srdf, exclude)',
                key,
            )
    note_unread(document, document.place(), findings)
    return description


def _assembled(
    document: Section, name: str, links: list[BodyLink], path: Path, findings: Findings
) -> RobotDescription:
    """Return the link tree, with crawlers and sensors."""
    by_name = {link.description.name: link for link in links}
    wanted = document.text(key_of(document, 'root_link'), links[0].description.name)
    if wanted not in by_name:
        document.error(key_of(document, 'root_link'), wanted, unknown('link', wanted, by_name))
        wanted = links[0].description.name
    root = by_name[wanted]
    carried = _carried(root, links, by_name, findings)
    if root.joint.type not in (JointType.FIXED, JointType.FLOATING):
        root.section.error(
            key_of(root.section, 'joint_type'),
            root.joint.type.value,
            'the root link must be free or fixed',
        )
    is_welded = root.joint.type is JointType.FIXED and root.crawler is None
    is_static = is_welded and all(
        link.joint.type is JointType.FIXED and link.crawler is None for link in carried
    )
    described = {}
    for link in links:
        own = link.description
        if not link.has_mass and (is_static or (link is root and is_welded)):
            own = replace(own, inertial=None)
        elif not link.has_mass:
            findings.warning(
                'missing-inertial',
                Place('link', own.name, own.line),
                'has neither mass nor inertia; takes the values of Choreonoid: 1 kg, 1 kg m²',
            )
        described[own.name] = own
    joints = {}
    for link in in_joint_order(carried):
        if link.joint.name in joints:
            link.section.error('joint_name', link.joint.name, 'another joint has this name')
        joints[link.joint.name] = link.joint
    place = Place('body', name, document.line)
    tree_root = check_tree(described, joints.values(), True, place, findings)
    description = RobotDescription(
        name=name,
        root=tree_root,
        links=MappingProxyType(described),
        joints=MappingProxyType(joints),
        sensors=(),
        report=Report(str(path)),
        source=str(path),
        crawlers=tuple(link.crawler for link in in_joint_order(links) if link.crawler is not None),
        joint_ids=MappingProxyType(
            {link.joint.name: link.number for link in carried if link.number is not None}
        ),
        is_welded=is_welded,
        base_pose=root.joint.origin,
        positions=MappingProxyType(
            {link.joint.name: link.position for link in carried if link.position is not None}
        ),
    )
    return replace(description, sensors=_sensors(links, description, findings))


def _carried(
    root: BodyLink, links: list[BodyLink], known: dict[str, BodyLink], findings: Findings
) -> list[BodyLink]:
    """Return the links carried by another link; report links with a wrong parent."""
    carried = []
    for link in links:
        if link is root:
            if link.parent:
                link.section.error('parent', link.parent, 'the root link must not have one')
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
                'duplicate-id',
                link.section.place(key_of(link.section, 'joint_id')),
                'another joint has this id; they are ordered as in the file',
                'joint_id',
                str(link.number),
            )
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
                    'duplicate-name', place, f'a sensor has this name already; called {name!r}'
                )
            found[name] = replace(placed, name=name)
    return tuple(found.values())


def _with_axial_gaps(
    loops: tuple[ConstraintDescription, ...], description: RobotDescription, findings: Findings
) -> tuple[ConstraintDescription, ...]:
    """
    Return the loop joints; a hinge keeps the initial gap between its anchors along the axis.

    Choreonoid's ODE plugin reads only the anchor on the first link, so its models keep this gap
    whatever they give for the second link.
    """
    poses, closed = link_poses(description, description.positions), []
    for joint in loops:
        if joint.type is ConstraintType.HINGE and joint.link2 and joint.position2 is not None:
            assert joint.axis is not None
            first, second = poses[joint.link1], poses[joint.link2]
            line = first.rotation @ joint.axis
            ends = [
                pose.position + pose.rotation @ position
                for pose, position in ((first, joint.position1), (second, joint.position2))
            ]
            gap = float(line @ (ends[1] - ends[0]))
            if abs(gap) > _LEAST_GAP:
                findings.warning(
                    'axial-gap',
                    Place('joint', joint.name, joint.line),
                    'the anchors are '
                    f'{gap:.3g} m apart along the axis; they stay so, as in Choreonoid',
                )
                position2 = joint.position2 - gap * (second.rotation.T @ line)
                joint = replace(joint, position2=read_only(position2))
        closed.append(joint)
    return tuple(closed)


def _with_loops(
    joints: list[Any], description: RobotDescription, findings: Findings
) -> RobotDescription:
    """Return the description with its extra joints, checked mass properties, and a URDF."""
    if joints:
        outer = Section({'joints': joints}, '', findings)
        loops = attach(read_joints(outer, findings), description, findings)
        if findings.report('').ok:
            loops = _with_axial_gaps(loops, description, findings)
        description = replace(description, constraints=loops)
    if description.root:
        inertia.check_links(description, findings)
        if findings.report('').ok:
            joints_checked = inertia.check_joints(description, findings)
            description = replace(description, joints=MappingProxyType(joints_checked))
    return replace(description, xml=urdf_text(description))
