"""Magnetometers: the magnetic field of the world in the axes of a sensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.model import SensorDescription
from sim_bridge.sensors import readings
from sim_bridge.sensors.devices import Device


class MagnetometerSensor(Device):
    """The magnetic flux density in the sensor frame [T]; the world's is the same everywhere."""

    __slots__ = ('scan',)

    quantities = ('magnetic_field',)
    kind = readings.MAGNETOMETER

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up, with the arguments of any device."""
        super().__init__(description, *arguments)
        self.scan = np.array(description.magnetic_field)
