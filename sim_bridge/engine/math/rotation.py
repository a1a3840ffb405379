"""
Rotations: unit quaternions, rotation matrices and the exponential map.

Quaternions have the order x y z w, as in ROS.
"""

import math

from sim_bridge.compiler.kernel import kernel


@kernel
def load_quat(array, at):
    """Read a quaternion from a 1-d array."""
    return array[at], array[at + 1], array[at + 2], array[at + 3]


@kernel
def store_quat(array_out, at, q):
    """Write a quaternion to a 1-d array."""
    array_out[at], array_out[at + 1], array_out[at + 2], array_out[at + 3] = q


@kernel
def quat_to_matrix(q):
    """Return the rotation matrix for a unit quaternion x y z w."""
    x, y, z, w = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


@kernel
def quat_mul(a, b):
    """Return the product a b: the rotation b followed by the rotation a."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@kernel
def quat_normalize(q):
    """Return q at unit length, or the identity if q is zero."""
    n = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if n == 0.0:
        return 0.0, 0.0, 0.0, 1.0
    return q[0] / n, q[1] / n, q[2] / n, q[3] / n


@kernel
def quat_exp(v):
    """Return the quaternion for the rotation vector v [rad]."""
    angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    half = 0.5 * angle
    # sin(x)/x to full precision where x² / 6 is below the rounding of 1
    s = 0.5 if half < 1e-8 else math.sin(half) / angle
    return s * v[0], s * v[1], s * v[2], math.cos(half)


@kernel
def quat_advance(q, w, h):
    """Return q rotated at the world-frame angular velocity w [rad/s] for h seconds."""
    return quat_normalize(quat_mul(quat_exp((h * w[0], h * w[1], h * w[2])), q))


@kernel
def quat_between(a, b):
    """Return the rotation vector from a to b [rad], world axes, at most pi long."""
    x, y, z, w = quat_mul(b, (-a[0], -a[1], -a[2], a[3]))
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    # 2 atan(x) / x to full precision where x² / 3 is below the rounding of 1
    factor = 2.0 if sine < 1e-8 else 2.0 * math.atan2(sine, w) / sine
    return factor * x, factor * y, factor * z
