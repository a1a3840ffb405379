"""
Contact without friction: nearest velocity to the free velocity that satisfies all contacts.

Primal: minimise |v⁺ - v_held|² in the mass matrix metric, under J v⁺ >= bias. Dual:
minimise ½ λᵀ G λ + gᵀ λ over λ >= 0, with G the normals' Delassus matrix. With M = C Cᵀ the
dual is a nonnegative least-squares problem: |C⁻¹ Jᵀ λ + Cᵀ v_held|². The primal is a distance
minimisation; Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) transform it
into another nonnegative least-squares problem, for any bias.

Joint stops add further rows of this kind. If joint impulses have two bounds, as in friction
and motors, neither is a least-squares problem: both are then solved by the reference solver, with
friction coefficients 0.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

from sim_bridge.contact_problems.reference import solve_reference
from sim_bridge.contact_problems.solution import (
    ContactSolution,
    reduce_problem,
    ReducedProblem,
    solution_of,
)
from sim_bridge.foundation.errors import InfeasibleError, SimulationError
from sim_bridge.world.contact_problem import ContactProblem

_CONSISTENT = 1e-12  # relative part of g outside the range of G counted as rounding
_EXACT = 1e-13  # gradient at a minimum, relative to column sizes and goal
_NOTHING = 1e-13  # remainder length below which constraints contradict each other


def solve_primal(problem: ContactProblem) -> ContactSolution:
    """
    Return the nearest velocity without contact friction, by the primal.

    Raises InfeasibleError if no velocity satisfies all contacts.
    """
    reduced = reduce_problem(problem, with_friction=False)
    if not _is_one_sided(reduced):
        return solve_reference(problem, friction=False)
    return _solution(
        problem, reduced, least_distance(_normal_rows(reduced), -_of_normals(reduced, reduced.g))
    )


def solve_dual(problem: ContactProblem) -> ContactSolution:
    """
    Return the least-energy impulses without contact friction, by the dual.

    If linearly dependent contacts require different velocities, the dual is no least-squares
    problem; the primal is solved instead. Raises InfeasibleError if no velocity satisfies all
    contacts.
    """
    reduced = reduce_problem(problem, with_friction=False)
    if not _is_one_sided(reduced):
        return solve_reference(problem, friction=False)
    rows, g = _normal_rows(reduced), _of_normals(reduced, reduced.g)
    if not len(g):
        return _solution(problem, reduced, g)
    free = np.linalg.lstsq(rows, g, rcond=None)[0]
    if np.linalg.norm(rows @ free - g) > _CONSISTENT * np.linalg.norm(g):
        return _solution(problem, reduced, least_distance(rows, -g))
    return _solution(problem, reduced, nonnegative_least_squares(rows.T, -free))


def least_distance(rows: np.ndarray, least: np.ndarray) -> np.ndarray:
    """
    Return the multipliers λ >= 0 of the shortest x = rowsᵀ λ with rows x >= least.

    Raises InfeasibleError if no x satisfies the rows.
    """
    sizes = np.linalg.norm(rows, axis=1)
    reach = np.divide(least, sizes, out=np.where(least > 0.0, np.inf, 0.0), where=sizes > 0.0)
    far = float(reach.max(initial=0.0))
    if far == 0.0:
        return np.zeros(len(least))
    if np.isfinite(far):
        # unit rows, scaled so that the solution has length 1 or more
        known = sizes > 0.0
        columns = np.concatenate([(rows[known] / sizes[known, None]).T, reach[None, known] / far])
        goal = np.zeros(len(columns))
        goal[-1] = 1.0
        shares = nonnegative_least_squares(columns, goal)
        remainder = float(np.linalg.norm(columns @ shares - goal))
        if remainder > _NOTHING:
            found = np.zeros(len(least))
            found[known] = far * shares / (sizes[known] * remainder**2)
            return _refined(rows, least, found)
    raise InfeasibleError(
        'no velocity satisfies all contacts: contacts between two bodies contradict each other'
    )


def nonnegative_least_squares(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """
    Return the x >= 0 with least |columns x - goal|.

    SciPy's `nnls` may stop before the minimum if columns are linearly dependent; its slower
    `lsq_linear` finds it.
    """
    x = nnls(columns, goal)[0]
    gradient = columns.T @ (columns @ x - goal)
    error = np.abs(np.where(x > 0.0, gradient, np.minimum(gradient, 0.0)))
    scale = np.linalg.norm(columns, axis=0) * np.linalg.norm(goal)
    if (error <= _EXACT * scale).all():
        return x
    found = lsq_linear(
        columns,
        goal,
        (0.0, np.inf),
        method='bvls',
        tol=np.finfo(float).eps,
        max_iter=10 * (len(x) + 10),
    )
    if not found.success:
        raise SimulationError(
            f'impulses of {len(x)} contacts were not found by SciPy: {found.message}'
        )
    return np.asarray(found.x)


def _refined(rows: np.ndarray, least: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return multipliers refined on their active set, unless they leave it."""
    active = found > 0.0
    own = rows[active]
    change = np.linalg.lstsq(own @ own.T, least[active] - own @ (rows.T @ found), rcond=1e-13)[0]
    better = found.copy()
    better[active] += change
    return better if (better >= 0.0).all() else found


def _normal_rows(reduced: ReducedProblem) -> np.ndarray:
    """Return rows W for normals and stops, W Wᵀ = G; each compliant row has an extra column."""
    softness = np.sqrt(_of_normals(reduced, reduced.softness))
    return np.concatenate(
        [_of_normals(reduced, reduced.W), np.diag(softness)[:, softness > 0.0]], axis=1
    )


def _of_normals(reduced: ReducedProblem, rows: np.ndarray) -> np.ndarray:
    """Return normal rows, then stop rows."""
    count = 3 * len(reduced.which)
    return np.concatenate([rows[2:count:3], rows[count:]])


def _is_one_sided(reduced: ReducedProblem) -> bool:
    """Return whether all joint impulses are at least 0 without upper bound, like stop impulses."""
    return bool((reduced.least == 0.0).all() and np.isinf(reduced.most).all())


def _solution(
    problem: ContactProblem, reduced: ReducedProblem, normal: np.ndarray
) -> ContactSolution:
    count = 3 * len(reduced.which)
    x = np.zeros(len(reduced.g))
    x[2:count:3], x[count:] = normal[: len(reduced.which)], normal[len(reduced.which) :]
    return solution_of(problem, reduced, x, 1)
