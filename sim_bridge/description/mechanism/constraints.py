"""
Checks for loop joints, the same for every file format.

Loop joints are declared in `<sim_bridge>` elements (`urdf.extension`), in `<gazebo>` elements
(`sdf.joints`) and in YAML (`yaml.constraints`). Each reader returns a `Declared`; this module
checks it and builds a `ConstraintDescription`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
import math

import numpy as np

from sim_bridge.description.compliance import checked_compliance, Compliance
from sim_bridge.description.mechanism.loops import link_poses, rigid_groups
from sim_bridge.description.mechanism.tree import is_tree
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDynamics,
    JointLimits,
    RobotDescription,
)
from sim_bridge.description.poses import NORM_TOLERANCE, read_only
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.foundation.errors import InvalidValueError

# world name in descriptions, unless a link in the robot has this name
WORLD = 'world'
WITH_AXIS = (
    ConstraintType.HINGE,
    ConstraintType.SLIDER,
    ConstraintType.UNIVERSAL,
    ConstraintType.HINGE2,
    ConstraintType.PISTON,
    ConstraintType.PLANAR,
    ConstraintType.HINGE_MOTOR,
    ConstraintType.SLIDER_MOTOR,
    ConstraintType.TILT_MOTOR,
)
WITH_AXIS2 = (ConstraintType.UNIVERSAL, ConstraintType.HINGE2)
WITH_LIMITS = (
    ConstraintType.HINGE,
    ConstraintType.SLIDER,
    ConstraintType.PISTON,
    ConstraintType.HINGE_MOTOR,
    ConstraintType.SLIDER_MOTOR,
    ConstraintType.TILT_MOTOR,
)
WITH_DYNAMICS = (*WITH_LIMITS, ConstraintType.HINGE2)
TYPES = {kind.value: kind for kind in ConstraintType if kind is not ConstraintType.TILT_MOTOR}

# sine of the angle between parallel axes; cosine of the angle between perpendicular axes
_PARALLEL = 1e-6
_RIGHT_ANGLE = 1e-3
# numbers above it stand for infinity
_GREATEST = 1e300


@dataclass
class Declared:
    """
    Loop joint as declared, before the link check.

    link1, link2: names as written. positions, rotations: of the joint's frame in the frames of
    link1 and link2, None if not given. axes: unit vectors in the joint's frame on the first and
    the second link. spots: places of the given 'link1', 'link2', 'axis', 'axis2', 'distance',
    'limits', 'dynamics' and 'compliance'; no entry if not given.
    """

    name: str
    type: ConstraintType
    place: Place
    link1: str = ''
    link2: str = ''
    positions: list[np.ndarray | None] = field(default_factory=lambda: [None, None])
    rotations: list[np.ndarray | None] = field(default_factory=lambda: [None, None])
    axes: list[np.ndarray | None] = field(default_factory=lambda: [None, None])
    distance: float | None = None
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    erp: float | None = None
    cfm: float | None = None
    compliance: Compliance | None = None
    break_force: float | None = None
    break_torque: float | None = None
    spots: dict[str, Place] = field(default_factory=dict)

    def spot(self, key: str) -> Place:
        """Return a value's place; the joint's place if the value was not given."""
        return self.spots.get(key, self.place)


def attach(
    declared: Iterable[Declared],
    description: RobotDescription,
    findings: Findings,
    known: Iterable[ConstraintDescription] = (),
) -> tuple[ConstraintDescription, ...]:
    """
    Return the loop joints between a robot's existing links; note errors for the others.

    known: the robot's loop joints so far, whose names are taken.
    """
    taken = {crawler.name: crawler.line for crawler in description.crawlers}
    taken |= {joint.name: joint.line for joint in description.joints.values()}
    taken |= {constraint.name: constraint.line for constraint in known}
    # only a tree defines poses
    walkable = is_tree(description)
    kept = []
    for one in declared:
        if one.name in taken:
            line = taken[one.name]
            message = f'a joint with this name exists {f"in line {line}" if line else "already"}'
            findings.error('duplicate-name', one.place, message, 'name', one.name)
        elif one.name:
            taken[one.name] = one.place.line
        if not _links_exist(one, description, findings):
            continue
        constraint = _constraint(one, description, findings)
        if walkable:
            _check_links(one, constraint, description, findings)
            _check_axes(one, constraint, description, findings)
        kept.append(constraint)
    return tuple(kept)


def read_type(
    word: str, known: Mapping[str, ConstraintType], spot: Place, findings: Findings
) -> ConstraintType | None:
    """Return the type with a name; None, with an error noted, if the name is unknown."""
    kind = known.get(word)
    if kind is None:
        message = f'unknown; the types are {", ".join(known)}' if word else 'missing'
        findings.error('joint-type', spot, message, value=word)
    return kind


def unlimited(value: float) -> float:
    """Return infinity for the greatest numbers: formats without infinity write these."""
    return math.copysign(math.inf, value) if abs(value) > _GREATEST else value


def read_limits(values: Mapping[str, float], spot: Place, findings: Findings) -> JointLimits:
    """
    Return the limits from checked numbers, named like JointLimits' fields.

    A missing value means no limit. An effort or velocity of 0 means no limit too: files write 0
    for an unknown limit. A missing lower_effort is opposite to the effort.
    """
    given = {name: unlimited(value) for name, value in values.items()}
    limits = JointLimits(
        given.get('lower', -math.inf),
        given.get('upper', math.inf),
        given.get('effort') or math.inf,
        given.get('velocity') or math.inf,
        given.get('lower_effort'),
    )
    if limits.lower > limits.upper or limits.lower == math.inf or limits.upper == -math.inf:
        message = f'lower must be below upper, which is {limits.upper:g}'
        findings.error('lower-above-upper', spot, message, 'lower', f'{limits.lower:g}')
        return JointLimits()
    least, _ = limits.efforts
    if least > 0.0:
        message = 'must be at most 0'
        findings.error('out-of-range', spot, message, 'lower_effort', f'{least:g}')
        return JointLimits()
    return limits


def read_compliance(
    stiffness: object, damping: object, spot: Place, findings: Findings
) -> Compliance | None:
    """Return a compliance; None if none is given, or, with an error noted, if it is wrong."""
    if stiffness is None and damping is None:
        return None
    if stiffness is None:
        findings.error('missing-attribute', spot, 'missing', 'stiffness')
        return None
    try:
        return checked_compliance(stiffness, 0.0 if damping is None else damping, '')
    except InvalidValueError as err:
        findings.error('bad-value', spot, f'expected {err.expected}', err.quantity, f'{err.value}')
        return None


def direction(
    vector: Sequence[float], spot: Place, findings: Findings, written: str = '', warn: bool = True
) -> np.ndarray | None:
    """
    Return the unit vector along a vector; None, with an error noted, for a zero vector.

    written: the vector's text in the file, if known. warn: whether to warn of a length other
    than 1.
    """
    values = np.array(vector, dtype=float)
    text = written or ' '.join(f'{value:g}' for value in values)
    length = math.hypot(*values)
    if length == 0.0:
        findings.error('zero-axis', spot, 'has no direction', value=text)
        return None
    if warn and abs(length - 1.0) > NORM_TOLERANCE:
        message = f'of length {length:.6g}; normalised'
        findings.warning('not-normalised', spot, message, value=text)
    # scaling by a power of two is exact, and keeps the squares of tiny and huge numbers finite
    scaled = np.ldexp(values, -math.frexp(np.abs(values).max())[1])
    return read_only(scaled / math.hypot(*scaled))


def _links_exist(one: Declared, description: RobotDescription, findings: Findings) -> bool:
    good = True
    for key, name, known in (
        ('link1', one.link1, list(description.links)),
        ('link2', one.link2, [*description.links, WORLD]),
    ):
        if name in known:
            continue
        good = False
        # the reader has reported a missing name already
        if name:
            spot = one.spot(key)
            message = unknown('link', name, known)
            if name == WORLD:
                message = 'the world can only be the second link'
            findings.error('unknown-link', spot, message, value=name)
    return good


def _constraint(
    one: Declared, description: RobotDescription, findings: Findings
) -> ConstraintDescription:
    """Return the loop joint; report values missing or not allowed for its type."""
    kind = one.type
    for key, types, code in (
        ('axis', WITH_AXIS, 'missing-tag'),
        ('axis2', WITH_AXIS2, 'missing-tag'),
        ('distance', (ConstraintType.DISTANCE,), ''),
        ('limits', WITH_LIMITS, ''),
        ('dynamics', WITH_DYNAMICS, ''),
    ):
        spot = one.spot(key)
        if kind not in types and key in one.spots:
            message = f'has no meaning for a {kind.value} joint, ignored'
            findings.warning('ignored-tag', spot, message)
        elif kind in types and key not in one.spots and code:
            message = f'missing; a {kind.value} joint needs one'
            findings.error(code, one.place.child(key, one.place.line), message)
    if kind is ConstraintType.DISTANCE and one.positions[1] is None:
        message = 'has no anchor: a distance joint needs one on each link'
        spot = one.spot('link2')
        findings.error('one-anchor', spot, message, value=one.link2)
    if one.erp is not None and one.erp > 1.0:
        spot = one.spot('compliance')
        findings.error('out-of-range', spot, 'must be at most 1', 'erp', f'{one.erp:g}')
    if one.compliance is not None and (one.erp is not None or one.cfm is not None):
        message = 'stiffness and damping are given too; keep one'
        findings.error('two-compliances', one.spot('compliance'), message, 'erp')
    turns = [np.eye(3) if turn is None else turn for turn in one.rotations]
    is_turned = any(turn is not None for turn in one.rotations)
    axes = [
        None if axis is None or kind not in types else read_only(turn @ axis)
        for axis, turn, types in zip(one.axes, turns, (WITH_AXIS, WITH_AXIS2), strict=True)
    ]
    normal = None
    if one.compliance is not None and kind not in WITH_AXIS2:
        axes[0], normal = _axes_of_compliance(turns[0], axes[0])
    first, second = one.positions
    return ConstraintDescription(
        name=one.name,
        type=kind,
        link1=one.link1,
        link2=one.link2 if one.link2 in description.links else '',
        position1=read_only(np.zeros(3) if first is None else first),
        position2=None if second is None else read_only(second),
        axis=axes[0],
        axis2=axes[1],
        rotation=read_only(turns[0] @ turns[1].T) if is_turned else None,
        distance=one.distance if kind is ConstraintType.DISTANCE else None,
        limits=one.limits if kind in WITH_LIMITS else JointLimits(),
        dynamics=one.dynamics if kind in WITH_DYNAMICS else JointDynamics(),
        erp=one.erp,
        cfm=one.cfm,
        compliance=one.compliance,
        toughness=_toughness(one),
        normal=normal,
        line=one.place.line,
    )


def _toughness(one: Declared) -> tuple[float, float] | None:
    """Return a joint's breaking force and torque; None if it is unbreakable."""
    force, torque = (
        math.inf if value is None else value for value in (one.break_force, one.break_torque)
    )
    return (force, torque) if math.isfinite(min(force, torque)) else None


def _axes_of_compliance(
    turn: np.ndarray, axis: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return z and x of a joint's frame on its first link, turned to z = axis if there is one."""
    z = read_only(turn[:, 2]) if axis is None else axis
    x, y = turn[:, 0], turn[:, 1]
    toward = x if np.linalg.norm(np.cross(x, z)) > _PARALLEL else y
    across = toward - (toward @ z) * z
    return z, read_only(across / np.linalg.norm(across))


def _check_links(
    one: Declared,
    constraint: ConstraintDescription,
    description: RobotDescription,
    findings: Findings,
) -> None:
    """Report a joint between two links that are fixed to each other."""
    spot, groups = one.spot('link2'), rigid_groups(description)
    if constraint.link1 == constraint.link2:
        message = 'both links are the same: a joint connects two'
        findings.error('same-link', spot, message, value=one.link2)
    elif groups[constraint.link1] == groups[constraint.link2]:
        message = f'is fixed to {constraint.link1!r} already: nothing moves between them'
        findings.error('same-body', spot, message, value=one.link2)


def _check_axes(
    one: Declared,
    constraint: ConstraintDescription,
    description: RobotDescription,
    findings: Findings,
) -> None:
    """Report parallel axes in a universal or hinge-2 joint."""
    if constraint.axis is None or constraint.axis2 is None:
        return
    spot, turn = one.spot('axis2'), constraint.rotation
    if turn is None:
        poses = link_poses(description)
        second = poses[constraint.link2].rotation if constraint.link2 else np.eye(3)
        turn = poses[constraint.link1].rotation.T @ second
    other = turn @ constraint.axis2
    if np.linalg.norm(np.cross(constraint.axis, other)) < _PARALLEL:
        message = 'parallel to the first axis with all joints at 0'
        findings.error('parallel-axes', spot, message)
    elif constraint.type is ConstraintType.UNIVERSAL:
        cosine = float(constraint.axis @ other)
        if abs(cosine) > _RIGHT_ANGLE:
            angle = math.degrees(math.acos(cosine))
            message = f'{angle:.3g}, not 90 degrees from the first axis with all joints at 0'
            findings.warning('not-perpendicular', spot, message)
