"""
Messages for a robot's actuators.

Actuators exert no force before their first message, as joints are held before their first command:
a servo to 0 would otherwise act against joint commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from std_msgs.msg import Float64MultiArray

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.command.plugin_parts import Accept, Change

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot

TOPIC = 'actuator_controls'
"""Controls of all actuators, in the order of `Robot.actuators`."""


def accept_controls(robot: Robot, accept: Accept) -> None:
    """Let messages set the controls of a robot's actuators."""
    if not robot.actuators:
        return
    switch_off(robot)

    def prepare(message: Float64MultiArray) -> Change:
        controls = np.array(message.data, dtype=float)
        if len(controls) != len(robot.actuators) or not np.isfinite(controls).all():
            names = ', '.join(robot.actuators)
            expected = f'{len(robot.actuators)} finite numbers: {names}'
            raise InvalidValueError('data', list(message.data), expected, TOPIC)
        return lambda: _act(robot, controls)

    accept(TOPIC, Float64MultiArray, prepare)


def _act(robot: Robot, controls: np.ndarray) -> None:
    for actuator in robot.actuators.values():
        if actuator.description.bias != tuple(actuator.bias):
            actuator.bias = actuator.description.bias
    robot.controls = controls
    if robot.hold:
        robot.hold = False


def switch_off(robot: Robot) -> None:
    """Take all force from a robot's actuators until the next message."""
    for actuator in robot.actuators.values():
        if actuator.bias.any():
            actuator.bias = (0.0, 0.0, 0.0)
        if actuator.control:
            actuator.control = 0.0
