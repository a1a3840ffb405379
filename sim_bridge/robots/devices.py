"""Devices of a robot, from what its description says of its sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.description.model import SensorKind
from sim_bridge.sensors.devices import (
    AccelerationSensor,
    Device,
    ForceSensor,
    ImuSensor,
    RateGyroSensor,
)

if TYPE_CHECKING:
    from sim_bridge.description.model import SensorDescription
    from sim_bridge.robots.robot import Robot

_DEVICES: dict[SensorKind, type[Device]] = {
    SensorKind.FORCE_TORQUE: ForceSensor,
    SensorKind.GYRO: RateGyroSensor,
    SensorKind.ACCELEROMETER: AccelerationSensor,
    SensorKind.IMU: ImuSensor,
}


def make_device(robot: Robot, sensor: SensorDescription) -> Device:
    """Make a robot's device for a sensor on one of its links."""
    world = robot.world
    return _DEVICES[sensor.kind](
        sensor, robot.link(sensor.link), robot.name, world.seed, world.time_step)
