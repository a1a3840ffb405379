"""
Laws for one-axis joints: effort from friction, motor and stops as a function of velocity.

v⁺ is the velocity at the end of the step. Each element's effort falls, or stays constant, as v⁺
grows:

    friction      -F forwards, B backwards, any effort from -F to B at 0
    hard motor    `most` below its target velocity, `least` above it, any effort between at it
    servo         kp (target - q) + kd (target velocity - v⁺), clamped to `least` and `most`
    rigid stop    0, but any inward effort at the limit velocity for v⁺
    elastic stop  a spring and a damper beyond the stop, pushing only

Their sum is also non-increasing, and piecewise linear. A joint is *loose* on a piece, identified
by each element's side, or *locked* at a velocity where the sum jumps.
`State.mode` identifies the piece: a loose joint's mode is friction side + 3 motor side + 9 stop
side. Friction and motor push against their side. A servo is on side 0 while not clamped, an
elastic stop while it does not touch. Missing elements are on side 0.

In a step, `dynamics.set_joint_laws` writes every law with its parameters into its row of
`Workspace.law`; this module evaluates it. A servo is spread over five places:

- `target_course` gives its target position and velocity.
- `set_joint_laws.set_motor` writes its gains and its effort at the joint's current velocity.
- `articulated.implicit_inertia` writes its effort loss per velocity gained, because it depends on
  the joint's inertia, and adds it to this inertia during the elimination.
- `motor_range` and the other functions here clamp the effort and find the piece.
- `pipeline.laws_at_instant` writes the law at an instant between steps. There the effort belongs
  to the current velocity, and its loss is per acceleration, see `articulated.lagging_inertia`.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_TARGET,
    AT_UPPER,
    FRICTION_SIDE,
    HELD,
    LOCKED,
    LOOSE,
    MOTOR_SIDE,
    STOP_SIDE,
    STUCK,
)

# columns in Workspace.law
(
    HIGH,
    LOW,  # velocities allowed by rigid stops, infinite without a stop
    COULOMB,
    BACK_COULOMB,  # greatest friction against forward and backward motion
    MOTOR,  # NO_MOTOR, HARD or SERVO
    MOST,
    LEAST,  # greatest and least motor effort
    TARGET,  # velocity kept by a hard motor
    SERVO_BASE,
    SERVO_LAG,
    SERVO_SPRING,
    SERVO_DAMPING,
    SERVO_CHANGE,  # see `set_motor`
    SERVO_EFFORT,  # servo effort, unclamped, if the step does not change the velocity
    SERVO_SLOPE,  # servo effort loss per velocity gained
    STOP,  # elastic stop passed by the joint: 1 the upper, -1 the lower, 0 none
    STOP_EFFORT,  # its unclamped effort if the step does not change the velocity
    STOP_SLOPE,  # its effort loss per velocity gained
    INERTIA,  # joint inertia in a step, see `articulated.implicit_inertia`
    DRIVE_STIFFNESS,
    DRIVE_DAMPING,  # sums over actuators whose force is not clamped, see `dynamics.actuators`
    DRIVE_LAG,  # their effort loss per velocity before the step
) = range(22)
LAW_SIZE = 22

NO_MOTOR, HARD, SERVO = 0.0, 1.0, 2.0

_INFINITY = float('inf')
_SAME = 1e-9  # velocity difference counted as rounding [m/s, rad/s]


@kernel
def side_of(mode, element):
    """
    Return one element's digit (-1, 0, 1) of a loose joint's mode.

    element: FRICTION_SIDE, MOTOR_SIDE or STOP_SIDE, the digit's weight. The digits are explained
    at the top of this module.
    """
    return (mode + 13) // element % 3 - 1


@kernel
def clear_law(law_out):
    """Clear a joint's law: no element acts on the joint."""
    for column in range(LAW_SIZE):
        law_out[column] = 0.0
    law_out[HIGH], law_out[LOW] = _INFINITY, -_INFINITY


@kernel
def locked_velocity(law, mode):
    """Return a locked joint's end-of-step velocity."""
    if mode == AT_UPPER:
        return law[HIGH]
    if mode == AT_LOWER:
        return law[LOW]
    if mode == AT_TARGET:
        return law[TARGET]
    return 0.0


@kernel
def rubs(law):
    """Return whether the joint has friction."""
    return law[COULOMB] > 0.0 or law[BACK_COULOMB] > 0.0


@kernel
def sliding_friction(law, mode):
    """Return a loose joint's friction."""
    direction = side_of(mode, FRICTION_SIDE)
    return law[BACK_COULOMB] if direction < 0 else -direction * law[COULOMB]


@kernel
def loose_effort(law, mode):
    """Return the sum of the elements' efforts on a loose joint at unchanged velocity."""
    effort = sliding_friction(law, mode)
    motor_side = side_of(mode, MOTOR_SIDE)
    if motor_side == 0:
        effort += law[SERVO_EFFORT]
    else:
        effort += law[MOST] if motor_side < 0 else law[LEAST]
    if side_of(mode, STOP_SIDE) != 0:
        effort += law[STOP_EFFORT]
    return effort


@kernel
def friction_range(law, v_next):
    """Return the least and greatest friction at a velocity."""
    forth, back = 0.0 - law[COULOMB], law[BACK_COULOMB]
    return (forth if v_next >= 0.0 else back), (back if v_next <= 0.0 else forth)


@kernel
def motor_range(law, v, v_next):
    """Return the least and greatest motor effort at v_next; v: velocity before the step."""
    if law[MOTOR] == HARD:
        return (
            law[LEAST] if v_next >= law[TARGET] else law[MOST],
            law[MOST] if v_next <= law[TARGET] else law[LEAST],
        )
    effort = servo_effort(law, v, v_next)
    effort = min(max(effort, law[LEAST]), law[MOST])
    return effort, effort


@kernel
def motor_strength(law, v, v_next):
    """
    Return the motor's greatest effort, as the scale of rounding errors; finite for all motors.

    A servo's limits may both be infinite, so its present effort is returned instead.
    """
    if law[MOTOR] == SERVO:
        return abs(motor_range(law, v, v_next)[0])
    most, least = law[MOST], law[LEAST]
    if most == _INFINITY and least > -_INFINITY:
        return -least
    return most if least == -_INFINITY else most - least


@kernel
def servo_effort(law, v, v_next):
    """Return a servo's unclamped effort, 0 without a servo."""
    return law[SERVO_EFFORT] - law[SERVO_SLOPE] * (v_next - v)


@kernel
def spring_effort(law, v, v_next):
    """Return an elastic stop's effort, 0 without one."""
    effort = law[STOP_EFFORT] - law[STOP_SLOPE] * (v_next - v)
    return effort if law[STOP] * effort < 0.0 else 0.0


@kernel
def stop_range(law, v, v_next):
    """Return the least and greatest stop effort at v_next; v: velocity before the step."""
    effort = spring_effort(law, v, v_next)
    return (
        -_INFINITY if v_next >= law[HIGH] else effort,
        _INFINITY if v_next <= law[LOW] else effort,
    )


@kernel
def effort_range(law, v, v_next):
    """Return the least and greatest summed effort at v_next; v: velocity before the step."""
    friction_least, friction_most = friction_range(law, v_next)
    motor_least, motor_most = motor_range(law, v, v_next)
    stop_least, stop_most = stop_range(law, v, v_next)
    return friction_least + motor_least + stop_least, friction_most + motor_most + stop_most


@kernel
def piece_beside(law, v, v_next, direction):
    """Return the loose mode just above (direction 1) or below (-1) a velocity."""
    mode = LOOSE
    if rubs(law):
        mode += FRICTION_SIDE * side(v_next, direction)
    if law[MOTOR] == HARD:
        mode += MOTOR_SIDE * side(v_next - law[TARGET], direction)
    elif law[MOTOR] == SERVO:
        effort = servo_effort(law, v, v_next)
        if effort > law[MOST]:
            mode -= MOTOR_SIDE
        elif effort < law[LEAST]:
            mode += MOTOR_SIDE
    if spring_effort(law, v, v_next) != 0.0:
        mode += STOP_SIDE * int(law[STOP])
    return mode


@kernel
def side(difference, otherwise):
    """Return the sign of a difference, `otherwise` if it is 0."""
    if difference == 0.0:
        return otherwise
    return 1 if difference > 0.0 else -1


@kernel
def next_mode(law, mode, v, v_next, effort, v_slack, effort_slack):
    """
    Return a joint's correct mode.

    The mode depends on the velocity v_next for a loose joint, and on the effort that keeps it at
    v_next for a locked joint. v: velocity before the step.
    """
    is_unlimited = law[MOST] == _INFINITY and law[LEAST] == -_INFINITY
    if mode == HELD or mode == AT_TARGET and is_unlimited:
        return mode
    if mode < LOCKED:
        return next_piece(law, mode, v, v_next, v_slack)
    if v_next > law[HIGH]:
        return AT_UPPER
    if v_next < law[LOW]:
        return AT_LOWER
    least, most = effort_range(law, v, v_next)
    slack = effort_slack + 1e-12 * (
        max(law[COULOMB], law[BACK_COULOMB]) + motor_strength(law, v, v_next) + abs(effort)
    )
    if effort > most + slack:
        return piece_beside(law, v, v_next, -1)
    if effort < least - slack:
        return piece_beside(law, v, v_next, 1)
    return mode


@kernel
def next_piece(law, mode, v, v_next, slack):
    """
    Return the new mode for a loose joint that left its piece, across the passed end.

    Among all element ends passed by the velocity, the end of the joint's own piece is the
    farthest.
    """
    friction_side = side_of(mode, FRICTION_SIDE)
    motor_side, stop_side = side_of(mode, MOTOR_SIDE), side_of(mode, STOP_SIDE)
    passed, result = slack, mode
    if v_next - law[HIGH] > passed:
        passed, result = v_next - law[HIGH], AT_UPPER
    if law[LOW] - v_next > passed:
        passed, result = law[LOW] - v_next, AT_LOWER
    if -friction_side * v_next > passed:
        passed, result = -friction_side * v_next, STUCK
    if law[MOTOR] == HARD:
        beyond = -motor_side * (v_next - law[TARGET])
        if beyond > passed:
            passed, result = beyond, AT_TARGET
    elif law[MOTOR] == SERVO:
        effort = servo_effort(law, v, v_next)
        if motor_side == 0:
            to = -1 if effort > law[MOST] else 1
            beyond = max(effort - law[MOST], law[LEAST] - effort)
        else:
            to = -motor_side
            beyond = law[MOST] - effort if motor_side < 0 else effort - law[LEAST]
        if beyond > passed * law[SERVO_SLOPE]:
            passed, result = beyond / law[SERVO_SLOPE], mode + MOTOR_SIDE * to
    if law[STOP] != 0.0:
        # positive if the stop would pull
        pull = law[STOP] * (law[STOP_EFFORT] - law[STOP_SLOPE] * (v_next - v))
        if stop_side == 0:
            pull = -pull
        if pull > passed * law[STOP_SLOPE]:
            result = mode + STOP_SIDE * (int(law[STOP]) if stop_side == 0 else -stop_side)
    return result


@kernel
def share_effort(law, mode, v, v_next, effort):
    """
    Return the efforts of the friction, the motor, and the stop or hold in a step.

    effort: total effort on a locked joint. If several elements could exert it, friction takes as
    much as it can, then the stop; the motor gets the rest.
    """
    if mode == HELD:
        return 0.0, 0.0, effort
    if mode < LOCKED:
        motor_side = side_of(mode, MOTOR_SIDE)
        motor = servo_effort(law, v, v_next)
        if motor_side != 0:
            motor = law[MOST] if motor_side < 0 else law[LEAST]
        stop = spring_effort(law, v, v_next) if side_of(mode, STOP_SIDE) != 0 else 0.0
        return sliding_friction(law, mode), motor, stop
    # at rest and at a target, both within rounding
    at_target = law[MOTOR] == HARD and abs(v_next - law[TARGET]) <= _SAME
    motor_least, motor_most = motor_range(law, v, law[TARGET] if at_target else v_next)
    motor = min(max(0.0, motor_least), motor_most)
    stop = spring_effort(law, v, v_next)
    least, most = friction_range(law, 0.0 if abs(v_next) <= _SAME else v_next)
    friction = min(max(effort - motor - stop, least), most)
    rest = effort - motor - stop - friction
    if rest < 0.0 and v_next >= law[HIGH] or rest > 0.0 and v_next <= law[LOW]:
        return friction, motor, stop + rest
    more = min(max(motor + rest, motor_least), motor_most) - motor
    motor, rest = motor + more, rest - more
    # rounding remainder
    if mode == STUCK:
        friction += rest
    elif mode == AT_TARGET:
        motor += rest
    else:
        stop += rest
    return friction, motor, stop
