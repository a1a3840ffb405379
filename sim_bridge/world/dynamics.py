"""
The textbook dynamics of one robot at its present q and dq.

Rigid bodies, gravity and rotor inertias only: no damping, friction, springs, stops, mimic rows or
pushes. The order of coordinates is that of the robot's velocities: for a free base the linear
velocity of the root link's origin and its angular velocity, both in world axes (6); then
`robot.joint_names`; then the other joints in the order of the description, each with those of its
`dq`.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.model import velocity_count
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline import rigid_body
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, instance_of
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot


def mass_matrix(robot: Robot) -> FloatArray:
    """Return the (nv, nv) joint-space inertia matrix M [kg, kg m, kg m²]."""
    handle, nv = _alone(robot)
    matrix = np.zeros((nv, nv))
    rigid_body.mass_matrix(handle, matrix)
    return matrix


def bias_forces(robot: Robot) -> FloatArray:
    """Return (nv,) the efforts [N, N m] that hold the accelerations at zero: C dq + g."""
    return inverse_dynamics(robot, np.zeros(_alone(robot)[1]))


def inverse_dynamics(robot: Robot, ddq: Vector) -> FloatArray:
    """Return (nv,) the efforts [N, N m] for the accelerations ddq: M ddq + C dq + g."""
    handle, nv = _alone(robot)
    effort = np.zeros(nv)
    rigid_body.inverse_dynamics(handle, _vector('ddq', ddq, nv, robot), effort)
    return effort


def forward_dynamics(robot: Robot, u: Vector) -> FloatArray:
    """Return (nv,) the accelerations under the efforts u [N, N m]: M⁻¹ (u - C dq - g)."""
    handle, nv = _alone(robot)
    ddq = np.zeros(nv)
    rigid_body.forward_dynamics(handle, _vector('u', u, nv, robot), ddq)
    return ddq


def jacobian(robot: Robot, link: Link | str) -> FloatArray:
    """
    Return the (6, nv) Jacobian of a link's frame.

    Rows: linear velocity of the frame's origin (3), angular velocity (3); world axes. Raises
    UnknownNameError for a name that is not a link, and InvalidValueError for a link of another
    robot.
    """
    handle, nv = _alone(robot)
    if isinstance(link, str):
        link = robot.link(link)
    if not isinstance(link, Link) or link.robot is not robot:
        place = f'robot {link.robot.name!r}' if isinstance(link, Link) else ''
        raise InvalidValueError(
            'link', link, f'a link of robot {robot.name!r}, or its name', place)
    placement = link.slot.placement
    matrix = np.zeros((6, nv))
    x, y, z = placement.position
    rigid_body.jacobian(handle, placement.body, (x, y, z), matrix)
    return matrix


def _alone(robot: Robot) -> tuple[Handle, int]:
    """Return a handle of the robot's part of the world alone, and how many velocities it has."""
    instance_of('robot', robot, Robot, 'a robot of a world')
    gravity, slot = robot.simulation.gravity, robot.slot
    return slot.probe(gravity), velocity_count(slot.blueprint.model)


def _vector(what: str, value: object, size: int, robot: Robot) -> FloatArray:
    return finite_vector(what, value, size, f'robot {robot.name!r}')
