"""
Reference solution for contacts with friction, independent of the engine's solvers.

ADMM on the impulses, with de Saxcé's velocity correction (as Carpentier, Montaut and Le
Lidec 2024), then semismooth Newton steps on Alart and Curnier's laws (1991) to rounding.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from sim_bridge.contact_problems.admm import minimise
from sim_bridge.contact_problems.solution import (
    ContactSolution,
    law_residuals,
    reduce_problem,
    ReducedProblem,
    solution_of,
    Turning,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import truth
from sim_bridge.world.contact_problem import ContactProblem

_NEWTONS, _HALVINGS = 60, 12
_ENOUGH = 1e-15  # natural map, relative to the greatest velocity
_ROUGH, _MOST = 1e-9, 5000  # ADMM tolerance and iterations, before the Newton steps
_DEPENDENT = 1e-12  # relative singular value counted as rounding
_GREATEST = 1e6  # friction coefficient counted as infinite
_IMMOBILE = 1e-20  # inverse inertia counted as rounding, relative to the greatest


def solve_reference(problem: ContactProblem, friction: bool = True) -> ContactSolution:
    """
    Solve a problem with friction cones by ADMM and Newton steps in numpy.

    The time grows with the cube of the contact and law count. `residuals` of the result
    measures its accuracy. friction: False leaves out contact friction. Raises InvalidValueError
    for contacts with other friction than cones.
    """
    reduced = reduce_problem(problem, truth('friction', friction))
    cones = reduced.cones
    if not (cones.models == 'cone').all():
        number = int(reduced.which[np.flatnonzero(cones.models != 'cone')[0]])
        raise InvalidValueError(
            'friction_models',
            problem.friction_models[number],
            "'cone'; sb.contact_problems.solve accepts the others",
            f'contact {number}',
        )
    if not len(reduced.g):
        return solution_of(problem, reduced, np.zeros(0), 0)
    # scaling to inverse inertias near 1
    *three, own_inertia = reduced.split(reduced.inertia)
    sizes = np.concatenate(
        [*(np.repeat(each.max(axis=1, initial=0.0), 3) for each in three), own_inertia]
    )
    factor = 1.0 / np.sqrt(np.where(sizes > _IMMOBILE * sizes.max(), sizes, 1.0))
    of_contacts, of_turning, of_laws = reduced.split(factor)
    mu, turns = np.minimum(cones.friction[:, 0], _GREATEST), reduced.turns
    lever = of_contacts[turns.at, 2] / of_turning[:, 2]
    own = reduced._replace(
        W=factor[:, None] * reduced.W,
        softness=factor**2 * reduced.softness,
        g=factor * reduced.g,
        cones=cones._replace(friction=np.stack([mu, mu], axis=1)),
        turns=turns._replace(rolling=lever * turns.rolling, spinning=lever * turns.spinning),
    )
    scale = float(np.abs(own.g).max()) or 1.0
    own = own._replace(
        g=own.g / scale,
        least=reduced.least / (of_laws * scale),
        most=reduced.most / (of_laws * scale),
    )
    G = own.W @ own.W.T + np.diag(own.softness)

    def corrected(u: np.ndarray) -> np.ndarray:
        extra = np.zeros_like(u)
        sliding, turning, _ = own.split(u)
        normal = own.split(extra)[0][:, 2]
        normal += cones.sliding(sliding)
        normal[own.turns.at] += own.turns.power(turning)
        return extra

    def project(x: np.ndarray) -> np.ndarray:
        impulses, turning, laws = own.split(x)
        allowed = project_cones(impulses, mu)
        at = own.turns.at
        allowed[at], turning = _project_turning(impulses[at], turning, mu[at], own.turns)
        return np.concatenate(
            [allowed.ravel(), turning.ravel(), np.clip(laws, own.least, own.most)]
        )

    found = minimise(G, own.g, project, correction=corrected, tolerance=_ROUGH, most=_MOST)
    x, newtons = _newton(own, G, found.x)
    return solution_of(problem, reduced, scale * factor * x, found.iterations + newtons)


def project_cones(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return the nearest points to x (n, 3) in the cones |xy| <= mu z."""
    size, z = np.hypot(x[:, 0], x[:, 1]), x[:, 2]
    height = np.maximum((z + mu * size) / (1.0 + mu**2), 0.0)
    share = np.divide(mu * height, size, out=np.zeros_like(size), where=size > 0.0)
    on_edge = np.concatenate([x[:, :2] * share[:, None], height[:, None]], axis=1)
    return np.where((size <= mu * z)[:, None], x, on_edge)


def _project_turning(
    impulses: np.ndarray, turning: np.ndarray, mu: np.ndarray, turns: Turning
) -> tuple[np.ndarray, np.ndarray]:
    """
    Project impulses on the sliding, rolling and spinning cones.

    impulses, turning: (t, 3) impulses and angular impulses; the result is alike.
    """
    slope = np.stack([mu, turns.rolling, turns.spinning], axis=1)
    size = np.stack(
        [np.hypot(*impulses[:, :2].T), np.hypot(*turning[:, :2].T), np.abs(turning[:, 2])], axis=1
    )
    # every subset of the cones may bind; the projection's height is the largest over all subsets
    height = np.zeros(len(impulses))
    for reached in product((0.0, 1.0), repeat=3):
        own = slope * reached
        height = np.maximum(
            height, (impulses[:, 2] + (own * size).sum(axis=1)) / (1.0 + (own**2).sum(axis=1))
        )
    bound = slope * height[:, None]
    share = np.divide(bound, size, out=np.ones_like(size), where=size > bound)
    return (
        np.concatenate([impulses[:, :2] * share[:, :1], height[:, None]], axis=1),
        turning * share[:, [1, 1, 2]],
    )


def _newton(reduced: ReducedProblem, G: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, int]:
    """Return impulses after Newton steps on the laws, and the step count."""
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
    """Project impulses back to the cones after a step."""
    impulses, turning, laws = reduced.split(x)
    moved = impulses.copy()
    moved[:, 2] = np.maximum(moved[:, 2], 0.0)
    moved[:, :2] = reduced.cones.limit(moved[:, :2], moved[:, 2])
    turning = reduced.turns.limit(turning, moved[:, 2])
    return np.concatenate(
        [moved.ravel(), turning.ravel(), np.clip(laws, reduced.least, reduced.most)]
    )


def _residual(reduced: ReducedProblem, G: np.ndarray, x: np.ndarray) -> float:
    return law_residuals(reduced, x, G @ x + reduced.g)[3]


def _natural_map(
    reduced: ReducedProblem, G: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws' natural map x - P(x - u) and its generalized derivative."""
    mu, turns = reduced.cones.friction[:, 0], reduced.turns
    first = 3 * len(mu)
    count = first + 3 * len(turns.at)
    aim, of_aim = x - (G @ x + reduced.g), np.eye(len(x)) - G
    value, slope = x.copy(), np.eye(len(x))
    laws = aim[count:]
    value[count:] -= np.clip(laws, reduced.least, reduced.most)
    inside = count + np.flatnonzero((laws > reduced.least) & (laws < reduced.most))
    slope[inside] -= of_aim[inside]
    normals = np.arange(2, first, 3)
    pressing = normals[aim[normals] > 0.0]
    value[pressing] -= aim[pressing]
    slope[pressing] -= of_aim[pressing]
    # for each bound: contact, first row, number of rows and coefficient
    bounds = [(k, 3 * k, 2, mu[k]) for k in range(len(mu))]
    for place, k in enumerate(turns.at.tolist()):
        at = first + 3 * place
        bounds += [(k, at, 2, turns.rolling[place]), (k, at + 2, 1, turns.spinning[place])]
    for k, at, rows, coefficient in bounds:
        is_pressing = aim[3 * k + 2] > 0.0
        normal = aim[3 * k + 2] if is_pressing else 0.0
        own = slice(at, at + rows)
        size, bound = float(np.linalg.norm(aim[own])), coefficient * normal
        if size <= bound:
            value[own] -= aim[own]
            slope[own] -= of_aim[own]
        elif size > 0.0:
            d = aim[own] / size
            across = np.eye(rows) - np.outer(d, d)
            value[own] -= bound * d
            slope[own] -= bound / size * across @ of_aim[own]
            if is_pressing:
                slope[own] -= coefficient * np.outer(d, of_aim[3 * k + 2])
    return value, slope
