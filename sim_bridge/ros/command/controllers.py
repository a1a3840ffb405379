"""The parameter block `trajectory_controllers`: controllers, their joints and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math
from typing import Any

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.params.parameter_table import checked, parameter
from sim_bridge.trajectory.follower import Gains
from sim_bridge.trajectory.tolerances import POSITION, Tolerances, VELOCITY

DEFAULT_CONTROLLER = 'joint_trajectory_controller'

_BLOCK = 'trajectory_controllers'


@dataclass(frozen=True)
class _Table:
    """Parameters of one controller: the supported subset of ros2_control's."""

    joints: tuple[str, ...] = parameter((), 'Joints in its trajectories; [] for all')
    constraints: dict[str, Any] = parameter({}, 'Tolerances')
    gains: dict[str, Any] = parameter({}, 'Gains of joints driven by effort, or by velocity')
    action_monitor_rate: float = parameter(20.0, 'Rate of feedback', unit='Hz', low=0.1)
    allow_partial_joints_goal: bool = parameter(True, 'Accept trajectories for some joints only')
    allow_nonzero_velocity_at_trajectory_end: bool = parameter(
        False, 'Accept trajectories that end with a velocity'
    )


@dataclass(frozen=True)
class _Constraints:
    """Tolerances for all joints."""

    goal_time: float = parameter(0.0, 'Time to reach the goal', unit='s', low=0.0)
    stopped_velocity_tolerance: float = parameter(
        0.01, 'Velocity at the goal', unit='rad/s or m/s', low=0.0
    )


@dataclass(frozen=True)
class _JointConstraints:
    """Tolerances for one joint."""

    trajectory: float = parameter(0.0, 'Along the way', unit='rad or m', low=0.0)
    goal: float = parameter(0.0, 'At the end', unit='rad or m', low=0.0)


@dataclass(frozen=True)
class _JointGains:
    """Gains for one joint."""

    p: float = parameter(0.0, 'Gain of the position error')
    i: float = parameter(0.0, 'Gain of its integral')
    d: float = parameter(0.0, 'Gain of the velocity error')
    i_clamp: float = parameter(0.0, 'Limit of the integral term; 0: none', low=0.0)
    ff_velocity_scale: float = parameter(0.0, 'Gain of the desired velocity')


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
    for name, values in (block or {DEFAULT_CONTROLLER: {}}).items():
        controller = _controller(name, values, joints, all_joints)
        if controller is None:
            continue
        for joint in controller.joints:
            if joint in owners:
                raise InvalidValueError(
                    f"parameter '{_BLOCK}.{name}.joints'",
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
                    f"parameter '{_BLOCK}.{name}.joints'",
                    list(joints),
                    f'other joints; {joint!r} is driven by {driven[joint]!r}',
                )


def _controller(
    name: str, values: Any, joints: Sequence[str], all_joints: Sequence[str]
) -> TrajectoryController | None:
    """Return a controller; None if the robot lacks its joints."""
    place = f'{_BLOCK}.{name}'
    if not isinstance(values, Mapping):
        raise InvalidValueError(f'parameter {place!r}', values, 'a block of named values')
    table = _read(_Table, values, place)
    own = table.joints or tuple(joints)
    constraints, of_joints = _parted(table.constraints, _Constraints, f'{place}.constraints')
    for joint in [*table.joints, *of_joints, *table.gains]:
        if joint not in all_joints:
            raise UnknownNameError('joint', joint, all_joints, f"parameter '{place}'")
    if not set(own) <= set(joints) or not own:
        return None
    path, goal = np.zeros((3, len(own))), np.zeros((3, len(own)))
    goal[VELOCITY] = constraints.stopped_velocity_tolerance
    for joint, given in of_joints.items():
        if joint in own:
            each = _read(_JointConstraints, given, f'{place}.constraints.{joint}')
            path[POSITION, own.index(joint)] = each.trajectory
            goal[POSITION, own.index(joint)] = each.goal
    return TrajectoryController(
        name,
        own,
        Tolerances(path, goal, constraints.goal_time),
        {
            joint: _gains(given, f'{place}.gains.{joint}')
            for joint, given in table.gains.items()
            if joint in own
        },
        table.action_monitor_rate,
        table.allow_partial_joints_goal,
        table.allow_nonzero_velocity_at_trajectory_end,
    )


def _gains(values: Any, place: str) -> Gains:
    table = _read(_JointGains, values, place)
    return Gains(
        table.p,
        table.i,
        table.d,
        table.i_clamp or math.inf,
        table.ff_velocity_scale if 'ff_velocity_scale' in values else None,
    )


def _parted(values: Mapping[str, Any], table: type, place: str) -> tuple[Any, dict[str, Any]]:
    """Split a block into values for all joints and blocks for single joints."""
    blocks = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    rest = {name: value for name, value in values.items() if name not in blocks}
    return _read(table, rest, place), blocks


def _read(table: type, values: Any, place: str) -> Any:
    """Check a block; errors contain the full parameter names."""
    if not isinstance(values, Mapping):
        raise InvalidValueError(f'parameter {place!r}', values, 'a block of named values')
    return checked(table, values, f'{place}.')
