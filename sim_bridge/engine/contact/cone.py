"""
Coulomb's law at one contact.

The velocity of a contact's rows is u = q + A λ, a function of the contact's own impulse λ. Find λ
with 0 <= λ_n ⟂ u_n >= 0 and |λ_t| <= mu λ_n, where u_t = 0 inside the disk and u_t opposes λ_t on
its edge. An elliptic cone is scaled to a disk; the pyramid and constant-limit models use one
interval for each direction instead.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.math.vec3 import ZERO

_MAX_TURNS = 12
_DIRECTIONS = 72
_BISECTIONS = 50
_ROUNDING = 1e-12


@kernel
def clamp(value, bound):
    """Return a value clamped to the interval from -bound to bound."""
    return min(max(value, -bound), bound)


@kernel
def has_constant_bound(model, direction):
    """Return whether friction along the first (0) or second (1) direction has a constant bound."""
    return model == material.CONSTANT or model == material.FIRST_CONSTANT + direction


@kernel
def per_bound(model, direction, normal):
    """
    Return the factor that makes a friction coefficient a bound on the friction impulse.

    direction: 0 or 1. The factor is the normal impulse. With constant limits it is 1, or 0 if the
    contact does not press.
    """
    if has_constant_bound(model, direction):
        return 1.0 if normal > 0.0 else 0.0
    return normal


@kernel
def solve_cone(block, velocity, mu, guess):
    """
    Return the impulse (λ_n, λ_1, λ_2) of one contact with an exact cone.

    block: Delassus matrix of the linear rows, columns NN … D22 of Rows.block. velocity: q, row
    velocities without the impulse. guess: friction impulse whose direction is tried first.
    Separation, sticking and sliding are tried in this order. Sliding is one equation for the angle
    of friction, solved by Newton's method.
    """
    a_nn, a_n1, _, a_n2, _, _ = block
    q_n = velocity[0]
    if q_n >= 0.0:
        return ZERO
    n, t, s = solve_stick(block, velocity)
    if n >= 0.0 and t * t + s * s <= mu * mu * n * n:
        return n, t, s

    d1, d2 = guess
    size = math.sqrt(d1 * d1 + d2 * d2)
    if size == 0.0:
        d1, d2 = t, s
        size = math.sqrt(t * t + s * s)
    if size == 0.0:
        return -q_n / a_nn, 0.0, 0.0
    d1, d2 = d1 / size, d2 / size
    turn, along, den = 1.0, 1.0, 0.0
    for _ in range(_MAX_TURNS):
        den, wrong, along, slope = try_direction(block, velocity, mu, d1, d2)
        if not (den > 0.0 and slope > 0.0):
            break
        turn = clamp(-wrong / slope, 0.7)
        c1, c2 = d1 - turn * d2, d2 + turn * d1
        size = math.sqrt(c1 * c1 + c2 * c2)
        d1, d2 = c1 / size, c2 / size
        if abs(turn) < 1e-13:
            break
    # sticking at the very edge of the cone leaves a velocity of either sign, by rounding
    still = _ROUNDING * (abs(velocity[0]) + abs(velocity[1]) + abs(velocity[2]))
    if abs(turn) < 1e-8 and den > 0.0 and along <= still:
        n = -q_n / (a_nn + mu * (a_n1 * d1 + a_n2 * d2))
        return n, mu * n * d1, mu * n * d2
    return search_slide(block, velocity, mu)


@kernel
def try_direction(block, velocity, mu, d1, d2):
    """
    Compute sliding with friction along the unit vector d.

    Returns the normal row's inverse inertia, the sliding velocities orthogonal to d and along d,
    and the derivative of the orthogonal one by the angle of d. If the inverse inertia is not
    positive, only a greater force would make the contact slide (Painlevé). The solution has zero
    velocity orthogonal to d and a negative velocity along it.
    """
    a_nn, a_n1, a_11, a_n2, a_12, a_22 = block
    q_n, q_1, q_2 = velocity
    x1 = a_n1 + mu * (a_11 * d1 + a_12 * d2)
    x2 = a_n2 + mu * (a_12 * d1 + a_22 * d2)
    den = a_nn + mu * (a_n1 * d1 + a_n2 * d2)
    n = -q_n / den
    u1, u2 = q_1 + n * x1, q_2 + n * x2
    along = d1 * u1 + d2 * u2
    dn = -n * mu * (a_n2 * d1 - a_n1 * d2) / den
    slope = (
        -along
        + dn * (d1 * x2 - d2 * x1)
        + n * mu * (a_11 * d2 * d2 - 2.0 * a_12 * d1 * d2 + a_22 * d1 * d1)
    )
    return den, d1 * u2 - d2 * u1, along, slope


@subroutine
def search_slide(block, velocity, mu):
    """
    Find the sliding solution by bisection, after Newton's method has failed.

    Strong friction and coupled rows can allow several solutions (Painlevé); the one with the least
    impulse is taken. Without a solution, the contact pushes without friction.
    """
    a_nn, q_n = block[0], velocity[0]
    step = 2.0 * math.pi / _DIRECTIONS
    least, friction_1, friction_2 = math.inf, 0.0, 0.0
    after = across(block, velocity, mu, 0.0)
    for k in range(_DIRECTIONS):
        lo, hi, before = k * step, (k + 1) * step, after
        after = across(block, velocity, mu, hi)
        if before > 0.0 or not after > 0.0:
            continue
        for _ in range(_BISECTIONS):
            middle = 0.5 * (lo + hi)
            if across(block, velocity, mu, middle) > 0.0:
                hi = middle
            else:
                lo = middle
        d1, d2 = math.cos(lo), math.sin(lo)
        den, wrong, along, _ = try_direction(block, velocity, mu, d1, d2)
        # a sign change of den is a pole: there the orthogonal velocity changes sign as well
        if den > 0.0 and along <= 0.0 and abs(wrong) <= 1e-6 * -along and -q_n / den < least:
            least = -q_n / den
            friction_1, friction_2 = mu * least * d1, mu * least * d2
    if least == math.inf:
        return -q_n / a_nn, 0.0, 0.0
    return least, friction_1, friction_2


@kernel
def across(block, velocity, mu, angle):
    """Return the sliding velocity orthogonal to friction at an angle."""
    return try_direction(block, velocity, mu, math.cos(angle), math.sin(angle))[1]


@kernel
def solve_stick(block, velocity):
    """Solve A λ = -q by LDLᵀ; directions without inverse inertia get no impulse."""
    a_nn, a_n1, a_11, a_n2, a_12, a_22 = block
    q_n, q_1, q_2 = velocity
    l1, l2 = a_n1 / a_nn, a_n2 / a_nn
    d1 = a_11 - l1 * a_n1
    b1, b2 = -q_1 + l1 * q_n, -q_2 + l2 * q_n
    c = a_12 - l2 * a_n1
    if d1 > 1e-13 * a_11:
        l12 = c / d1
        d2 = a_22 - l2 * a_n2 - l12 * c
        s = (b2 - l12 * b1) / d2 if d2 > 1e-13 * a_22 else 0.0
        t = b1 / d1 - l12 * s
    else:
        d2 = a_22 - l2 * a_n2
        s = b2 / d2 if d2 > 1e-13 * a_22 else 0.0
        t = 0.0
    return -q_n / a_nn - l1 * t - l2 * s, t, s


@kernel
def project_disk(t, s, bound):
    """Return the point nearest to (t, s) in the disk with radius `bound` about 0."""
    size = math.sqrt(t * t + s * s)
    if size <= bound:
        return t, s
    return t * bound / size, s * bound / size


@kernel
def slide_on_disk(stiff, bound, impulse, velocity):
    """
    Linearize the natural map of two rows with a disk bound; stiff: their inverse inertia.

    Returns whether the rows slide, the direction d of their impulse, and P, the derivative of the
    projection along the edge. With y = λ - u / stiff, the map λ - bound y / |y| = 0 has the
    derivative dλ - P dy - d dbound.
    """
    y1, y2 = impulse[0] - velocity[0] / stiff, impulse[1] - velocity[1] / stiff
    length = math.sqrt(y1 * y1 + y2 * y2)
    if length <= bound:
        return False, 0.0, 0.0, 0.0, 0.0, 0.0
    d1, d2 = y1 / length, y2 / length
    share = bound / length
    return True, d1, d2, share * d2 * d2, -share * d1 * d2, share * d1 * d1
