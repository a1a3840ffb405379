"""Robot description written as MJCF; MuJoCo loads an equal model."""

from __future__ import annotations

from collections.abc import Iterable
import math
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.mjcf.write.actuators import (
    ActuatorWriter,
    frames_of,
    write_couplings,
    write_motors,
)
from sim_bridge.description.mjcf.write.geometry import GeometryWriter
from sim_bridge.description.mjcf.write.joints import is_held, Part, write_joint
from sim_bridge.description.mjcf.write.loops import LoopWriter, write_held, write_mimic
from sim_bridge.description.mjcf.write.sensors import write_sensor
from sim_bridge.description.mjcf.write.text import number, numbers, placed
from sim_bridge.description.model import (
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.foundation.names import counted

_WORLD = 'world'


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
        self._geometry = GeometryWriter(assets, folder, findings)
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
        sensors = Element('sensor')
        for sensor in robot.sensors:
            write_sensor(self._bodies, sensors, sensor, self._findings)
        if len(sensors):
            self._root.append(sensors)
        self._note_left_out()
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
            tail = joint.origin @ frames[-1]
        placed(body, tail)
        for joint, frame in zip(chain, reversed(frames), strict=True):
            if joint.type is not JointType.FIXED:
                self._parts += [(joint, *each) for each in write_joint(body, joint, frame)]
                self._note_joint(joint)
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
            write_mimic(equality, joint)
            if is_held(part.limits):
                write_held(equality, name, part.limits.lower)
        base = Pose() if self._robot.root == _WORLD else self._robot.base_pose
        poses = {name: base @ pose for name, pose in link_poses(self._robot).items()}
        loops = LoopWriter(self._bodies, poses, self._root, self._findings)
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

    def _note_joint(self, joint: JointDescription) -> None:
        place = Place('joint', joint.name, joint.line)
        limits = (joint.limits, joint.limits2)
        dynamics = (joint.dynamics, joint.dynamics2)
        for part, is_given in (
            ('velocity limit', any(math.isfinite(each.velocity) for each in limits)),
            ('safety_controller', joint.safety is not None),
            (
                'friction against backward motion',
                any(each.frictions[0] != each.frictions[1] for each in dynamics),
            ),
            ('friction by load', any(each.bearing for each in dynamics)),
        ):
            if is_given:
                message = f'MJCF has no counterpart for its {part}: left out'
                self._findings.warning('unsupported', place, message)

    def _note_left_out(self) -> None:
        robot = self._robot
        whole = Place('robot', robot.name)
        for things, word in (
            (robot.drives, 'drive'),
            (robot.crawlers, 'crawler'),
            (robot.force_fields, 'force field'),
            (robot.batteries, 'battery'),
            (robot.controller_managers, 'controller manager'),
        ):
            if things:
                message = f'left out: {counted(len(things), word)}'
                self._findings.warning('unsupported', whole, message)
