"""Mates as tree joints and as loop joints."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import cast

import numpy as np

from sim_bridge.description.compliance import Compliance
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointType,
    Pose,
)
from sim_bridge.description.openplx.assembly import Mate, Side
from sim_bridge.description.openplx.mapping.laws import damping_of, is_default, stiffness_of
from sim_bridge.description.openplx.mapping.records import AxisSettings
from sim_bridge.description.openplx.mapping.strength import Strength
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings
from sim_bridge.foundation.rotation import quaternion_from_matrix

_TREE_TYPES = {
    'lock': JointType.FIXED,
    'hinge': JointType.REVOLUTE,
    'prismatic': JointType.PRISMATIC,
    'cylindrical': JointType.PISTON,
    'ball': JointType.BALL,
}
_LOOP_TYPES = {
    'lock': ConstraintType.FIXED,
    'hinge': ConstraintType.HINGE,
    'prismatic': ConstraintType.SLIDER,
    'cylindrical': ConstraintType.PISTON,
    'ball': ConstraintType.BALL,
    'distance': ConstraintType.DISTANCE,
}
# directions in a Compliance by their names in mates: x is the normal, z the main axis
DIRECTIONS = (
    'along_normal',
    'along_cross',
    'along_main',
    'around_normal',
    'around_cross',
    'around_main',
)
# indices of the directions constrained by each kind of mate
HELD = {
    'lock': (0, 1, 2, 3, 4, 5),
    'hinge': (0, 1, 2, 3, 4),
    'prismatic': (0, 1, 3, 4, 5),
    'cylindrical': (0, 1, 3, 4),
    'ball': (0, 1, 2),
    'distance': (0,),
}
_Z = np.array([0.0, 0.0, 1.0])


def directions_of(mate: Object) -> tuple[str, ...]:
    """
    Return the member names for a mate's six directions.

    They are DIRECTIONS, except that the first one is `along_distance` in a distance mate.
    """
    is_distance = mate.is_a('Physics3D.Interactions.Distance')
    return ('along_distance' if is_distance else DIRECTIONS[0], *DIRECTIONS[1:])


def compliance_of(mate: Object, findings: Findings) -> Compliance | None:
    """Return a mate's compliance; None if it is rigid in all directions."""
    flexibility, dissipation = mate['flexibility'], mate['dissipation']
    assert isinstance(flexibility, Object) and isinstance(dissipation, Object)
    stiffness, damping = [], []
    for name in directions_of(mate):
        law = dissipation.members.get(name)
        stiffness.append(stiffness_of(flexibility.members.get(name)))
        if stiffness[-1] < 0.0:
            findings.error(
                'out-of-range',
                flexibility.place_of(name),
                'must be at least 0',
                'stiffness',
                f'{stiffness[-1]:g}',
            )
            stiffness[-1] = math.inf
        damping.append(damping_of(law, stiffness[-1], findings))
        if math.isinf(stiffness[-1]) and not is_default(law):
            findings.warning(
                'no-effect', dissipation.place_of(name), f'damps nothing: {name} is rigid', name
            )
    own = Compliance(tuple(stiffness), tuple(damping))
    return own if own.yields else None


def tree_joint(
    mate: Mate,
    by_second: bool,
    name: str,
    links: Mapping[str, str],
    axes: tuple[AxisSettings, ...],
) -> tuple[JointDescription, tuple[float, ...]]:
    """
    Return a mate as a tree joint, with its initial coordinates.

    by_second: whether the second side is the child. The coordinates describe the second connector
    in the first, whichever is the child. links: link names by body path.
    """
    parent, child = mate.sides if by_second else mate.sides[::-1]
    sign = 1.0 if by_second else -1.0
    kind = _TREE_TYPES[mate.kind]
    first = axes[0] if axes else AxisSettings()
    last = axes[-1] if len(axes) > 1 else AxisSettings()
    if (
        kind is JointType.REVOLUTE
        and math.isinf(first.limits.lower)
        and math.isinf(first.limits.upper)
    ):
        kind = JointType.CONTINUOUS
    joint = JointDescription(
        name,
        kind,
        links[parent.body],
        links[child.body],
        parent.pose,
        sign * _Z,
        child.pose.inverse,
        first.limits,
        first.dynamics,
        limits2=last.limits,
        dynamics2=last.dynamics,
        line=mate.source.place.line,
    )
    positions: Mapping[str, tuple[float, ...]] = {
        'hinge': (mate.angle,),
        'prismatic': (mate.position,),
        'cylindrical': (mate.position, mate.angle),
    }
    if mate.kind == 'ball':
        relative = mate.relative if by_second else mate.relative.inverse
        return joint, tuple(quaternion_from_matrix(relative.rotation).tolist())
    return joint, positions.get(mate.kind, ())


def floating_joint(name: str, parent: str, child: str, pose: Pose, line: int) -> JointDescription:
    """Return a floating joint. pose: initial, in the parent's frame."""
    return JointDescription(name, JointType.FLOATING, parent, child, pose, _Z, line=line)


def loop_joint(
    mate: Mate,
    name: str,
    links: Mapping[str, str],
    axes: tuple[AxisSettings, ...],
    compliance: Compliance | None,
    strength: Strength,
) -> ConstraintDescription:
    """Return a mate as a loop joint; the world, unless it is a link, is the second link."""
    one, other, sign = _sides(mate, links)
    kind, distance = _LOOP_TYPES[mate.kind], None
    if mate.kind == 'distance':
        distance = cast(float, mate.source['target_distance'])
        if distance == 0.0:
            # a zero distance keeps the two points together
            kind, distance = ConstraintType.BALL, None
            strength = Strength((strength.toughness[2], *strength.toughness[1:]))
    has_axis = kind not in (ConstraintType.DISTANCE, ConstraintType.BALL, ConstraintType.FIXED)
    first = axes[0] if axes else AxisSettings()
    is_directed = compliance is not None or strength != Strength()
    return ConstraintDescription(
        name,
        kind,
        links[one.body],
        links.get(other.body, ''),
        one.pose.position,
        other.pose.position,
        sign * one.pose.rotation[:, 2] if has_axis or is_directed else None,
        rotation=one.pose.rotation @ other.pose.rotation.T,
        distance=distance,
        limits=first.limits,
        dynamics=first.dynamics,
        compliance=compliance,
        toughness=strength.toughness if strength.breaks else None,
        loose=frozenset(strength.plays),
        normal=one.pose.rotation[:, 0] if is_directed else None,
        line=mate.source.place.line,
    )


def play_joint(
    mate: Mate, name: str, links: Mapping[str, str], direction: int
) -> ConstraintDescription:
    """Return a joint without constraints along a mate direction, see DIRECTIONS."""
    one, other, sign = _sides(mate, links)
    is_linear, column = direction < 3, direction % 3
    kind = ConstraintType.SLIDER_MOTOR if is_linear else ConstraintType.TILT_MOTOR
    # a tilt is measured on the main axis, whatever the bodies' rotation about it
    toward = 0 if column == 2 else 2
    return ConstraintDescription(
        name,
        kind,
        links[one.body],
        links.get(other.body, ''),
        one.pose.position,
        other.pose.position,
        sign * one.pose.rotation[:, column],
        rotation=one.pose.rotation @ other.pose.rotation.T,
        normal=one.pose.rotation[:, toward],
        line=mate.source.place.line,
    )


def motor_joint(
    mate: Mate, name: str, links: Mapping[str, str], is_linear: bool
) -> ConstraintDescription:
    """Return a joint without constraints, for a further motor on a mate axis."""
    one, other, sign = _sides(mate, links)
    kind = ConstraintType.SLIDER_MOTOR if is_linear else ConstraintType.HINGE_MOTOR
    return ConstraintDescription(
        name,
        kind,
        links[one.body],
        links.get(other.body, ''),
        one.pose.position,
        other.pose.position,
        sign * one.pose.rotation[:, 2],
        rotation=one.pose.rotation @ other.pose.rotation.T,
        line=mate.source.place.line,
    )


def _sides(mate: Mate, links: Mapping[str, str]) -> tuple[Side, Side, float]:
    """Return a loop joint's sides, the first on a link, and the sign of z as its axis."""
    one, other = mate.sides
    return (one, other, 1.0) if one.body in links else (other, one, -1.0)
