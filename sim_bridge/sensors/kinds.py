"""The class of device for each kind of sensor."""

from __future__ import annotations

from sim_bridge.description.model import SensorKind
from sim_bridge.sensors.contact_sensor import ContactSensor
from sim_bridge.sensors.devices import (
    AccelerationSensor,
    Device,
    ForceSensor,
    ImuSensor,
    RateGyroSensor,
)
from sim_bridge.sensors.magnetometer import MagnetometerSensor
from sim_bridge.sensors.places import AirPressureSensor, AltimeterSensor, PoseSensor
from sim_bridge.sensors.scanners import LidarSensor, RangeSensor

DEVICES: dict[SensorKind, type[Device]] = {
    SensorKind.FORCE_TORQUE: ForceSensor,
    SensorKind.GYRO: RateGyroSensor,
    SensorKind.ACCELEROMETER: AccelerationSensor,
    SensorKind.IMU: ImuSensor,
    SensorKind.RANGE: RangeSensor,
    SensorKind.LIDAR: LidarSensor,
    SensorKind.CONTACT: ContactSensor,
    SensorKind.MAGNETOMETER: MagnetometerSensor,
    SensorKind.ALTIMETER: AltimeterSensor,
    SensorKind.AIR_PRESSURE: AirPressureSensor,
    SensorKind.POSE: PoseSensor,
}
