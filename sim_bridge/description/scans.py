"""Rays of range sensors and lidars in SDF and YAML: keys, their ranges, and what they give."""

from __future__ import annotations

from collections.abc import Mapping

from sim_bridge.description.model import ScanDescription
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place

ANGLES = {
    'samples': Numbers(minimum=1.0),
    'resolution': Numbers(minimum=0.0, above=True),
    'min_angle': Numbers(),
    'max_angle': Numbers(),
}
"""Keys of `horizontal` and `vertical`."""
RANGE = {
    'min': Numbers(minimum=0.0),
    'max': Numbers(minimum=0.0, above=True, infinite=True),
    'resolution': Numbers(minimum=0.0),
}
"""Keys of `range`."""

_MOST_RAYS = 1_000_000


def scan_of(
    horizontal: Mapping[str, float],
    vertical: Mapping[str, float],
    within: Mapping[str, float],
    place: Place,
    findings: Findings,
) -> ScanDescription:
    """
    Return the rays that the numbers under these keys mean; errors are added to the findings.

    The resolution of an angle multiplies the samples, as SDF has it; all of them are rays.
    """
    (count, low, high), (rows, bottom, top) = (
        _angles(name, given, place, findings)
        for name, given in (('horizontal', horizontal), ('vertical', vertical))
    )
    if count * rows > _MOST_RAYS:
        findings.error(
            'out-of-range', place, f'at most {_MOST_RAYS} rays', 'samples', f'{count} x {rows}'
        )
        count = rows = 1
    scan = ScanDescription(
        count,
        low,
        high,
        rows,
        bottom,
        top,
        within.get('min', 0.0),
        within.get('max', ScanDescription.maximum),
        within.get('resolution', 0.0),
    )
    if scan.maximum <= scan.minimum:
        findings.error(
            'out-of-range',
            place,
            f'must be above min, {scan.minimum:g} m',
            'max',
            f'{scan.maximum:g}',
        )
    return scan


def _angles(
    name: str, given: Mapping[str, float], place: Place, findings: Findings
) -> tuple[int, float, float]:
    """Return the number of angles, the first, and the last."""
    samples, low = given.get('samples', 1.0), given.get('min_angle', 0.0)
    if samples != int(samples):
        findings.error('bad-value', place, 'must be a whole number', 'samples', f'{samples:g}')
    high = given.get('max_angle', low)
    if high < low:
        findings.error(
            'out-of-range',
            place,
            f'{name}: must be at least min_angle, {low:g} rad',
            'max_angle',
            f'{high:g}',
        )
    # bounded here, as the product of both counts is below
    return max(int(min(samples * given.get('resolution', 1.0), 1e9) + 0.5), 1), low, high
