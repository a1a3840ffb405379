"""Rays in range sensors and lidars: settings, keys in SDF and YAML, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place

ANGLES = {
    'samples': Numbers(minimum=1.0),
    'resolution': Numbers(minimum=0.0, above=True),
    'min_angle': Numbers(),
    'max_angle': Numbers(),
}
"""Keys in `horizontal` and `vertical`."""
RANGE = {
    'min': Numbers(minimum=0.0),
    'max': Numbers(minimum=0.0, above=True, infinite=True),
    'resolution': Numbers(minimum=0.0),
}
"""Keys in `range`."""
RADIATIONS = ('ultrasound', 'infrared')
"""Radiation types, numbered as in sensor_msgs/Range."""

_MOST_RAYS = 1_000_000


@dataclass(frozen=True)
class RaySettings:
    """
    Rays for a range sensor or a lidar in the sensor frame: x ahead, z up.

    samples: rays in each row, from min_angle to max_angle about z, measured from x [rad]; a
    greater min_angle scans clockwise.
    vertical_samples: rows, from min_elevation to max_elevation above the x-y plane [rad]. A single
    ray or row lies in the middle. minimum, maximum: distance limits [m]. resolution: step between
    measured distances [m]; 0: not rounded. radiation: one of RADIATIONS. cloud_topic: topic for
    the cloud beside the scan, as in gz-sim; '' for a lidar with one topic.
    """

    samples: int = 1
    min_angle: float = 0.0
    max_angle: float = 0.0
    vertical_samples: int = 1
    min_elevation: float = 0.0
    max_elevation: float = 0.0
    minimum: float = 0.0
    maximum: float = math.inf
    resolution: float = 0.0
    radiation: str = 'infrared'
    cloud_topic: str = ''

    @property
    def count(self) -> int:
        """Ray count."""
        return self.samples * self.vertical_samples


def read_rays(
    horizontal: Mapping[str, float],
    vertical: Mapping[str, float],
    within: Mapping[str, float],
    place: Place,
    findings: Findings,
    radiation: str = RaySettings.radiation,
    *,
    as_gazebo: bool = False,
) -> RaySettings:
    """
    Return the rays for the numbers under these keys; errors are added to the findings.

    horizontal, vertical: by keys in ANGLES. within: by keys in RANGE. An angle's resolution
    multiplies the samples, as in SDF; all rays are cast, none are interpolated. as_gazebo: whether
    to accept uneven samples and falling angles, with warnings.
    """
    (count, low, high), (rows, bottom, top) = (
        _angles(name, given, place, findings, as_gazebo)
        for name, given in (('horizontal', horizontal), ('vertical', vertical))
    )
    if count * rows > _MOST_RAYS:
        findings.error(
            'out-of-range', place, f'at most {_MOST_RAYS} rays', 'samples', f'{count} x {rows}'
        )
        count = rows = 1
    rays = RaySettings(
        count,
        low,
        high,
        rows,
        bottom,
        top,
        within.get('min', RaySettings.minimum),
        within.get('max', RaySettings.maximum),
        within.get('resolution', RaySettings.resolution),
        radiation,
    )
    if rays.maximum <= rays.minimum:
        findings.error(
            'out-of-range',
            place,
            f'must be above min, {rays.minimum:g} m',
            'max',
            f'{rays.maximum:g}',
        )
    return rays


def _angles(
    name: str, given: Mapping[str, float], place: Place, findings: Findings, as_gazebo: bool
) -> tuple[int, float, float]:
    """Return the angle count, the first angle, and the last; as_gazebo: see `read_rays`."""
    samples, low = given.get('samples', 1.0), given.get('min_angle', 0.0)
    note = findings.warning if as_gazebo else findings.error
    if samples != int(samples):
        told = f'; {int(samples)} are simulated' if as_gazebo else ''
        message = f'{name}: must be a whole number{told}'
        note('bad-value', place, message, 'samples', f'{samples:g}')
        samples = float(int(samples))
    high = given.get('max_angle', low)
    if high < low:
        told = '; the rays run clockwise' if as_gazebo else ''
        message = f'{name}: must be at least min_angle, {low:g} rad{told}'
        note('reversed-rays', place, message, 'max_angle', f'{high:g}')
    # bounded here; the caller bounds the product of both counts
    return max(int(min(samples * given.get('resolution', 1.0), 1e9) + 0.5), 1), low, high
