"""
Solutions independent from all engines.

The torque-free rigid body has a closed form (Landau and Lifshitz, Mechanics, section 37); the
double pendulum has none and is integrated by DOP853, to thirteen digits, from its two hand-written
equations.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipkinc

from benchmarks.mechanism import Motion, rotation_about


def free_body_spin(inertia: np.ndarray, w0: np.ndarray, times: np.ndarray) -> np.ndarray:
    """
    Return a torque-free body's angular velocity, in its principal axes.

    inertia: (3,) distinct principal moments. w0: (3,) angular velocity at time 0. times: (n,).
    Returns (n, 3).
    """
    momentum = inertia * w0
    if np.linalg.norm(np.cross(momentum, w0)) <= 1e-15 * np.linalg.norm(momentum) ** 2:
        return np.tile(w0, (len(times), 1))  # about a principal axis: it stays there
    twice_energy, square = w0 @ momentum, momentum @ momentum
    # moment order for which the spin circles about the third axis; a proper rotation
    order = np.argsort(inertia)
    if square < twice_energy * inertia[order[1]]:
        order = order[::-1]
    axes = np.eye(3)[order]
    axes[2] *= np.linalg.det(axes)
    i1, i2, i3 = inertia[order]
    u1, u2, u3 = axes @ w0

    a3 = np.copysign(np.sqrt((square - twice_energy * i1) / (i3 * (i3 - i1))), u3)
    a1 = np.sqrt((twice_energy * i3 - square) / (i1 * (i3 - i1)))
    rate = np.sqrt((i3 - i2) * (square - twice_energy * i1) / (i1 * i2 * i3))
    a2 = a1 * rate * i1 / ((i3 - i2) * a3)
    modulus = (i2 - i1) * (twice_energy * i3 - square) / ((i3 - i2) * (square - twice_energy * i1))
    start = ellipkinc(np.arctan2(u2 / a2, u1 / a1), modulus)
    sn, cn, dn, _ = ellipj(rate * times + start, modulus)
    return np.stack([a1 * cn, a2 * sn, a3 * dn], axis=1) @ axes


def free_body_attitude(inertia: np.ndarray, w0: np.ndarray, times: np.ndarray) -> np.ndarray:
    """
    Return the rotation from body to world axes of a torque-free body starting at the identity.

    The body's tilt against its constant angular momentum follows from the spin. The rotation about
    the momentum is a smooth integral, by Gauss-Legendre between the times. times start at 0.
    Returns (n, 3, 3).
    """
    momentum = inertia * w0
    size = np.linalg.norm(momentum)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    steps = np.diff(times)
    inner = times[:-1, None] + 0.5 * steps[:, None] * (nodes + 1.0)
    w = free_body_spin(inertia, w0, inner.ravel())
    # the body's rotation rate about the momentum, seen as its third axis's rotation
    planar = (inertia[:2] * w[:, :2] ** 2).sum(1) / ((inertia[:2] * w[:, :2]) ** 2).sum(1)
    turn = (size * planar).reshape(inner.shape) @ weights * 0.5 * steps
    turn = np.concatenate([[0.0], np.cumsum(turn)])

    up = free_body_spin(inertia, w0, times) * inertia / size  # the momentum, in body axes
    frames = np.array([_tilt(direction) for direction in up])
    spun = np.array([rotation_about(np.array([0.0, 0.0, 1.0]), angle) for angle in turn])
    return np.einsum('ji,njk,nkl->nil', frames[0], spun, frames)


def _tilt(up: np.ndarray) -> np.ndarray:
    """Return the rotation from body axes to axes with z along `up` and y along z_body x up."""
    y = np.cross([0.0, 0.0, 1.0], up)
    y /= np.linalg.norm(y)
    return np.array([np.cross(y, up), y, up])


def free_body_motion(
    inertia: np.ndarray, w0: np.ndarray, v0: np.ndarray, gravity: np.ndarray, times: np.ndarray
) -> list[Motion]:
    """Return a body's motion from the origin, its frame at its centre of mass."""
    if np.count_nonzero(w0) == 1:
        size = np.linalg.norm(w0)
        rotations = [rotation_about(w0 / size, size * t) for t in times]
    else:
        rotations = free_body_attitude(inertia, w0, times)
    spins = free_body_spin(inertia, w0, times)
    return [
        Motion(
            com=(v0 * t + 0.5 * gravity * t * t)[None],
            rotation=r[None],
            velocity=(v0 + gravity * t)[None],
            angular=(r @ w)[None],
        )
        for t, r, w in zip(times, rotations, spins, strict=True)
    ]


def double_pendulum_angles(
    angles: np.ndarray, times: np.ndarray, *, mass: float, length: float, inertia: float, g: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return joint angles and rates of two equal uniform rods in a plane, released at rest.

    angles: (2,) at the start, the second relative to the first. inertia: a rod's, about its
    centre. Returns two arrays (n, 2).
    """
    outer = inertia + mass * length**2 / 4
    inner = outer + mass * length**2
    coupling = mass * length**2 / 2

    def rates(_, y):
        # Lagrange's equations in the absolute angles a, b of both rods
        a, b, da, db = y
        s, c = np.sin(a - b), np.cos(a - b)
        matrix = [[inner, coupling * c], [coupling * c, outer]]
        right = [
            -coupling * s * db**2 - 1.5 * mass * g * length * np.sin(a),
            coupling * s * da**2 - 0.5 * mass * g * length * np.sin(b),
        ]
        return [da, db, *np.linalg.solve(matrix, right)]

    start = [angles[0], angles[0] + angles[1], 0.0, 0.0]
    solution = solve_ivp(rates, (0.0, times[-1]), start, 'DOP853', times, rtol=1e-13, atol=1e-13)
    a, b, da, db = solution.y
    return np.stack([a, b - a], axis=1), np.stack([da, db - da], axis=1)
