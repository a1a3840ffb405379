"""Range sensors and lidars: devices that measure by rays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.model import ScanDescription, SensorDescription
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sensors import readings
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.scan import BEAMS

_FARTHEST = 1e6
"""How far a sensor without a greatest distance sees [m]."""


class _Scanner(Device):
    """The base of devices that measure by rays. angles, elevations: of the rays [rad]."""

    __slots__ = ('angles', 'elevations', 'scan')

    quantities = ('range',)
    has_axes = False

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up, with the arguments of any device."""
        super().__init__(description, *arguments)
        rays = description.scan
        self.angles = _spread(rays.samples, rays.min_angle, rays.max_angle)
        self.elevations = _spread(rays.vertical_samples, rays.min_elevation, rays.max_elevation)
        self.scan = _scan(rays, self.directions)

    @property
    def directions(self) -> FloatArray:
        """(n, 3) unit vectors of the rays, sensor frame: row by row, from the lowest up."""
        elevation, angle = np.meshgrid(self.elevations, self.angles, indexing='ij')
        return np.stack(
            [
                np.cos(elevation) * np.cos(angle),
                np.cos(elevation) * np.sin(angle),
                np.sin(elevation),
            ],
            axis=-1,
        ).reshape(-1, 3)


class RangeSensor(_Scanner):
    """The distance to the nearest thing that one of its rays hits, such as of an ultrasound."""

    __slots__ = ()

    kind = readings.RANGE

    @property
    def range(self) -> float:
        """Distance [m]; inf: nothing is within range, -inf: it is too close, nan: no sample."""
        return float(self.ranges[0])

    @property
    def field_of_view(self) -> float:
        """The angle that its rays span [rad], the greater of both."""
        return float(max(np.ptp(self.angles), np.ptp(self.elevations)))


class LidarSensor(_Scanner):
    """
    The distances that rays in one plane or several measure.

    `ranges`: (n,) row by row, from the lowest up, each from the least angle on.
    """

    __slots__ = ()

    kind = readings.LIDAR

    @classmethod
    def size_of(cls, description: SensorDescription) -> int:
        """Return the number of rays."""
        return description.scan.count


def _spread(count: int, first: float, last: float) -> FloatArray:
    """Return so many angles from first to last; a single one is in the middle."""
    return np.linspace(first, last, count) if count > 1 else np.array([0.5 * (first + last)])


def _scan(rays: ScanDescription, directions: FloatArray) -> FloatArray:
    """Return limits and rays as kernels see them: see `sensors.scan`."""
    scan = np.zeros(BEAMS + directions.size)
    scan[:BEAMS] = rays.minimum, min(rays.maximum, _FARTHEST), rays.resolution
    scan[BEAMS:] = directions.ravel()
    return scan
