"""
Contact without friction: the velocity nearest to the free one that no contact forbids.

Primal: minimise |v⁺ - v_held|² in the metric of the mass matrix, under J v⁺ >= bias. Dual:
minimise ½ λᵀ G λ + gᵀ λ over λ >= 0, with G the Delassus matrix of the normals. With M = C Cᵀ the
dual is a problem of nonnegative least squares: |C⁻¹ Jᵀ λ + Cᵀ v_held|². The primal is one of least
distance, which Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) turn into
another such problem, for any bias.

Stops of joints are further rows of the same kind. Where impulses of joints have two bounds, as
those of friction and motors, neither is a problem of least squares: both are then solved as the
reference does it, with friction coefficients of 0.
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

_CONSISTENT = 1e-12  # share of g outside the range of G that is rounding
_EXACT = 1e-13  # gradient of a minimum, by the sizes of its columns and its goal
_NOTHING = 1e-13  # length of the remainder below which constraints contradict each other


def solve_primal(problem: ContactProblem) -> ContactSolution:
    """
    Return the velocity of least distance without friction of contacts, by the primal.

    Raises InfeasibleError if no velocity obeys all contacts.
    """
    reduced = reduce_problem(problem, with_friction=False)
    if not _is_one_sided(reduced):
        return solve_reference(problem, friction=False)
    return _solution(
        problem, reduced, least_distance(_normal_rows(reduced), -_of_normals(reduced, reduced.g))
    )


def solve_dual(problem: ContactProblem) -> ContactSolution:
    """
    Return the impulses of least energy without friction of contacts, by the dual.

    Where contacts that depend on each other want different velocities, the dual is no problem of
    least squares; it is then solved as the primal. Raises InfeasibleError if no velocity obeys
    all contacts.
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

    Raises InfeasibleError if there is no such x.
    """
    sizes = np.linalg.norm(rows, axis=1)
    reach = np.divide(least, sizes, out=np.where(least > 0.0, np.inf, 0.0), where=sizes > 0.0)
    far = float(reach.max(initial=0.0))
    if far == 0.0:
        return np.zeros(len(least))
    if np.isfinite(far):
        # unit rows, and a solution of a length of at least 1
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
        'no velocity obeys all contacts: those between the same bodies contradict each other'
    )


def nonnegative_least_squares(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """
    Return the x >= 0 of least |columns x - goal|.

    SciPy's `nnls` may stop before the minimum where columns depend on each other; its slower
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
    """Return multipliers solved anew on their active set, where that does not leave it."""
    active = found > 0.0
    own = rows[active]
    change = np.linalg.lstsq(own @ own.T, least[active] - own @ (rows.T @ found), rcond=1e-13)[0]
    better = found.copy()
    better[active] += change
    return better if (better >= 0.0).all() else found


def _normal_rows(reduced: ReducedProblem) -> np.ndarray:
    """Return rows W of normals and stops, W Wᵀ = G: each soft one has a column of its own."""
    softness = np.sqrt(_of_normals(reduced, reduced.softness))
    return np.concatenate(
        [_of_normals(reduced, reduced.W), np.diag(softness)[:, softness > 0.0]], axis=1
    )


def _of_normals(reduced: ReducedProblem, rows: np.ndarray) -> np.ndarray:
    """Return the rows of normals, then of stops."""
    count = 3 * len(reduced.which)
    return np.concatenate([rows[2:count:3], rows[count:]])


def _is_one_sided(reduced: ReducedProblem) -> bool:
    """Return whether all impulses of joints only push, as stops do."""
    return bool((reduced.least == 0.0).all() and np.isinf(reduced.most).all())


def _solution(
    problem: ContactProblem, reduced: ReducedProblem, normal: np.ndarray
) -> ContactSolution:
    count = 3 * len(reduced.which)
    x = np.zeros(len(reduced.g))
    x[2:count:3], x[count:] = normal[: len(reduced.which)], normal[len(reduced.which) :]
    return solution_of(problem, reduced, x, 1)
