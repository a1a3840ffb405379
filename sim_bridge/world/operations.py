"""The prepared dynamics of a robot, kept as long as its arrays stay where they are."""

from __future__ import annotations

from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import instance_of
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.robot_dynamics import RobotDynamics


def operations_of(robot: Robot) -> RobotDynamics:
    """Return the prepared operations of a robot; raises InvalidValueError for anything else."""
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
    """Return the operations where gravity counts; raises StateError if it is a function."""
    operations = operations_of(robot)
    if operations.simulation.registry.fields.gravity is not None:
        raise StateError(
            f'robot {robot.name!r}: dynamics are those in a gravity that is a vector or a '
            'PointGravity; that of its world is a function'
        )
    return operations
