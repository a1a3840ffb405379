"""
World Geodetic System 1984: Earth-centred, Earth-fixed (ECEF) and geodetic coordinates.

ECEF axes: x to latitude 0 and longitude 0, z to the north pole. Latitude and longitude in radians,
heights above the ellipsoid in metres.
"""

import math

from sim_bridge.compiler.kernel import kernel

EQUATORIAL_RADIUS = 6378137.0
"""Semi-major axis [m] (NIMA TR8350.2)."""
FLATTENING = 1.0 / 298.257223563
# polar share, first and second eccentricity squared
_POLAR = 1.0 - FLATTENING
_E2 = FLATTENING * (2.0 - FLATTENING)
_EP2 = _E2 / (_POLAR * _POLAR)
_STEPS = 4


def ecef_of(
    sin_latitude: float,
    cos_latitude: float,
    sin_longitude: float,
    cos_longitude: float,
    height: float,
) -> tuple[float, float, float]:
    """Return the ECEF position [m] for geodetic coordinates; not a kernel."""
    normal = EQUATORIAL_RADIUS / math.sqrt(1.0 - _E2 * sin_latitude * sin_latitude)
    distance = (normal + height) * cos_latitude
    return (
        distance * cos_longitude,
        distance * sin_longitude,
        (normal * (1.0 - _E2) + height) * sin_latitude,
    )


@kernel
def geodetic_of(p):
    """
    Return latitude sine and cosine, longitude sine and cosine, and height [m] for an ECEF p.

    Bowring's iteration on the parametric latitude (Survey Review 181, 1976): each step shrinks the
    error by more than 300. Four steps reach rounding from 1000 km below the surface on.
    """
    x, y, z = p
    distance = math.sqrt(x * x + y * y)
    sin_longitude, cos_longitude = 0.0, 1.0
    # nan is not 0: unknown places stay unknown
    if distance != 0.0:
        sin_longitude, cos_longitude = y / distance, x / distance
    # first guess: the parametric latitude on the ellipsoid
    s, c = z, _POLAR * distance
    sine, cosine = 0.0, 1.0
    for _ in range(_STEPS):
        size = math.sqrt(s * s + c * c)
        s, c = s / size, c / size
        sine = z + EQUATORIAL_RADIUS * _POLAR * _EP2 * s * s * s
        cosine = distance - EQUATORIAL_RADIUS * _E2 * c * c * c
        s, c = _POLAR * sine, cosine
    size = math.sqrt(sine * sine + cosine * cosine)
    sine, cosine = sine / size, cosine / size
    height = distance * cosine + z * sine
    height -= EQUATORIAL_RADIUS * math.sqrt(1.0 - _E2 * sine * sine)
    return sine, cosine, sin_longitude, cos_longitude, height


@kernel
def east_north_up(sin_latitude, cos_latitude, sin_longitude, cos_longitude):
    """Return the rotation, by rows, from ECEF axes to east, north and up at a place."""
    return (
        (-sin_longitude, cos_longitude, 0.0),
        (-sin_latitude * cos_longitude, -sin_latitude * sin_longitude, cos_latitude),
        (cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude),
    )
