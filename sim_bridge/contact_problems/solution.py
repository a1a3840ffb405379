"""Solutions of contact problems, and their residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.validation import instance_of
from sim_bridge.world.contact_problem import ContactProblem
from sim_bridge.world.sparse import sparse_product

_LEAST = 1e-300  # least inverse inertia: that of immovable bodies is 0, and it is a divisor


class Residuals(NamedTuple):
    """
    Violation of contact and joint laws by a solution; 0 for an exact solution.

    impulse_distance: greatest signed distance between an impulse and its cone, positive outside
        [N s].
    velocity_distance: the same for corrected velocities and their dual cones [m/s].
    complementarity: greatest |impulse times corrected velocity| at a contact [J].
    natural: greatest natural map |u - P(u - a λ)| at a contact [m/s], a its inverse inertia.
    The first four include the joint laws; their cones are the intervals between their bounds.
    momentum: greatest entry of M (v⁺ - v_free) - J3ᵀ λ - Kᵀ μ - Lᵀ ν [N s, N m s].
    joints: greatest entry of K v⁺ + joint_softness μ - joint_target [m/s, rad/s].
    """

    impulse_distance: float
    velocity_distance: float
    complementarity: float
    natural: float
    momentum: float
    joints: float


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """
    Velocities and impulses after a step.

    velocity: (nv,) v⁺ over the problem's coordinates. impulses: (nc, 3) λ of b on a along x, y and
    z of the problem's axes [N s]. joint_impulses: (m,) μ of the problem's joint rows [N s, N m s].
    law_impulses: (k,) ν of its joint laws [N s, N m s]. turning_impulses: (t, 3) τ of rolling and
    spinning friction about the same axes [N m s].
    relative_velocities: (nc, 3) u, minus target velocities [m/s]. corrected_velocities: (nc, 3)
    u with mu |u_xy| added along z, after de Saxcé, and the rolling and spinning terms
    likewise; they lie in the dual cones. residuals: law violation. iterations: solver
    iterations.
    """

    velocity: np.ndarray
    impulses: np.ndarray
    joint_impulses: np.ndarray
    law_impulses: np.ndarray
    turning_impulses: np.ndarray
    relative_velocities: np.ndarray
    corrected_velocities: np.ndarray
    residuals: Residuals
    iterations: int

    @property
    def normal_impulses(self) -> np.ndarray:
        """Impulses (nc,) along the normals [N s]."""
        return self.impulses[:, 2]


class Cones(NamedTuple):
    """
    Friction at n contacts. friction: (n, 2). models: (n,), see `ContactProblem.friction_models`.

    Cones are circular: elliptic cones have scaled coordinates, y of impulses divided and y of
    velocities multiplied by mu2 / mu.
    """

    friction: np.ndarray
    models: np.ndarray

    @property
    def is_constant(self) -> np.ndarray:
        """Whether friction has a constant bound (n, 2), along x and y."""
        first = np.isin(self.models, ('constant', 'constant_and_pyramid'))
        return np.stack(
            [first, np.isin(self.models, ('constant', 'pyramid_and_constant'))], axis=1
        )

    @property
    def slope(self) -> np.ndarray:
        """Cone angle cosines (n,), for distances to the cones."""
        return 1.0 / np.hypot(1.0, np.where(self.is_constant[:, 0], 0.0, self.friction[:, 0]))

    def bounds(self, normal: np.ndarray) -> np.ndarray:
        """Return friction bounds (n, 2) along x and y for impulses (n,) along z [N s]."""
        normal = normal[:, None]
        per = np.where(self.is_constant, normal > 0.0, np.maximum(normal, 0.0))
        return np.multiply(self.friction, per, out=np.zeros(self.friction.shape), where=per > 0.0)

    def sliding(self, u: np.ndarray) -> np.ndarray:
        """Return mu |u_xy| (n,), de Saxcé's correction along z."""
        grows = np.isfinite(self.friction) & ~self.is_constant
        return self._size(np.where(grows, self.friction, 0.0) * np.abs(u[:, :2]))

    def limit(self, wanted: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return the nearest friction (n, 2) to `wanted` within bounds, for impulses along z."""
        bounds, size = self.bounds(normal), np.hypot(*wanted.T)
        share = np.divide(bounds[:, 0], size, out=np.ones_like(size), where=size > bounds[:, 0])
        return np.where(
            (self.models == 'cone')[:, None],
            wanted * share[:, None],
            np.clip(wanted, -bounds, bounds),
        )

    def dissipation(self, normal: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the friction power (n,) [J] at finite bounds and velocities u (n, 3)."""
        bounds = self.bounds(normal)
        return self._size(np.where(np.isfinite(bounds), bounds, 0.0) * np.abs(u[:, :2]))

    def _size(self, both: np.ndarray) -> np.ndarray:
        """Return each model's norm (n,) for values along x and y (n, 2)."""
        return np.where(self.models == 'cone', np.hypot(*both.T), both.sum(axis=1))


class Turning(NamedTuple):
    """
    Rolling and spinning friction at t contacts. at: (t,) indices of pushing contacts.

    rolling, spinning: (t,) greatest angular impulses about x and y together, and about z, per
    impulse along z [m].
    """

    at: np.ndarray
    rolling: np.ndarray
    spinning: np.ndarray

    def limit(self, wanted: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return the nearest value (t, 3) to `wanted` within bounds, for impulses (n,) along z."""
        per, size = np.maximum(normal[self.at], 0.0), np.hypot(wanted[:, 0], wanted[:, 1])
        roll, spin = self.rolling * per, self.spinning * per
        share = np.divide(roll, size, out=np.ones_like(size), where=size > roll)
        return np.stack([*(wanted[:, :2].T * share), np.clip(wanted[:, 2], -spin, spin)], axis=1)

    def power(self, u: np.ndarray) -> np.ndarray:
        """
        Return the power (t,) dissipated by the greatest angular impulses, per impulse along z.

        u: angular velocities (t, 3).
        """
        return np.asarray(
            self.rolling * np.hypot(u[:, 0], u[:, 1]) + self.spinning * np.abs(u[:, 2])
        )


class ReducedProblem(NamedTuple):
    """
    Problem in the impulses of n pushing contacts and k bounded joint laws: u = G x + g.

    x: (3 n + 3 t + k,) λ', impulses plus adhesion, in coordinates with circular cones, then τ of t
    contacts with rolling or spinning friction, then ν.
    G = W Wᵀ + diag(softness). closed: the problem with the other laws as joint rows. which: (n,)
    contact indices. stretch: (n,) mu2 / mu of elliptic cones, see `Cones`, else 1.
    W: rows of x. softness: of x. free: u without any impulse. g: u for x = 0. cones: contact
    friction. turns: rolling and spinning friction. least, most: (k,) bounds of ν.
    """

    closed: ContactProblem
    which: np.ndarray
    stretch: np.ndarray
    W: np.ndarray
    softness: np.ndarray
    free: np.ndarray
    g: np.ndarray
    cones: Cones
    turns: Turning
    least: np.ndarray
    most: np.ndarray

    @property
    def inertia(self) -> np.ndarray:
        """Diagonal of G [1/kg]."""
        return np.asarray((self.W**2).sum(axis=1) + self.softness)

    def split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the parts (n, 3) for contacts, (t, 3) for their turning, and (k,) for laws."""
        first = 3 * len(self.which)
        second = first + 3 * len(self.turns.at)
        return (
            values[:first].reshape(-1, 3),
            values[first:second].reshape(-1, 3),
            values[second:],
        )


def checked_problem(problem: ContactProblem) -> ContactProblem:
    """Return a contact problem; raises InvalidValueError for other types."""
    return instance_of('problem', problem, ContactProblem, 'a problem from World.contact_problem')


def reduce_problem(problem: ContactProblem, with_friction: bool = True) -> ReducedProblem:
    """Return a problem in the impulses alone; without friction, contact coefficients are 0."""
    closed, which = checked_problem(problem).closed, np.flatnonzero(problem.pushes)
    laws = closed.joint_laws
    rows = (3 * which[:, None] + np.arange(3)).ravel()
    models = np.array([problem.friction_models[k] for k in which], dtype=object)
    friction = problem.friction[which] if with_friction else np.zeros((len(which), 2))
    mu, mu2 = friction.T
    is_ellipse = (models == 'cone') & (mu != mu2) & (mu > 0.0) & np.isfinite(mu)
    stretch = np.divide(mu2, mu, out=np.ones_like(mu), where=is_ellipse)
    scale = np.stack([np.ones_like(mu), stretch, np.ones_like(mu)], axis=1).ravel()
    place = np.zeros(len(problem.gap), int)
    place[which] = np.arange(len(which))
    own = np.arange(len(problem.turning) if with_friction else 0)
    at = place[problem.turning[own]]
    turn_rows = (3 * own[:, None] + np.arange(3)).ravel()
    turn_scale = scale.reshape(-1, 3)[at].ravel()
    jacobian = np.concatenate(
        [
            scale[:, None] * problem.J3[rows],
            turn_scale[:, None] * problem.J_turn[turn_rows],
            laws.jacobian,
        ]
    )
    target = np.concatenate(
        [scale * problem.target[rows], turn_scale * problem.turning_target[turn_rows], laws.target]
    )
    softness = np.concatenate(
        [scale**2 * problem.softness[rows], np.zeros(len(turn_rows)), laws.softness]
    )
    W = sparse_product(jacobian, closed.factor)
    pull = np.zeros(len(W))
    pull[2 : len(rows) : 3] = problem.adhesion[which]
    free = jacobian @ closed.v_held - target
    circular = np.stack([mu, np.where(models == 'cone', mu, mu2)], axis=1)
    return ReducedProblem(
        closed,
        which,
        stretch,
        W,
        softness,
        free,
        free - W @ (W.T @ pull),
        Cones(circular, models),
        Turning(at, *problem.turning_friction[own].T),
        laws.least,
        laws.most,
    )


def solution_of(
    problem: ContactProblem, reduced: ReducedProblem, x: np.ndarray, iterations: int
) -> ContactSolution:
    """Return the solution for reduced impulses x, with residuals."""
    closed, which, stretch = reduced.closed, reduced.which, reduced.stretch
    impulses, turning, bounded = reduced.split(x)
    turns = np.zeros((len(problem.turning), 3))
    turns[: len(turning)] = turning
    turn_stretch = stretch[reduced.turns.at]
    turns[: len(turning), 1] *= turn_stretch
    total = np.zeros((len(problem.gap), 3))
    total[which] = impulses
    total[which, 1] *= stretch
    soft = problem.softness.reshape(-1, 3) * total
    total[which, 2] -= problem.adhesion[which]
    velocity = closed.velocity(total, bounded, turns)
    joint = closed.joint_impulses(total, bounded, turns)
    laws, own = problem.joint_laws, np.zeros(len(problem.joint_laws.types))
    own[laws.is_bounded] = bounded
    own[~laws.is_bounded] = problem.closed_scale * joint[len(problem.K) :]
    joint = joint[: len(problem.K)]
    u = (problem.J3 @ velocity - problem.target).reshape(-1, 3) + soft
    circular = u[which]
    circular[:, 1] *= stretch
    angular = (problem.J_turn @ velocity - problem.turning_target).reshape(-1, 3)[: len(turning)]
    angular[:, 1] *= turn_stretch
    corrected = u.copy()
    corrected[which, 2] += reduced.cones.sliding(circular)
    corrected[which[reduced.turns.at], 2] += reduced.turns.power(angular)
    of_laws = laws.jacobian @ velocity + laws.softness * own - laws.target
    momentum = (
        problem.M @ (velocity - problem.v_free)
        - problem.J3.T @ total.ravel()
        - problem.K.T @ joint
        - laws.jacobian.T @ own
        - problem.J_turn.T @ turns.ravel()
    )
    joints = problem.K @ velocity + problem.joint_softness * joint - problem.joint_target
    residuals = Residuals(
        *law_residuals(
            reduced,
            x,
            np.concatenate([circular.ravel(), angular.ravel(), of_laws[laws.is_bounded]]),
        ),
        _greatest(momentum),
        _greatest(joints),
    )
    return ContactSolution(velocity, total, joint, own, turns, u, corrected, residuals, iterations)


def law_residuals(
    reduced: ReducedProblem, x: np.ndarray, u: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the first four Residuals; x, u: impulses and velocities, reduced."""
    impulses, turning, bounded = reduced.split(x)
    velocities, angular, of_laws = reduced.split(u)
    inertia, turn_inertia, own = reduced.split(np.maximum(reduced.inertia, _LEAST))
    found = [_bounded_residuals(reduced, bounded, of_laws, own)] if len(bounded) else []
    if len(impulses):
        found.append(_cone_residuals(reduced.cones, impulses, velocities, inertia))
    if len(turning):
        found.append(
            _turning_residuals(reduced.turns, impulses[:, 2], turning, angular, turn_inertia)
        )
    most = np.max(found, axis=0) if found else np.zeros(4)
    return float(most[0]), float(most[1]), float(most[2]), float(most[3])


def _bounded_residuals(
    reduced: ReducedProblem, x: np.ndarray, u: np.ndarray, inertia: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the first four Residuals for bounded laws; x, u, inertia: (k,)."""
    below, above = x - reduced.least, reduced.most - x
    # an interval with two finite bounds allows velocities of both signs
    wrong = np.where(np.isinf(above), -u, np.where(np.isinf(below), u, 0.0))
    near = [np.where(np.isfinite(room), room, 0.0) for room in (below, above)]
    power = near[0] * np.maximum(u, 0.0) + near[1] * np.maximum(-u, 0.0)
    natural = inertia * (x - np.clip(x - u / inertia, reduced.least, reduced.most))
    return (
        float(-np.minimum(below, above).min()),
        float(wrong.max()),
        _greatest(power),
        _greatest(natural),
    )


def _turning_residuals(
    turns: Turning, normal: np.ndarray, x: np.ndarray, u: np.ndarray, inertia: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the first four Residuals for turning; normal: (n,); x, u, inertia: (t, 3)."""
    stiff = np.concatenate(
        [np.repeat(inertia[:, :2].max(axis=1, keepdims=True), 2, axis=1), inertia[:, 2:]], axis=1
    )
    outside = np.linalg.norm(x - turns.limit(x, normal), axis=1)
    power = (x * u).sum(axis=1) + np.maximum(normal[turns.at], 0.0) * turns.power(u)
    natural = np.linalg.norm(stiff * (x - turns.limit(x - u / stiff, normal)), axis=1)
    return float(outside.max()), -np.inf, _greatest(power), _greatest(natural)


def _cone_residuals(
    cones: Cones, impulses: np.ndarray, u: np.ndarray, inertia: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the first four Residuals for contacts; impulses, u, inertia: (n, 3)."""
    normal = impulses[:, 2]
    slope, friction = cones.slope, impulses[:, :2]
    over = np.linalg.norm(friction - cones.limit(friction, normal), axis=1)
    room = cones.bounds(normal)[:, 0] - np.hypot(*friction.T)
    inside = -np.minimum(slope * room, normal)
    distance = np.where(
        normal < 0.0, np.linalg.norm(impulses, axis=1), np.where(over > 0.0, slope * over, inside)
    )
    power = normal * u[:, 2] + cones.dissipation(normal, u) + (friction * u[:, :2]).sum(axis=1)
    # as in the engine: the normal and friction separately
    stiff, upright = inertia[:, :2].max(axis=1)[:, None], inertia[:, 2]
    across = stiff * (friction - cones.limit(friction - u[:, :2] / stiff, normal))
    along = upright * (normal - np.maximum(normal - u[:, 2] / upright, 0.0))
    natural = np.maximum(np.abs(along), np.linalg.norm(across, axis=1))
    return (
        float(distance.max()),
        float((-slope * u[:, 2]).max()),
        _greatest(power),
        _greatest(natural),
    )


def _greatest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))
