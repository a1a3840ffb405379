"""
Trajectory controllers of a robot: their joints and settings.

They come from the robot's controller files and from the parameter block `trajectory_controllers`,
which replaces controllers of the same name. Without any there is one for all joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim_bridge.description.controller_settings import PidGains, TrajectorySettings
from sim_bridge.description.ros2_control import ControllerManagerDescription
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.command.controller_states import DeclaredController
from sim_bridge.ros.params.trajectory_controllers import BLOCK, controller_values, ControllerValues
from sim_bridge.trajectory.gains import Gains
from sim_bridge.trajectory.tolerances import POSITION, Tolerances, VELOCITY

DEFAULT_CONTROLLER = 'joint_trajectory_controller'
_NO_MANAGER = ControllerManagerDescription()


@dataclass(frozen=True)
class TrajectoryController:
    """
    A named trajectory controller for joints of a robot.

    joints: names. tolerances: for these joints, in order. gains: by joint. monitor_rate: feedback
    rate [Hz]. allows_part: whether a trajectory may name only some of the joints.
    allows_moving_end: whether a trajectory may end with a velocity. interpolates: False for jumps
    to the next point. state_rate: rate of the state topic [Hz], 0 for every control step.
    quantities: commanded quantities; () for those of the joints' control modes. manager: names the
    topics. decelerations: joint by joint, for a canceled trajectory; () to stop at once. speed:
    initial factor of the time in trajectories; None if it cannot be scaled.
    """

    name: str
    joints: tuple[str, ...]
    tolerances: Tolerances
    gains: Mapping[str, Gains] = field(default_factory=dict)
    monitor_rate: float = 20.0
    allows_part: bool = True
    allows_moving_end: bool = False
    interpolates: bool = True
    state_rate: float = 0.0
    quantities: tuple[str, ...] = ()
    manager: ControllerManagerDescription = _NO_MANAGER
    decelerations: tuple[float, ...] = ()
    speed: float | None = None

    def topic(self, name: str) -> str:
        """Return the name of one of its topics, relative to the robot's."""
        return self.manager.topic(f'{self.name}/{name}')


def controllers_of(
    block: Mapping[str, Any],
    joints: Sequence[str],
    all_joints: Sequence[str],
    declared: Sequence[DeclaredController] = (),
) -> list[TrajectoryController]:
    """
    Return a robot's controllers.

    block: parameter value. joints: joints of the robot allowed in trajectories. all_joints: joints
    of all robots; a controller for another robot's joints is skipped. declared: controllers of the
    robot's files. Raises InvalidValueError or UnknownNameError, naming the parameter.
    """
    own = [_of_file(each) for each in declared if isinstance(each.settings, TrajectorySettings)]
    own = [each for each in own if each.name not in block and set(each.joints) <= set(joints)]
    if own and not block:
        return own
    claimed = {joint for each in declared for joint in each.joints}
    free = [joint for joint in joints if block or joint not in claimed]
    return [*own, *_of_block(block or {DEFAULT_CONTROLLER: {}}, free, all_joints)]


def _of_block(
    block: Mapping[str, Any], joints: Sequence[str], all_joints: Sequence[str]
) -> list[TrajectoryController]:
    """Return the controllers of the parameter block."""
    found = []
    owners: dict[str, str] = {}
    for name, values in controller_values(block).items():
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


def _of_file(declared: DeclaredController) -> TrajectoryController:
    """Return the controller with the settings of a file."""
    settings = declared.settings
    assert isinstance(settings, TrajectorySettings)
    path, goal = np.zeros((3, len(settings.joints))), np.zeros((3, len(settings.joints)))
    goal[VELOCITY] = settings.stopped_velocity
    for column, joint in enumerate(settings.joints):
        path[POSITION, column], goal[POSITION, column] = settings.tolerances.get(joint, (0.0, 0.0))
    return TrajectoryController(
        declared.name,
        settings.joints,
        Tolerances(path, goal, settings.goal_time),
        {joint: gains_of(each) for joint, each in settings.gains.items()},
        settings.monitor_rate,
        settings.allows_part,
        settings.allows_moving_end,
        settings.interpolates,
        settings.state_rate or declared.manager.update_rate,
        settings.command_interfaces,
        declared.manager,
        tuple(settings.decelerations[joint] for joint in settings.joints)
        if settings.decelerations
        else (),
        settings.speed,
    )


def gains_of(given: PidGains) -> Gains:
    """Return the gains of a controller file for the trajectory follower."""
    return Gains(
        given.p,
        given.i,
        given.d,
        given.i_max,
        given.feedforward or 0.0,
        given.i_min,
        given.u_min,
        given.u_max,
    )


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
