"""
Course taken by a servo's target: a first-order hold.

In a step, a servo's target moves linearly from its last value to the commanded one, and arrives at
the end of the step. The effort is then continuous in time and a function of the instant: a step
averages both ends, and readings after the step belong to its end. Before a servo's first
step there is no course: the target is the commanded one from the start.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.state import (
    HAS_COURSE,
    POSITION_CHANGE,
    TARGET_POSITION,
    TARGET_VELOCITY,
    VELOCITY_CHANGE,
)


@kernel
def aim_of_step(target, course):
    """Return the target at the middle of the coming step, and its change in that step."""
    x, v, dx, dv = target[TARGET_POSITION], target[TARGET_VELOCITY], 0.0, 0.0
    if course[HAS_COURSE] != 0.0:
        dx, dv = x - course[TARGET_POSITION], v - course[TARGET_VELOCITY]
    return x - 0.5 * dx, v - 0.5 * dv, dx, dv


@kernel
def aim_of_instant(target, course):
    """Return the target between steps, and its change in the last step."""
    if course[HAS_COURSE] == 0.0:
        return target[TARGET_POSITION], target[TARGET_VELOCITY], 0.0, 0.0
    return (
        course[TARGET_POSITION],
        course[TARGET_VELOCITY],
        course[POSITION_CHANGE],
        course[VELOCITY_CHANGE],
    )


@kernel
def advance_course(target, course_inout):
    """Move the target to the commanded one, at the end of a step."""
    _, _, dx, dv = aim_of_step(target, course_inout)
    course_inout[TARGET_POSITION] = target[TARGET_POSITION]
    course_inout[TARGET_VELOCITY] = target[TARGET_VELOCITY]
    course_inout[POSITION_CHANGE], course_inout[VELOCITY_CHANGE] = dx, dv
    course_inout[HAS_COURSE] = 1.0
