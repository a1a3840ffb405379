"""Sensors measured by their place: compasses, altimeters, barometers, poses, receivers."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.sensor_kinds import AIR_PRESSURE, ALTIMETER, MAGNETOMETER, NAVSAT, POSE
from sim_bridge.sensors.devices import Device


class MagnetometerSensor(Device):
    """Magnetic flux density in the sensor frame [T]; the world's field is uniform."""

    __slots__ = ()

    kind_of_class = MAGNETOMETER


class AltimeterSensor(Device):
    """Sensor height above the world origin, and its rate."""

    __slots__ = ()

    kind_of_class = ALTIMETER

    @property
    def height(self) -> float:
        """The height [m]; nan before the first sample."""
        return float(self['vertical_position'][0])

    @property
    def rate(self) -> float:
        """The vertical velocity [m/s], upwards; nan before the first sample."""
        return float(self['vertical_velocity'][0])


class AirPressureSensor(Device):
    """Standard atmosphere pressure at the sensor's height, as in Gazebo."""

    __slots__ = ()

    kind_of_class = AIR_PRESSURE

    @property
    def pressure(self) -> float:
        """The static pressure [Pa]; nan before the first sample."""
        return float(self['pressure'][0])


class PoseSensor(Device):
    """Position and orientation of the sensor frame in the world; only the position has noise."""

    __slots__ = ()

    kind_of_class = POSE

    @property
    def position(self) -> np.ndarray:
        """(3,) [m], world; nan before the first sample."""
        return self['position'].copy()

    @property
    def orientation(self) -> np.ndarray:
        """(4,) quaternion x y z w, w >= 0; nan before the first sample."""
        return self['orientation'].copy()


class NavSatSensor(Device):
    """
    Satellite navigation receiver: place on the Earth (WGS 84), and velocity.

    The place needs an `Origin`, the world's or the sensor's own; without one all values are nan.
    Noise acts on the position along east, north and up.
    """

    __slots__ = ()

    kind_of_class = NAVSAT

    @property
    def latitude(self) -> float:
        """The geodetic latitude [deg]; nan before the first sample."""
        return float(self['latitude'][0])

    @property
    def longitude(self) -> float:
        """The longitude [deg], -180 to 180; nan before the first sample."""
        return float(self['longitude'][0])

    @property
    def altitude(self) -> float:
        """The height above the ellipsoid [m]; nan before the first sample."""
        return float(self['altitude'][0])

    @property
    def position(self) -> np.ndarray:
        """(3,) [m] east, north and up from the world's origin; nan before the first sample."""
        return self['position'].copy()

    @property
    def velocity(self) -> np.ndarray:
        """(3,) [m/s] along east, north and up at the sensor, or as `velocity_axes` says."""
        return self['velocity'].copy()
