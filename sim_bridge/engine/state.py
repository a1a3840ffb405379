"""The mutable part of a simulation: all that decides a world's future, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.model import (
    body_count,
    FREE,
    FREE_SINGLE,
    Model,
    position_count,
    velocity_count,
)

# joint modes, State.mode; SLIDING_* carry the sign of the velocity that Coulomb friction opposes
SLIDING_BACK = -1
LOOSE = 0
SLIDING_FORTH = 1
STUCK = 2
AT_UPPER = 3
AT_LOWER = 4
HELD = 5


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
    """(nv,) what friction and stops did last: LOOSE, SLIDING_*, STUCK, AT_* or HELD."""
    acceleration: FloatVector
    """(nv,) change of v in the last step over its length [m/s², rad/s²]."""
    force: FloatVector
    """(nv,) last effort of a stop, friction or the hold [N, N m]; 0 where there was none."""
    v_left: FloatVector
    """(nv,) v as the last step left it, to tell what was written since."""


def make_state(model: Model) -> State:
    """Give the state of `model` at rest, all joints at 0, free bodies at the world's origin."""
    nv = velocity_count(model)
    state = State(q=np.zeros(position_count(model)), v=np.zeros(nv), u=np.zeros(nv),
                  wrench=np.zeros((body_count(model), 6)), hold=np.zeros(nv, np.int64),
                  mode=np.zeros(nv, np.int64), acceleration=np.zeros(nv), force=np.zeros(nv),
                  v_left=np.zeros(nv))
    for body in range(body_count(model)):
        if model.kind[body] in (FREE, FREE_SINGLE):
            state.q[model.q_index[body] + 6] = 1.0
    return state


def copy_state(state: State) -> State:
    """Give an independent copy."""
    return State(*(array.copy() for array in state))


def assign_state(target: State, source: State) -> None:
    """Overwrite `target` in place."""
    for into, array in zip(target, source, strict=True):
        into[...] = array
