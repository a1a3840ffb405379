"""Robot description written as MJCF; MuJoCo loads an equal model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.losses import Format, note_losses
from sim_bridge.description.mechanism.loops import link_poses, motion_of
from sim_bridge.description.mjcf.write.actuators import (
    ActuatorWriter,
    frames_of,
    write_couplings,
    write_motors,
)
from sim_bridge.description.mjcf.write.geometry import default_bits, GeometryWriter
from sim_bridge.description.mjcf.write.joints import is_held, Part, write_joint
from sim_bridge.description.mjcf.write.keyframes import write_keyframe
from sim_bridge.description.mjcf.write.loops import LoopWriter, write_held, write_mimic
from sim_bridge.description.mjcf.write.sensors import write_sensor
from sim_bridge.description.mjcf.write.text import number, numbers, placed
from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    ONE_AXIS,
    Pose,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.shapes.material import Material

_WORLD = 'world'
FORMAT = Format(
    'MJCF',
    {
        RobotDescription: frozenset(('actuators', 'couplings', 'keyframes', 'positions')),
        LinkDescription: frozenset(('gravity',)),
        JointDescription: frozenset(('mimic', 'suspension')),
        JointLimits: frozenset(('lower_effort',)),
        JointDynamics: frozenset(('damping', 'friction', 'armature', 'stiffness')),
        GeometryDescription: frozenset(('color', 'groups')),
        # links without collision are written as excluded pairs
        ContactDescription: frozenset(
            ('friction', 'spinning_friction', 'is_sensor', 'enabled', 'self_collide')
        ),
        Material: frozenset(('friction', 'spinning_friction', 'rolling_friction')),
    },
)
"""Properties held by a written MJCF file."""


def mjcf_text(
    description: RobotDescription,
    *,
    fixed_base: bool = False,
    folder: Path | None = None,
    apart: Iterable[tuple[str, str]] = (),
) -> tuple[str | None, Report]:
    """
    Return a robot as MJCF, None without a counterpart, and a report of its omissions.

    fixed_base: whether the root link is fixed to the world; a root link 'world' is the world.
    folder: the file's folder; mesh paths inside it are relative to it, and meshes unreadable for
    MuJoCo are written to `meshes` there as STL. apart: pairs of links without collision, in
    addition to links connected by a joint.

    A robot without actuators gets motors with the names and effort limits of its joints.
    """
    findings = Findings()
    text = None
    if description.root in description.links:
        text = _Writer(description, fixed_base, folder, findings).text(apart)
    else:
        findings.error('no-links', Place('robot', description.name), 'has no links')
    report = findings.report(description.source)
    return (text if report.ok else None), report


class _Writer:
    def __init__(
        self,
        description: RobotDescription,
        fixed_base: bool,
        folder: Path | None,
        findings: Findings,
    ) -> None:
        self._robot, self._findings = description, findings
        self._is_fixed = fixed_base or description.fixed_base
        self._root = Element('mujoco', model=description.name)
        # the inertias stay as they are
        SubElement(
            self._root,
            'compiler',
            angle='radian',
            autolimits='false',
            inertiafromgeom='false',
            boundmass='0',
            boundinertia='0',
            balanceinertia='false',
        )
        assets = SubElement(self._root, 'asset')
        self._world = SubElement(self._root, 'worldbody')
        self._geometry = GeometryWriter(assets, folder, default_bits(description), findings)
        self._bodies: dict[str, Element] = {'': self._world}
        self._parts: list[tuple[JointDescription, str, Part]] = []
        self._children: dict[str, list[JointDescription]] = {}
        for joint in description.joints.values():
            self._children.setdefault(joint.parent, []).append(joint)
        # links named by other elements
        self._carriers = {each.link for each in description.sensors}
        self._carriers |= {each.link for each in description.crawlers}
        self._carriers |= {
            frame.link for each in description.actuators for frame in frames_of(each.transmission)
        }
        self._carriers |= {
            name for each in description.constraints for name in (each.link1, each.link2)
        }

    def text(self, apart: Iterable[tuple[str, str]]) -> str:
        """Return the file's text."""
        robot = self._robot
        self._write_root(robot.links[robot.root])
        pending = [robot.root]
        while pending:
            for joint in self._children.get(pending.pop(), ()):
                chain = self._chain(joint)
                self._write_child(chain)
                pending.append(chain[-1].child)
        self._write_contacts(apart)
        self._write_equality()
        self._write_actuators()
        self._write_keyframes()
        sensors = Element('sensor')
        for sensor in robot.sensors:
            write_sensor(self._bodies, sensors, sensor, self._findings)
        if len(sensors):
            self._root.append(sensors)
        note_losses(robot, FORMAT, self._findings)
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding='unicode') + '\n'

    def _write_root(self, link: LinkDescription) -> None:
        if link.name == _WORLD:
            body = self._world
        else:
            body = SubElement(self._world, 'body', name=link.name)
            placed(body, self._robot.base_pose)
            if not self._is_fixed:
                SubElement(body, 'freejoint', name=f'{link.name}_free')
        self._bodies[link.name] = body
        self._write_link(body, link)

    def _chain(self, joint: JointDescription) -> list[JointDescription]:
        """
        Return a joint, and the joints following it on links without mass and shape.

        They become several joints of one body, since MuJoCo refuses moving bodies without mass.
        """
        chain = [joint]
        while True:
            link = self._robot.links[chain[-1].child]
            following = self._children.get(link.name, ())
            is_bare = link.inertial is None and not (link.collisions or link.visuals)
            if not is_bare or link.name in self._carriers or len(following) != 1:
                return chain
            if JointType.FIXED in (chain[-1].type, following[0].type):
                return chain
            chain.append(following[0])

    def _write_child(self, chain: list[JointDescription]) -> None:
        link = self._robot.links[chain[-1].child]
        body = SubElement(self._bodies[chain[0].parent], 'body', name=link.name)
        self._bodies[link.name] = body
        frames = []
        tail = Pose()
        for joint in reversed(chain):
            frames.append(joint.child_pose @ tail)
            tail = joint.origin @ motion_of(joint, self._start(joint)) @ frames[-1]
        placed(body, tail)
        for joint, frame in zip(chain, reversed(frames), strict=True):
            if joint.type is not JointType.FIXED:
                start = self._start(joint)
                self._parts += [(joint, *each) for each in write_joint(body, joint, frame, start)]
        self._write_link(body, link)

    def _write_link(self, body: Element, link: LinkDescription) -> None:
        if not link.gravity:
            body.set('gravcomp', '1')
        own = link.inertial
        if own is not None and own.mass and body is not self._world:
            inertial = SubElement(body, 'inertial', pos=numbers(own.pose.position))
            inertial.set('mass', number(own.mass))
            # in the axes of the link, since MuJoCo takes no `quat` beside a full inertia
            inertia = own.pose.rotation @ own.inertia @ own.pose.rotation.T
            order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
            inertial.set('fullinertia', numbers(inertia[each] for each in order))
        self._geometry.write(body, link)

    def _write_contacts(self, apart: Iterable[tuple[str, str]]) -> None:
        pairs = [(a, b) for a, b in apart if _WORLD not in (a, b)]
        if pairs:
            contact = SubElement(self._root, 'contact')
            for a, b in pairs:
                SubElement(contact, 'exclude', body1=a, body2=b)

    def _write_equality(self) -> None:
        equality = SubElement(self._root, 'equality')
        for joint, name, part in self._parts:
            write_mimic(equality, joint, self._robot.positions)
            if is_held(part.limits):
                write_held(equality, name, part.limits.lower - self._start(joint))
        base = Pose() if self._robot.root == _WORLD else self._robot.base_pose
        at_zero, initial = (
            {name: base @ pose for name, pose in link_poses(self._robot, starts).items()}
            for starts in ({}, self._robot.positions)
        )
        loops = LoopWriter(self._bodies, at_zero, initial, self._root, self._findings)
        for loop in self._robot.constraints:
            loops.write(loop)
        if not len(equality):
            self._root.remove(equality)

    def _write_actuators(self) -> None:
        """Add couplings and actuators; motors at the joints of a robot without actuators."""
        tendons = Element('tendon')
        write_couplings(tendons, self._robot.couplings)
        if len(tendons):
            self._root.append(tendons)
        actuators = Element('actuator')
        if not self._robot.actuators:
            write_motors(actuators, self._parts)
        writer = ActuatorWriter(actuators, self._bodies)
        for actuator in self._robot.actuators:
            writer.write(actuator)
        if len(actuators):
            self._root.append(actuators)

    def _write_keyframes(self) -> None:
        keyframes = Element('keyframe')
        for keyframe in self._robot.keyframes:
            write_keyframe(keyframes, keyframe, self._robot, self._world, self._findings)
        if len(keyframes):
            self._root.append(keyframes)

    def _start(self, joint: JointDescription) -> float:
        """Return a one-axis joint's initial position [rad or m]; 0 for others."""
        return self._robot.positions.get(joint.name, 0.0) if joint.type in ONE_AXIS else 0.0
