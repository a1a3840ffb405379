"""Shipped tasks, by their Gymnasium names without the prefix `sim_bridge/`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sim_bridge.gym.task import Task
from sim_bridge.gym.tasks.arm_reach import ArmReach
from sim_bridge.gym.tasks.double_pendulum import DoublePendulum
from sim_bridge.gym.tasks.pendulum import Pendulum
from sim_bridge.gym.tasks.quadruped_walk import QuadrupedWalk
from sim_bridge.gym.tasks.rover_goal import RoverGoal

TASKS: Mapping[str, type[Task]] = MappingProxyType(
    {
        'Pendulum-v1': Pendulum,
        'DoublePendulum-v1': DoublePendulum,
        'ArmReach-v1': ArmReach,
        'QuadrupedWalk-v1': QuadrupedWalk,
        'RoverGoal-v1': RoverGoal,
    }
)
