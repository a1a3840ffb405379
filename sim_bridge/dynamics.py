"""
The textbook dynamics of one robot at its present q and dq.

Rigid bodies, gravity and rotor inertias only: no damping, friction, springs, stops, mimic rows or
pushes. The order of coordinates is that of the robot's velocities: for a free base the linear
velocity of the root link's origin and its angular velocity, both in world axes (6); then
`robot.joint_names`; then planar (3) and floating (6) joints.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.engine import rigid_body
from sim_bridge.engine.handle import Handle
from sim_bridge.engine.model import body_count, Model, Options, position_count, velocity_count
from sim_bridge.engine.state import State
from sim_bridge.engine.workspace import make_workspace
from sim_bridge.errors import InvalidValueError
from sim_bridge.link import Link
from sim_bridge.robot import Robot
from sim_bridge.values import finite_vector

_OPTIONS = Options(time_step=0.0, stop_erp=0.0, velocity_passes=1, max_pivots=0)


def mass_matrix(robot: Robot) -> np.ndarray:
    """Give the (nv, nv) joint-space inertia matrix M [kg, kg m, kg m²]."""
    handle, nv = _alone(robot)
    matrix = np.zeros((nv, nv))
    rigid_body.mass_matrix(handle.table, matrix)
    return matrix


def bias_forces(robot: Robot) -> np.ndarray:
    """Give (nv,) the efforts [N, N m] that hold the accelerations at zero: C dq + g."""
    return inverse_dynamics(robot, np.zeros(_alone(robot)[1]))


def inverse_dynamics(robot: Robot, ddq: np.ndarray) -> np.ndarray:
    """Give (nv,) the efforts [N, N m] for the accelerations ddq: M ddq + C dq + g."""
    handle, nv = _alone(robot)
    effort = np.zeros(nv)
    rigid_body.inverse_dynamics(handle.table, _vector('ddq', ddq, nv, robot), effort)
    return effort


def forward_dynamics(robot: Robot, u: np.ndarray) -> np.ndarray:
    """Give (nv,) the accelerations under the efforts u [N, N m]: M⁻¹ (u - C dq - g)."""
    handle, nv = _alone(robot)
    ddq = np.zeros(nv)
    rigid_body.forward_dynamics(handle.table, _vector('u', u, nv, robot), ddq)
    return ddq


def jacobian(robot: Robot, link: Link | str) -> np.ndarray:
    """
    Give the (6, nv) Jacobian of a link's frame.

    Rows: linear velocity of the frame's origin (3), angular velocity (3); world axes. Raises
    UnknownNameError for a name that is no link, and InvalidValueError for a link of another robot.
    """
    handle, nv = _alone(robot)
    if isinstance(link, str):
        link = robot.link(link)
    if link.robot is not robot:
        raise InvalidValueError(
            'link', link, f'a link of robot {robot.name!r}', f'robot {link.robot.name!r}')
    placement = link.placement
    matrix = np.zeros((6, nv))
    point = np.ascontiguousarray(placement.position)
    rigid_body.jacobian(handle.table, placement.body, point, matrix)
    return matrix


def _alone(robot: Robot) -> tuple[Handle, int]:
    """Give the robot's own part of the world as a model of its own, at the present state."""
    at, own = robot.offsets, robot.blueprint.model
    model, state = robot.world.model, robot.world.state
    nb, nv = body_count(own), velocity_count(own)
    bodies, velocities = slice(at.body, at.body + nb), slice(at.v, at.v + nv)
    nq = position_count(own)
    part: Model = own._replace(
        frame=model.frame[bodies],
        passive=model.passive[velocities],
        limits=model.limits[velocities],
        gravity=model.gravity,
    )
    by_velocity = set(State._fields) - {'q', 'wrench'}
    present = State(
        q=state.q[at.q : at.q + nq].copy(),
        wrench=np.zeros((nb, 6)),
        **{field: getattr(state, field)[velocities].copy() for field in by_velocity},
    )
    return Handle(part, _OPTIONS, present, make_workspace(part)), nv


def _vector(what: str, value: object, size: int, robot: Robot) -> np.ndarray:
    return finite_vector(what, value, size, f'robot {robot.name!r}')
