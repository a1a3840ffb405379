"""Conditions for fifth-order steps."""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.model import BACK_FRICTION, FASTEST, FRICTION
from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.engine.dynamics.active_set import VELOCITY_SLACK

STIFF = 1.0  # share of a link's velocity taken by drag in one step; 3.3 would diverge


@kernel
def may_be_smooth(model, options, state):
    """
    Return whether a world takes fifth-order steps as long as nothing touches or stops.

    False with resting bodies, friction, motors, actuators, holds, loops, too stiff drag, or mimic
    joints that violate their law.
    """
    if options.loops != 0 or options.actuators != 0:
        return False
    if options.sleeps != 0:
        for body in range(model.kind.shape[0]):
            if state.idle[body] < 0:
                return False
    for row in range(model.medium.shape[0]):
        if options.time_step * model.medium[row, FASTEST] > STIFF:
            return False
    for joint in range(model.q_of_v.shape[0]):
        if (
            state.hold[joint] != 0
            or model.passive[joint, FRICTION] > 0.0
            or model.passive[joint, BACK_FRICTION] > 0.0
            or state.control[joint] != BY_EFFORT
        ):
            return False
    for row in range(model.mimic.shape[0]):
        following, followed = model.mimic[row, 0], model.mimic[row, 1]
        apart = state.v[following] - model.mimic_law[row, 0] * state.v[followed]
        if abs(apart) > VELOCITY_SLACK * (1.0 + abs(state.v[following])):
            return False
    return True
