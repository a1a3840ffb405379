"""Prepared dynamics operations for a robot, cached while its arrays stay in place."""

from __future__ import annotations

from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import instance_of
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.robot_dynamics import RobotDynamics


def operations_of(robot: Robot) -> RobotDynamics:
    """Return a robot's prepared operations; raise InvalidValueError otherwise."""
    try:
        operations = robot.slot.dynamics
    except AttributeError:
        instance_of('robot', robot, Robot, 'a robot of a world')
        raise
    if operations is None:
        instance_of('robot', robot, Robot, 'a robot of a world')
        operations = robot.slot.dynamics = RobotDynamics(robot.simulation, robot.slot)
    return operations


def weighed(robot: Robot) -> RobotDynamics:
    """Return operations that need gravity; raise StateError if gravity is a function."""
    operations = operations_of(robot)
    if operations.simulation.registry.fields.gravity is not None:
        raise StateError(
            f'robot {robot.name!r}: dynamics require a gravity that is a vector or a '
            'PointGravity; the gravity of the world is a function'
        )
    return operations
