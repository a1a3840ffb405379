"""
Textbook dynamics for one robot, in its current state or any other.

Rigid bodies, gravity and rotor inertias only, without damping, friction, springs, stops, mimic
rows and applied forces. Coordinates have the order of the robot's velocities: for a free base the
linear velocity of the root link's origin, then its angular velocity, both in world axes (6); then
`robot.joint_names`; then the other joints in description order, each with its
coordinates of its `dq`. Positions q are in the same order; for a free base the position of the
root link's origin and its orientation as a quaternion x y z w (7); see `configuration`.

q and dq default to the current ones; the world stays unchanged. q, dq, ddq and u may also have
rows of several configurations, (N, nq) and (N, nv); the results then have N rows too, computed in
one call. An argument with one row applies to all. out: float64 array of the result's shape, filled
and returned.

A kinematic base is treated as a free base without effort. A robot whose base is mounted on a joint
on another robot is computed alone, with the carrying link as the world.

All functions raise InvalidValueError for inputs with wrong shape, nonfinite inputs and
zero quaternions (others are normalized), and StateError while another thread uses the
world.
"""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.engine.data.model import PULL
from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.robot_dynamics import RobotDynamics
from sim_bridge.world.configurations import (
    configuration,
    difference,
    integrate,
    integration_derivatives,
    IntegrationDerivatives,
    interpolate,
    neutral_configuration,
    random_configuration,
    set_configuration,
    velocity,
)
from sim_bridge.world.operations import operations_of, weighed

__all__ = [
    'bias_forces',
    'center_of_mass',
    'center_of_mass_jacobian',
    'center_of_mass_jacobian_derivative',
    'centroidal_momentum',
    'centroidal_momentum_matrix',
    'centroidal_momentum_matrix_derivative',
    'configuration',
    'coriolis_matrix',
    'difference',
    'forward_dynamics',
    'forward_dynamics_derivatives',
    'forward_kinematics',
    'ForwardDynamicsDerivatives',
    'gravity_forces',
    'integrate',
    'integration_derivatives',
    'IntegrationDerivatives',
    'interpolate',
    'inverse_dynamics',
    'inverse_dynamics_derivatives',
    'inverse_mass_matrix',
    'InverseDynamicsDerivatives',
    'jacobian',
    'jacobian_derivative',
    'kinetic_energy',
    'mass_matrix',
    'neutral_configuration',
    'potential_energy',
    'random_configuration',
    'set_configuration',
    'velocity',
]

Numbers = Vector | Matrix
"""Numbers for one configuration, or rows for several."""


class InverseDynamicsDerivatives(NamedTuple):
    """
    Derivatives for inverse-dynamics efforts, (nv, nv) each, or (N, nv, nv).

    q: with respect to the configuration, whose changes are velocities times time, see `integrate`.
    dq: with respect to the velocities. ddq: with respect to the accelerations (the mass matrix).
    """

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives for forward-dynamics accelerations; q, dq as above; u: by the efforts, M⁻¹."""

    q: FloatArray
    dq: FloatArray
    u: FloatArray


def mass_matrix(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the (nv, nv) joint-space inertia matrix M [kg, kg m, kg m²]."""
    return operations_of(robot).mass_matrix.compute(out, q)


def inverse_mass_matrix(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the inverse mass matrix (nv, nv)."""
    return operations_of(robot).inverse_mass_matrix.compute(out, q)


def bias_forces(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the efforts (nv,) for zero accelerations, C dq + g [N, N m]."""
    return weighed(robot).bias_forces.compute(out, q, dq)


def gravity_forces(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the efforts (nv,) that hold the robot at rest, g [N, N m]."""
    return weighed(robot).gravity_forces.compute(out, q)


def coriolis_matrix(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return a matrix C (nv, nv) for C dq [N s/m, N s, N m s] with skew-symmetric dM/dt - 2 C.

    For robots without ball joints and a free base, the Christoffel symbol matrix.
    """
    return operations_of(robot).coriolis_matrix.compute(out, q, dq)


def inverse_dynamics(
    robot: Robot,
    ddq: Numbers,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the efforts (nv,) for accelerations ddq, M ddq + C dq + g [N, N m]."""
    return weighed(robot).inverse_dynamics.compute(out, q, dq, ddq)


def forward_dynamics(
    robot: Robot,
    u: Numbers,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the accelerations (nv,) under efforts u [N, N m]: M⁻¹ (u - C dq - g)."""
    return weighed(robot).forward_dynamics.compute(out, q, dq, u)


def inverse_dynamics_derivatives(
    robot: Robot,
    ddq: Numbers,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> InverseDynamicsDerivatives:
    """
    Return `inverse_dynamics` derivatives; out: (3, nv, nv) or (N, 3, nv, nv).

    Raises StateError in a world with a PointGravity, for which derivatives are not implemented.
    """
    blocks = _in_uniform_gravity(robot).inverse_dynamics_derivatives.compute(out, q, dq, ddq)
    return InverseDynamicsDerivatives(*_blocks(blocks))


def forward_dynamics_derivatives(
    robot: Robot,
    u: Numbers,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> ForwardDynamicsDerivatives:
    """Return `forward_dynamics` derivatives; out, errors as for inverse dynamics."""
    blocks = _in_uniform_gravity(robot).forward_dynamics_derivatives.compute(out, q, dq, u)
    return ForwardDynamicsDerivatives(*_blocks(blocks))


def jacobian(
    robot: Robot,
    link: Link | str,
    point: Numbers | None = None,
    q: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return the (6, nv) Jacobian for a link's frame, or for a point fixed to the link.

    point: (3,) in the link frame [m], or (N, 3). Rows: linear velocity at the frame's origin or
    the point (3), angular velocity (3); world axes. Raises UnknownNameError for a name that is not
    a link, and InvalidValueError for a link on another robot.
    """
    return operations_of(robot).jacobian[_number(robot, link)].compute(out, point, q)


def jacobian_derivative(
    robot: Robot,
    link: Link | str,
    point: Numbers | None = None,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the time derivative dJ/dt (6, nv) of `jacobian`; acceleration J ddq + dJ/dt dq."""
    return operations_of(robot).jacobian_rate[_number(robot, link)].compute(out, point, q, dq)


def forward_kinematics(
    robot: Robot,
    link: Link | str | None = None,
    q: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return a link frame's pose in the world (4, 4), or (n, 4, 4) for all `robot.links`.

    Homogeneous matrices: the rotation (3, 3), and the origin [m] in the last column.
    """
    operations = operations_of(robot)
    if link is None:
        return operations.placements.compute(out, q)
    return operations.placement[_number(robot, link)].compute(out, q)


def center_of_mass(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the centre of mass (3,) [m], world; the root's origin if massless."""
    return operations_of(robot).center_of_mass.compute(out, q)


def center_of_mass_jacobian(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the Jacobian of the centre of mass (3, nv), world axes; zeros if massless."""
    return operations_of(robot).center_jacobian.compute(out, q)


def center_of_mass_jacobian_derivative(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the time derivative (3, nv) of `center_of_mass_jacobian`."""
    return operations_of(robot).center_jacobian_rate.compute(out, q, dq)


def centroidal_momentum(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return the momentum (6,): linear [kg m/s], and angular about the centre of mass [kg m²/s].

    World axes.
    """
    return operations_of(robot).centroidal_momentum.compute(out, q, dq)


def centroidal_momentum_matrix(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the matrix A (6, nv) in `centroidal_momentum` = A dq."""
    return operations_of(robot).momentum_matrix.compute(out, q)


def centroidal_momentum_matrix_derivative(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the time derivative dA/dt (6, nv); external wrench = A ddq + dA/dt dq."""
    return operations_of(robot).momentum_matrix_rate.compute(out, q, dq)


def kinetic_energy(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> float | FloatArray:
    """Return the kinetic energy [J], including rotors; (N,) for several configurations."""
    return operations_of(robot).kinetic_energy.compute(out, q, dq)


def potential_energy(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> float | FloatArray:
    """Return the potential energy in gravity [J], 0 at the world origin; (N,) for several."""
    return weighed(robot).potential_energy.compute(out, q)


def _number(robot: Robot, link: Link | str) -> int:
    """Return a link's index in its robot."""
    if link.__class__ is not Link or link.robot is not robot:
        if isinstance(link, str):
            link = robot.link(link)
        if not isinstance(link, Link) or link.robot is not robot:
            place = f'robot {link.robot.name!r}' if isinstance(link, Link) else ''
            raise InvalidValueError(
                'link', link, f'a link of robot {robot.name!r}, or its name', place
            )
    return link.slot.number


def _in_uniform_gravity(robot: Robot) -> RobotDynamics:
    operations = weighed(robot)
    if robot.simulation.run.gravity[PULL]:
        raise StateError(
            f'robot {robot.name!r}: derivatives of dynamics require a uniform gravity; the world '
            'has a PointGravity'
        )
    return operations


def _blocks(blocks: FloatArray) -> list[FloatArray]:
    """Return the derivative matrices, one for each variable, from one array."""
    return [blocks[..., k, :, :] for k in range(blocks.shape[-3])]
