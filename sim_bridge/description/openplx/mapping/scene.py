"""Mapping for a whole scene: from its root object to data for a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
import re
from types import MappingProxyType
from typing import cast

import numpy as np

from sim_bridge.description.gravity import Gravity, GREATEST_GRAVITY, PointGravity
from sim_bridge.description.load import load_description
from sim_bridge.description.mechanism.inertia import check_joints
from sim_bridge.description.model import (
    ConstraintDescription,
    Inertial,
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.openplx.assembly import (
    assemble,
    Assembly,
    contradicted,
    frame_of,
    frame_path,
    MATE,
    Mate,
    owners,
    ROOT,
    Side,
    SYSTEM,
)
from sim_bridge.description.openplx.mapping.bodies import Bodies, BodyParts
from sim_bridge.description.openplx.mapping.components import common_system, Component, components
from sim_bridge.description.openplx.mapping.groups import Groups
from sim_bridge.description.openplx.mapping.interactions import AXES, axis_settings
from sim_bridge.description.openplx.mapping.joints import (
    compliance_of,
    DIRECTIONS,
    directions_of,
    floating_joint,
    HELD,
    loop_joint,
    motor_joint,
    play_joint,
    tree_joint,
)
from sim_bridge.description.openplx.mapping.materials import Materials
from sim_bridge.description.openplx.mapping.records import (
    AxisSettings,
    BodyMotion,
    CrossJoint,
    MappedRobot,
    MappedScene,
    Motor,
)
from sim_bridge.description.openplx.mapping.signals import disabled_in, signals_of, switched_mates
from sim_bridge.description.openplx.mapping.strength import Strength, strength_of
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.openplx.values import vector
from sim_bridge.description.report import DescriptionError, Findings, Report
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.material import ContactMaterial
from sim_bridge.shapes.placed import Placed

# member in bodies and mates: their original name in the URDF
SOURCE_NAME = 'source_name'
_WORLD = 'world'
# explanations for an open mate
_CONFLICT = (
    'no assembly of the mates closes it: correct a connector, delete a mate or disable it, or '
    'make one compliant (flexibility)'
)
_PULLED = ': the bodies start there, and the first step pulls them together'
_ROUNDED = ': this counts as rounding, and the mate keeps the bodies there'
_COORDINATES = ' at its initial coordinates: it holds at others'
_KINEMATIC_LOCK = 'Physics.KinematicLock'
_ENVIRONMENT = 'Simulation.Environment'


def map_scene(root: Object, findings: Findings) -> MappedScene | None:
    """Return a scene's contents, without a report; None if there are errors."""
    assembly = assemble(root, findings)
    if assembly is None:
        return None
    mapper = _Mapper(root, assembly, findings)
    scene = mapper.scene()
    return None if _has_errors(findings) else scene


class _Names:
    """
    Unique link and joint names: paths with _ for characters refused by ROS.

    A body or mate written from a robot keeps that robot's name, after its system's path.
    """

    def __init__(self, taken: tuple[str, ...] = ()):
        self._taken = set(taken)
        self.of: dict[str, str] = {}

    def add(self, path: str, default: str, source: Object | None = None) -> str:
        given = None if source is None else source.members.get(SOURCE_NAME)
        system = path.rpartition('.')[0] if given else path
        wanted = re.sub(r'\W+', '_', system, flags=re.ASCII).strip('_')
        wanted = '_'.join(filter(None, (wanted, str(given or '')))) or default
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        self.of.setdefault(path, name)
        return name


class _Mapper:
    def __init__(self, root: Object, assembly: Assembly, findings: Findings):
        self._root, self._findings = root, findings
        self._model = root.model.name.rpartition('.')[2]
        locks, locked = _kinematic_locks(root, assembly)
        mates = [
            mate for mate in assembly.mates if {side.body for side in mate.sides} not in locked
        ] + locks
        self._compliances = {
            mate.path: compliance_of(mate.source, findings)
            for mate in mates
            if 'flexibility' in mate.source.members
        }
        self._compliant = {path for path, own in self._compliances.items() if own is not None}
        self._mates = [mate if mate.path in self._compliant else mate.settled for mate in mates]
        self._assembly = replace(assembly, mates=tuple(self._mates))
        self._materials = Materials(findings)
        self._groups = Groups(root)
        self._bodies = Bodies(root, self._materials, self._groups, findings)
        self._links, self._joints = _Names((_WORLD,)), _Names()
        for path, body in assembly.bodies.items():
            self._links.add(path, self._model if path == ROOT else 'body', body)
        for mate in self._mates:
            self._joints.add(mate.path, 'mate', mate.source)
        self._axes, self._acting_on = axis_settings(self._assembly, root, findings)
        self._motors = self._further_motors()
        self._strengths = {mate.path: self._strength(mate) for mate in self._mates}

    def scene(self) -> MappedScene:
        """Return the mapped scene."""
        assembly = self._assembly
        kinematic = _kinematic_bodies(self._root, assembly, self._findings)
        driven = {
            path
            for path, axes in self._axes.items()
            if any(axis != AxisSettings() for axis in axes)
        }
        # mates that break, have play, are disabled, or have load-dependent friction become
        # constraint joints
        solved = {path for path, own in self._strengths.items() if own != Strength()}
        solved |= {
            path
            for path, axes in self._axes.items()
            if any(axis.dynamics.bearing > 0.0 for axis in axes)
        }
        solved |= switched_mates(self._root)
        solved |= {mate.path for mate in self._mates if not mate.is_enabled}
        found, cross = components(
            list(assembly.bodies), kinematic, self._mates, self._compliant | solved, driven
        )
        used = {mate.path for each in found for mate in each.mates}
        used |= {mate.path for mate in cross}
        for mate in self._mates:
            if mate.path not in used:
                self._findings.warning(
                    'no-effect', mate.source.place, 'connects only kinematic bodies and the world'
                )
        self._report_gaps(used, kinematic)
        robots = [self._robot(each, kinematic) for each in found]
        robots += self._imported()
        apart = list(self._groups.apart)
        contacts: list[tuple[str, str, ContactMaterial]] = []
        for one, other, law in self._materials.contacts(self._root):
            if law is not None:
                contacts.append((one, other, law))
            else:
                self._findings.warning(
                    'unsupported',
                    self._root.place,
                    f'materials {one!r} and {other!r} collide: '
                    'only pairs of collision groups can be exempt',
                )
        name_of = self._joints.of
        return MappedScene(
            name=self._model,
            robots=tuple(robots),
            report=Report(),
            snap=assembly.result,
            poses=MappingProxyType(dict(assembly.poses)),
            cross_joints=tuple(
                CrossJoint(
                    self._loop(mate, self._links.of), self._loop_axes(mate), mate.is_enabled
                )
                for mate in cross
            )
            + tuple(
                CrossJoint(*each, mate.is_enabled)
                for mate in cross
                for each in self._motors_of(mate, self._links.of)
            ),
            materials=tuple(self._materials.found.values()),
            contact_materials=tuple(contacts),
            apart=tuple(apart),
            gravity=_gravity(self._root, self._findings),
            links=MappingProxyType(dict(self._links.of)),
            joints=MappingProxyType(dict(name_of)),
            interactions=MappingProxyType(
                {
                    path: replace(axis, joint=name_of[axis.joint])
                    for path, axis in self._acting_on.items()
                }
            ),
            signals=signals_of(self._root, assembly, self._findings),
            disabled=MappingProxyType(disabled_in(self._root)),
        )

    def _further_motors(self) -> dict[str, list[tuple[str, Motor, bool]]]:
        """Take all motors but one from each axis: by mate path, (name, motor, is linear)."""
        taken: dict[str, list[tuple[str, Motor, bool]]] = {}
        for mate in self._mates:
            for number, axis in enumerate(self._axes.get(mate.path, ())):
                for motor in axis.motors[1:]:
                    self._acting_on[motor.source] = replace(
                        self._acting_on[motor.source], joint=motor.source, number=0
                    )
                    taken.setdefault(mate.path, []).append(
                        (self._joints.add(motor.source, 'motor'), motor, AXES[mate.kind][number])
                    )
            if mate.path in taken:
                self._axes[mate.path] = tuple(
                    replace(axis, motors=axis.motors[:1]) for axis in self._axes[mate.path]
                )
        return taken

    def _strength(self, mate: Mate) -> Strength:
        """Return a mate's strength by direction; name the joints of its play."""
        if not mate.source.is_a(MATE):
            return Strength()
        own = strength_of(
            mate.source,
            directions_of(mate.source),
            HELD[mate.kind],
            self._compliances.get(mate.path),
            self._findings,
        )
        for direction in own.plays:
            self._joints.add(f'{mate.path}.{DIRECTIONS[direction]}', 'play')
        return own

    def _loop(self, mate: Mate, links: Mapping[str, str]) -> ConstraintDescription:
        """Return a mate as a loop joint."""
        return loop_joint(
            mate,
            self._joints.of[mate.path],
            links,
            self._axes.get(mate.path, ()),
            self._compliances.get(mate.path),
            self._strengths[mate.path],
        )

    def _loop_axes(self, mate: Mate) -> tuple[AxisSettings, ...]:
        """Return the effects along a loop joint's axes, with its initial angle."""
        return tuple(
            axis if is_linear else replace(axis, begin=mate.angle)
            for axis, is_linear in zip(
                self._axes.get(mate.path, ()), AXES.get(mate.kind, ()), strict=True
            )
        )

    def _motors_of(
        self, mate: Mate, links: Mapping[str, str]
    ) -> Iterator[tuple[ConstraintDescription, tuple[AxisSettings, ...]]]:
        """Yield the joints beside a mate, for its play and its further motors, and their axes."""
        for direction, settings in self._strengths[mate.path].plays.items():
            name = self._joints.of[f'{mate.path}.{DIRECTIONS[direction]}']
            yield play_joint(mate, name, links, direction), (settings,)
        for name, motor, is_linear in self._motors.get(mate.path, ()):
            begin = 0.0 if is_linear else mate.angle
            yield (
                motor_joint(mate, name, links, is_linear),
                (AxisSettings(motors=(motor,), begin=begin),),
            )

    def _report_gaps(self, used: set[str], kinematic: frozenset[str]) -> None:
        """Report open mates. used: paths of mates with an effect."""
        rigid = [
            mate
            for mate in self._mates
            if mate.path in used and mate.path not in self._compliant and mate.is_enabled
        ]
        conflicts: frozenset[str] = frozenset()
        if any(mate.is_open for mate in rigid):
            conflicts = contradicted(self._assembly, rigid, kinematic)
        for mate in self._mates:
            gap, angle = mate.strain if any(mate.strain) else mate.gap
            if not gap and not angle:
                continue
            place = mate.source.place
            message = (
                f'its connectors are {gap:.3g} m and {angle:.3g} rad apart where '
                'SNAP has placed the bodies'
            )
            if mate.path in conflicts:
                self._findings.error('snap-conflict', place, f'{message}, and {_CONFLICT}')
                continue
            why = _PULLED
            if not mate.is_enabled:
                why = ': it is disabled'
            elif mate.path not in used or mate.path in self._compliant:
                why = ''
            elif not mate.is_open:
                why = _ROUNDED if any(mate.strain) else _COORDINATES
            self._findings.warning('snap-unsatisfied', place, message + why)

    def _robot(self, own: Component, kinematic: frozenset[str]) -> MappedRobot:
        """Return the robot for a component."""
        assembly, names = self._assembly, self._links.of
        parts: dict[str, BodyParts] = {
            path: self._bodies.read(path, assembly.frames[path], names[path])
            for path in own.bodies
        }
        links: dict[str, LinkDescription] = {}
        if own.root == '':
            links[_WORLD] = LinkDescription(_WORLD)
        for path in own.bodies:
            links[names[path]] = LinkDescription(
                names[path], parts[path].inertial, line=assembly.frames[path].place.line
            )
        local = {**names, '': _WORLD} if own.root == '' else names
        joints: dict[str, JointDescription] = {}
        positions: dict[str, tuple[float, ...]] = {}
        axes: dict[str, tuple[AxisSettings, ...]] = {}
        for mate, by_second in own.joints:
            name = self._joints.of[mate.path]
            axes[name] = self._axes.get(mate.path, ())
            joints[name], positions[name] = tree_joint(mate, by_second, name, local, axes[name])
        base = assembly.poses[own.root]
        for path in own.floating:
            name = self._joints.add(f'{path}_floating', 'floating')
            joints[name] = floating_joint(
                name,
                local[own.root],
                names[path],
                base.inverse @ assembly.poses[path],
                assembly.frames[path].place.line,
            )
        loops = []
        for mate in own.loops:
            axes[self._joints.of[mate.path]] = self._loop_axes(mate)
            loops.append(self._loop(mate, local))
        for mate in own.mates:
            for motor, settings in self._motors_of(mate, local):
                axes[motor.name] = settings
                loops.append(motor)
        description = RobotDescription(
            name=self._model,
            root=local[own.root],
            links=MappingProxyType(links),
            joints=MappingProxyType(joints),
            sensors=(),
            report=Report(),
            source=self._root.model.file,
            constraints=tuple(loops),
        )
        is_kinematic = own.root in kinematic
        if joints or own.root == '':
            checked = check_joints(description, self._findings)
            description = replace(description, joints=MappingProxyType(checked))
        self._check_masses(own, description, is_kinematic)
        shapes: tuple[tuple[str, Placed], ...] = tuple(
            (names[path], placed) for path in own.bodies for placed in parts[path].shapes
        )
        return MappedRobot(
            self._label(own),
            description,
            base,
            is_kinematic,
            shapes,
            frozenset(
                frozenset((local[mate.sides[0].body], local[mate.sides[1].body]))
                for mate in own.mates
                if mate.is_enabled
            ),
            MappingProxyType(positions),
            MappingProxyType(axes),
            MappingProxyType(
                {names[path]: self._motion(assembly.frames[path]) for path in own.bodies}
            ),
        )

    def _check_masses(
        self, own: Component, description: RobotDescription, is_kinematic: bool
    ) -> None:
        """Report free bodies without mass."""
        free = [description.root] if own.root != '' and not is_kinematic else []
        free += [self._links.of[path] for path in own.floating]
        welded: dict[str, list[str]] = {}
        for joint in description.joints.values():
            if joint.type is JointType.FIXED:
                welded.setdefault(joint.parent, []).append(joint.child)
        for name in free:
            waiting, mass = [name], 0.0
            while waiting:
                link = waiting.pop()
                inertial: Inertial | None = description.links[link].inertial
                mass += 0.0 if inertial is None else inertial.mass
                waiting += welded.get(link, ())
            if mass <= 0.0:
                path = next(path for path, own_name in self._links.of.items() if own_name == name)
                self._findings.error(
                    'no-mass',
                    self._assembly.frames[path].place,
                    'has no mass, and no shape that gives it one: it cannot move freely',
                )

    def _label(self, own: Component) -> str:
        """Return the path of the innermost system with all bodies, or of a body without one."""
        alone = '' if own.bodies[0] == ROOT else own.bodies[0]
        if not own.mates:
            return alone
        parents = {
            path: [
                frame_path(each)
                for each in owners(self._assembly.frames[path])
                if each.is_a(SYSTEM)
            ]
            for path in own.bodies
        }
        shared = common_system(own.bodies, parents)
        if shared != ROOT:
            return shared
        return alone if len(own.bodies) == 1 else ''

    def _motion(self, body: Object) -> BodyMotion:
        """Return a body's initial velocity."""
        outer = None if body.owner is None else frame_of(body.owner)
        axes = self._assembly.poses['' if outer is None else frame_path(outer)].rotation
        linear, angular = (
            vector(cast(Object, body[f'kinematics.initial_local_{kind}_velocity']))
            if f'initial_local_{kind}_velocity' in cast(Object, body['kinematics']).members
            else np.zeros(3)
            for kind in ('linear', 'angular')
        )
        return BodyMotion(axes @ linear, axes @ angular)

    def _imported(self) -> list[MappedRobot]:
        """Return the robots from URDF files."""
        found = []
        for each in self._root.walk():
            if not each.model.imported:
                continue
            frame = frame_of(each)
            pose = Pose() if frame is None else self._assembly.poses[frame_path(frame)]
            try:
                description = load_description(Path(each.model.imported))
            except DescriptionError as err:
                for finding in err.report.errors:
                    self._findings.error(
                        finding.code,
                        each.place,
                        f'{err.report.source}:{finding.line}: {finding.subject}: '
                        f'{finding.message}',
                    )
                continue
            found.append(MappedRobot(each.path, description, pose))
        return found


def _has_errors(findings: Findings) -> bool:
    return any(finding.severity == 'error' for finding in findings.found)


def _kinematic_bodies(root: Object, assembly: Assembly, findings: Findings) -> frozenset[str]:
    """Return the kinematic body paths."""
    controlled: set[int] = set()
    for each in root.walk():
        given = each.members.get('kinematically_controlled')
        for body in given if isinstance(given, tuple) else ():
            findings.warning(
                'deprecated',
                each.place_of('kinematically_controlled'),
                'is deprecated: use is_dynamic of the body',
            )
            controlled.add(id(body))
    return frozenset(
        path
        for path, body in assembly.bodies.items()
        if not body.members.get('is_dynamic', True) or id(body) in controlled
    )


def _kinematic_locks(root: Object, assembly: Assembly) -> tuple[list[Mate], list[set[str]]]:
    """Return a lock for each body except the first in kinematic locks, and the locked pairs."""
    locks, pairs = [], []
    for each in root.walk():
        if not each.is_a(_KINEMATIC_LOCK):
            continue
        bodies = [frame_path(body) for body in cast('tuple[Object, ...]', each['bodies'])]
        pairs += [{one, other} for one in bodies for other in bodies if one != other]
        for body in bodies[1:]:
            relative = assembly.poses[bodies[0]].inverse @ assembly.poses[body]
            locks.append(
                Mate(
                    each, 'lock', (Side(bodies[0], relative), Side(body, Pose())), Pose(), 0.0, 0.0
                )
            )
    return locks, pairs


def _gravity(root: Object, findings: Findings) -> Gravity | None:
    """Return the scene's gravity; None if not given."""
    for each in root.walk():
        if each.is_a(_ENVIRONMENT) and each is not root:
            findings.warning(
                'environment',
                each.place,
                'is in another system: its gravity is ignored, since a world has only one',
            )
    if not root.is_a(_ENVIRONMENT):
        return None
    field = cast(Object, root['gravity'])
    is_uniform = field.is_a('Simulation.UniformGravitationalField')
    if not (is_uniform or field.is_a('Simulation.PointGravitationalField')):
        return None
    name = 'vector' if is_uniform else 'center'
    numbers = vector(cast(Object, field[name]))
    strength = 0.0 if is_uniform else cast(float, field['magnitude'])
    if not np.isfinite([*numbers, strength]).all():
        findings.error('gravity', field.place_of(name), 'must be finite')
        return None
    if is_uniform and np.abs(numbers).max() > GREATEST_GRAVITY:
        findings.error('gravity', field.place_of(name), f'must be at most {GREATEST_GRAVITY:g}')
        return None
    where = tuple(numbers.tolist())
    return where if is_uniform else PointGravity(where, strength)
