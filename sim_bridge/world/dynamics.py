"""
The textbook dynamics of one robot, at its present state or at any other.

Rigid bodies, gravity and rotor inertias only: no damping, friction, springs, stops, mimic rows or
pushes. The order of coordinates is that of the robot's velocities: for a free base the linear
velocity of the root link's origin and its angular velocity, both in world axes (6); then
`robot.joint_names`; then the other joints in the order of the description, each with those of its
`dq`. Positions q are in the same order: for a free base the position of the root link's origin and
its orientation as a quaternion x y z w (7); see `configuration`.

q and dq are the present ones unless they are given; the world stays as it is. They, and ddq and u,
may be of many configurations, (N, nq) and (N, nv); then so are the results, computed in one call.
What has one row is used for all. out: an array for the result, of float64 and of its shape, which
is returned.

A kinematic base is treated as a free one, but no effort accelerates it. A robot whose base hangs
on a joint of another robot is computed alone, as if the link that carries it were the world.

All raise InvalidValueError for inputs of wrong shape, not finite, or with a quaternion of length
zero (others are normalised), and StateError where another thread is using the world.
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
"""Numbers of one configuration, or rows of many."""


class InverseDynamicsDerivatives(NamedTuple):
    """
    Derivatives of the efforts of inverse dynamics, (nv, nv) each, or (N, nv, nv).

    q: by the configuration, whose changes are velocities times time, see `integrate`. dq: by the
    velocities. ddq: by the accelerations, the mass matrix.
    """

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


class ForwardDynamicsDerivatives(NamedTuple):
    """Likewise of the accelerations of forward dynamics; u: by the efforts, M⁻¹."""

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
    """Return (nv, nv) the inverse of the mass matrix."""
    return operations_of(robot).inverse_mass_matrix.compute(out, q)


def bias_forces(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return (nv,) the efforts [N, N m] that hold the accelerations at zero: C dq + g."""
    return weighed(robot).bias_forces.compute(out, q, dq)


def gravity_forces(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return (nv,) the efforts [N, N m] that hold the robot at rest: g."""
    return weighed(robot).gravity_forces.compute(out, q)


def coriolis_matrix(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return an (nv, nv) matrix C of C dq [N s/m, N s, N m s], dM/dt - 2 C being skew-symmetric.

    Where no joint is a ball or free it is that of Christoffel's symbols.
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
    """Return (nv,) the efforts [N, N m] for the accelerations ddq: M ddq + C dq + g."""
    return weighed(robot).inverse_dynamics.compute(out, q, dq, ddq)


def forward_dynamics(
    robot: Robot,
    u: Numbers,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return (nv,) the accelerations under the efforts u [N, N m]: M⁻¹ (u - C dq - g)."""
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
    Return the derivatives of `inverse_dynamics`; out: (3, nv, nv) or (N, 3, nv, nv).

    Raises StateError in a world with a PointGravity, which has no derivatives here.
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
    """Return the derivatives of `forward_dynamics`; out and errors as of inverse dynamics."""
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
    Return the (6, nv) Jacobian of a link's frame, or of a point of the link.

    point: (3,) in the link's frame [m], or (N, 3). Rows: linear velocity of the frame's origin or
    the point (3), angular velocity (3); world axes. Raises UnknownNameError for a name that is not
    a link, and InvalidValueError for a link of another robot.
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
    """Return (6, nv) the time derivative dJ/dt of `jacobian`: J ddq + dJ/dt dq accelerates it."""
    return operations_of(robot).jacobian_rate[_number(robot, link)].compute(out, point, q, dq)


def forward_kinematics(
    robot: Robot,
    link: Link | str | None = None,
    q: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return the (4, 4) placement of a link's frame, or (n, 4, 4) those of all `robot.links`.

    Matrices: the rotation (3, 3), and the origin in the world [m] in the last column.
    """
    operations = operations_of(robot)
    if link is None:
        return operations.placements.compute(out, q)
    return operations.placement[_number(robot, link)].compute(out, q)


def center_of_mass(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return (3,) the centre of mass of all links [m], world; the root's origin if massless."""
    return operations_of(robot).center_of_mass.compute(out, q)


def center_of_mass_jacobian(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the (3, nv) Jacobian of the centre of mass, world axes; zero if massless."""
    return operations_of(robot).center_jacobian.compute(out, q)


def center_of_mass_jacobian_derivative(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return (3, nv) the time derivative of `center_of_mass_jacobian`."""
    return operations_of(robot).center_jacobian_rate.compute(out, q, dq)


def centroidal_momentum(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return (6,) momentum [kg m/s], and that about the centre of mass [kg m²/s]; world axes."""
    return operations_of(robot).centroidal_momentum.compute(out, q, dq)


def centroidal_momentum_matrix(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Return the (6, nv) matrix A of `centroidal_momentum` = A dq."""
    return operations_of(robot).momentum_matrix.compute(out, q)


def centroidal_momentum_matrix_derivative(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return (6, nv) its time derivative: external forces and moments are A ddq + dA/dt dq."""
    return operations_of(robot).momentum_matrix_rate.compute(out, q, dq)


def kinetic_energy(
    robot: Robot,
    q: Numbers | None = None,
    dq: Numbers | None = None,
    *,
    out: FloatArray | None = None,
) -> float | FloatArray:
    """Return the kinetic energy [J], with that of rotors; (N,) of many configurations."""
    return operations_of(robot).kinetic_energy.compute(out, q, dq)


def potential_energy(
    robot: Robot, q: Numbers | None = None, *, out: FloatArray | None = None
) -> float | FloatArray:
    """Return the potential energy in gravity [J], zero at the world's origin; (N,) of many."""
    return weighed(robot).potential_energy.compute(out, q)


def _number(robot: Robot, link: Link | str) -> int:
    """Return the number of a link of a robot."""
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
            f'robot {robot.name!r}: derivatives of dynamics are those in a uniform gravity; its '
            'world has a PointGravity'
        )
    return operations


def _blocks(blocks: FloatArray) -> list[FloatArray]:
    """Return the matrices in an array, of each configuration's."""
    return [blocks[..., k, :, :] for k in range(blocks.shape[-3])]
