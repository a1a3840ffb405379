"""The parameter block `trajectory_controllers`: controllers, their joints and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.params.trajectory_controllers import BLOCK, controller_values, ControllerValues
from sim_bridge.trajectory.follower import Gains
from sim_bridge.trajectory.tolerances import POSITION, Tolerances, VELOCITY

DEFAULT_CONTROLLER = 'joint_trajectory_controller'


@dataclass(frozen=True)
class TrajectoryController:
    """
    A named trajectory controller for joints of a robot.

    joints: names. tolerances: for these joints, in order. gains: by joint. monitor_rate: feedback
    rate [Hz]. allows_part: whether a trajectory may name only some of the joints.
    allows_moving_end: whether a trajectory may end with a velocity.
    """

    name: str
    joints: tuple[str, ...]
    tolerances: Tolerances
    gains: Mapping[str, Gains] = field(default_factory=dict)
    monitor_rate: float = 20.0
    allows_part: bool = True
    allows_moving_end: bool = False


def controllers_of(
    block: Mapping[str, Any], joints: Sequence[str], all_joints: Sequence[str]
) -> list[TrajectoryController]:
    """
    Return a robot's controllers.

    block: parameter value. joints: joints of the robot allowed in trajectories. all_joints: joints
    of all robots; a controller for another robot's joints is skipped. Raises InvalidValueError or
    UnknownNameError, naming the parameter.
    """
    found = []
    owners: dict[str, str] = {}
    for name, values in controller_values(block or {DEFAULT_CONTROLLER: {}}).items():
        controller = _controller(name, values, joints, all_joints)
        if controller is None:
            continue
        for joint in controller.joints:
            if joint in owners:
                raise InvalidValueError(
                    f"parameter '{BLOCK}.{name}.joints'",
                    list(controller.joints),
                    f'joints of no other controller; {joint!r} belongs to {owners[joint]!r}',
                )
            owners[joint] = name
        found.append(controller)
    return found


def check_not_driven(block: Mapping[str, Any], driven: Mapping[str, str]) -> None:
    """
    Raise InvalidValueError if a trajectory controller names a drive's joint.

    block: parameter value. driven: drive names by joint.
    """
    for name, values in block.items():
        joints = values.get('joints', ()) if isinstance(values, Mapping) else ()
        for joint in joints if isinstance(joints, (list, tuple)) else ():
            if joint in driven:
                raise InvalidValueError(
                    f"parameter '{BLOCK}.{name}.joints'",
                    list(joints),
                    f'other joints; {joint!r} is driven by {driven[joint]!r}',
                )


def _controller(
    name: str, values: ControllerValues, joints: Sequence[str], all_joints: Sequence[str]
) -> TrajectoryController | None:
    """Return a controller; None if the robot lacks its joints."""
    table, constraints = values.table, values.constraints
    own = table.joints or tuple(joints)
    for joint in values.named_joints:
        if joint not in all_joints:
            raise UnknownNameError('joint', joint, all_joints, f"parameter '{BLOCK}.{name}'")
    if not set(own) <= set(joints) or not own:
        return None
    path, goal = np.zeros((3, len(own))), np.zeros((3, len(own)))
    goal[VELOCITY] = constraints.stopped_velocity_tolerance
    for joint, each in values.of_joints.items():
        if joint in own:
            path[POSITION, own.index(joint)] = each.trajectory
            goal[POSITION, own.index(joint)] = each.goal
    return TrajectoryController(
        name,
        own,
        Tolerances(path, goal, constraints.goal_time),
        {joint: gains for joint, gains in values.gains.items() if joint in own},
        table.action_monitor_rate,
        table.allow_partial_joints_goal,
        table.allow_nonzero_velocity_at_trajectory_end,
    )
