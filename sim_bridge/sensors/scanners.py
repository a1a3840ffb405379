"""Range sensors and lidars: devices measured by rays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.model import SensorDescription
from sim_bridge.description.origin import Origin
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.sensor_kinds import LIDAR, RANGE_SENSOR
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.measure import BEAMS

_FARTHEST = 1e6
"""Range for a sensor without a greatest distance [m]."""


class RaySensor(Device):
    """
    The base for devices measured by rays.

    rays: sensor settings. angles, elevations: ray directions [rad].
    """

    __slots__ = ('angles', 'elevations', 'rays')

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up; arguments: as in `Device`."""
        rays: RaySettings = description.settings
        self.rays = rays
        self.angles = _spread(rays.samples, rays.min_angle, rays.max_angle)
        self.elevations = _spread(rays.vertical_samples, rays.min_elevation, rays.max_elevation)
        super().__init__(description, *arguments)

    def _pack_settings(self, origin: Origin | None) -> FloatArray:
        """Return limits and rays, in the form described in `measure`."""
        rays, directions = self.rays, self.directions
        settings = np.zeros(BEAMS + directions.size)
        settings[:BEAMS] = rays.minimum, min(rays.maximum, _FARTHEST), rays.resolution
        settings[BEAMS:] = directions.ravel()
        return settings

    @property
    def directions(self) -> FloatArray:
        """(n, 3) ray unit vectors, sensor frame: row by row, from the lowest up."""
        elevation, angle = np.meshgrid(self.elevations, self.angles, indexing='ij')
        return np.stack(
            [
                np.cos(elevation) * np.cos(angle),
                np.cos(elevation) * np.sin(angle),
                np.sin(elevation),
            ],
            axis=-1,
        ).reshape(-1, 3)


class RangeSensor(RaySensor):
    """Distance to the nearest ray hit, as from an ultrasound sensor."""

    __slots__ = ()

    kind_of_class = RANGE_SENSOR

    @property
    def range(self) -> float:
        """Distance [m]; inf: nothing is within range, -inf: it is too close, nan: no sample."""
        return float(self.ranges[0])

    @property
    def field_of_view(self) -> float:
        """The angle spanned by its rays [rad]: the greater of both spans."""
        return float(max(np.ptp(self.angles), np.ptp(self.elevations)))


class LidarSensor(RaySensor):
    """
    Distances along rays in one plane or several.

    `ranges`: (n,) row by row, from the lowest up, each from the least angle on.
    """

    __slots__ = ()

    kind_of_class = LIDAR


def _spread(count: int, first: float, last: float) -> FloatArray:
    """Return equally spaced angles from first to last; a single one lies in the middle."""
    return np.linspace(first, last, count) if count > 1 else np.array([0.5 * (first + last)])
