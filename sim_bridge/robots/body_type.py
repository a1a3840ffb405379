"""Motion types for bases and links: dynamic, static or kinematic."""

from __future__ import annotations

import numpy as np

from sim_bridge.compilation.compile import Blueprint
from sim_bridge.compilation.single_body import check_motion
from sim_bridge.engine.data.model import GROUND, KINEMATIC, WELD
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.rotation import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_vector,
)
from sim_bridge.foundation.validation import checked_pose
from sim_bridge.simulation.part import carry_bodies, move_over, Part
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot, RobotSlot
from sim_bridge.simulation.staleness import LOOP_FORCES, PARTS


def body_type(slot: RobotSlot) -> str:
    """Return a base's motion type: 'dynamic', 'static' or 'kinematic'."""
    if slot.blueprint.fixed_base:
        return 'static'
    return 'kinematic' if slot.is_kinematic else 'dynamic'


def motion_of_link(simulation: Simulation, slot: LinkSlot) -> str:
    """
    Return a link's motion type: 'dynamic' if any joint between the link and the world can move.

    Otherwise the link moves with its base and has its type, 'kinematic' or 'static'. So the links
    of an arm are dynamic, even on a fixed or kinematic base.
    """
    simulation.cache.settle()
    model, body = simulation.cache.model, slot.body
    while body >= 0:
        kind = int(model.kind[body])
        if kind in (GROUND, KINEMATIC):
            return 'static' if kind == GROUND else 'kinematic'
        if kind != WELD:
            return 'dynamic'
        body = int(model.parent[body])
    return 'static'


def set_body_type(simulation: Simulation, slot: RobotSlot, value: str) -> None:
    """Change a base's motion type; see `Robot.motion`."""
    place, shapes = f'robot {slot.name!r}', slot.collisions.shapes
    check_motion(value, [shape.placed for shape in shapes], place)
    if slot.blueprint.mount is not None:
        raise StateError(
            f'{place} is mounted on joint {slot.blueprint.mount.name!r}, which moves its '
            'base. Remove the joint first'
        )
    if value == body_type(slot):
        return
    try:
        blueprint = slot.compiled(value == 'static', is_kinematic=value == 'kinematic')
    except InvalidValueError as error:
        raise StateError(
            f'{place} cannot be dynamic: {error}. For a body added as static or kinematic, give '
            'add_body a mass or density, or set link.m'
        ) from error
    with all_or_nothing(simulation):
        part, slot.initial, slot.added = (
            _with_other_base(slot.blueprint, source, blueprint)
            for source in (slot.part, slot.initial, slot.added)
        )
        slot.rebuild(blueprint, None, part)
        simulation.staleness.mark(PARTS | LOOP_FORCES)


def velocity_towards(
    slot: RobotSlot, position: Vector, orientation: Vector, dt: float
) -> tuple[FloatArray, FloatArray]:
    """
    Return the constant linear and angular velocity [m/s, rad/s] that reaches a pose after dt [s].

    Raises InvalidValueError for an invalid pose.
    """
    place = f'robot {slot.name!r}'
    p, quat = checked_pose(position, orientation, place)
    _, state, at = slot.part
    now = state.q[at.q : at.q + 7]
    turn = matrix_from_quaternion(quat) @ matrix_from_quaternion(now[3:]).T
    return (p - now[:3]) / dt, rotation_vector(turn) / dt


def _with_other_base(old: Blueprint, source: Part, new: Blueprint) -> Part:
    """Return arrays for a robot with another motion type, at the same pose and velocity."""
    part = move_over(old, source, new)
    carry_bodies(new.model, source, part)
    (model, state, at), velocity = source, np.zeros(6)
    if old.fixed_base:
        frame = model.frame[at.body]
        pose = np.array([*frame[9:], *quaternion_from_matrix(frame[:9].reshape(3, 3))])
    else:
        pose, velocity = state.q[at.q : at.q + 7], state.v[at.v : at.v + 6]
    if new.fixed_base:
        part.model.frame[0] = [*matrix_from_quaternion(pose[3:]).ravel(), *pose[:3]]
    else:
        part.state.q[:7] = pose
        part.state.v[:6] = part.state.v_left[:6] = velocity
    return part
