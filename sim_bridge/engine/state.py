"""
The mutable part of a simulation: everything that decides the future of a world, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.model import (
    body_count,
    FREE,
    FREE_SINGLE,
    Model,
    position_count,
    velocity_count,
)

# joint modes, State.mode; SLIDING_* carry the sign of the velocity that the Coulomb friction
# opposes
SLIDING_BACK = -1
LOOSE = 0
SLIDING_FORTH = 1
STUCK = 2
AT_UPPER = 3
AT_LOWER = 4
HELD = 5


class State(NamedTuple):
    """Mutable arrays of one world; coordinates as in `model`."""

    q: np.ndarray
    """(nq,) positions [m, rad, quaternion x y z w]."""
    v: np.ndarray
    """(nv,) velocities [m/s, rad/s]."""
    u: np.ndarray
    """
    (nv,) applied efforts [N, N m]; for a free joint the force and torque on its body at its
    frame's origin.
    """
    wrench: np.ndarray
    """(nb, 6) external torque about the body frame's origin [N m], then force [N]; world axes."""
    hold: np.ndarray
    """(nv,) 1 where the joint is to be held in place whatever it takes."""
    mode: np.ndarray
    """
    (nv,) what the joint's friction and stops did in the last step: LOOSE, SLIDING_*, STUCK,
    AT_*, HELD.
    """
    acceleration: np.ndarray
    """(nv,) change of v in the last step over its length [m/s², rad/s²]."""
    force: np.ndarray
    """
    (nv,) effort of a stop, of sticking friction or of the hold in the last step [N, N m]; 0
    where loose.
    """


def make_state(model: Model) -> State:
    """Give the state of `model` at rest, all joints at 0, free bodies at the world's origin."""
    nv = velocity_count(model)
    state = State(q=np.zeros(position_count(model)), v=np.zeros(nv), u=np.zeros(nv),
                  wrench=np.zeros((body_count(model), 6)), hold=np.zeros(nv, np.int64),
                  mode=np.zeros(nv, np.int64), acceleration=np.zeros(nv), force=np.zeros(nv))
    for body in range(body_count(model)):
        if model.kind[body] in (FREE, FREE_SINGLE):
            state.q[model.q_index[body] + 6] = 1.0
    return state


def copy_state(state: State) -> State:
    """Give an independent copy."""
    return State(*(array.copy() for array in state))


def assign_state(target: State, source: State) -> None:
    """Overwrite `target` in place."""
    for into, array in zip(target, source):
        into[...] = array
