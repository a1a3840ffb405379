"""
Signed distance from a shape to a point in the shape's own frame, in closed form.

Each function returns the distance, negative inside, and the outward unit normal there. If several
surface points are equally near, a fixed one is chosen.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.math.vec3 import dot, norm, sub

_MAX_STEPS = 60


@kernel
def from_box(half, x):
    """Return the signed distance from a box, and the normal."""
    q = (abs(x[0]) - half[0], abs(x[1]) - half[1], abs(x[2]) - half[2])
    e = (max(q[0], 0.0), max(q[1], 0.0), max(q[2], 0.0))
    distance = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    if distance > 0.0:
        s = 1.0 / distance
        return distance, (
            math.copysign(s * e[0], x[0]),
            math.copysign(s * e[1], x[1]),
            math.copysign(s * e[2], x[2]),
        )
    if q[0] >= q[1] and q[0] >= q[2]:
        return q[0], (math.copysign(1.0, x[0]), 0.0, 0.0)
    if q[1] >= q[2]:
        return q[1], (0.0, math.copysign(1.0, x[1]), 0.0)
    return q[2], (0.0, 0.0, math.copysign(1.0, x[2]))


@kernel
def _turn(radial, x, n_radial, n_z):
    """Convert a direction in the half-plane of the axis and x to a vector in space."""
    if radial > 0.0:
        return n_radial * x[0] / radial, n_radial * x[1] / radial, n_z
    return n_radial, 0.0, n_z


@kernel
def from_cylinder(size, x):
    """Return the signed distance from a cylinder, and the normal."""
    radial = math.sqrt(x[0] * x[0] + x[1] * x[1])
    out, up = radial - size[0], abs(x[2]) - size[1]
    side = math.copysign(1.0, x[2])
    if out > 0.0 and up > 0.0:
        distance = math.sqrt(out * out + up * up)
        return distance, _turn(radial, x, out / distance, side * up / distance)
    if out > up:
        return out, _turn(radial, x, 1.0, 0.0)
    return up, (0.0, 0.0, side)


@kernel
def from_cone(size, x):
    """Return the signed distance from a cone, possibly truncated, and the normal."""
    radial = math.sqrt(x[0] * x[0] + x[1] * x[1])
    r, l, top = size[0], size[1], size[2]  # noqa: E741
    slant = math.sqrt((r - top) * (r - top) + 4.0 * l * l)
    n_r, n_z = 1.0, 0.0
    if slant > 0.0:
        n_r, n_z = 2.0 * l / slant, (r - top) / slant
    below, above = -l - x[2], x[2] - l
    beside = n_r * (radial - top) + n_z * above
    if below <= 0.0 and beside <= 0.0 and above <= 0.0:
        if above > below and above > beside:
            return above, (0.0, 0.0, 1.0)
        if below >= beside:
            return below, (0.0, 0.0, -1.0)
        return beside, _turn(radial, x, n_r, n_z)
    # nearest point on the ends and on the side; the side runs from the base rim upwards
    d_r, d_z = radial - min(radial, r), x[2] + l
    along = min(max(n_r * (x[2] + l) - n_z * (radial - r), 0.0), slant)
    s_r, s_z = radial - (r - along * n_z), x[2] - (-l + along * n_r)
    if s_r * s_r + s_z * s_z < d_r * d_r + d_z * d_z:
        d_r, d_z = s_r, s_z
    if top > 0.0:
        s_r, s_z = radial - min(radial, top), above
        if s_r * s_r + s_z * s_z < d_r * d_r + d_z * d_z:
            d_r, d_z = s_r, s_z
    distance = math.sqrt(d_r * d_r + d_z * d_z)
    if not distance > 0.0:
        return 0.0, _turn(radial, x, n_r, n_z)
    return distance, _turn(radial, x, d_r / distance, d_z / distance)


@subroutine
def from_ellipsoid(size, x):
    """
    Return the signed distance from an ellipsoid, and the normal (Eberly 2013).

    The nearest surface point is y_i = e_i² x_i / (t + e_i²). t is the largest root of
    sum (e_i x_i / (t + e_i²))² = 1; Newton's method approaches it from below.
    """
    e_2 = (size[0] * size[0], size[1] * size[1], size[2] * size[2])
    z = (size[0] * abs(x[0]), size[1] * abs(x[1]), size[2] * abs(x[2]))
    least = min(e_2[0], e_2[1], e_2[2])
    # start where a single term makes the sum at least 1
    t = max(z[0] - e_2[0], z[1] - e_2[1], z[2] - e_2[2])
    if t <= -least:
        t = -least
    for _ in range(_MAX_STEPS):
        total, slope = -1.0, 0.0
        for k in range(3):
            if z[k] > 0.0:
                ratio = z[k] / (t + e_2[k])
                total += ratio * ratio
                slope += 2.0 * ratio * ratio / (t + e_2[k])
        if not total > 0.0:
            break
        after = t + total / slope
        if not after > t:
            break
        t = after
    y = (_share(e_2[0], t, x[0]), _share(e_2[1], t, x[1]), _share(e_2[2], t, x[2]))
    if t <= -least:
        # on the plane of the other axes, near the middle: the nearest points lie on both sides
        y = _rise(size, e_2, least, y)
    n = (_part(y[0], e_2[0]), _part(y[1], e_2[1]), _part(y[2], e_2[2]))
    if not least > 0.0:
        # flat ellipsoid, without a gradient
        n = sub(x, y)
    length = norm(n)
    if not length > 0.0:
        n, length = (0.0, 0.0, 1.0), 1.0
    n = (n[0] / length, n[1] / length, n[2] / length)
    return dot(sub(x, y), n), n


@kernel
def _share(e_2, t, x):
    """Return e² x / (t + e²), or 0 if e or x is 0."""
    return e_2 * x / (t + e_2) if x != 0.0 and e_2 > 0.0 else 0.0


@kernel
def _part(y, e_2):
    """Return y / e², or 0 if y is 0."""
    return y / e_2 if y != 0.0 else 0.0


@kernel
def _rise(size, e_2, least, y):
    """Return an ellipsoid's surface point y with its coordinate along the shortest axis set."""
    rest = 1.0
    for k in range(3):
        if e_2[k] > least:
            rest -= y[k] * y[k] / e_2[k]
    up = math.sqrt(max(rest, 0.0))
    if e_2[2] == least:
        return y[0], y[1], up * size[2]
    if e_2[1] == least:
        return y[0], up * size[1], y[2]
    return up * size[0], y[1], y[2]


@kernel
def from_segment(half, x):
    """Measure from the segment between -half and half on the z axis; it has no inside."""
    z = x[2] - min(max(x[2], -half), half)
    distance = math.sqrt(x[0] * x[0] + x[1] * x[1] + z * z)
    if distance > 0.0:
        return distance, (x[0] / distance, x[1] / distance, z / distance)
    return 0.0, ((1.0, 0.0, 0.0) if half > 0.0 else (0.0, 0.0, 1.0))
