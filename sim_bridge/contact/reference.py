"""
A reference solution of contacts with friction, independent of the engine's solvers.

ADMM on the impulses, with de Saxcé's correction of the velocities (as Carpentier, Montaut and Le
Lidec 2024), then semismooth Newton steps on the laws of Alart and Curnier (1991) to rounding.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.contact.admm import minimise
from sim_bridge.contact.solution import (
    ContactSolution,
    law_residuals,
    reduce_problem,
    ReducedProblem,
    solution_of,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import truth
from sim_bridge.world.contact_problem import ContactProblem

_NEWTONS, _HALVINGS = 60, 12
_ENOUGH = 1e-15  # natural map, relative to the greatest velocity
_ROUGH, _MOST = 1e-9, 5000  # of ADMM, before Newton steps
_DEPENDENT = 1e-12  # share of a singular value that is rounding
_GREATEST = 1e6  # friction coefficient that counts as infinite
_IMMOBILE = 1e-20  # share of the greatest inverse inertia that is rounding


def solve_reference(problem: ContactProblem, friction: bool = True) -> ContactSolution:
    """
    Solve a problem with friction cones by ADMM and Newton steps in numpy.

    Its time grows with the cube of the number of contacts. `residuals` of the result say how good
    it is. friction: False leaves it out. Raises InvalidValueError for contacts with other friction
    than cones.
    """
    reduced = reduce_problem(problem, truth('friction', friction))
    cones = reduced.cones
    if not (cones.models == 'cone').all():
        number = int(reduced.which[np.flatnonzero(cones.models != 'cone')[0]])
        raise InvalidValueError(
            'friction_models', problem.friction_models[number],
            "'cone'; sb.contact.solve takes the others", f'contact {number}')
    if not len(reduced.g):
        return solution_of(problem, reduced, np.zeros(0), 0)
    # inverse inertias near 1
    of_contacts, own_inertia = reduced.split(reduced.inertia)
    sizes = np.concatenate([np.repeat(of_contacts.max(axis=1, initial=0.0), 3), own_inertia])
    factor = 1.0 / np.sqrt(np.where(sizes > _IMMOBILE * sizes.max(), sizes, 1.0))
    of_laws = reduced.split(factor)[1]
    mu = np.minimum(cones.friction[:, 0], _GREATEST)
    own = reduced._replace(
        W=factor[:, None] * reduced.W, softness=factor**2 * reduced.softness, g=factor * reduced.g,
        cones=cones._replace(friction=np.stack([mu, mu], axis=1)))
    scale = float(np.abs(own.g).max()) or 1.0
    own = own._replace(
        g=own.g / scale, least=reduced.least / (of_laws * scale),
        most=reduced.most / (of_laws * scale))
    G = own.W @ own.W.T + np.diag(own.softness)

    def corrected(u: np.ndarray) -> np.ndarray:
        extra = np.zeros_like(u)
        extra[2 : 3 * len(mu) : 3] = cones.sliding(own.split(u)[0])
        return extra

    def project(x: np.ndarray) -> np.ndarray:
        impulses, laws = own.split(x)
        return np.concatenate(
            [project_cones(impulses, mu).ravel(), np.clip(laws, own.least, own.most)])

    found = minimise(
        G, own.g, project, correction=corrected, tolerance=_ROUGH, most=_MOST)
    x, newtons = _newton(own, G, found.x)
    return solution_of(problem, reduced, scale * factor * x, found.iterations + newtons)


def project_cones(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return the nearest points (n, 3) of cones |xy| <= mu z to x (n, 3)."""
    size, z = np.hypot(x[:, 0], x[:, 1]), x[:, 2]
    height = np.maximum((z + mu * size) / (1.0 + mu**2), 0.0)
    share = np.divide(mu * height, size, out=np.zeros_like(size), where=size > 0.0)
    on_edge = np.concatenate([x[:, :2] * share[:, None], height[:, None]], axis=1)
    return np.where((size <= mu * z)[:, None], x, on_edge)


def _newton(
    reduced: ReducedProblem, G: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return impulses after Newton steps on the laws, and how many steps these were."""
    x, steps = start.copy(), 0
    best = _residual(reduced, G, x)
    while best > _ENOUGH and steps < _NEWTONS:
        steps += 1
        value, slope = _natural_map(reduced, G, x)
        change = np.linalg.lstsq(slope, -value, rcond=_DEPENDENT)[0]
        length = 1.0
        for _ in range(_HALVINGS):
            trial = _within(reduced, x + length * change)
            residual = _residual(reduced, G, trial)
            if residual < best:
                break
            length *= 0.5
        else:
            break
        x, best = trial, residual
    return x, steps


def _within(reduced: ReducedProblem, x: np.ndarray) -> np.ndarray:
    """Return impulses that a step has moved out of the cones, moved back."""
    impulses, laws = reduced.split(x)
    moved = impulses.copy()
    moved[:, 2] = np.maximum(moved[:, 2], 0.0)
    moved[:, :2] = reduced.cones.limit(moved[:, :2], moved[:, 2])
    return np.concatenate([moved.ravel(), np.clip(laws, reduced.least, reduced.most)])


def _residual(reduced: ReducedProblem, G: np.ndarray, x: np.ndarray) -> float:
    return law_residuals(reduced, x, G @ x + reduced.g)[3]


def _natural_map(
    reduced: ReducedProblem, G: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws' natural map x - P(x - u) and a generalized derivative of it."""
    count, width = 3 * len(reduced.which), len(x)
    mu = reduced.cones.friction[:, 0]
    # one row for each number; those of contacts are shaped in place below
    whole_aim, whole_of_aim = x - (G @ x + reduced.g), np.eye(width) - G
    whole, whole_slope = x.copy(), np.eye(width)
    laws = whole_aim[count:]
    whole[count:] -= np.clip(laws, reduced.least, reduced.most)
    inside = count + np.flatnonzero((laws > reduced.least) & (laws < reduced.most))
    whole_slope[inside] -= whole_of_aim[inside]
    aim, of_aim = whole_aim[:count].reshape(-1, 3), whole_of_aim[:count].reshape(-1, 3, width)
    value, slope = whole[:count].reshape(-1, 3), whole_slope[:count].reshape(-1, 3, width)
    for k in range(len(mu)):
        pressing = aim[k, 2] > 0.0
        normal, of_normal = (aim[k, 2], of_aim[k, 2]) if pressing else (0.0, np.zeros(width))
        value[k, 2] -= normal
        slope[k, 2] -= of_normal
        t, bound = aim[k, :2], mu[k] * normal
        size = float(np.hypot(*t))
        if size <= bound:
            value[k, :2] -= t
            slope[k, :2] -= of_aim[k, :2]
        elif size > 0.0:
            d = t / size
            across = np.eye(2) - np.outer(d, d)
            value[k, :2] -= bound * d
            slope[k, :2] -= (mu[k] * np.outer(d, of_normal)
                             + bound / size * across @ of_aim[k, :2])
    return whole, whole_slope
