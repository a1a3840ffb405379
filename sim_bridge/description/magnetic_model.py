"""
World Magnetic Model 2025: the Earth's main magnetic field, valid from 2025.0 to 2030.0.

Coefficients: NOAA NCEI and British Geological Survey, WMM2025 (2024), in the public domain.
Formulas: Chulliat et al., The US/UK World Magnetic Model, technical report, section 1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools
import math

from sim_bridge.engine.math.geodesy import east_north_up, ecef_of
from sim_bridge.engine.math.mat3 import mul_mv, mul_tv

FIRST_YEAR, LAST_YEAR = 2025.0, 2030.0
"""Decimal years between which the model holds."""
_DEGREE = 12
_RADIUS = 6371200.0
# n, m, g and h [nT], and their change in a year [nT]
_COEFFICIENTS = """
1 0 -29351.8 0 12 0
1 1 -1410.8 4545.4 9.7 -21.5
2 0 -2556.6 0 -11.6 0
2 1 2951.1 -3133.6 -5.2 -27.7
2 2 1649.3 -815.1 -8 -12.1
3 0 1361 0 -1.3 0
3 1 -2404.1 -56.6 -4.2 4
3 2 1243.8 237.5 0.4 -0.3
3 3 453.6 -549.5 -15.6 -4.1
4 0 895 0 -1.6 0
4 1 799.5 278.6 -2.4 -1.1
4 2 55.7 -133.9 -6 4.1
4 3 -281.1 212 5.6 1.6
4 4 12.1 -375.6 -7 -4.4
5 0 -233.2 0 0.6 0
5 1 368.9 45.4 1.4 -0.5
5 2 187.2 220.2 0 2.2
5 3 -138.7 -122.9 0.6 0.4
5 4 -142 43 2.2 1.7
5 5 20.9 106.1 0.9 1.9
6 0 64.4 0 -0.2 0
6 1 63.8 -18.4 -0.4 0.3
6 2 76.9 16.8 0.9 -1.6
6 3 -115.7 48.8 1.2 -0.4
6 4 -40.9 -59.8 -0.9 0.9
6 5 14.9 10.9 0.3 0.7
6 6 -60.7 72.7 0.9 0.9
7 0 79.5 0 0 0
7 1 -77 -48.9 -0.1 0.6
7 2 -8.8 -14.4 -0.1 0.5
7 3 59.3 -1 0.5 -0.8
7 4 15.8 23.4 -0.1 0
7 5 2.5 -7.4 -0.8 -1
7 6 -11.1 -25.1 -0.8 0.6
7 7 14.2 -2.3 0.8 -0.2
8 0 23.2 0 -0.1 0
8 1 10.8 7.1 0.2 -0.2
8 2 -17.5 -12.6 0 0.5
8 3 2 11.4 0.5 -0.4
8 4 -21.7 -9.7 -0.1 0.4
8 5 16.9 12.7 0.3 -0.5
8 6 15 0.7 0.2 -0.6
8 7 -16.8 -5.2 0 0.3
8 8 0.9 3.9 0.2 0.2
9 0 4.6 0 0 0
9 1 7.8 -24.8 -0.1 -0.3
9 2 3 12.2 0.1 0.3
9 3 -0.2 8.3 0.3 -0.3
9 4 -2.5 -3.3 -0.3 0.3
9 5 -13.1 -5.2 0 0.2
9 6 2.4 7.2 0.3 -0.1
9 7 8.6 -0.6 -0.1 -0.2
9 8 -8.7 0.8 0.1 0.4
9 9 -12.9 10 -0.1 0.1
10 0 -1.3 0 0.1 0
10 1 -6.4 3.3 0 0
10 2 0.2 0 0.1 0
10 3 2 2.4 0.1 -0.2
10 4 -1 5.3 0 0.1
10 5 -0.6 -9.1 -0.3 -0.1
10 6 -0.9 0.4 0 0.1
10 7 1.5 -4.2 -0.1 0
10 8 0.9 -3.8 -0.1 -0.1
10 9 -2.7 0.9 0 0.2
10 10 -3.9 -9.1 0 0
11 0 2.9 0 0 0
11 1 -1.5 0 0 0
11 2 -2.5 2.9 0 0.1
11 3 2.4 -0.6 0 0
11 4 -0.6 0.2 0 0.1
11 5 -0.1 0.5 -0.1 0
11 6 -0.6 -0.3 0 0
11 7 -0.1 -1.2 0 0.1
11 8 1.1 -1.7 -0.1 0
11 9 -1 -2.9 -0.1 0
11 10 -0.2 -1.8 -0.1 0
11 11 2.6 -2.3 -0.1 0
12 0 -2 0 0 0
12 1 -0.2 -1.3 0 0
12 2 0.3 0.7 0 0
12 3 1.2 1 0 -0.1
12 4 -1.3 -1.4 0 0.1
12 5 0.6 0 0 0
12 6 0.6 0.6 0.1 0
12 7 0.5 -0.1 0 0
12 8 -0.1 0.8 0 0
12 9 -0.4 0.1 0 0
12 10 -0.2 -1 -0.1 0
12 11 -1.3 0.1 0 0
12 12 -0.7 0.2 -0.1 -0.1
"""


def magnetic_field(
    latitude: float, longitude: float, height: float, year: float
) -> tuple[float, float, float]:
    """
    Return the magnetic flux density (3,) [T] at a place, along east, north and up.

    latitude, longitude: geodetic [rad]. height: above the ellipsoid [m]. year: decimal year.
    """
    axes = math.sin(latitude), math.cos(latitude), math.sin(longitude), math.cos(longitude)
    p = ecef_of(*axes, height)
    distance, radius = math.hypot(p[0], p[1]), math.hypot(*p)
    # geocentric coordinates
    spherical = p[2] / radius, distance / radius, axes[2], axes[3]
    field = _spherical_field(*spherical[:2], longitude, radius, year - FIRST_YEAR)
    east, north, up = mul_mv(east_north_up(*axes), mul_tv(east_north_up(*spherical), field))
    return east, north, up


def _spherical_field(
    c: float, s: float, longitude: float, radius: float, elapsed: float
) -> tuple[float, float, float]:
    """
    Return the field [T] along geocentric east, north and up.

    c, s: colatitude cosine and sine. elapsed: years since FIRST_YEAR.
    """
    p, slope, p_over_s = _legendre(c, s)
    east = north = up = 0.0
    for n, m, g0, h0, g1, h1 in _coefficients():
        g, h = g0 + elapsed * g1, h0 + elapsed * h1
        cosine, sine = math.cos(m * longitude), math.sin(m * longitude)
        share = (_RADIUS / radius) ** (n + 2) * 1e-9
        along = share * (g * cosine + h * sine)
        up += (n + 1) * along * p[n][m]
        north += along * slope[n][m]
        east += share * m * (g * sine - h * cosine) * p_over_s[n][m]
    return east, north, up


def _legendre(c: float, s: float) -> tuple[list[list[float]], ...]:
    """
    Return Schmidt's P(n, m), their derivatives by the colatitude, and P / s for m > 0.

    All three by the same recursion, regular at the poles.
    """
    size = _DEGREE + 1
    p, slope, quotient = ([[0.0] * size for _ in range(size)] for _ in range(3))
    p[0][0] = 1.0
    for n in range(1, size):
        k = math.sqrt((2 * n - 1) / (2 * n)) if n > 1 else 1.0
        p[n][n] = k * s * p[n - 1][n - 1]
        slope[n][n] = k * (s * slope[n - 1][n - 1] + c * p[n - 1][n - 1])
        quotient[n][n] = k * s * quotient[n - 1][n - 1] if n > 1 else 1.0
        for m in range(n):
            a, b, d = 2 * n - 1, math.sqrt((n - 1) ** 2 - m * m), math.sqrt(n * n - m * m)
            # without the term b in the first row below the diagonal
            older = max(n - 2, 0)
            p[n][m] = (a * c * p[n - 1][m] - b * p[older][m]) / d
            slope[n][m] = (a * (c * slope[n - 1][m] - s * p[n - 1][m]) - b * slope[older][m]) / d
            quotient[n][m] = (a * c * quotient[n - 1][m] - b * quotient[older][m]) / d
    return p, slope, quotient


@functools.cache
def _coefficients() -> Sequence[tuple[int, int, float, float, float, float]]:
    rows = (line.split() for line in _COEFFICIENTS.split('\n') if line)
    return tuple(
        (int(n), int(m), float(g), float(h), float(dg), float(dh)) for n, m, g, h, dg, dh in rows
    )
