"""Writes checked commands to a robot's joint axes and crawlers."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import TYPE_CHECKING

from sim_bridge.robots.joints import motor
from sim_bridge.ros.command.command_table import EFFORT, POSITION, QUANTITIES, VELOCITY
from sim_bridge.ros.publish.axes import named_axes, running_crawlers

if TYPE_CHECKING:
    import numpy as np

    from sim_bridge.robots.joints.axis import Axis
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.command_queue import Gains


class CommandWriter:
    """
    A robot's commanded axes and crawlers.

    axes: by name, see `axes.named_axes`. crawlers: crawlers in use. Rows of commands are the axes,
    then the crawlers.
    """

    def __init__(self, robot: Robot) -> None:
        """Read a robot's axes, crawlers and current motor targets."""
        self._robot = robot
        self.axes = named_axes(robot)
        self.crawlers = running_crawlers(robot)
        # joints come first and take all commands in one call; other axes take them one by one
        self._joint_count = len(robot.joint_names)
        self._others = list(enumerate(self.axes.values()))[self._joint_count :]
        # motors in an OpenPLX scene keep running without commands
        self._scene = next(
            (scene for scene in robot.world.openplx.values() if robot.name in scene.record.robots),
            None,
        )
        self._scene_targets = [] if self._scene is not None else _moving_targets(self.axes)

    @property
    def is_of_scene(self) -> bool:
        """Whether the robot belongs to an OpenPLX scene; the scene drives it without commands."""
        return self._scene is not None

    def write(self, commands: Mapping[int, np.ndarray]) -> None:
        """Write new values, (n,) by quantity, to axes and crawlers; nan: no new value."""
        count = self._joint_count
        given = {QUANTITIES[quantity]: values[:count] for quantity, values in commands.items()}
        self._robot.set_commands(**given)
        for row, axis in self._others:
            for quantity, values in commands.items():
                if not math.isnan(values[row]):
                    _command(axis, quantity, values[row])
        if self.crawlers and VELOCITY in commands:
            speeds = commands[VELOCITY][len(self.axes) :]
            for crawler, speed in zip(self.crawlers, speeds, strict=True):
                if not math.isnan(speed):
                    crawler.speed = speed

    def drop(self) -> None:
        """Drop all axis commands, stop the crawlers, restart the scene's signals."""
        self._robot.drop_commands()
        for _, axis in self._others:
            axis.drop_command()
        for crawler in self.crawlers:
            crawler.speed = 0.0
        if self._scene is not None:
            self._scene.restart(self._robot.name)

    def restart(self) -> None:
        """Drop all commands, and set the motor targets from the scene file."""
        self.drop()
        for axis, control, quantity, target in self._scene_targets:
            if axis.control == control:
                _command(axis, quantity, target)

    def change_controls(self, changes: Mapping[str, Gains]) -> None:
        """Set control modes and gains by axis."""
        for name, (control, kp, kd) in changes.items():
            axis = self.axes[name]
            if (kp, kd) != (axis.kp, axis.kd):
                axis.kp, axis.kd = kp, kd
            if control != axis.control:
                axis.control = control


def _command(axis: Axis, quantity: int, value: float) -> None:
    """Set an effort or a target, both already checked."""
    if quantity == EFFORT:
        axis.u = value
    else:
        column = motor.POSITION if quantity == POSITION else motor.VELOCITY
        axis.write_target(column, value)


def _moving_targets(axes: Mapping[str, Axis]) -> list[tuple[Axis, str, int, float]]:
    """
    Return the motor targets set by a scene file, except motors at rest.

    Each item has axis, control mode, quantity and target. Starts and resets are not commands, and
    keep these targets.
    """
    found = []
    for axis in axes.values():
        if axis.control == 'velocity':
            quantity, target, rest = VELOCITY, axis.target_velocity, 0.0
        else:
            quantity, target, rest = POSITION, axis.target_position, axis.q
        if axis.control != 'effort' and target != rest:
            found.append((axis, axis.control, quantity, target))
    return found
