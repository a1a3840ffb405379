"""A robot's initial joint positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_bridge.description.model import JointType
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.robot import Robot


def checked_positions(joint_positions: object) -> Mapping[str, float]:
    """Return joint positions by name; raise InvalidValueError unless given a mapping."""
    if not isinstance(joint_positions, Mapping):
        raise InvalidValueError(
            'joint_positions', joint_positions, 'a mapping of names of joints to positions'
        )
    return joint_positions


def put_at_start(
    robot: Robot, joint_positions: Mapping[str, Any], *, of_any_type: bool = False
) -> None:
    """
    Set every joint to 0 or the stop nearest to 0, and mimic joints to their law.

    joint_positions: other positions by joint name [rad or m]. of_any_type: accept any joint
    type, with vectors as positions; otherwise only one-axis joints. Raises UnknownNameError for
    other names, InvalidValueError for values that are not finite.
    """
    known = [joint.name for joint in robot.joints] if of_any_type else robot.joint_names
    for name in joint_positions:
        if name not in known:
            kind = 'joint' if of_any_type else 'one-axis joint'
            raise UnknownNameError(kind, name, known, f'robot {robot.name!r}')
    for joint in robot.joints:
        for axis in joint.axes:
            if axis.lower <= axis.upper:
                axis.q = min(max(0.0, axis.lower), axis.upper)
        if joint.name in joint_positions:
            joint.q = joint_positions[joint.name]
    of_name = {joint.name: joint for joint in robot.joints}
    for name in robot.joint_names:
        law = of_name[name].mimic
        if law is not None:
            of_name[name].q = law.position(float(of_name[law.joint].q))
    for joint in robot.joints:
        if joint.type is JointType.FLOATING:
            joint.q = [*joint.anchor, *quaternion_from_matrix(joint.rotation)]
