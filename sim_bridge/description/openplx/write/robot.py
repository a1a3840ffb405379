"""Robot description written as OpenPLX, loading to an equal model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import math
import os
from pathlib import Path

import numpy as np

from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.openplx.mapping.joints import DIRECTIONS
from sim_bridge.description.openplx.mapping.scene import SOURCE_NAME
from sim_bridge.description.openplx.write.left_out import check_joint, note_left_out
from sim_bridge.description.openplx.write.text import (
    axes,
    block,
    identifier,
    number,
    quoted,
    transform,
    vector,
)
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_axis_angle

_WORLD = 'world'
_I = 'Physics3D.Interactions.'
_LAWS = 'Physics.Interactions.'
_MATES = {
    JointType.REVOLUTE: 'Hinge',
    JointType.CONTINUOUS: 'Hinge',
    JointType.PRISMATIC: 'Prismatic',
    JointType.FIXED: 'Lock',
    JointType.BALL: 'Ball',
    JointType.PISTON: 'Cylindrical',
    ConstraintType.HINGE: 'Hinge',
    ConstraintType.SLIDER: 'Prismatic',
    ConstraintType.FIXED: 'Lock',
    ConstraintType.BALL: 'Ball',
    ConstraintType.PISTON: 'Cylindrical',
    ConstraintType.DISTANCE: 'Distance',
}
# directions left free by each mate, without flexibility
_LEFT_FREE = {
    'Hinge': ('around_main',),
    'Prismatic': ('along_main',),
    'Cylindrical': ('along_main', 'around_main'),
    'Ball': ('around_main', 'around_normal', 'around_cross'),
}
# interactions along an axis, by whether it slides: range, spring and its rest member, motor
_ALONG = {
    False: ('RotationalRange', 'TorsionSpring', 'angle', 'TorqueMotor'),
    True: ('LinearRange', 'LinearSpring', 'position', 'ForceMotor'),
}
# reserved names: words of the language, bundles, and members of a system
_TAKEN = frozenset(
    (
        'and',
        'as',
        'becomes',
        'const',
        'delete',
        'false',
        'fn',
        'import',
        'is',
        'not',
        'operator',
        'optional',
        'or',
        'reference',
        'static',
        'this',
        'trait',
        'true',
        'with',
        'DriveTrain',
        'Math',
        'Physics',
        'Physics1D',
        'Physics3D',
        'Robotics',
        'Sensors',
        'Simulation',
        'Terrain',
        'Urdf',
        'Vehicles',
        'Visuals',
        'Bool',
        'Int',
        'Real',
        'String',
        'kinematically_controlled',
        'local_transform',
        'reference_body',
    )
)
# turns y, the axis of cylinders and capsules in OpenPLX, onto z, their axis here
_Y_TO_Z = matrix_from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.5 * math.pi).round()


def openplx_text(
    description: RobotDescription,
    *,
    fixed_base: bool = False,
    folder: Path | None = None,
    apart: Iterable[tuple[str, str]] = (),
) -> tuple[str | None, Report]:
    """
    Return a robot as OpenPLX, None without a counterpart, and a report of its omissions.

    fixed_base: whether to lock the root link to the world; a root link 'world' is the world.
    folder: the file's folder; mesh paths inside it are relative to it.
    apart: pairs of links without collision, in addition to links connected by a joint.
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
        self, robot: RobotDescription, fixed_base: bool, folder: Path | None, findings: Findings
    ):
        self._robot, self._folder, self._findings = robot, folder, findings
        self._is_fixed = fixed_base or robot.fixed_base
        self._taken = set(_TAKEN)
        root = robot.links[robot.root]
        # a link representing only the world becomes the system itself, a fixed one
        self._bodies = [
            link
            for link in robot.links.values()
            if link is not root or link.name != _WORLD or link.inertial or link.collisions
        ]
        # the first body of a free robot becomes its root when loaded again
        self._bodies.sort(key=lambda link: link is not root)
        self._names = {link.name: self._name(link.name, 'link') for link in self._bodies}
        self._poses = link_poses(robot)
        # connectors by link; '' for connectors of the world
        self._connectors: dict[str, list[str]] = {'': [], **{name: [] for name in self._names}}

    def text(self, apart: Iterable[tuple[str, str]]) -> str:
        """Return the file's text; errors are among the findings."""
        note_left_out(self._robot, self._findings)
        robot, mates = self._robot, []
        joints: list[JointDescription | ConstraintDescription] = [
            *robot.joints.values(),
            *robot.constraints,
        ]
        names = [self._name(joint.name, 'joint') for joint in joints]
        root = robot.links[robot.root]
        if self._is_fixed and root.name in self._names:
            ends = ('', Pose()), (root.name, Pose())
            name = self._name(f'{root.name}_lock', 'joint')
            mates += self._mate(name, name, 'Lock', ends, [])
        for joint, name in zip(joints, names, strict=True):
            place = Place('joint', joint.name, joint.line)
            if joint.type is JointType.FLOATING:
                self._findings.warning(
                    'unsupported',
                    place,
                    'OpenPLX has no floating joint: the links that it '
                    'carries are written as a separate robot',
                )
            elif joint.type not in _MATES:
                self._findings.error(
                    'unsupported',
                    place,
                    f'OpenPLX has no counterpart for a {joint.type.value} joint',
                )
            else:
                check_joint(joint, place, self._findings)
                mates += self._mate_of(joint, name)
        floating = {
            joint.child for joint in robot.joints.values() if joint.type is JointType.FLOATING
        }
        lines = _original(robot.name, self._model)
        for link in self._bodies:
            is_placed = link.name in floating or (link is root and not self._is_fixed)
            lines += ['', *self._body(link, is_placed)]
        lines += [
            *self._spaced(self._connectors['']),
            *mates,
            *self._spaced(list(self._apart(apart))),
        ]
        return '\n'.join([*block(f'{self._model} is Physics3D.System', lines), ''])

    @property
    def _model(self) -> str:
        name = identifier(self._robot.name)
        return f'{name}_robot' if name in _TAKEN else name

    def _name(self, wanted: str, kind: str) -> str:
        """Return a free member name in the system for a link or a joint."""
        name = identifier(wanted)
        if name in self._taken:
            name = free_name(f'{name}_{kind}', self._taken.__contains__)
        self._taken.add(name)
        return name

    @staticmethod
    def _spaced(lines: list[str]) -> list[str]:
        return ['', *lines] if lines else []

    # --- bodies ------------------------------------------------------------------------------

    def _body(self, link: LinkDescription, is_placed: bool) -> list[str]:
        name = self._names[link.name]
        lines = _original(link.name, name)
        if is_placed:
            lines += transform('kinematics.local_transform', self._poses[link.name])
        if link.inertial is not None:
            own = link.inertial
            center, tensor = own.pose, own.inertia
            lines += transform('kinematics.local_cm_transform', center)
            moments, products = np.diag(tensor), (tensor[0, 1], tensor[0, 2], tensor[1, 2])
            lines += [
                f'inertia.mass: {number(own.mass)}',
                'inertia.tensor: Physics3D.Bodies.Inertia.symmetric_tensor('
                f'{vector(moments)}, {", ".join(map(number, products))})',
            ]
        used: set[str] = set()
        for geometry in link.collisions:
            wanted = f'{identifier(geometry.name or "collision")}_geometry'
            shape = free_name(wanted, used.__contains__)
            used.add(shape)
            lines += self._shape(geometry, shape, link)
        return block(
            f'{name} is Physics3D.Bodies.RigidBody', [*lines, *self._connectors[link.name]]
        )

    def _shape(self, geometry: GeometryDescription, name: str, link: LinkDescription) -> list[str]:
        rotation, kind = geometry.pose.rotation, geometry.kind.capitalize()
        if geometry.kind == 'box':
            size = [f'size: {vector(geometry.size)}']
        elif geometry.kind == 'mesh':
            kind = 'ExternalTriMeshGeometry'
            path = self._mesh_path(geometry, link)
            if not path:
                return []
            size = [f'path: {path}', f'scale: {vector(geometry.size)}']
        else:
            size = [
                f'{member}: {number(value)}'
                for member, value in zip(('radius', 'height'), geometry.size, strict=False)
            ]
            if len(size) > 1:
                rotation = rotation @ _Y_TO_Z
        # the link gives the mass, never its shapes
        return block(
            f'{name} is Physics3D.Geometries.{kind}',
            [
                *size,
                'include_in_mass_properties: false',
                *transform('local_transform', Pose(geometry.pose.position, rotation)),
            ],
        )

    def _mesh_path(self, geometry: GeometryDescription, link: LinkDescription) -> str:
        """Return a mesh's path in OpenPLX notation; '', with a finding, if there is none."""
        place = Place('link/collision', link.name, geometry.line)
        if not geometry.path:
            self._findings.warning(
                'unresolved-mesh',
                place,
                'is not found, and not written',
                'filename',
                geometry.filename,
            )
            return ''
        path = os.path.abspath(geometry.path)
        if '"' in path or '\n' in path:
            self._findings.error(
                'unsupported',
                place,
                'has a quote or a new line, not allowed in a path of OpenPLX',
                'filename',
                path,
            )
        folder = None if self._folder is None else os.path.abspath(self._folder)
        if folder is not None and os.path.commonpath((folder, path)) == folder:
            path = os.path.relpath(path, folder)
        return f'@"{path}"'

    def _apart(self, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        groups: dict[str, str] = {}
        for pair in pairs:
            bodies = [self._names[link] for link in pair]
            for body in bodies:
                if body not in groups:
                    groups[body] = self._name(f'{body}_group', 'group')
                    yield from block(
                        f'{groups[body]} is Simulation.CollisionGroup', [f'bodies: [{body}]']
                    )
            name = self._name(f'{"_".join(bodies)}_apart', 'pair')
            yield from block(
                f'{name} is Simulation.DisableCollisionPair',
                [f'group{order}: {groups[body]}' for order, body in enumerate(bodies, 1)],
            )

    # --- joints ------------------------------------------------------------------------------

    def _mate_of(self, joint: JointDescription | ConstraintDescription, name: str) -> list[str]:
        if isinstance(joint, JointDescription):
            along = Pose(rotation=axes(joint.axis))
            ends = (
                (joint.parent, joint.origin @ along),
                (joint.child, joint.child_pose.inverse @ along),
            )
        else:
            ends = self._loop_ends(joint)
        kind = _MATES[joint.type]
        lines = _compliance_lines(joint, kind)
        if kind == 'Distance':
            assert isinstance(joint, ConstraintDescription)
            apart = joint.distance
            if apart is None:
                first, second = (
                    (self._poses.get(link, Pose()) @ at).position for link, at in ends
                )
                apart = math.dist(first, second)
            lines.append(f'initial_distance: {number(apart)}')
        if isinstance(joint, ConstraintDescription):
            # as in the URDF, all joints begin at 0; the simulation closes open loops from there
            lines.append('enable_snap: false')
        acting: list[str] = []
        for order, (is_linear, limits, dynamics) in enumerate(_axes_of(joint, kind)):
            member = (
                'friction'
                if kind != 'Cylindrical'
                else ('friction_rotational', 'friction_translational')[is_linear]
            )
            law, limits_of = _friction(dynamics)
            if limits_of:
                lines += block(f'{member} becomes {_LAWS}Dissipation.{law}', limits_of)
            acting += self._acting(
                name, f'{name}_turn' if order else name, is_linear, limits, dynamics
            )
        return [*self._mate(name, joint.name, kind, ends, lines), *acting]

    def _mate(
        self, name: str, source: str, kind: str, ends: Iterable[tuple[str, Pose]], lines: list[str]
    ) -> list[str]:
        """Return a mate's lines; add its connectors to their bodies."""
        paths = []
        for link, pose in ends:
            body = self._names.get(link, '')
            if not body:
                # a connector of the system is fixed in the world
                own = self._name(f'{name}_base', 'frame')
                link, path = '', own
            else:
                taken = {line.partition(' ')[0] for line in self._connectors[link]}
                own = free_name(f'{name}_frame', taken.__contains__)
                path = f'{body}.{own}'
            x, _, z = pose.rotation.T
            members = [f'main_axis: {vector(z)}', f'normal: {vector(x)}']
            if pose.position.any():
                members.insert(0, f'position: {vector(pose.position)}')
            self._connectors[link] += block(f'{own} is {_I}MateConnector', members)
            paths.append(path)
        return [
            '',
            *block(
                f'{name} is {_I}{kind}',
                [*_original(source, name), f'connectors: [{", ".join(paths)}]', *lines],
            ),
        ]

    def _loop_ends(
        self, joint: ConstraintDescription
    ) -> tuple[tuple[str, Pose], tuple[str, Pose]]:
        """Return a loop joint's connectors: given, or at zero joint positions."""
        one, other = (self._poses.get(link, Pose()) for link in (joint.link1, joint.link2))
        between = other.inverse @ one
        along = np.eye(3) if joint.axis is None else axes(joint.axis, joint.normal)
        first = Pose(joint.position1, along)
        second = between @ first
        position = second.position if joint.position2 is None else joint.position2
        rotation = second.rotation if joint.rotation is None else joint.rotation.T @ along
        return (joint.link1, first), (joint.link2, Pose(position, rotation))

    def _acting(
        self, mate: str, name: str, is_linear: bool, limits: JointLimits, dynamics: JointDynamics
    ) -> Iterator[str]:
        """Yield the lines for the effects along a mate axis. name: prefix of their names."""
        stop, spring, rest, motor = _ALONG[is_linear]
        found = []
        if math.isfinite(limits.lower) or math.isfinite(limits.upper):
            found.append(
                (stop, 'range', [f'start: {number(limits.lower)}', f'end: {number(limits.upper)}'])
            )
        if dynamics.damping or dynamics.stiffness:
            lines = [f'flexibility.stiffness: {number(dynamics.stiffness)}']
            if dynamics.reference:
                lines.append(f'{rest}: {number(dynamics.reference)}')
            if dynamics.damping:
                lines += block(
                    f'dissipation becomes {_LAWS}Dissipation.MechanicalDamping',
                    [f'damping_constant: {number(dynamics.damping)}'],
                )
            found.append((spring, 'spring', lines))
        if any(map(math.isfinite, limits.efforts)):
            least, most = limits.efforts
            found.append(
                (motor, 'motor', [f'min_effort: {number(least)}', f'max_effort: {number(most)}'])
            )
        for model, suffix, lines in found:
            yield from block(
                f'{self._name(f"{name}_{suffix}", suffix)} is {_I}{model}',
                [f'connectors: {mate}.connectors', *lines],
            )


def _friction(dynamics: JointDynamics) -> tuple[str, list[str]]:
    """Return the friction law along an axis, and its members; no members without friction."""
    forwards, backwards = dynamics.frictions
    if forwards != backwards:
        return 'AsymmetricLimitFriction', [
            f'positive_limit: {number(forwards)}',
            f'negative_limit: {number(-backwards)}',
        ]
    if dynamics.bearing:
        return 'DefaultDryFriction', [f'coefficient: {number(dynamics.bearing)}']
    return 'ConstantLimitFriction', [f'limit: {number(forwards)}'] if forwards else []


def _compliance_lines(joint: JointDescription | ConstraintDescription, kind: str) -> list[str]:
    """Return a loop joint's springs and dampers in the directions constrained by its mate."""
    if isinstance(joint, JointDescription) or joint.compliance is None:
        return []
    names = ('along_distance',) if kind == 'Distance' else DIRECTIONS
    elastic, damped = [], []
    for name, spring, damper in zip(names, *joint.compliance, strict=False):
        if name not in _LEFT_FREE.get(kind, ()) and math.isfinite(spring):
            elastic += block(
                f'{name} becomes {_LAWS}Flexibility.LinearElastic',
                [f'stiffness: {number(spring)}'],
            )
            damped += block(
                f'{name} becomes {_LAWS}Dissipation.MechanicalDamping',
                [f'damping_constant: {number(damper)}'],
            )
    return [*block('flexibility', elastic), *block('dissipation', damped)] if elastic else []


def _original(source: str, name: str) -> list[str]:
    """Return the line storing the name in the URDF for readers."""
    return [] if name == source else [f'{SOURCE_NAME} is String: {quoted(source)}']


def _axes_of(
    joint: JointDescription | ConstraintDescription, kind: str
) -> list[tuple[bool, JointLimits, JointDynamics]]:
    """Return, for each axis of a mate, whether it slides, its limits and its dynamics."""
    first = joint.limits, joint.dynamics
    if kind == 'Hinge':
        return [(False, *first)]
    if kind == 'Prismatic':
        return [(True, *first)]
    if kind != 'Cylindrical':
        return []
    if isinstance(joint, JointDescription):
        return [(True, *first), (False, joint.limits2, joint.dynamics2)]
    return [(True, *first)]
