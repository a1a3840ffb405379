"""The mutable part of a simulation: all that decides a world's future, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.model import (
    BALL,
    body_count,
    FREE,
    Model,
    position_count,
    velocity_count,
)

# joint modes, State.mode, see `laws`; a loose joint's is the sum of these, each times -1, 0 or 1
FRICTION_SIDE, MOTOR_SIDE, STOP_SIDE = 1, 3, 9
LOOSE = 0
# a locked joint's is LOCKED or greater
LOCKED = 14
STUCK, AT_TARGET, AT_UPPER, AT_LOWER, HELD = range(LOCKED, LOCKED + 5)

# State.control: what a joint's motor does beside the applied effort
BY_EFFORT, BY_VELOCITY, BY_POSITION, BY_SERVO = range(4)
# first columns of State.contact_impulse
LINEAR_IMPULSE, ANGULAR_IMPULSE = 0, 3
# columns of State.target
TARGET_POSITION, TARGET_VELOCITY = range(2)


class State(NamedTuple):
    """Mutable arrays of one world; coordinates as in `model`."""

    q: FloatVector
    """(nq,) positions [m, rad, quaternion x y z w]."""
    v: FloatVector
    """(nv,) velocities [m/s, rad/s]."""
    u: FloatVector
    """
    (nv,) applied efforts [N, N m].

    For a free joint the force on its body and the torque about its frame's origin, world axes.
    """
    wrench: FloatMatrix
    """(nb, 6) external torque about the body frame's origin [N m], then force [N]; world axes."""
    hold: IntVector
    """(nv,) 1 where the joint is to be held in place whatever it takes."""
    mode: IntVector
    """(nv,) on which piece of its law each joint was last, see `laws`."""
    control: IntVector
    """(nv,) what the motors do: nothing (BY_EFFORT), BY_VELOCITY, BY_POSITION or BY_SERVO."""
    target: FloatMatrix
    """(nv, 2) what they go for: position [m, rad], velocity [m/s, rad/s]."""
    acceleration: FloatVector
    """(nv,) change of v in the last step over its length [m/s², rad/s²]."""
    force: FloatVector
    """(nv,) last effort of a stop, friction or the hold [N, N m]; 0 where there was none."""
    friction: FloatVector
    """(nv,) how much of it was friction."""
    motor: FloatVector
    """(nv,) last effort of the motor, beside u [N, N m]."""
    v_left: FloatVector
    """(nv,) v as the last step left it, to tell what was written since."""
    idle: IntVector
    """(nb,) of a tree's first body: steps at rest, or contact.sleep.ASLEEP."""
    rest: FloatVector
    """(nq,) positions of the sleepers."""
    contact_size: IntVector
    """(2,) how many contacts the last step had, and 0."""
    contact_geometry: IntMatrix
    """(nc, 2) their geometries; this and the next five have room for nc, as contact.Contacts."""
    contact_feature: IntVector
    """(nc,) what touches what."""
    contact_point: FloatMatrix
    """(nc, 3) [m], world."""
    contact_normal: FloatMatrix
    """(nc, 3) towards the first geometry, world."""
    contact_gap: FloatVector
    """(nc,) signed distance at the middle of the step [m]."""
    contact_impulse: FloatMatrix
    """(nc, 6) impulse on the first geometry [N s], then the angular one [N m s]; world axes."""
    contact_wrench: FloatMatrix
    """(nb, 6) the contacts' mean wrench on each body in the last step; as `wrench`."""
    yield_wrench: FloatMatrix
    """(nb, 6) likewise that of joints that close loops and yield."""
    loop_wrench: FloatMatrix
    """(nk, 6) mean wrench of each such joint on its second body, about its frame B's origin."""
    axis_q: FloatVector
    """(na,) positions of the loop joints' axes; angles count their turns [m, rad]."""
    axis_u: FloatVector
    """(na,) applied efforts along and about them [N, N m]; the next three as those of joints."""
    axis_control: IntVector
    """(na,)"""
    axis_target: FloatMatrix
    """(na, 2)"""
    axis_mode: IntVector
    """(na,)"""
    axis_effort: FloatMatrix
    """(na, 4) last effort of friction, motor and stop, and of all that acts [N, N m]."""


def make_state(model: Model, contacts: int = 0, loops: int = 0, axes: int = 0) -> State:
    """
    Return the state of `model` at rest, all joints at 0, free bodies at the world's origin.

    contacts: how many there is room for. loops: how many joints close loops. axes:
    how many axes these have.
    """
    nb, nv, nc = body_count(model), velocity_count(model), contacts
    state = State(q=np.zeros(position_count(model)), v=np.zeros(nv), u=np.zeros(nv),
                  wrench=np.zeros((nb, 6)), hold=np.zeros(nv, np.int64),
                  mode=np.zeros(nv, np.int64), control=np.zeros(nv, np.int64),
                  target=np.zeros((nv, 2)), acceleration=np.zeros(nv), force=np.zeros(nv),
                  friction=np.zeros(nv), motor=np.zeros(nv), v_left=np.zeros(nv),
                  idle=np.zeros(nb, np.int64), rest=np.zeros(position_count(model)),
                  contact_size=np.zeros(2, np.int64),
                  contact_geometry=np.zeros((nc, 2), np.int64),
                  contact_feature=np.zeros(nc, np.int64), contact_point=np.zeros((nc, 3)),
                  contact_normal=np.zeros((nc, 3)), contact_gap=np.zeros(nc),
                  contact_impulse=np.zeros((nc, 6)), contact_wrench=np.zeros((nb, 6)),
                  yield_wrench=np.zeros((nb, 6)), loop_wrench=np.zeros((loops, 6)),
                  axis_q=np.zeros(axes), axis_u=np.zeros(axes),
                  axis_control=np.zeros(axes, np.int64), axis_target=np.zeros((axes, 2)),
                  axis_mode=np.zeros(axes, np.int64), axis_effort=np.zeros((axes, 4)))
    for body in range(nb):
        if model.kind[body] >= FREE:
            state.q[model.q_index[body] + 6] = 1.0
        elif model.kind[body] == BALL:
            state.q[model.q_index[body] + 3] = 1.0
    return state


def copy_state(state: State) -> State:
    """Return an independent copy."""
    return State(*(array.copy() for array in state))


def assign_state(target: State, source: State) -> None:
    """Overwrite `target` in place."""
    for into, array in zip(target, source, strict=True):
        into[...] = array
