"""Links of a body file, each with its parent joint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
import math

import numpy as np

from sim_bridge.description.body.composed import LinkNode
from sim_bridge.description.body.elements import Elements, inertia_of, read_elements, RigidPart
from sim_bridge.description.body.keys import (
    axis,
    finite,
    key_of,
    limit,
    limits,
    name_in,
    note_unread,
    Reading,
    rotation,
    translation,
)
from sim_bridge.description.model import (
    CrawlerDescription,
    Inertial,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Pose,
    SensorDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.yaml.section import Section

_FREE, _TRACK = 'free', 'pseudo_continuous_track'
# spellings of the track's type: present, of version 1, of the ODE plugin's manual
_TRACKS = (_TRACK, 'pseudoContinuousTrack', 'crawler')
_TYPES = {
    'revolute': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'slide': JointType.PRISMATIC,
    'fixed': JointType.FIXED,
    _FREE: JointType.FLOATING,
    **dict.fromkeys(_TRACKS, JointType.FIXED),
}
# actuation_mode is ignored, since the control mode is chosen at run time; it marked tracks once
_MODES = ('actuation_mode', 'import', 'lights_on', 'type')
_OLD_TRACK = 'jointSurfaceVelocity'


@dataclass(frozen=True)
class BodyLink:
    """
    Link with its parent joint.

    parent: parent link name, '' for none. joint: parent joint; for the root link, a joint of the
    root's type. number: joint id, None without one. position: initial joint position [rad or m];
    None: not given.
    """

    description: LinkDescription
    parent: str
    joint: JointDescription
    number: int | None
    position: float | None
    crawler: CrawlerDescription | None
    sensors: tuple[SensorDescription, ...]
    has_mass: bool
    section: Section


def read_links(nodes: Iterable[LinkNode]) -> list[BodyLink]:
    """Return the links in file order; a repeated name is an error."""
    links: dict[str, BodyLink] = {}
    for number, (section, reading, file, prefix) in enumerate(nodes):
        name = name_in(section, 'name') or f'link{number}'
        section.rename(f'link.{name} of {file}' if file else f'link.{name}')
        link = _link(section, name, reading)
        if prefix:
            link = replace(
                link,
                sensors=tuple(
                    replace(sensor, name=prefix + sensor.name) for sensor in link.sensors
                ),
            )
        note_unread(section, section.place(), reading.findings)
        if name in links:
            message = f'the link in line {links[name].section.line} has this name'
            section.error('name', name, message)
            continue
        links[name] = link
    return list(links.values())


def _link(section: Section, name: str, reading: Reading) -> BodyLink:
    origin = Pose(read_only(translation(section)), read_only(rotation(section, reading)))
    for key in _MODES:
        key_of(section, key)
    word, kind = _joint_type(section)
    line = axis(section, key_of(section, 'joint_axis'), reading.findings)
    elements = read_elements(section, name, reading)
    inertial, has_mass = _inertial(section, elements)
    visuals, collisions = elements.geometries
    material = name_in(section, 'material')
    joint_name = name_in(section, 'joint_name') or name
    joint = JointDescription(
        name=joint_name,
        type=kind,
        parent=name_in(section, 'parent'),
        child=name,
        origin=origin,
        axis=read_only(line),
        limits=_limits(section, kind, reading),
        dynamics=JointDynamics(armature=_armature(section)),
        line=section.line,
    )
    crawler = CrawlerDescription(joint_name, name, joint.axis, section.line)
    return BodyLink(
        LinkDescription(
            name,
            inertial,
            visuals,
            collisions,
            material='' if material == 'Default' else material,
            line=section.line,
        ),
        joint.parent,
        joint,
        _joint_id(section),
        _position(section, joint, reading),
        crawler if word == _TRACK else None,
        tuple(elements.sensors),
        has_mass,
        section,
    )


def _joint_type(section: Section) -> tuple[str, JointType]:
    key = key_of(section, 'joint_type')
    word = section.choice(key, tuple(_TYPES), 'fixed')
    if section.peek(key_of(section, 'actuation_mode')) == _OLD_TRACK:
        word = _TRACK
    return (_TRACK if word in _TRACKS else word), _TYPES[word]


def _limits(section: Section, kind: JointType, reading: Reading) -> JointLimits:
    unit = reading.angle if kind is JointType.REVOLUTE else 1.0
    lower, upper = limits(section, key_of(section, 'joint_range'))
    velocity_key = key_of(section, 'max_joint_velocity')
    other = key_of(section, 'joint_velocity_range')
    speeds = limits(section, velocity_key if section.has(velocity_key) else other)
    if -speeds[0] != speeds[1]:
        reading.findings.warning(
            'not-simulated',
            section.place(other),
            'one limit for both directions is simulated, the greater one',
            other,
        )
    effort = limit(section, key_of(section, 'max_joint_effort', 'max_joint_torque'))
    return JointLimits(lower * unit, upper * unit, effort, max(-speeds[0], speeds[1], 0.0) * unit)


def _armature(section: Section) -> float:
    """Return the motor's rotor inertia about the joint [kg m²] or along it [kg]."""
    whole = key_of(section, 'joint_axis_inertia', 'equivalent_rotor_inertia')
    rotor = finite(section, key_of(section, 'rotor_inertia'), 0.0, 0.0)
    ratio = finite(section, key_of(section, 'gear_ratio'), 1.0)
    return finite(section, whole, ratio * ratio * rotor, 0.0)


def _joint_id(section: Section) -> int | None:
    key = key_of(section, 'joint_id')
    given = section.number(key, None)
    if given is None or given < 0.0:
        return None
    if not given.is_integer():
        section.error(key, given, 'must be a whole number')
        return None
    return int(given)


def _position(section: Section, joint: JointDescription, reading: Reading) -> float | None:
    """Return the initial joint position [rad or m]."""
    angle = key_of(section, 'joint_angle')
    key = key_of(section, 'joint_displacement')
    turns = joint.type is JointType.REVOLUTE
    unit = reading.angle if turns or not section.has(key) else 1.0
    key = key if section.has(key) else angle
    if not section.has(key):
        return None
    position = finite(section, key, 0.0) * unit
    if not joint.limits.lower <= position <= joint.limits.upper:
        section.error(key, section.peek(key), 'is beyond the joint range')
    return position if turns or joint.type is JointType.PRISMATIC else None


def _inertial(section: Section, elements: Elements) -> tuple[Inertial | None, bool]:
    """
    Return the mass properties, and whether any are given.

    Rigid bodies and the link's own values add up. Without rigid bodies, missing values are
    Choreonoid's defaults: 1 kg and 1 kg m² at the origin.
    """
    parts = list(elements.parts)
    keys = [key_of(section, 'center_of_mass'), 'mass', 'inertia']
    given = [section.has(key) for key in keys]
    alone = 0.0 if parts else 1.0
    center = translation(section, keys[0])
    mass = finite(section, 'mass', alone, 0.0)
    inertia = inertia_of(section) if given[2] else alone * np.eye(3)
    section.knows('inertia')
    if any(given) or not parts:
        parts.append(RigidPart(mass, center, inertia))
    has_mass = any(given) or bool(elements.parts)
    total = math.fsum(part.mass for part in parts)
    if not total > 0.0:
        return None, has_mass
    middle = sum((part.mass * part.center for part in parts), np.zeros(3)) / total
    whole = np.zeros((3, 3))
    for part in parts:
        arm = part.center - middle
        whole += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    if not np.isfinite(whole).all():
        section.error('inertia', '', 'its sum with the rigid bodies is not finite')
        return None, has_mass
    return Inertial(total, Pose(read_only(middle)), read_only(whole), section.line), has_mass


def in_joint_order(links: list[BodyLink]) -> Iterator[BodyLink]:
    """Yield links by joint id, then links without one in file order."""
    return iter(sorted(links, key=lambda link: math.inf if link.number is None else link.number))
