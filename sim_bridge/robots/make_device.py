"""Devices of a robot, from what its description says of its sensors."""

from __future__ import annotations

from sim_bridge.description.model import SensorDescription, SensorKind
from sim_bridge.robots.link import Link
from sim_bridge.sensors.devices import (
    AccelerationSensor,
    Device,
    ForceSensor,
    ImuSensor,
    RateGyroSensor,
)

_DEVICES: dict[SensorKind, type[Device]] = {
    SensorKind.FORCE_TORQUE: ForceSensor,
    SensorKind.GYRO: RateGyroSensor,
    SensorKind.ACCELEROMETER: AccelerationSensor,
    SensorKind.IMU: ImuSensor,
}


def make_device(link: Link, sensor: SensorDescription) -> Device:
    """Return a robot's device for a sensor on one of its links."""
    simulation = link.robot.simulation
    return _DEVICES[sensor.kind](
        sensor, link, link.robot.name, simulation.seed, simulation.time_step)
