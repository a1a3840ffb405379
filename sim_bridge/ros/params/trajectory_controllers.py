"""Values of the parameter block `trajectory_controllers`, without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_table import checked, parameter
from sim_bridge.trajectory.gains import Gains

BLOCK = 'trajectory_controllers'


@dataclass(frozen=True)
class ControllerTable:
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
class Constraints:
    """Tolerances for all joints."""

    goal_time: float = parameter(0.0, 'Time to reach the goal', unit='s', low=0.0)
    stopped_velocity_tolerance: float = parameter(
        0.01, 'Velocity at the goal', unit='rad/s or m/s', low=0.0
    )


@dataclass(frozen=True)
class JointConstraints:
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
class ControllerValues:
    """
    Values of one controller.

    constraints: for all joints. of_joints, gains: by joint.
    """

    table: ControllerTable
    constraints: Constraints
    of_joints: Mapping[str, JointConstraints]
    gains: Mapping[str, Gains]

    @property
    def named_joints(self) -> list[str]:
        """Names of all joints in the values, perhaps repeated."""
        return [*self.table.joints, *self.of_joints, *self.gains]


def controller_values(block: Mapping[str, Any]) -> dict[str, ControllerValues]:
    """
    Return the values of all controllers, by name.

    block: parameter value. Joint names are not checked. Raises InvalidValueError or
    UnknownNameError, naming the parameter.
    """
    return {name: _values(f'{BLOCK}.{name}', values) for name, values in block.items()}


def _values(place: str, values: Any) -> ControllerValues:
    table = _read(ControllerTable, values, place)
    constraints, of_joints = _parted(table.constraints, f'{place}.constraints')
    return ControllerValues(
        table,
        constraints,
        of_joints,
        {joint: _gains(given, f'{place}.gains.{joint}') for joint, given in table.gains.items()},
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


def _parted(
    values: Mapping[str, Any], place: str
) -> tuple[Constraints, dict[str, JointConstraints]]:
    """Split a block into values for all joints and blocks for single joints."""
    blocks = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    rest = {name: value for name, value in values.items() if name not in blocks}
    return _read(Constraints, rest, place), {
        joint: _read(JointConstraints, given, f'{place}.{joint}')
        for joint, given in blocks.items()
    }


def _read(table: type, values: Any, place: str) -> Any:
    """Check a block; errors contain the full parameter names."""
    if not isinstance(values, Mapping):
        raise InvalidValueError(f'parameter {place!r}', values, 'a block of named values')
    return checked(table, values, f'{place}.')
