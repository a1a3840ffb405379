"""Velocity control for a multicopter, by twists (gz-sim's MulticopterVelocityControl)."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

from geometry_msgs.msg import Twist
import numpy as np
from std_msgs.msg import Bool

from sim_bridge.description.plugin_inputs import FlightInput, RotorInput
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.laws.multicopter import MulticopterVelocity, RotorPlace
from sim_bridge.ros.command.command_table import VELOCITY
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.programs import Topic
from sim_bridge.ros.wire.cdr import deserialize

if TYPE_CHECKING:
    from sim_bridge.foundation.arrays import FloatArray
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.inputs import Message

_GREATEST = 1e6  # greater commands are mistakes [m/s, rad/s]


class SavedFlight(NamedTuple):
    """Flight state. command: velocity and yaw rate, None before the first."""

    is_enabled: bool
    command: tuple[FloatArray, float] | None


class Flight:
    """One multicopter's velocity control; it turns the rotors at each control step."""

    def __init__(
        self, entry: FlightInput, robot: Robot, commands: RobotCommands, prefix: str
    ) -> None:
        """
        Prepare to take twists; the vehicle is as in its present configuration.

        prefix: for the topics, '' or ending with a slash.
        """
        self._entry, self._robot, self._commands = entry, robot, commands
        description = robot.description
        self._rotors = [each for each in description.inputs if isinstance(each, RotorInput)]
        self.targets = JointTargets(robot, commands, [each.joint for each in self._rotors])
        self._link = robot.link(entry.link)
        self._law = _law_of(entry, robot)
        self._is_enabled = True
        self._command: tuple[FloatArray, float] | None = None
        self.topics = [
            Topic(prefix + entry.topic, Twist, self._take),
            Topic(prefix + entry.enable_topic, Bool, self._switch),
        ]

    def advance(self) -> None:
        """Set the rotor speeds for the next control step."""
        if self._command is None or not self._is_enabled or not self.targets.is_active:
            return
        link = self._link
        speeds = self._law.speeds(
            link.R, link.v, link.R.T @ link.w, self._gravity(), self._command
        )
        self._turn(speeds.tolist())

    def save(self) -> SavedFlight:
        """Return the state for `restore`."""
        return SavedFlight(self._is_enabled, self._command)

    def restore(self, saved: SavedFlight) -> None:
        """Return to a saved state."""
        self._is_enabled, self._command = saved

    def restart(self) -> None:
        """Wait for a twist."""
        self._is_enabled, self._command = True, None

    def _gravity(self) -> FloatArray:
        gravity = self._robot.world.gravity
        return gravity if isinstance(gravity, np.ndarray) else np.array([0.0, 0.0, -9.81])

    def _turn(self, speeds: list[float]) -> None:
        for each, column in zip(self._rotors, self.targets.columns.tolist(), strict=True):
            if each.number < len(speeds):
                speed = min(speeds[each.number], each.limit) * each.factor
                self.targets.set(VELOCITY, column, speed)

    def _take(self, data: bytes, source: Message) -> None:
        """Follow a twist; raises InvalidValueError."""
        twist = deserialize(data, Twist)
        given = (twist.linear.x, twist.linear.y, twist.linear.z, twist.angular.z)
        if not all(math.isfinite(each) and abs(each) <= _GREATEST for each in given):
            self._commands.counts.rejected += 1
            expected = f'finite numbers [m/s, rad/s], at most {_GREATEST:g}'
            raise InvalidValueError('linear, angular z', given, expected, self._entry.topic)
        most = np.array([*self._entry.max_velocity, self._entry.max_yaw_rate])
        within = np.clip(given, -most, most)

        def obey() -> None:
            self._command = within[:3], float(within[3])
            if self._is_enabled:
                self.targets.start()

        self._submit(obey, source)

    def _switch(self, data: bytes, source: Message) -> None:
        """Switch the control on or off; off stops the rotors and drops the twist."""
        is_on = bool(deserialize(data, Bool).data)

        def obey() -> None:
            self._is_enabled = is_on
            if not is_on:
                self._command = None
                if self.targets.is_active:
                    self._turn([0.0] * (1 + max(each.number for each in self._rotors)))

        self._submit(obey, source)

    def _submit(self, obey: object, source: Message) -> None:
        assert callable(obey)
        self._commands.queue.submit(obey, source, dropped=_drop)
        self._commands.timing.arrived(0)
        self._commands.counts.accepted += 1


def _law_of(entry: FlightInput, robot: Robot) -> MulticopterVelocity:
    """Return the control law for a vehicle in its present configuration."""
    base = robot.link(entry.link)
    links = [link for link in robot.links if link.m > 0.0]
    mass = sum(link.m for link in links)
    center = sum(link.m * link.c for link in links) / mass
    inertia = np.zeros((3, 3))
    for link in links:
        arm = link.c - center
        inertia += link.R @ link.slot.inertia @ link.R.T
        inertia += link.m * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
    rotors = []
    for each in entry.rotors:
        joint = robot.description.joints[each.joint]
        child = robot.link(joint.child)
        x, y, _ = base.R.T @ (child.p - base.p)
        share = (base.R.T @ child.R @ joint.axis)[2]
        rotors.append(
            RotorPlace((x, y), each.thrust_constant * share, each.moment_constant, each.direction)
        )
    gains = (entry.velocity_gain, entry.attitude_gain, entry.rate_gain, entry.max_acceleration)
    return MulticopterVelocity(
        tuple(rotors), mass, base.R.T @ inertia @ base.R, *map(np.array, gains)
    )


def _drop() -> None:
    """Write nothing."""
