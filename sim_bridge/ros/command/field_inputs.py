"""Messages for force fields: currents around hulls, wind, bladders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import Vector3
from std_msgs.msg import Float64

from sim_bridge.description.force_fields import Wind
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.command.plugin_parts import Accept, Change
from sim_bridge.ros.command.programs import StateTopic

if TYPE_CHECKING:
    from sim_bridge.description.plugin_inputs import BuoyancyEngineInput, WindInput
    from sim_bridge.robots.robot import Robot

_FASTEST = 1e6  # greater velocities of water and air are mistakes [m/s]


def accept_current(topic: str, fields: Sequence[str], robot: Robot, accept: Accept) -> None:
    """Let messages set the water's velocity around hulls. fields: names in the world."""
    world = robot.world

    def prepare(message: Vector3) -> Change:
        current = _velocity(message, 'current', topic)

        def obey() -> None:
            for name in fields:
                known: Any = world.force_fields[name]
                world.set_force_field(name, replace(known, current=current))

        return obey

    accept(topic, Vector3, prepare)


def accept_wind(entry: WindInput, robot: Robot, prefix: str, accept: Accept) -> StateTopic:
    """Let messages set the wind; return the topic with its present velocity."""
    state = _WindState(entry, robot)

    def prepare(message: Vector3) -> Change:
        velocity = _velocity(message, 'wind', entry.topic)
        return lambda: state.turn(velocity)

    accept(entry.topic, Vector3, prepare)
    return StateTopic(prefix + entry.state_topic, Vector3, state)


def accept_volume(
    entry: BuoyancyEngineInput, robot: Robot, prefix: str, accept: Accept
) -> StateTopic:
    """Let messages pump a bladder; return the topic with its present volume."""
    state = _BladderState(entry, robot)

    def prepare(message: Float64) -> Change:
        if not math.isfinite(message.data):
            raise InvalidValueError('data', message.data, 'a volume [m³]', entry.topic)
        volume = min(max(message.data, entry.lower), entry.upper)
        return lambda: state.pump(volume)

    accept(entry.topic, Float64, prepare)
    return StateTopic(prefix + entry.state_topic, Float64, state)


def restart_fields(robot: Robot) -> None:
    """Let the fields act as in the robot's file."""
    for each in robot.description.force_fields:
        name = f'{robot.name}/{each.name}'
        if robot.world.force_fields.get(name, each.field) != each.field:
            robot.world.set_force_field(name, each.field)


class _WindState:
    """The world's wind, as a message."""

    def __init__(self, entry: WindInput, robot: Robot) -> None:
        self._own, self._world = f'{robot.name}/{entry.field}', robot.world

    def turn(self, velocity: tuple[float, ...]) -> None:
        name, wind = self._find()
        if wind is not None:
            self._world.set_force_field(name, wind.turned_to(velocity, self._world.time))

    def stamped(self, stamp: bytes) -> Vector3:
        """Return the velocity [m/s]."""
        _, wind = self._find()
        x, y, z = (0.0, 0.0, 0.0) if wind is None else wind.velocity_at(self._world.time)
        return Vector3(x=x, y=y, z=z)

    def _find(self) -> tuple[str, Wind | None]:
        """Return the robot's wind, or the world's only one, by name."""
        fields = self._world.force_fields
        names = [name for name, each in fields.items() if isinstance(each, Wind)]
        name = self._own if self._own in names else next(iter(names), '')
        found: Any = fields.get(name)
        return name, found


class _BladderState:
    """A bladder's volume, as a message."""

    def __init__(self, entry: BuoyancyEngineInput, robot: Robot) -> None:
        self._name, self._world = f'{robot.name}/{entry.field}', robot.world

    def pump(self, volume: float) -> None:
        engine: Any = self._world.force_fields[self._name]
        self._world.set_force_field(self._name, engine.pumped_to(volume, self._world.time))

    def stamped(self, stamp: bytes) -> Float64:
        """Return the volume [m³]."""
        engine: Any = self._world.force_fields[self._name]
        return Float64(data=engine.volume_at(self._world.time))


def _velocity(message: Vector3, what: str, topic: str) -> tuple[float, ...]:
    """Return a velocity [m/s]; raises InvalidValueError."""
    velocity = (message.x, message.y, message.z)
    if not all(math.isfinite(each) and abs(each) <= _FASTEST for each in velocity):
        expected = f'finite numbers of at most {_FASTEST:g} [m/s]'
        raise InvalidValueError(what, velocity, expected, topic)
    return velocity
