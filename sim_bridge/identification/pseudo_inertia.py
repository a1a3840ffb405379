"""
Log-Cholesky body parameters: every parameter vector gives a physically possible inertia.

C. Rucker and P. M. Wensing: Smooth Parameterization of Rigid-Body Inertia. IEEE Robotics and
Automation Letters 7 (2022). A body is possible if its pseudo-inertia, the second mass moments, is
positive definite:

    J = [[S, h], [hᵀ, m]] = m U Uᵀ,   U = [[L, c], [0, 1]]

with mass m, centre of mass c, h = m c, and an upper triangle L with the diagonal
exp(d1), exp(d2), exp(d3). Any log m, c, d and upper entries s of L give a possible body, and
every possible body has exactly one parameter set. The blocks are independent: log m scales the
whole body, c moves it, d and s change its shape about the centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray

# index ranges in a body's ten parameters
LOG_MASS, CENTER, SHAPE = slice(0, 1), slice(1, 4), slice(4, 10)
# entry order for inertias about the link origin and the centre of mass (Pinocchio's order)
MOMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
MOMENT_NAMES = ('ixx', 'ixy', 'iyy', 'ixz', 'iyz', 'izz')

_UPPER = ((0, 1), (0, 2), (1, 2))
# minimum ratio between least and greatest second moment; thinner bodies are thickened
_THIN = 1e-6


@dataclass(frozen=True, eq=False)
class Body:
    """Mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it [kg m²], in link axes."""

    mass: float
    center: FloatArray
    inertia: FloatArray

    @property
    def moments(self) -> FloatArray:
        """(3, 3) second mass moments about the centre of mass [kg m²]."""
        moments: FloatArray = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        return moments

    @property
    def size(self) -> float:
        """Radius of gyration [m]; 0 for a point."""
        return math.sqrt(max(float(np.trace(self.moments)) / self.mass, 0.0))

    @property
    def is_possible(self) -> bool:
        """Whether a mass distribution in space can have these properties."""
        return self.mass > 0.0 and bool(np.linalg.eigvalsh(self.moments)[0] > 0.0)

    @property
    def vector(self) -> FloatArray:
        """(10,) mass, centre of mass, and inertia about it, ordered as MOMENTS."""
        return np.concatenate([[self.mass], self.center, [self.inertia[at] for at in MOMENTS]])

    @property
    def standard(self) -> FloatArray:
        """
        (10,) parameters with linear inverse dynamics: m, m c, inertia about the link origin.

        In the order used by Pinocchio's `Inertia.toDynamicParameters`.
        """
        about = self.inertia + self.mass * (
            self.center @ self.center * np.eye(3) - np.outer(self.center, self.center)
        )
        return np.concatenate(
            [[self.mass], self.mass * self.center, [about[at] for at in MOMENTS]]
        )


def log_cholesky(body: Body) -> FloatArray:
    """
    Return a body's parameters (10,): log m, c, d1 d2 d3, s12 s13 s23.

    A body without thickness along a direction, or an impossible body, gets a small thickness.
    """
    values, vectors = np.linalg.eigh(body.moments / body.mass)
    least = max(float(values[-1]), 1e-12) * _THIN
    spread = (vectors * np.maximum(values, least)) @ vectors.T
    # factor from the reversed matrix, because the factor is an upper triangle
    factor = np.linalg.cholesky(spread[::-1, ::-1])[::-1, ::-1]
    return np.concatenate(
        [
            [math.log(body.mass)],
            body.center,
            np.log(np.diagonal(factor)),
            [factor[at] for at in _UPPER],
        ]
    )


def body_of(parameters: FloatArray) -> Body:
    """Return the body for ten parameters."""
    mass, factor = math.exp(parameters[0]), _factor(parameters)
    return Body(mass, parameters[CENTER].copy(), _inertia(mass * factor @ factor.T))


def standard_derivatives(parameters: FloatArray) -> FloatArray:
    """Return (10, 10) derivatives of `Body.standard` (rows) by the parameters (columns)."""
    mass, center, factor = math.exp(parameters[0]), parameters[CENTER], _factor(parameters)
    found = np.empty((10, 10))
    found[:, 0] = body_of(parameters).standard
    for axis in range(3):
        unit = np.eye(3)[axis]
        found[:, 1 + axis] = _standard(
            0.0, mass * unit, mass * (np.outer(unit, center) + np.outer(center, unit))
        )
    for column in range(6):
        change = np.zeros((3, 3))
        if column < 3:
            change[column, column] = factor[column, column]
        else:
            change[_UPPER[column - 3]] = 1.0
        half = mass * change @ factor.T
        found[:, 4 + column] = _standard(0.0, np.zeros(3), half + half.T)
    return found


def vector_derivatives(parameters: FloatArray) -> FloatArray:
    """Return (10, 10) derivatives of `Body.vector` (rows) by the parameters (columns)."""
    mass, factor = math.exp(parameters[0]), _factor(parameters)
    found = np.zeros((10, 10))
    own = body_of(parameters)
    found[:, 0] = np.concatenate([[mass], np.zeros(3), own.vector[4:]])
    found[1:4, 1:4] = np.eye(3)
    for column in range(6):
        change = np.zeros((3, 3))
        if column < 3:
            change[column, column] = factor[column, column]
        else:
            change[_UPPER[column - 3]] = 1.0
        half = mass * change @ factor.T
        inertia = _inertia(half + half.T)
        found[4:, 4 + column] = [inertia[at] for at in MOMENTS]
    return found


def _factor(parameters: FloatArray) -> FloatArray:
    """Return the upper triangle L (3, 3) [m]."""
    factor = np.diag(np.exp(parameters[4:7]))
    for at, value in zip(_UPPER, parameters[7:10], strict=True):
        factor[at] = value
    return factor


def _inertia(moments: FloatArray) -> FloatArray:
    """Return the inertia for second moments, both (3, 3)."""
    inertia: FloatArray = np.trace(moments) * np.eye(3) - moments
    return inertia


def _standard(mass: float, first: FloatArray, moments: FloatArray) -> FloatArray:
    """Return `Body.standard` (10,) from mass, first and second moments about the link origin."""
    inertia = _inertia(moments)
    return np.concatenate([[mass], first, [inertia[at] for at in MOMENTS]])
