"""
Joints in `<gazebo>` elements, the way to close loops in Gazebo.

The content of a `<gazebo>` element without a reference becomes part of the SDF model, so a
`<joint>` there may connect any two links. Its meaning follows SDF (sdformat 1.11, joint.sdf):
`pose` is the pose of the joint's frame in the child link's frame (or in `relative_to`), and an
axis is in the joint's frame (or in `expressed_in`), both at joint positions 0. The parent is the
first link, the child the second link; the world as a parent becomes the second link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sim_bridge.description.mechanism.constraints import (
    Declared,
    direction,
    read_limits,
    read_type,
    WORLD,
)
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.mechanism.tree import is_tree
from sim_bridge.description.model import ConstraintType, JointDynamics, Pose, RobotDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.values import is_true, read_pose
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

TYPES = {
    'revolute': ConstraintType.HINGE,
    'continuous': ConstraintType.HINGE,
    'prismatic': ConstraintType.SLIDER,
    'ball': ConstraintType.BALL,
    'universal': ConstraintType.UNIVERSAL,
    'revolute2': ConstraintType.HINGE2,
    'fixed': ConstraintType.FIXED,
}
# axis count for types with another number than one
_AXES = {
    ConstraintType.BALL: 0,
    ConstraintType.FIXED: 0,
    ConstraintType.UNIVERSAL: 2,
    ConstraintType.HINGE2: 2,
}
_NOT_SIMULATED = ('screw', 'gearbox')
_MODEL = '__model__'

# old files write a huge number for no limit
_NO_LIMIT = 1e16
_ANY = Numbers(infinite=True)
_NOT_NEGATIVE = Numbers(minimum=0.0)
_LIMITS = dict.fromkeys(('lower', 'upper', 'effort', 'velocity'), _ANY)
_DYNAMICS = {
    'damping': 'damping',
    'friction': 'friction',
    'spring_stiffness': 'stiffness',
    'spring_reference': 'reference',
}
_DYNAMICS_NUMBERS = {
    **dict.fromkeys(_DYNAMICS, _ANY),
    'damping': _NOT_NEGATIVE,
    'friction': _NOT_NEGATIVE,
}
# reference alone has no effect
_ACTING = ('damping', 'friction', 'spring_stiffness')
_COMPLIANCE = dict.fromkeys(('erp', 'cfm'), _NOT_NEGATIVE)
# tags without effect here: they always apply, or are parameters of other engines' stops
_SILENT = {
    'joint': {'parent', 'child', 'pose', 'axis', 'axis2', 'physics'},
    'axis': {'xyz', 'limit', 'dynamics', 'use_parent_model_frame', 'initial_position'},
    'limit': {*_LIMITS, 'stiffness', 'dissipation'},
    'dynamics': {*_DYNAMICS},
}


def read_gazebo_joints(
    root: Element, description: RobotDescription, findings: Findings
) -> Iterator[Declared]:
    """Yield the loop joints in the `<gazebo>` elements."""
    nodes = [
        (node, gazebo.get('reference'))
        for gazebo in root.findall('gazebo')
        for node in gazebo.findall('joint')
    ]
    # only a tree defines poses; other reports cover other mechanisms
    frames = _frames(description) if nodes and is_tree(description) else {}
    left_out = _links_left_out(root, description)
    for node, reference in nodes:
        place = Place('joint', node.get('name', ''), node.line)
        if reference:
            message = 'ignored: a <gazebo> with a reference holds no joints'
            findings.warning('ignored-tag', place, message)
            continue
        if place.name in description.joints:
            message = f'is left out: joint {place.name!r} of the robot has this name'
            findings.warning('duplicate-name', place, message, 'name', place.name)
            continue
        missing = left_out.intersection(_ends(node))
        if missing:
            message = f'is not simulated, left out: nor is its link {min(missing)!r}'
            findings.warning('not-simulated', place, message)
            continue
        joint = _read_joint(node, place, frames, description, findings)
        if joint is not None:
            yield joint


def _links_left_out(root: Element, description: RobotDescription) -> frozenset[str]:
    """Return the names given to links in `<gazebo>` elements, which are unknown tags there."""
    nodes = [node for gazebo in root.findall('gazebo') for node in gazebo.findall('link')]
    return frozenset(node.get('name', '') for node in nodes).difference(description.links)


def _ends(node: Element) -> Iterator[str]:
    for tag in ('parent', 'child'):
        for end in node.findall(tag):
            yield element_text(end) or end.get('link', '')


def _frames(description: RobotDescription) -> dict[str, Pose]:
    """Return the frames allowed in poses and axes: links, joints, the model."""
    poses = link_poses(description)
    # the joint frame coincides with the child frame at joint position 0
    joints = {joint.name: poses[joint.child] for joint in description.joints.values()}
    return {**joints, **poses, _MODEL: Pose()}


def _read_joint(
    node: Element,
    place: Place,
    frames: Mapping[str, Pose],
    description: RobotDescription,
    findings: Findings,
) -> Declared | None:
    word = node.get('type', '')
    if word in _NOT_SIMULATED:
        message = f'is not simulated, left out; the types are {", ".join(TYPES)}'
        findings.warning('not-simulated', place, message, 'type', word)
        return None
    kind = read_type(word, TYPES, place.at('type'), findings)
    if not place.name.strip():
        findings.error('missing-attribute', place, 'missing', 'name')
    _warn_of_unknown(node, 'joint', place, findings)
    parts = {element.tag: element for element in reversed(node.children)}
    ends = [_end(tag, parts, place, findings) for tag in ('parent', 'child')]
    if kind is None:
        return None
    one = Declared(place.name.strip(), kind, place)
    (one.link1, one.spots['link1']), (one.link2, one.spots['link2']) = ends
    if one.link2 == WORLD and WORLD not in description.links:
        place = one.spots['link2']
        findings.error('unknown-link', place, 'the world can only be the parent', value=WORLD)
        return None
    count = _AXES.get(kind, 1)
    for k, tag in enumerate(('axis', 'axis2')):
        if tag in parts and k < count:
            _read_axis(parts[tag], k, one, findings)
        elif tag in parts:
            _warn_of_axis(parts[tag], word, place, findings)
    _read_physics(parts.get('physics'), one, findings)
    pose = _joint_pose(parts.get('pose'), one, frames, findings)
    if frames:
        _place(one, pose, parts, frames, description, findings)
    return one


def _end(
    tag: str, parts: Mapping[str, Element], place: Place, findings: Findings
) -> tuple[str, Place]:
    element = parts.get(tag)
    if element is None:
        findings.error('missing-tag', place.child(tag, place.line), 'missing')
        return '', place.child(tag, place.line)
    inner = place.child(tag, element.line)
    text = element_text(element) or element.get('link', '')
    if not text:
        findings.error('empty', inner, 'must not be empty')
    return text, inner


def _joint_pose(
    node: Element | None, one: Declared, frames: Mapping[str, Pose], findings: Findings
) -> Pose:
    """Return the joint's frame in the model frame, at joint positions 0."""
    if node is None:
        return frames.get(one.link2, Pose())
    place = one.place.child('pose', node.line)
    pose = read_pose(node, place, findings)
    name = node.get('relative_to', '')
    known = frames.get(one.link2, Pose())
    base = _frame(name, frames, place, 'relative_to', findings) if name else known
    return Pose(base.position + base.rotation @ pose.position, base.rotation @ pose.rotation)


def _frame(
    name: str, frames: Mapping[str, Pose], place: Place, attribute: str, findings: Findings
) -> Pose:
    """Return a frame in the model frame; the model frame, with an error noted, if unknown."""
    if frames and name not in frames and name not in ('', WORLD):
        findings.error('unknown-frame', place, unknown('frame', name, frames), attribute, name)
    return frames.get(name, Pose())


def _read_axis(node: Element, k: int, one: Declared, findings: Findings) -> None:
    """Read an axis in its own frame; report limits and dynamics of a second axis."""
    place = one.place.child(node.tag, node.line)
    _warn_of_unknown(node, 'axis', place, findings)
    one.spots[node.tag] = place
    parts = {element.tag: element for element in reversed(node.children)}
    xyz = parts.get('xyz')
    vector: list[float] | None = [0.0, 0.0, 1.0]
    if xyz is not None:
        one.spots[node.tag] = place.child('xyz', xyz.line)
        vector = parse_numbers(element_text(xyz), Numbers(3), one.spots[node.tag], findings, '')
    if vector is not None:
        one.axes[k] = direction(vector, one.spots[node.tag], findings)
    for field, values, inner, acts in axis_values(parts, place, findings):
        if k == 1:
            if acts:
                message = f'{field} of a second axis are not simulated, ignored'
                findings.warning('not-simulated', inner, message)
            continue
        if acts:
            one.spots[field] = inner
        if field == 'limits':
            one.limits = read_limits(values, inner, findings)
        else:
            one.dynamics = dynamics_of(values)


def _warn_of_axis(node: Element, word: str, place: Place, findings: Findings) -> None:
    """Report the axis of a type without it; exporters write a first axis without limits."""
    place, message = place.child(node.tag, node.line), f'has no meaning for type {word}, ignored'
    if node.tag == 'axis2':
        findings.warning('ignored-tag', place, message)
        return
    parts = {element.tag: element for element in reversed(node.children)}
    for _, _, inner, acts in axis_values(parts, place, findings):
        if acts:
            findings.warning('ignored-tag', inner, message)


def axis_values(
    parts: Mapping[str, Element], place: Place, findings: Findings
) -> Iterator[tuple[str, dict[str, float], Place, bool]]:
    """Yield limits and dynamics in an axis: numbers, place, and whether they have an effect."""
    for tag, field, allowed in (
        ('limit', 'limits', _LIMITS),
        ('dynamics', 'dynamics', _DYNAMICS_NUMBERS),
    ):
        if tag not in parts:
            continue
        inner = place.child(tag, parts[tag].line)
        _warn_of_unknown(parts[tag], tag, inner, findings)
        values = read_numbers(parts[tag], allowed, inner, findings)
        acts = any(values.get(name) for name in _ACTING)
        if tag == 'limit':
            values = {key: value for key, value in values.items() if abs(value) < _NO_LIMIT}
            # negative effort and velocity limits are not enforced
            values |= {key: max(values.get(key, 0.0), 0.0) for key in ('effort', 'velocity')}
            acts = any(values[key] for key in ('effort', 'velocity'))
            acts |= 'lower' in values or 'upper' in values
        yield field, values, inner, acts


def dynamics_of(values: Mapping[str, float]) -> JointDynamics:
    """Return the dynamics from numbers by their tags."""
    return JointDynamics(**{_DYNAMICS[key]: value for key, value in values.items()})


def _read_physics(node: Element | None, one: Declared, findings: Findings) -> None:
    """Read ODE's erp and cfm for the joint itself."""
    if node is None or (ode := node.find('ode')) is None:
        return
    place = one.place.child('physics', node.line).child('ode', ode.line)
    for element in ode:
        if element.tag in _COMPLIANCE:
            one.spots['compliance'] = place.child(element.tag, element.line)
    values = read_numbers(ode, _COMPLIANCE, place, findings)
    one.erp, one.cfm = values.get('erp'), values.get('cfm')


def _place(
    one: Declared,
    pose: Pose,
    parts: Mapping[str, Element],
    frames: Mapping[str, Pose],
    description: RobotDescription,
    findings: Findings,
) -> None:
    """Transform the joint's frame and axes from the model frame to the links' frames."""
    for k, tag in enumerate(('axis', 'axis2')):
        if one.axes[k] is not None:
            turn = _axis_frame(parts[tag], pose, frames, one.spots[tag], findings)
            one.axes[k] = pose.rotation.T @ turn @ one.axes[k]
    is_grounded = one.link1 == WORLD and WORLD not in description.links
    if is_grounded:
        _turn_around(one, findings)
    names = [one.link1] if is_grounded else [one.link1, one.link2]
    if not all(name in description.links for name in names):
        return
    for k, name in enumerate(names):
        turn = frames[name].rotation.T
        one.positions[k] = turn @ (pose.position - frames[name].position)
        one.rotations[k] = turn @ pose.rotation
    if is_grounded:
        # the world's pose relative to the link is known only at assembly
        one.axes = [None if axis is None else one.rotations[0] @ axis for axis in one.axes]
        one.rotations = [None, None]


def _axis_frame(
    node: Element, pose: Pose, frames: Mapping[str, Pose], place: Place, findings: Findings
) -> np.ndarray:
    """Return the reference rotation for an axis, in the model frame."""
    old = node.find('use_parent_model_frame')
    if old is not None and is_true(element_text(old)):
        return np.eye(3)
    xyz = node.find('xyz')
    name = '' if xyz is None else xyz.get('expressed_in', '')
    if not name:
        return pose.rotation
    return _frame(name, frames, place, 'expressed_in', findings).rotation


def _turn_around(one: Declared, findings: Findings) -> None:
    """Make the world the second link; reverse the axis, so that the coordinate keeps its sign."""
    if one.type in (ConstraintType.UNIVERSAL, ConstraintType.HINGE2):
        message = f'a {one.type.value} joint to the world is not supported; give the world a link'
        spot = one.spot('link1')
        findings.error('not-simulated', spot, message, '', WORLD)
    one.link1, one.link2 = one.link2, WORLD
    one.spots['link1'], one.spots['link2'] = one.spots['link2'], one.spots['link1']
    one.axes[0] = None if one.axes[0] is None else -one.axes[0]


def _warn_of_unknown(node: Element, kind: str, place: Place, findings: Findings) -> None:
    for element in node.findall('sensor'):
        message = 'sensors in joints that close loops are not supported, ignored'
        findings.warning('unsupported-sensor', place.child('sensor', element.line), message)
    warn_of_unknown(node, {'sensor', *_SILENT[kind]}, place, findings)
