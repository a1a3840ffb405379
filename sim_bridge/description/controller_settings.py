"""
Settings of ros2_control's controllers, as plain data: one record per kind.

Names and defaults are those of ros2_controllers for Jazzy. Command interfaces have the form
`joint/quantity`, with the quantity position, velocity or effort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from types import MappingProxyType
from typing import Any

POSITION, VELOCITY, EFFORT = 'position', 'velocity', 'effort'
QUANTITIES = (POSITION, VELOCITY, EFFORT)


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class PidGains:
    """
    Gains of a PID law.

    p, i, d: per error, per integrated error [1/s], per error rate [s]. i_min, i_max: limits of the
    integral term. u_min, u_max: limits of the output. feedforward: per reference (pid_controller)
    or per desired velocity (joint_trajectory_controller); None if the file gives none.
    wraps: whether errors are angles, taken the shorter way.
    """

    p: float = 0.0
    i: float = 0.0
    d: float = 0.0
    i_min: float = -math.inf
    i_max: float = math.inf
    u_min: float = -math.inf
    u_max: float = math.inf
    feedforward: float | None = None
    wraps: bool = False


@dataclass(frozen=True)
class TrajectorySettings:
    """
    Settings of a joint_trajectory_controller.

    joints: names. command_interfaces: quantities for each joint. tolerances: by joint, along the
    way and at the goal [rad or m]. goal_time: [s]; 0 for no limit. stopped_velocity: at the goal
    [rad/s or m/s]. gains: by joint. monitor_rate: feedback rate [Hz]. state_rate: rate of the
    state topic [Hz]; 0 for the manager's rate. allows_part, allows_moving_end: goals accepted.
    interpolates: False for jumps to the next point. decelerations: by joint,
    for canceled trajectories [rad/s² or m/s²]; empty to stop at once. speed: initial factor of the
    time in trajectories; None if it cannot be scaled.
    """

    joints: tuple[str, ...]
    command_interfaces: tuple[str, ...]
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=_nothing)
    goal_time: float = 0.0
    stopped_velocity: float = 0.01
    gains: Mapping[str, PidGains] = field(default_factory=_nothing)
    monitor_rate: float = 20.0
    state_rate: float = 0.0
    allows_part: bool = False
    allows_moving_end: bool = False
    interpolates: bool = True
    decelerations: Mapping[str, float] = field(default_factory=_nothing)
    speed: float | None = 1.0

    @property
    def claims(self) -> tuple[str, ...]:
        """Command interfaces."""
        return tuple(
            f'{joint}/{each}' for joint in self.joints for each in self.command_interfaces
        )


@dataclass(frozen=True)
class ForwardSettings:
    """
    Settings of a forward_command_controller, and of the joint group controllers.

    targets: joint and quantity for each number of a message, in order.
    """

    targets: tuple[tuple[str, str], ...]

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names, each once."""
        return tuple(dict.fromkeys(joint for joint, _ in self.targets))

    @property
    def claims(self) -> tuple[str, ...]:
        """Command interfaces."""
        return tuple(f'{joint}/{quantity}' for joint, quantity in self.targets)


@dataclass(frozen=True)
class GripperSettings:
    """
    Settings of a gripper_action_controller or a parallel_gripper_action_controller.

    joint: name. quantity: 'position', or 'effort' for a PID law. goal_tolerance: [rad or m].
    max_effort: effort for holding [N m or N]. allows_stalling: whether a stalled goal succeeds.
    stall_velocity: speed below which the gripper stands [rad/s or m/s]. stall_timeout: time at
    rest until a goal ends [s]. monitor_rate: feedback rate [Hz]. is_parallel: whether goals are
    ParallelGripperCommand.
    """

    joint: str
    quantity: str = POSITION
    gains: PidGains = PidGains()
    goal_tolerance: float = 0.01
    max_effort: float = 0.0
    allows_stalling: bool = False
    stall_velocity: float = 0.001
    stall_timeout: float = 1.0
    monitor_rate: float = 20.0
    is_parallel: bool = False

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names."""
        return (self.joint,)

    @property
    def claims(self) -> tuple[str, ...]:
        """Command interfaces."""
        return (f'{self.joint}/{self.quantity}',)


@dataclass(frozen=True)
class PidSettings:
    """
    Settings of a pid_controller.

    joints: commanded joints. sources: joints whose state is controlled, in the same order.
    command: commanded quantity. reference: controlled quantity. has_rate: whether references have
    rates. gains: by commanded joint. is_measured_outside: whether states come from a topic.
    """

    joints: tuple[str, ...]
    sources: tuple[str, ...]
    command: str
    reference: str
    has_rate: bool = False
    gains: Mapping[str, PidGains] = field(default_factory=_nothing)
    is_measured_outside: bool = False
    uses_feedforward: bool = False

    @property
    def claims(self) -> tuple[str, ...]:
        """Command interfaces."""
        return tuple(f'{joint}/{self.command}' for joint in self.joints)


@dataclass(frozen=True)
class JointStateSettings:
    """
    Settings of a joint_state_broadcaster.

    is_local: whether its topics are below its name. states: joints with their quantities; () for
    all joints and quantities. has_dynamic: whether it publishes dynamic_joint_states.
    """

    is_local: bool = False
    states: tuple[tuple[str, tuple[str, ...]], ...] = ()
    has_dynamic: bool = True

    joints = claims = ()


@dataclass(frozen=True)
class SensorBroadcasterSettings:
    """
    Settings for an IMU, force-torque or GPS sensor broadcaster.

    sensor: sensor name. frame_id: frame of the messages, '' for the sensor's.
    """

    sensor: str
    frame_id: str = ''

    joints = claims = ()


ControllerSettings = (
    TrajectorySettings
    | ForwardSettings
    | GripperSettings
    | PidSettings
    | JointStateSettings
    | SensorBroadcasterSettings
)
