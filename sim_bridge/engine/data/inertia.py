"""
Spatial inertias in world axes about one reference point O: they can be added directly.

A rigid inertia has ten numbers: mass m, first moment h = m c (3), and the inertia about O (6: xx
xy xz yy yz zz). An articulated inertia is a symmetric 6 x 6 matrix that maps (angular
acceleration, linear acceleration at O) to (torque about O, force). Its lower triangle is stored by
rows.

Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.13 and 7.1.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.math.vec3 import add, cross, load_v, scale, sub

# columns in a rigid inertia: mass, first moment, inertia about O
MASS, MOMENT, XX, XY, XZ, YY, YZ, ZZ = 0, 1, 4, 5, 6, 7, 8, 9
# columns in Workspace.joint_factor behind U: D, and 1 / D or 0
EFFECTIVE, INVERSE = 6, 7

RIGID_SIZE = 10
ARTICULATED_SIZE = 21


@kernel
def mul_rigid(rigid, body, w, v):
    """
    Return the (torque, force) pair of a rigid inertia times the motion (w, v).

    It is (I_O w + h x v, m v - h x w).
    """
    i = rigid[body]
    h = load_v(i, MOMENT)
    angular = (
        i[XX] * w[0] + i[XY] * w[1] + i[XZ] * w[2],
        i[XY] * w[0] + i[YY] * w[1] + i[YZ] * w[2],
        i[XZ] * w[0] + i[YZ] * w[1] + i[ZZ] * w[2],
    )
    return add(angular, cross(h, v)), sub(scale(i[MASS], v), cross(h, w))


@kernel
def mul_articulated(articulated, body, w, v):
    """Return the (torque, force) pair of an articulated inertia times the motion (w, v)."""
    a = articulated[body]
    return (
        (
            _mul6(a[0], a[1], a[3], a[6], a[10], a[15], w, v),
            _mul6(a[1], a[2], a[4], a[7], a[11], a[16], w, v),
            _mul6(a[3], a[4], a[5], a[8], a[12], a[17], w, v),
        ),
        (
            _mul6(a[6], a[7], a[8], a[9], a[13], a[18], w, v),
            _mul6(a[10], a[11], a[12], a[13], a[14], a[19], w, v),
            _mul6(a[15], a[16], a[17], a[18], a[19], a[20], w, v),
        ),
    )


@kernel
def _mul6(a0, a1, a2, a3, a4, a5, w, v):
    """Return a row times (w, v), summed in pairs to shorten the dependency chain."""
    return (a0 * w[0] + a1 * w[1]) + (a2 * w[2] + a3 * v[0]) + (a4 * v[1] + a5 * v[2])


@kernel
def start_articulated(rigid, body, articulated_out):
    """Initialize an articulated inertia with the body's own rigid inertia."""
    i, a = rigid[body], articulated_out[body]
    m = i[MASS]
    hx, hy, hz = load_v(i, MOMENT)
    a[0] = i[XX]
    a[1], a[2] = i[XY], i[YY]
    a[3], a[4], a[5] = i[XZ], i[YZ], i[ZZ]
    a[6], a[7], a[8], a[9] = 0.0, hz, -hy, m
    a[10], a[11], a[12], a[13], a[14] = -hz, 0.0, hx, 0.0, m
    a[15], a[16], a[17], a[18], a[19], a[20] = hy, -hx, 0.0, 0.0, 0.0, m


@kernel
def add_articulated(joint_factor, parent, body, articulated_inout):
    """Add the body's inertia, less the part U Uᵀ / D released by its joint, to the parent's."""
    p, a, u = articulated_inout[parent], articulated_inout[body], joint_factor[body]
    d_inv = u[INVERSE]
    k = 0
    for i in range(6):
        s = d_inv * u[i]
        for j in range(i + 1):
            p[k] += a[k] - s * u[j]
            k += 1


@kernel
def factor_free(body, articulated_inout):
    """Replace a free body's inertia by its packed factors L and D, K = L D Lᵀ."""
    a = articulated_inout[body]
    for j in range(6):
        jj = j * (j + 1) // 2
        d = a[jj + j]
        for k in range(j):
            d -= a[jj + k] * a[jj + k] * a[k * (k + 1) // 2 + k]
        a[jj + j] = d
        for i in range(j + 1, 6):
            ii = i * (i + 1) // 2
            s = a[ii + j]
            for k in range(j):
                s -= a[ii + k] * a[jj + k] * a[k * (k + 1) // 2 + k]
            a[ii + j] = s / d


@kernel
def solve_free(articulated, body, x_inout):
    """Convert the (torque, force) in a free body's row of x to its acceleration."""
    a, x = articulated[body], x_inout[body]
    for i in range(6):
        ii = i * (i + 1) // 2
        for k in range(i):
            x[i] -= a[ii + k] * x[k]
    for i in range(6):
        x[i] /= a[i * (i + 1) // 2 + i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= a[k * (k + 1) // 2 + i] * x[k]
