"""Solutions of contact problems, and how well they obey the laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim_bridge.world.contact_problem import ContactProblem

_LEAST = 1e-300  # inverse inertia of what cannot move, so that nothing is divided by 0


class Residuals(NamedTuple):
    """
    How far a solution is from the laws; 0 for an exact one.

    impulse_distance: greatest signed distance of an impulse from its cone, positive outside [N s].
    velocity_distance: likewise of the corrected velocities from the dual cones [m/s].
    complementarity: greatest |product of impulse and corrected velocity| of a contact [J].
    natural: greatest natural map |u - P(u - a λ)| of a contact [m/s], a its inverse inertia.
    momentum: greatest entry of M (v⁺ - v_free) - J3ᵀ λ - Kᵀ μ [N s, N m s].
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
    relative_velocities: (nc, 3) u, less what is wanted [m/s]. corrected_velocities: (nc, 3) u with
    mu |u_xy| added along z, after de Saxcé: it is in the dual cone. residuals: of the laws.
    iterations: that the solver took.
    """

    velocity: np.ndarray
    impulses: np.ndarray
    joint_impulses: np.ndarray
    relative_velocities: np.ndarray
    corrected_velocities: np.ndarray
    residuals: Residuals
    iterations: int

    @property
    def normal_impulses(self) -> np.ndarray:
        """(nc,) impulses along the normals [N s]."""
        return self.impulses[:, 2]


class Cones(NamedTuple):
    """
    The friction of n contacts. friction: (n, 2). models: (n,) 'cone', 'pyramid' or 'constant'.

    Cones are circular: an elliptic one in coordinates in which y of impulses is divided, and y of
    velocities multiplied, by mu2 / mu.
    """

    friction: np.ndarray
    models: np.ndarray

    @property
    def slope(self) -> np.ndarray:
        """(n,) cosines of the cones' angles, by which distances are measured."""
        return 1.0 / np.hypot(1.0, np.where(self.models == 'constant', 0.0, self.friction[:, 0]))

    def bounds(self, normal: np.ndarray) -> np.ndarray:
        """Return (n, 2) the most friction along x and y for impulses (n,) along z [N s]."""
        pressing = np.where(self.models == 'constant', normal > 0.0, np.maximum(normal, 0.0))
        per = np.broadcast_to(pressing[:, None], self.friction.shape)
        return np.multiply(self.friction, per, out=np.zeros(self.friction.shape), where=per > 0.0)

    def sliding(self, u: np.ndarray) -> np.ndarray:
        """Return (n,) mu |u_xy|: what de Saxcé's correction adds along z."""
        rate = np.where(np.isfinite(self.friction), self.friction, 0.0)
        return np.where(self.models == 'constant', 0.0, self._size(rate * np.abs(u[:, :2])))

    def limit(self, wanted: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return (n, 2) the nearest to wanted friction within bounds, for impulses along z."""
        bounds, size = self.bounds(normal), np.hypot(*wanted.T)
        share = np.divide(bounds[:, 0], size, out=np.ones_like(size), where=size > bounds[:, 0])
        return np.where((self.models == 'cone')[:, None], wanted * share[:, None],
                        np.clip(wanted, -bounds, bounds))

    def dissipation(self, normal: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return (n,) what friction at its finite bounds takes at velocities u (n, 3) [J]."""
        bounds = self.bounds(normal)
        return self._size(np.where(np.isfinite(bounds), bounds, 0.0) * np.abs(u[:, :2]))

    def _size(self, both: np.ndarray) -> np.ndarray:
        """Return (n,) the size of values along x and y (n, 2) by each model's norm."""
        return np.where(self.models == 'cone', np.hypot(*both.T), both.sum(axis=1))


class ReducedProblem(NamedTuple):
    """
    A problem in the impulses of the contacts that push: u = G λ' + g, with circular cones.

    G = W Wᵀ + diag(softness). which: (n,) their numbers. stretch: (n,) mu2 / mu of elliptic cones,
    see `Cones`, else 1. W: (3 n, r). softness: (3 n,). free: (3 n,) u without any impulse. g: (3
    n,) u for λ' = 0. λ': (3 n,) impulses with the adhesion. cones: their friction.
    """

    which: np.ndarray
    stretch: np.ndarray
    W: np.ndarray
    softness: np.ndarray
    free: np.ndarray
    g: np.ndarray
    cones: Cones

    @property
    def inertia(self) -> np.ndarray:
        """(n, 3) diagonal of G [1/kg]."""
        return ((self.W**2).sum(axis=1) + self.softness).reshape(-1, 3)


def reduce_problem(problem: ContactProblem, with_friction: bool = True) -> ReducedProblem:
    """Return a problem in the impulses alone; without friction all coefficients are 0."""
    which = np.flatnonzero(problem.pushes)
    rows = (3 * which[:, None] + np.arange(3)).ravel()
    models = np.array([problem.friction_models[k] for k in which], dtype=object)
    friction = problem.friction[which] if with_friction else np.zeros((len(which), 2))
    mu, mu2 = friction.T
    is_ellipse = (models == 'cone') & (mu != mu2) & (mu > 0.0) & np.isfinite(mu)
    stretch = np.divide(mu2, mu, out=np.ones_like(mu), where=is_ellipse)
    scale = np.stack([np.ones_like(mu), stretch, np.ones_like(mu)], axis=1).ravel()
    W = scale[:, None] * (problem.J3[rows] @ problem.factor)
    pull = np.zeros(len(rows))
    pull[2::3] = problem.adhesion[which]
    free = scale * (problem.J3[rows] @ problem.v_held - problem.target[rows])
    circular = np.stack([mu, np.where(models == 'cone', mu, mu2)], axis=1)
    return ReducedProblem(
        which, stretch, W, scale**2 * problem.softness[rows], free, free - W @ (W.T @ pull),
        Cones(circular, models))


def solution_of(
    problem: ContactProblem, reduced: ReducedProblem, impulses: np.ndarray, iterations: int
) -> ContactSolution:
    """Return the solution with impulses λ' (n, 3) of a reduced problem, with residuals."""
    which, stretch = reduced.which, reduced.stretch
    total = np.zeros((len(problem.gap), 3))
    total[which] = impulses
    total[which, 1] *= stretch
    soft = problem.softness.reshape(-1, 3) * total
    total[which, 2] -= problem.adhesion[which]
    velocity, joint = problem.velocity(total), problem.joint_impulses(total)
    u = (problem.J3 @ velocity - problem.target).reshape(-1, 3) + soft
    circular = u[which]
    circular[:, 1] *= stretch
    corrected = u.copy()
    corrected[which, 2] += reduced.cones.sliding(circular)
    momentum = (problem.M @ (velocity - problem.v_free) - problem.J3.T @ total.ravel()
                - problem.K.T @ joint)
    joints = problem.K @ velocity + problem.joint_softness * joint - problem.joint_target
    residuals = Residuals(
        *law_residuals(reduced, impulses, circular), _greatest(momentum), _greatest(joints))
    return ContactSolution(velocity, total, joint, u, corrected, residuals, iterations)


def law_residuals(
    reduced: ReducedProblem, impulses: np.ndarray, u: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the first four of Residuals; impulses: λ' (n, 3); u: their velocities (n, 3)."""
    cones, normal = reduced.cones, impulses[:, 2]
    if not len(normal):
        return 0.0, 0.0, 0.0, 0.0
    slope, friction = cones.slope, impulses[:, :2]
    over = np.linalg.norm(friction - cones.limit(friction, normal), axis=1)
    room = cones.bounds(normal)[:, 0] - np.hypot(*friction.T)
    inside = -np.minimum(slope * room, normal)
    distance = np.where(normal < 0.0, np.linalg.norm(impulses, axis=1),
                        np.where(over > 0.0, slope * over, inside))
    power = normal * u[:, 2] + cones.dissipation(normal, u) + (friction * u[:, :2]).sum(axis=1)
    # the engine's: of the normal and of friction apart
    inertia = reduced.inertia
    stiff = np.maximum(inertia[:, :2].max(axis=1), _LEAST)[:, None]
    upright = np.maximum(inertia[:, 2], _LEAST)
    across = stiff * (friction - cones.limit(friction - u[:, :2] / stiff, normal))
    along = upright * (normal - np.maximum(normal - u[:, 2] / upright, 0.0))
    natural = np.maximum(np.abs(along), np.linalg.norm(across, axis=1))
    return (float(distance.max()), float((-slope * u[:, 2]).max()), _greatest(power),
            _greatest(natural))


def _greatest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))
