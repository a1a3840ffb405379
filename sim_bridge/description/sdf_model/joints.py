"""SDF joints, before loops are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
import math

import numpy as np

from sim_bridge.description.mechanism.constraints import direction, read_limits
from sim_bridge.description.model import JointDynamics, JointLimits, Mimic, Pose
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.joints import axis_values, dynamics_of
from sim_bridge.description.sdf_model.scope import MODEL, Scope, SEPARATOR, WORLD
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text

# axis count by type
AXES = {
    'revolute': 1,
    'continuous': 1,
    'prismatic': 1,
    'screw': 1,
    'fixed': 0,
    'ball': 0,
    'universal': 2,
    'revolute2': 2,
    'gearbox': 2,
}
_CROSSED = ('universal', 'revolute2')
# sine of the angle between parallel axes
_PARALLEL = 1e-6
# joint axes were in the model's axes up to this version
_MODEL_AXES = (1, 4)
# parameters of solvers, and messages
_SILENT = ('physics', 'sensor', 'origin', 'pose', 'plugin')
_OF_AXIS = ('xyz', 'use_parent_model_frame', 'initial_position')


@dataclass(eq=False)
class SdfJoint:
    """
    Joint in a model.

    name: outermost name. kind: word in SDF. parent, child: outermost names of its links, or
    'world'. pose: joint frame in the outermost model's frame, at joint positions 0. in_child: the
    same in the child link's frame, as written; None if it was not written so. axes: unit vectors
    in the joint frame. thread: travel per revolution of a screw [m]. reference, ratio: of a
    gearbox.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose
    place: Place
    in_child: Pose | None = None
    axes: list[np.ndarray] = field(default_factory=list)
    limits: list[JointLimits] = field(default_factory=list)
    dynamics: list[JointDynamics] = field(default_factory=list)
    mimic: Mimic | None = None
    thread: float = 1.0
    reference: str = ''
    ratio: float = 1.0

    def reversed(self) -> SdfJoint:
        """Return the same joint with parent and child exchanged."""
        return replace(
            self,
            parent=self.child,
            child=self.parent,
            in_child=None,
            axes=[read_only(-axis) for axis in self.axes[::-1]],
            limits=self.limits[::-1],
            dynamics=self.dynamics[::-1],
        )


def read_joints(scope: Scope, at: Pose, findings: Findings) -> Iterator[SdfJoint]:
    """
    Yield the joints directly inside a model; a defective one is an error.

    at: the scope's frame in the outermost model's frame.
    """
    for node in scope.entity.element.findall('joint'):
        joint = _joint(node, scope, at, findings)
        if joint is not None:
            yield joint


def _joint(node: Element, scope: Scope, at: Pose, findings: Findings) -> SdfJoint | None:
    tags = Tags(node, Place('joint', scope.prefix + node.get('name'), node.line), findings)
    kind = node.get('type')
    if kind not in AXES:
        message = f'unknown; the types are {", ".join(AXES)}' if kind else 'missing'
        findings.error('joint-type', tags.place, message, 'type', kind)
        return None
    parent, child = (_end(tag, tags, scope) for tag in ('parent', 'child'))
    if parent is None or child is None:
        return None
    if child == WORLD or parent == child:
        message = (
            'the world can only be the parent' if child == WORLD else 'joins a link to itself'
        )
        findings.error('unknown-link', tags.place.child('child', node.line), message, value=child)
        return None
    pose, base = tags.pose()
    frame = scope.pose_of(base or _written(node, 'child')) @ pose
    joint = SdfJoint(tags.place.name, kind, parent, child, at @ frame, tags.place)
    written = _written(node, 'child')
    if base in ('', written) and child == scope.prefix + written:
        joint.in_child = pose
    _read_axes(joint, tags, scope, frame)
    _read_couplings(joint, tags, scope)
    tags.close(_SILENT)
    return joint


def _written(node: Element, tag: str) -> str:
    end = node.find(tag)
    return '' if end is None else element_text(end) or end.get('link')


def _end(tag: str, tags: Tags, scope: Scope) -> str | None:
    """Return the link at an end; None, with an error noted, without one."""
    node = tags.find(tag)
    name = _written(tags.node, tag)
    place = tags.place if node is None else tags.at(node)
    if not name:
        tags.findings.error('missing-tag', place, 'missing', value=tag)
        return None
    link = scope.body_of(name)
    if link is None:
        message = unknown('link or frame', name, [*scope.frames, *scope.models])
        tags.findings.error('unknown-link', place, message, value=name)
    return link


def _read_axes(joint: SdfJoint, tags: Tags, scope: Scope, frame: Pose) -> None:
    count = AXES[joint.kind]
    for number, tag in enumerate(('axis', 'axis2')):
        node = tags.find(tag)
        if number >= count:
            if node is not None and tag == 'axis2':
                message = f'has no meaning for type {joint.kind}, ignored'
                tags.findings.warning('ignored-tag', tags.at(node), message)
            if joint.kind == 'ball' and node is not None and tag == 'axis':
                _read_numbers(joint, tags.of(node))
            continue
        if node is None:
            joint.axes.append(read_only([0.0, 0.0, 1.0]))
            joint.limits.append(JointLimits())
            joint.dynamics.append(JointDynamics())
            continue
        inner = tags.of(node)
        joint.axes.append(_axis(inner, scope, frame))
        _read_numbers(joint, inner)
    if joint.kind in _CROSSED and _are_parallel(*joint.axes):
        message = 'the axes are parallel at joint positions 0'
        tags.findings.error('parallel-axes', tags.place.child('axis2', tags.node.line), message)
        joint.axes = [read_only([1.0, 0.0, 0.0]), read_only([0.0, 1.0, 0.0])]


def _are_parallel(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(first, second)) < _PARALLEL)


def _axis(tags: Tags, scope: Scope, frame: Pose) -> np.ndarray:
    """Return an axis in the joint's frame."""
    usual = read_only([0.0, 0.0, 1.0])
    node = tags.find('xyz')
    place = tags.place if node is None else tags.at(node)
    values = [0.0, 0.0, 1.0]
    if node is not None or tags.node.get('xyz'):
        found = parse_numbers(tags.text('xyz'), Numbers(3), place, tags.findings, '')
        values = values if found is None else found
    axis = direction(values, place, tags.findings)
    if axis is None:
        return usual
    base = '' if node is None else node.get('expressed_in')
    is_old = scope.entity.file.version <= _MODEL_AXES
    if not base and tags.flag('use_parent_model_frame', is_old):
        base = MODEL
    if not base:
        return axis
    scope.check(base, place, 'expressed_in')
    return read_only(frame.rotation.T @ scope.pose_of(base).rotation @ axis)


def _read_numbers(joint: SdfJoint, tags: Tags) -> None:
    """Read an axis' limits and dynamics."""
    parts = {element.tag: element for element in reversed(tags.node.children)}
    limits, dynamics = JointLimits(), JointDynamics()
    for name, values, place, _ in axis_values(parts, tags.place, tags.findings):
        if name == 'limits':
            limits = read_limits(values, place, tags.findings)
        else:
            dynamics = dynamics_of(values)
    joint.limits.append(limits)
    joint.dynamics.append(dynamics)
    tags.read.update(('limit', 'dynamics'))
    mimic = tags.inside('mimic')
    if mimic is not None:
        _read_mimic(joint, mimic)
    tags.close(_OF_AXIS)


def _read_mimic(joint: SdfJoint, tags: Tags) -> None:
    leader = tags.node.get('joint')
    multiplier, offset, reference = (
        tags.number(name, usual)
        for name, usual in (('multiplier', 1.0), ('offset', 0.0), ('reference', 0.0))
    )
    tags.close()
    if tags.node.get('axis', 'axis') != 'axis' or AXES[joint.kind] != 1:
        message = 'second axes neither lead nor follow, ignored'
        tags.findings.warning('not-simulated', tags.place, message)
        return
    prefix = joint.name.rpartition(SEPARATOR)[0]
    name = f'{prefix}{SEPARATOR}{leader}' if prefix else leader
    joint.mimic = Mimic(name, multiplier, offset - multiplier * reference)


def _read_couplings(joint: SdfJoint, tags: Tags, scope: Scope) -> None:
    """Read a screw's thread, and a gearbox's reference."""
    old = tags.numbers('thread_pitch', Numbers())
    new = tags.numbers('screw_thread_pitch', Numbers())
    if new is not None:
        joint.thread = new[0]
    elif old is not None and old[0]:
        # turns per travel, left-handed
        joint.thread = -2.0 * math.pi / old[0]
    joint.ratio = tags.number('gearbox_ratio', 1.0)
    name = tags.text('gearbox_reference_body')
    joint.reference = (scope.body_of(name) or '') if name else ''
