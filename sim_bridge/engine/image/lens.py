"""
Lenses: from pixels to rays and back.

A lens without tangential terms maps the distance s from the optical axis to the radius r(s) on
the normalized image: s is the tangent of the angle from the axis for BROWN, the angle itself for
EQUIDISTANT and RADIAL. The inverse is Newton's method between bounds, on the interval from 0 to
the first s at which r stops growing. With tangential terms, Newton's method in the plane follows.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, Lens, PINHOLE, RADIAL, SINE, TANGENT
from sim_bridge.engine.math.vec3 import load3, store3

_SAMPLES = 1024  # values tried for s in the search for the greatest r
_MOST_STEPS = 60  # a Newton step between bounds at least halves the interval
_CONVERGED = 1e-16  # relative change in the last Newton step
_EXACT = 1e-12  # distance on the normalized image accepted as a solution
_NOWHERE = (math.nan, math.nan, math.nan)


@entry
def find_limit(lens: Lens):
    """Return the greatest s up to which r grows; for angles, at most the lens's own limit."""
    if lens.model == PINHOLE:
        return math.inf
    most = lens.limit
    if lens.model == RADIAL and lens.function == TANGENT:
        most = min(most, lens.coefficient[1] * (0.5 * math.pi - lens.coefficient[2]))
    low = 0.0
    for k in range(_SAMPLES):
        s = _sample(lens, k, most)
        if not _profile(lens, s)[1] > 0.0:
            return _end_of_growth(lens, low, s)
        low = s
    return low


@entry
def fill_rays(lens: Lens, ray_out: FloatCube):
    """
    Compute each pixel's ray.

    ray_out: (height, width, 3) direction in the camera frame, with z = 1 for PINHOLE and BROWN and
    length 1 for the other models; nan where the lens has no inverse. Returns how many
    pixels have none.
    """
    missing = 0
    for v in range(ray_out.shape[0]):
        for u in range(ray_out.shape[1]):
            ray = ray_of(lens, float(u), float(v))
            store3(ray_out[v], u, 0, ray)
            missing += int(math.isnan(ray[0]))
    return missing


@entry
def project_points(lens: Lens, point: FloatMatrix, pixel_out: FloatMatrix):
    """
    Project points to pixels.

    point: (n, 3) [m], camera frame. pixel_out: (n, 2) u, v; nan for points that the lens does not
    map: behind a PINHOLE or BROWN lens, or beyond the limit.
    """
    for row in range(point.shape[0]):
        pixel_out[row, 0], pixel_out[row, 1] = pixel_of(lens, load3(point, row, 0))


@subroutine
def ray_of(lens, u, v):
    """Return the direction seen at a place on the image, as in `fill_rays`."""
    y = (v - lens.cy) / lens.fy
    x = (u - lens.cx - float(lens.skew * y)) / lens.fx
    if lens.model == PINHOLE:
        return x, y, 1.0
    r = math.sqrt(x * x + y * y)
    if lens.model == BROWN:
        return _straightened(lens, x, y, r)
    s = _distance_before(lens, r)
    if s < 0.0:
        return _NOWHERE
    if r == 0.0:
        return 0.0, 0.0, 1.0
    aside = math.sin(s) / r
    return aside * x, aside * y, math.cos(s)


@subroutine
def pixel_of(lens, p):
    """Return u and v for a point in the camera frame, as in `project_points`."""
    across = math.sqrt(p[0] * p[0] + p[1] * p[1])
    if lens.model == PINHOLE or lens.model == BROWN:
        if not (p[2] > 0.0 and across <= lens.limit * p[2]):
            return math.nan, math.nan
    elif math.atan2(across, p[2]) > lens.limit:
        return math.nan, math.nan
    return nearest_pixel(lens, p)


@subroutine
def nearest_pixel(lens, p):
    """Return u and v as `pixel_of`; beyond the limit, for the nearest direction on the limit."""
    across = math.sqrt(p[0] * p[0] + p[1] * p[1])
    if lens.model == PINHOLE:
        x, y = p[0] / p[2], p[1] / p[2]
    elif lens.model == BROWN:
        share = 1.0 / p[2]
        if across > lens.limit * p[2]:
            share = lens.limit / across
        x, y, _, _, _, _ = _distorted(lens.coefficient, share * p[0], share * p[1])
    else:
        s = min(math.atan2(across, p[2]), lens.limit)
        gain = _profile(lens, s)[0] / across if across > 0.0 else 0.0
        x, y = gain * p[0], gain * p[1]
    return lens.fx * x + float(lens.skew * y) + lens.cx, lens.fy * y + lens.cy


@kernel
def _sample(lens, k, most):
    """Return the k-th s: up to the limit for angles, from 0 to 1023 for tangents."""
    if lens.model == BROWN:
        return float(k) / float(_SAMPLES - k)
    return most * float(k) / float(_SAMPLES - 1)


@kernel
def _end_of_growth(lens, low, high):
    """Bisect for the greatest r; it grows at low and not at high."""
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (low + high)
        if _profile(lens, middle)[1] > 0.0:
            low = middle
        else:
            high = middle
    return low


@kernel
def _profile(lens, s):
    """Return the radius r(s) and its derivative; the derivative -1 beyond a pole."""
    if lens.model == BROWN:
        gain, slope = _brown_gain(lens.coefficient, s * s)
        return s * gain, gain + 2.0 * s * s * slope
    if lens.model == EQUIDISTANT:
        return _equidistant(lens.coefficient, s)
    return _radial(lens.coefficient, lens.function, s)


@kernel
def _brown_gain(k, square):
    """Return Brown's radial factor at a squared tangent, and its derivative."""
    above = 1.0 + square * (k[0] + square * (k[1] + square * k[4]))
    below = 1.0 + square * (k[5] + square * (k[6] + square * k[7]))
    if below <= 0.0:
        return 0.0, -1.0
    gain = above / below
    rise = k[0] + square * (2.0 * k[1] + square * (3.0 * k[4]))
    fall = k[5] + square * (2.0 * k[6] + square * (3.0 * k[7]))
    return gain, (rise - gain * fall) / below


@kernel
def _equidistant(k, angle):
    square = angle * angle
    growth = square * (k[0] + square * (k[1] + square * (k[2] + square * k[3])))
    slope = 5.0 * k[1] + square * (7.0 * k[2] + square * (9.0 * k[3]))
    return angle + angle * growth, 1.0 + square * (3.0 * k[0] + square * slope)


@kernel
def _radial(c, function, angle):
    phase, rate = angle / c[1] + c[2], c[0] / c[1]
    if function == SINE:
        return c[0] * math.sin(phase), rate * math.cos(phase)
    if function == TANGENT:
        tangent = math.tan(phase)
        return c[0] * tangent, rate * (1.0 + tangent * tangent)
    return c[0] * phase, rate


@kernel
def _distance_before(lens, r):
    """Return the s with r(s) = r, by Newton's method between bounds; -1 if there is none."""
    low, high = 0.0, lens.limit
    if not _profile(lens, low)[0] <= r <= _profile(lens, high)[0]:
        return -1.0
    s = min(r, high)
    for _ in range(_MOST_STEPS):
        found, slope = _profile(lens, s)
        if found > r:
            high = s
        else:
            low = s
        following = s - (found - r) / slope
        if not low <= following <= high:
            following = 0.5 * (low + high)
        change = abs(following - s)
        s = following
        if change <= _CONVERGED * s:
            break
    return s


@kernel
def _straightened(lens, x, y, r):
    """Return the direction with Brown's distortion removed: radial terms, then all."""
    if r == 0.0 and lens.coefficient[2] == 0.0 and lens.coefficient[3] == 0.0:
        return x, y, 1.0
    s = _distance_before(lens, r)
    if lens.coefficient[2] == 0.0 and lens.coefficient[3] == 0.0:
        return (x * (s / r), y * (s / r), 1.0) if s >= 0.0 else _NOWHERE
    if s < 0.0:
        s = min(r, lens.limit)
    share = s / r if r > 0.0 else 0.0
    a, b, distance = _unbent(lens.coefficient, x, y, share)
    is_found = distance <= _EXACT * (1.0 + r) and a * a + b * b <= lens.limit * lens.limit
    return (a, b, 1.0) if is_found else _NOWHERE


@kernel
def _unbent(k, x, y, share):
    """
    Return the point distorted to (x, y), by Newton's method, and the distance left.

    share: first guess for undistorted over distorted coordinates. The distance is infinite where
    the image is turned over.
    """
    a, b, distance = share * x, share * y, math.inf
    for _ in range(_MOST_STEPS):
        found_x, found_y, xx, xy, yx, yy = _distorted(k, a, b)
        left_x, left_y = x - found_x, y - found_y
        area = float(xx * yy) - xy * yx
        if not area > 0.0:
            return a, b, math.inf
        distance = abs(left_x) + abs(left_y)
        step_x = (float(left_x * yy) - left_y * xy) / area
        step_y = (float(left_y * xx) - left_x * yx) / area
        a, b = a + step_x, b + step_y
        if abs(step_x) + abs(step_y) <= _CONVERGED * (abs(a) + abs(b)):
            break
    return a, b, distance


@kernel
def _distorted(k, x, y):
    """Return a point distorted by Brown's model, and the Jacobian: dX/dx, dX/dy, dY/dx, dY/dy."""
    square, both = x * x + y * y, x * y
    gain, slope = _brown_gain(k, square)
    along, aside = k[2], k[3]
    return (
        x * gain + 2.0 * along * both + aside * (square + 2.0 * x * x),
        y * gain + along * (square + 2.0 * y * y) + 2.0 * aside * both,
        gain + 2.0 * x * x * slope + 2.0 * along * y + 6.0 * aside * x,
        2.0 * both * slope + 2.0 * along * x + 2.0 * aside * y,
        2.0 * both * slope + 2.0 * along * x + 2.0 * aside * y,
        gain + 2.0 * y * y * slope + 6.0 * along * y + 2.0 * aside * x,
    )
