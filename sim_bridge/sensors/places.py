"""Sensors of where they are in the world: altimeters, barometers, poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.model import SensorDescription
from sim_bridge.sensors import readings
from sim_bridge.sensors.devices import Device


class AltimeterSensor(Device):
    """Height of the sensor above the world's origin, and how fast it rises."""

    __slots__ = ()

    quantities = ('vertical_position', 'vertical_velocity')
    kind = readings.ALTIMETER
    has_axes = False

    @property
    def height(self) -> float:
        """The height [m]; nan before the first sample."""
        return float(self['vertical_position'][0])

    @property
    def rate(self) -> float:
        """The vertical velocity [m/s], upwards; nan before the first sample."""
        return float(self['vertical_velocity'][0])


class AirPressureSensor(Device):
    """The pressure of the standard atmosphere at the height of the sensor, as Gazebo has it."""

    __slots__ = ('scan',)

    quantities = ('pressure',)
    kind = readings.AIR_PRESSURE
    has_axes = False

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up, with the arguments of any device."""
        super().__init__(description, *arguments)
        self.scan = np.array([description.reference_altitude])

    @property
    def pressure(self) -> float:
        """The static pressure [Pa]; nan before the first sample."""
        return float(self['pressure'][0])


class PoseSensor(Device):
    """Position and orientation of the sensor frame in the world; noise is of the position."""

    __slots__ = ()

    quantities = ('position',)
    exact = {'orientation': 4}
    kind = readings.POSE

    @property
    def position(self) -> np.ndarray:
        """(3,) [m], world; nan before the first sample."""
        return self['position'].copy()

    @property
    def orientation(self) -> np.ndarray:
        """(4,) quaternion x y z w, w >= 0; nan before the first sample."""
        return self['orientation'].copy()
