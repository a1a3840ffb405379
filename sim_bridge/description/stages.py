"""
Joint stages: massless bodies between two links, each moving along or about one axis.

All axes of a joint go through the origin of the joint frame at position 0. Each axis moves with
the stages before it. The axes of a ball joint are an exception: they stay with the parent link.
"""

from __future__ import annotations

from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from sim_bridge.description.model import JointDescription, JointDynamics, JointLimits, JointType
from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.errors import InvalidValueError

_PARALLEL = 1e-6  # sine of the angle between two axes below which they count as parallel
_UNIT = 1e-6  # tolerance for the squared length of a unit axis


class JointStage(NamedTuple):
    """
    One velocity coordinate of a joint.

    kind: engine.REVOLUTE, PRISMATIC, BALL_STAGE or BALL. axis: (3,) unit vector in the joint frame
    at position 0. coordinate: index among the joint's coordinates.
    """

    kind: int
    axis: np.ndarray
    coordinate: int
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()


def stages_of(joint: JointDescription) -> tuple[JointStage, ...]:
    """
    Return a joint's stages, from the parent link to the child; none for FIXED and FLOATING.

    Raises InvalidValueError for an axis other than a unit vector, for an axis2 parallel to `axis`,
    and for limits, friction or a spring on a ball joint.
    """
    kind = joint.type
    if kind in (JointType.FIXED, JointType.FLOATING):
        return ()
    if kind is JointType.BALL:
        return _ball_stages(joint)
    axis = _unit('axis', joint.axis, joint, 'a unit vector (3,)')
    limits, dynamics = joint.limits, joint.dynamics
    limits2, dynamics2 = joint.limits2, joint.dynamics2
    if kind is JointType.PLANAR:
        along = axis_frame(axis)
        return (
            JointStage(engine.PRISMATIC, along[:, 0], 0),
            JointStage(engine.PRISMATIC, along[:, 1], 1),
            JointStage(engine.REVOLUTE, axis, 2),
        )
    if kind is JointType.PISTON:
        return (
            JointStage(engine.PRISMATIC, axis, 0, limits, dynamics),
            JointStage(engine.REVOLUTE, axis, 1, limits2, dynamics2),
        )
    if kind in (JointType.UNIVERSAL, JointType.HINGE2):
        turns = (
            JointStage(engine.REVOLUTE, axis, 0, limits, dynamics),
            JointStage(engine.REVOLUTE, _second_axis(joint), 1, limits2, dynamics2),
        )
        if joint.suspension is None:
            return turns
        return (JointStage(engine.PRISMATIC, axis, 2, dynamics=joint.suspension), *turns)
    if kind is JointType.PRISMATIC:
        return (JointStage(engine.PRISMATIC, axis, 0, limits, dynamics),)
    if kind is JointType.CONTINUOUS:
        limits = replace(limits, lower=-math.inf, upper=math.inf)
    return (JointStage(engine.REVOLUTE, axis, 0, limits, dynamics),)


def coordinate_counts(joint: JointDescription) -> tuple[int, int]:
    """Return a joint's numbers of position and velocity coordinates."""
    if joint.type is JointType.FLOATING:
        return 7, 6
    if joint.type is JointType.BALL:
        return 4, 3
    count = len(stages_of(joint))
    return count, count


def axis_frame(axis: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) turning z into the unit vector `axis`."""
    x, y, z = axis
    if z < 0.0:
        # half a turn first: the formula below loses all precision near z = -1
        return axis_frame(-axis) @ np.diag([1.0, -1.0, -1.0])
    v = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    rotation: np.ndarray = np.eye(3) + v + v @ v / (1.0 + z)
    return rotation


def _ball_stages(joint: JointDescription) -> tuple[JointStage, ...]:
    dynamics = joint.dynamics
    plain = JointDynamics(damping=dynamics.damping, armature=dynamics.armature)
    if dynamics != plain:
        raise InvalidValueError(
            'dynamics', dynamics, 'damping and armature only, for a ball joint', _place(joint)
        )
    if joint.limits != JointLimits():
        raise InvalidValueError('limits', joint.limits, 'none, for a ball joint', _place(joint))
    kinds = (engine.BALL_STAGE, engine.BALL_STAGE, engine.BALL)
    return tuple(
        JointStage(kind, axis, number, dynamics=plain)
        for number, (kind, axis) in enumerate(zip(kinds, np.eye(3), strict=True))
    )


def _second_axis(joint: JointDescription) -> np.ndarray:
    """Return the axis fixed on the child link."""
    expected = f'a unit vector (3,) that is not along axis, for a {joint.type.value} joint'
    axis2 = _unit('axis2', joint.axis2, joint, expected)
    if np.linalg.norm(np.cross(joint.axis, axis2)) < _PARALLEL:
        raise InvalidValueError('axis2', tuple(axis2.tolist()), expected, _place(joint))
    return axis2


def _unit(
    quantity: str, value: np.ndarray | None, joint: JointDescription, expected: str
) -> np.ndarray:
    # the comparison is false for nan, too
    if value is None or np.shape(value) != (3,) or not abs(value @ value - 1.0) < _UNIT:
        raise InvalidValueError(quantity, value, expected, _place(joint))
    return value


def _place(joint: JointDescription) -> str:
    return f'joint {joint.name!r}'
