"""
Checks on the mass properties in a description.

Each link is checked against the conditions for any rigid body. The effect of an implausible value
depends on the whole tree: the equations of motion can be solved if and only if every joint moves
some inertia. The joints are therefore eliminated from the leaves to the root, as in
articulated-body dynamics, at joint positions 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_bridge.description.mechanism.tree import parents_first
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    JointType,
    LinkDescription,
    ONE_AXIS,
    Pose,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.stages import stages_of
from sim_bridge.engine.data import model as engine

LEAST_MASS = 1e-6
# kg m² for a revolute joint, kg for a prismatic one: armature of joints moving no inertia
STAND_IN_ARMATURE = 1e-6

_NO_INERTIA = 1e-15
_CANCELLED = 1e-10
_ROUNDING = 1e-9
_TRIANGLE_TOLERANCE = 1e-3
# m; a body with a smaller radius of gyration is a point
_POINT_RADIUS = 1e-6
_LARGEST_GYRATION = 10.0


def check_links(description: RobotDescription, findings: Findings) -> None:
    """Check each link's mass properties on its own."""
    moved_by = {joint.child: joint for joint in description.joints.values()}
    for link in description.links.values():
        place = Place('link', link.name, link.line)
        if link.inertial is not None:
            _check_inertial(link.inertial, place.child('inertial', link.inertial.line), findings)
        elif _should_have_mass(link, moved_by.get(link.name)):
            message = 'missing; the link has no mass'
            findings.warning('missing-inertial', place.child('inertial', link.line), message)


def _should_have_mass(link: LinkDescription, joint: JointDescription | None) -> bool:
    """Return whether a link is a body; a frame is the root or fixed, and has no shape."""
    if joint is None:
        return False
    return joint.type is not JointType.FIXED or bool(link.visuals or link.collisions)


def _check_inertial(inertial: Inertial, place: Place, findings: Findings) -> None:
    mass, principal = inertial.mass, np.linalg.eigvalsh(inertial.inertia)
    shown = ' '.join(f'{moment:.4g}' for moment in principal)
    if mass < 0.0:
        findings.error('negative-mass', place, 'must not be negative', 'mass', f'{mass:g}')
    elif mass == 0.0 and principal.any():
        message = 'no mass, but an inertia: impossible for a rigid body'
        findings.warning('zero-mass', place, message, 'mass', '0')
    elif 0.0 < mass < LEAST_MASS:
        message = f'under {LEAST_MASS:g} kg: too little to be a body of a robot'
        findings.warning('tiny-mass', place, message, 'mass', f'{mass:g}')

    inner = place.child('inertia', place.line)
    scale = float(np.abs(principal).max())
    if mass > 0.0 and scale <= mass * _POINT_RADIUS**2:
        findings.warning('zero-inertia', inner, 'zero: the link is a point mass')
    elif principal[0] < -_ROUNDING * scale:
        message = 'not positive definite: no rigid body has negative principal moments'
        findings.warning('inertia-not-positive', inner, message, value=shown)
    elif principal[2] - principal[0] - principal[1] > _TRIANGLE_TOLERANCE * scale:
        message = 'one principal moment exceeds the sum of the others: no rigid body does'
        findings.warning('inertia-triangle', inner, message, value=shown)
    elif mass > 0.0 and scale > mass * _LARGEST_GYRATION**2:
        message = f'its radius of gyration exceeds {_LARGEST_GYRATION:g} m'
        findings.warning('huge-inertia', inner, message, value=shown)


def check_joints(description: RobotDescription, findings: Findings) -> dict[str, JointDescription]:
    """
    Check that every joint moves inertia; return the joints, with armature added if necessary.

    A joint moving no inertia, such as a massless finger's joint, cannot be simulated. It gets
    a rotor inertia too small to affect anything else. A negative inertia along a joint is an
    error.
    """
    joints = dict(description.joints)
    articulated = {
        name: _spatial_inertia(link.inertial) for name, link in description.links.items()
    }
    rigid = {name: inertia.copy() for name, inertia in articulated.items()}
    for joint in reversed(parents_first(description)):
        subspace = motion_subspace(joint)
        inertia, whole = articulated[joint.child], rigid[joint.child]
        if subspace.shape[1]:
            seen = inertia @ subspace
            felt = subspace.T @ seen
            for number, stage in enumerate(stages_of(joint)):
                felt[number, number] += stage.dynamics.armature
            unreduced = subspace.T @ whole @ subspace
            felt, joints[joint.name] = _judge(joint, felt, unreduced, findings)
            inertia = inertia - seen @ np.linalg.solve(felt, seen.T)
        shift = _to_inner(joint.origin @ joint.child_pose)
        articulated[joint.parent] += shift.T @ inertia @ shift
        rigid[joint.parent] += shift.T @ whole @ shift
    return joints


def _judge(
    joint: JointDescription, felt: np.ndarray, unreduced: np.ndarray, findings: Findings
) -> tuple[np.ndarray, JointDescription]:
    """
    Report a joint that moves no or a negative inertia; return data that can be simulated.

    felt: (n, n) inertia along the joint's n axes. unreduced: the same with all joints after it
    locked. Returns an invertible inertia, and the joint, with an armature added if necessary.
    """
    place = Place('joint', joint.name, joint.line)
    least = float(np.linalg.eigvalsh(felt)[0])
    scale = float(np.abs(unreduced).max())
    rounding = max(_NO_INERTIA, _CANCELLED * scale)
    if least > rounding:
        return felt, joint
    usable = felt + (STAND_IN_ARMATURE - min(least, 0.0)) * np.eye(len(felt))
    if least < -rounding:
        message = f'moves a negative inertia ({least:.3g}) along its axis'
        findings.error('negative-inertia', place, message)
        # rounding would lose a small number beside a large negative one
        return felt - 2.0 * least * np.eye(len(felt)), joint
    if joint.type not in ONE_AXIS:
        findings.error(
            'no-inertia',
            place,
            f'a {joint.type.value} joint must move a body with mass and inertia',
        )
    else:
        why = (
            'moves no inertia'
            if scale <= _NO_INERTIA
            else 'moves no inertia along its axis, since the joints after it yield'
        )
        message = f'{why}; it gets an armature of {STAND_IN_ARMATURE:g}'
        findings.warning('no-inertia', place, message)
        armature = max(joint.dynamics.armature, STAND_IN_ARMATURE)
        return usable, replace(joint, dynamics=replace(joint.dynamics, armature=armature))
    return usable, joint


def _spatial_inertia(inertial: Inertial | None) -> np.ndarray:
    """Return the (6, 6) inertia about the link origin, in link axes, linear before angular."""
    spatial = np.zeros((6, 6))
    if inertial is None:
        return spatial
    rotation, arm = inertial.pose.rotation, _cross(inertial.pose.position)
    spatial[:3, :3] = inertial.mass * np.eye(3)
    spatial[:3, 3:] = -inertial.mass * arm
    spatial[3:, :3] = inertial.mass * arm
    spatial[3:, 3:] = rotation @ inertial.inertia @ rotation.T - inertial.mass * arm @ arm
    return spatial


def motion_subspace(joint: JointDescription) -> np.ndarray:
    """Return the (6, n) velocities of a joint's motions, linear before angular, child frame."""
    if joint.type is JointType.FLOATING:
        return _to_inner(joint.child_pose)
    stages = stages_of(joint)
    columns = np.zeros((6, len(stages)))
    for column, stage in zip(columns.T, stages, strict=True):
        column[:3] = stage.axis if stage.kind == engine.PRISMATIC else 0.0
        column[3:] = 0.0 if stage.kind == engine.PRISMATIC else stage.axis
    return _to_inner(joint.child_pose) @ columns


def _to_inner(frame: Pose) -> np.ndarray:
    """Return the (6, 6) map of velocities from a frame to `frame`, whose pose in it is given."""
    rotation, position = frame.rotation, frame.position
    shift = np.zeros((6, 6))
    shift[:3, :3] = shift[3:, 3:] = rotation.T
    shift[:3, 3:] = -rotation.T @ _cross(position)
    return shift


def _cross(vector: np.ndarray) -> np.ndarray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
