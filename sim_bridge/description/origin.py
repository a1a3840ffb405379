"""World places on the Earth (WGS 84), for position and magnetic field sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
import math

from sim_bridge.description.magnetic_model import FIRST_YEAR, LAST_YEAR, magnetic_field
from sim_bridge.engine.math.geodesy import east_north_up, ecef_of, geodetic_of
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, sub
from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.validation import finite_vector, number_from

_RANGES = {
    'latitude': (-90.0, 90.0, 'from -90 to 90 [deg]'),
    'longitude': (-180.0, 360.0, 'from -180 to 360 [deg]'),
    'elevation': (-1e4, 1e6, 'from -1e4 to 1e6 [m]'),
    'heading': (-360.0, 360.0, 'from -360 to 360 [deg]'),
    'year': (FIRST_YEAR, LAST_YEAR, f'from {FIRST_YEAR:g} to {LAST_YEAR:g}'),
}

_Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Origin:
    """
    Place of the world's origin on the WGS 84 ellipsoid, as in SDF's `spherical_coordinates`.

    latitude, longitude: geodetic [deg]. elevation: above the ellipsoid [m]. heading: angle from
    east to the world's x axis, counter-clockwise seen from above [deg]. year: decimal year for
    the magnetic field, within the World Magnetic Model 2025. Raises InvalidValueError.

    The world's z axis points along the ellipsoid's normal at the origin.
    """

    latitude: float
    longitude: float
    elevation: float = 0.0
    heading: float = 0.0
    year: float = FIRST_YEAR

    def __post_init__(self) -> None:
        """Check the numbers."""
        for each in fields(self):
            low, high, expected = _RANGES[each.name]
            value = number_from(each.name, getattr(self, each.name), low, high, 'Origin', expected)
            object.__setattr__(self, each.name, value)

    def geodetic(self, position: Vector) -> _Triple:
        """Return latitude and longitude [deg], altitude [m] for a world position (3,) [m]."""
        p = finite_vector('position', position, 3, 'Origin.geodetic').tolist()
        return _geodetic(add(self._center, mul_tv(self._axes, p)))

    def position(self, latitude: float, longitude: float, altitude: float = 0.0) -> _Triple:
        """
        Return the position (3,) [m] of a place in world axes.

        latitude, longitude: geodetic [deg]. altitude: above the ellipsoid [m]. Raises
        InvalidValueError.
        """
        place = Origin(latitude, longitude, altitude)
        x, y, z = mul_mv(self._axes, sub(place._center, self._center))
        return x, y, z

    @property
    def magnetic_field(self) -> _Triple:
        """Magnetic flux density (3,) [T] at the origin, world axes: World Magnetic Model 2025."""
        field = magnetic_field(
            math.radians(self.latitude), math.radians(self.longitude), self.elevation, self.year
        )
        x, y, z = mul_mv(self._heading_axes, field)
        return x, y, z

    @property
    def kernel_numbers(self) -> Sequence[float]:
        """(21,) ECEF position, then by rows the world axes in ECEF and along east, north, up."""
        rows = (*self._axes, *self._heading_axes)
        return [*self._center, *(number for row in rows for number in row)]

    @property
    def _place(self) -> tuple[float, float, float, float]:
        """Latitude sine and cosine, then longitude sine and cosine."""
        latitude, longitude = math.radians(self.latitude), math.radians(self.longitude)
        # exact at the poles: the cosine of pi/2 is not 0
        cosine = 0.0 if abs(self.latitude) == 90.0 else math.cos(latitude)
        return math.sin(latitude), cosine, math.sin(longitude), math.cos(longitude)

    @property
    def _center(self) -> _Triple:
        """ECEF position [m]."""
        x, y, z = ecef_of(*self._place, self.elevation)
        return x, y, z

    @property
    def _heading_axes(self) -> tuple[_Triple, _Triple, _Triple]:
        """World axes along east, north and up, by rows."""
        angle = math.radians(self.heading)
        c, s = math.cos(angle), math.sin(angle)
        return (c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)

    @property
    def _axes(self) -> tuple[_Triple, ...]:
        """World axes in ECEF, by rows."""
        local = east_north_up(*self._place)
        return tuple(mul_tv(local, row) for row in self._heading_axes)


def _geodetic(p: _Triple) -> _Triple:
    sine, cosine, sin_longitude, cos_longitude, height = geodetic_of(p)
    latitude, longitude = math.atan2(sine, cosine), math.atan2(sin_longitude, cos_longitude)
    return math.degrees(latitude), math.degrees(longitude), height
