"""
Closed loops in a description: link poses, loop joint gaps, mobility.

All results are in the root link's frame. All joints are at 0 unless positions are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np

from sim_bridge.description.mechanism.inertia import motion_subspace
from sim_bridge.description.mechanism.tree import parents_first
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointType,
    ONE_AXIS,
    Pose,
    RobotDescription,
)
from sim_bridge.foundation.rotation import matrix_from_axis_angle

# rank tolerance of the loops' Jacobian: singular values below this share of the greatest are zero
_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Mobility:
    """
    Degrees of freedom in a mechanism with a fixed root link.

    freedoms: tree joint freedoms, except for followers of mimic joints. constraints: by the
    loop joints. independent: constraints not redundant with all joints at 0.
    """

    freedoms: int
    constraints: int
    independent: int

    @property
    def by_counting(self) -> int:
        """Grübler's count: freedoms less constraints, including redundant ones."""
        return self.freedoms - self.constraints

    @property
    def actual(self) -> int:
        """Mobility with all joints at 0."""
        return self.freedoms - self.independent


def link_poses(
    description: RobotDescription, positions: Mapping[str, float] | None = None
) -> dict[str, Pose]:
    """
    Return every link's pose in the root link's frame.

    positions: one-axis joint positions [rad or m], by name; the others are at 0.
    """
    positions = positions or {}
    poses = {description.root: Pose()}
    for joint in parents_first(description):
        parent = poses[joint.parent]
        moved = motion_of(joint, positions.get(joint.name, 0.0))
        position = joint.origin.position + joint.origin.rotation @ moved.position
        poses[joint.child] = (
            Pose(
                parent.position + parent.rotation @ position,
                parent.rotation @ joint.origin.rotation @ moved.rotation,
            )
            @ joint.child_pose
        )
    return poses


def rigid_groups(description: RobotDescription) -> dict[str, str]:
    """Return, by link, the first link of its rigid group; '' for links fixed to the world."""
    leader = {description.root: '' if description.fixed_base else description.root, '': ''}
    for joint in parents_first(description):
        is_fixed = joint.type is JointType.FIXED
        leader[joint.child] = leader[joint.parent] if is_fixed else joint.child
    return leader


def gap(constraint: ConstraintDescription, poses: Mapping[str, Pose]) -> float:
    """
    Return the distance between a loop joint's anchors [m] along its constrained directions.

    poses: link poses. The gap is 0 for a joint to the world, and if the first anchor defines the
    second.
    """
    if constraint.position2 is None or not constraint.link2:
        return 0.0
    first, second = _anchors(constraint, poses)
    if constraint.type is ConstraintType.DISTANCE:
        apart = math.dist(first, second)
        return 0.0 if constraint.distance is None else abs(apart - constraint.distance)
    linear, _ = _held_directions(constraint, poses)
    return float(np.linalg.norm(linear @ (second - first)))


def mobility(description: RobotDescription) -> Mobility:
    """Count the freedoms in a robot's tree and the constraints by its loop joints."""
    poses = link_poses(description)
    freedoms, jacobians = _jacobians(description, poses)
    rows = np.vstack(
        [
            np.zeros((0, freedoms)),
            *(_rows(constraint, poses, jacobians) for constraint in description.constraints),
        ]
    )
    values = np.linalg.svd(rows, compute_uv=False) if rows.size else np.zeros(1)
    independent = int(np.sum(values > _RANK_TOLERANCE * values.max())) if values.any() else 0
    return Mobility(freedoms, len(rows), independent)


def motion_of(joint: JointDescription, position: float) -> Pose:
    """Return the child link's pose in the joint frame at a joint position."""
    if joint.type is JointType.PRISMATIC:
        return Pose(joint.axis * position)
    if joint.type in ONE_AXIS:
        return Pose(rotation=matrix_from_axis_angle(joint.axis, position))
    return Pose()


def _anchors(
    constraint: ConstraintDescription, poses: Mapping[str, Pose]
) -> tuple[np.ndarray, np.ndarray]:
    """Return both anchors in the root frame; an unknown second anchor equals the first."""
    one = poses[constraint.link1]
    first = one.position + one.rotation @ constraint.position1
    if constraint.position2 is None or not constraint.link2:
        return first, first
    other = poses[constraint.link2]
    return first, other.position + other.rotation @ constraint.position2


def _held_directions(
    constraint: ConstraintDescription, poses: Mapping[str, Pose]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the constrained directions for link2 moving relative to link1, in the root's axes.

    (n, 3) for the anchor velocity and (m, 3) for the links' relative angular velocity.
    """
    kind, everything, nothing = constraint.type, np.eye(3), np.zeros((0, 3))
    if kind is ConstraintType.FIXED:
        return everything, everything
    if kind is ConstraintType.BALL:
        return everything, nothing
    if kind is ConstraintType.DISTANCE:
        first, second = _anchors(constraint, poses)
        return (second - first).reshape(1, 3), nothing
    assert constraint.axis is not None, f'a {kind.value} joint has an axis'
    axis = poses[constraint.link1].rotation @ constraint.axis
    if kind in (ConstraintType.UNIVERSAL, ConstraintType.HINGE2):
        assert constraint.axis2 is not None, f'a {kind.value} joint has a second axis'
        turn = poses[constraint.link2].rotation if constraint.link2 else np.eye(3)
        return everything, np.cross(axis, turn @ constraint.axis2).reshape(1, 3)
    # completes the axis to an orthonormal basis
    across = np.linalg.svd(axis.reshape(1, 3))[2][1:]
    return {
        ConstraintType.HINGE: (everything, across),
        ConstraintType.SLIDER: (across, everything),
        ConstraintType.PISTON: (across, across),
        ConstraintType.PLANAR: (axis.reshape(1, 3), across),
        ConstraintType.HINGE_MOTOR: (nothing, nothing),
        ConstraintType.SLIDER_MOTOR: (nothing, nothing),
        ConstraintType.TILT_MOTOR: (nothing, nothing),
    }[kind]


def _jacobians(
    description: RobotDescription, poses: Mapping[str, Pose]
) -> tuple[int, dict[str, np.ndarray]]:
    """
    Return the number of freedoms in the tree, and each link's Jacobian.

    (6, n) for every link, and for the world (''): velocity of its point at the root's origin,
    then its angular velocity, in the root's axes. Followers of mimic joints move with the joints
    they follow.
    """
    ordered = parents_first(description)
    begin, freedoms = {}, 0
    for joint in ordered:
        if joint.mimic is None:
            begin[joint.name] = freedoms
            freedoms += motion_subspace(joint).shape[1]
    still = np.zeros((6, freedoms))
    jacobians = {'': still, description.root: still}
    for joint in ordered:
        pose, subspace = poses[joint.child], motion_subspace(joint)
        linear, angular = pose.rotation @ subspace[:3], pose.rotation @ subspace[3:]
        linear = linear + np.cross(pose.position, angular, axisb=0, axisc=0)
        multiplier = 1.0 if joint.mimic is None else joint.mimic.multiplier
        first = begin[joint.name if joint.mimic is None else joint.mimic.joint]
        jacobian = jacobians[joint.parent].copy()
        columns = slice(first, first + subspace.shape[1])
        jacobian[:, columns] += multiplier * np.vstack([linear, angular])
        jacobians[joint.child] = jacobian
    return freedoms, jacobians


def _rows(
    constraint: ConstraintDescription,
    poses: Mapping[str, Pose],
    jacobians: Mapping[str, np.ndarray],
) -> np.ndarray:
    """Return a loop joint's constraint Jacobian (k, n)."""
    first, second = (
        (jacobian[:3] - np.cross(anchor, jacobian[3:], axisb=0, axisc=0), jacobian[3:])
        for jacobian, anchor in zip(
            (jacobians[constraint.link1], jacobians[constraint.link2]),
            _anchors(constraint, poses),
            strict=True,
        )
    )
    linear, angular = _held_directions(constraint, poses)
    return np.vstack([linear @ (second[0] - first[0]), angular @ (second[1] - first[1])])
