"""
Each one-axis joint's law in a step, see `joint_laws`.

A motor is hard or a servo. A hard motor keeps a velocity: its own target (BY_VELOCITY), or the
velocity that brings the joint to a position (BY_POSITION). A servo has spring and damper gains
(BY_SERVO), and a target that moves during the step, see `target_course`. The command u acts in
addition to the motor; their sum respects the effort limit.
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.joint_laws import (
    BACK_COULOMB,
    clear_law,
    COULOMB,
    HARD,
    HIGH,
    LEAST,
    LOW,
    MOST,
    MOTOR,
    SERVO,
    SERVO_BASE,
    SERVO_CHANGE,
    SERVO_DAMPING,
    SERVO_EFFORT,
    SERVO_LAG,
    SERVO_SPRING,
    STOP,
    STOP_EFFORT,
    STOP_SLOPE,
    TARGET,
)
from sim_bridge.engine.data.model import (
    BACK_FRICTION,
    BOUNCE,
    CFM,
    DAMPING,
    EFFORT,
    ERP,
    FRICTION,
    GAIN_D,
    GAIN_P,
    LOWER,
    LOWER_EFFORT,
    MAX_EFFORT,
    MIN_EFFORT,
    REFERENCE,
    STIFFNESS,
    UPPER,
    VELOCITY,
)
from sim_bridge.engine.data.state import (
    BY_EFFORT,
    BY_POSITION,
    BY_SERVO,
    TARGET_POSITION,
    TARGET_VELOCITY,
)
from sim_bridge.engine.dynamics.target_course import aim_of_step

# velocity above which a joint bounces off its stop
BOUNCE_VELOCITY = 1e-3  # rad/s or m/s

_ROUNDING = 1e-15  # relative position error that counts as zero
_INFINITY = float('inf')


@kernel
def set_joint_laws(joints, q_of_v, q, v, u, control, target, course, h, ws):
    """
    Write the laws at the end of the step into ws.law, and the explicit efforts into ws.given.

    joints: Model, or Loops for loop axes. ws: Workspace, or LoopWork for loop axes. q: positions
    after half a step's drift; joint i's position is at q_of_v[i].
    """
    for joint in range(q_of_v.shape[0]):
        at, law = q_of_v[joint], ws.law[joint]
        clear_law(law)
        x = position_of(q_of_v, q, joint)
        ws.given[joint] = explicit_effort(joints.passive, joint, u[joint], x, v[joint])
        if at < 0:
            continue
        set_friction(joints.passive, joint, law)
        set_stops(joints.limits[joint], joints.stop[joint], q[at], v[joint], h, law)
        if control[joint] != BY_EFFORT and can_act(joints.motor[joint]):
            set_motor(
                joints.limits[joint],
                joints.motor[joint],
                q[at],
                v[joint],
                u[joint],
                control[joint],
                target[joint],
                aim_of_step(target[joint], course[joint]),
                h * v[joint],
                h,
                law,
            )


@kernel
def set_friction(passive, joint, law_out):
    """Write the load-independent friction."""
    law_out[COULOMB] = passive[joint, FRICTION]
    law_out[BACK_COULOMB] = passive[joint, BACK_FRICTION]


@kernel
def can_act(motor):
    """Return whether the motor exists, i.e. its effort range is not empty."""
    return motor[MAX_EFFORT] > motor[MIN_EFFORT]


@kernel
def position_of(q_of_v, q, joint):
    """Return a one-axis joint's position; 0 for coordinates without their own position."""
    at = q_of_v[joint]
    return q[at] if at >= 0 else 0.0


@kernel
def explicit_effort(passive, joint, u, q, v):
    """Return a joint's effort at the start of the step from command, damper and spring."""
    stretch = q - passive[joint, REFERENCE]
    return u - passive[joint, DAMPING] * v - passive[joint, STIFFNESS] * stretch


@kernel
def set_stops(limits, stop, q, v, h, law_out):
    """
    Write the stops' law.

    Rigid stop: the velocity at which the joint just reaches the stop. A joint about to bounce may
    first reach the stop at its current velocity. Elastic stop: the spring and damper given by ERP
    and CFM, implicit in the joint position at the end of the step.
    """
    above, below = q - limits[UPPER], limits[LOWER] - q
    if stop[CFM] > 0.0:
        law_out[STOP_SLOPE] = (1.0 - 0.5 * stop[ERP]) / stop[CFM]
        set_elastic_stop(stop, above, below, v, h, law_out)
        return
    law_out[HIGH] = max(limits[UPPER] - q, 0.0) * (2.0 / h)
    law_out[LOW] = min(limits[LOWER] - q, 0.0) * (2.0 / h)
    if stop[BOUNCE] > 0.0:
        if v > BOUNCE_VELOCITY:
            law_out[HIGH] = max(-stop[BOUNCE] * v, law_out[LOW]) if above >= 0.0 else _INFINITY
        elif v < -BOUNCE_VELOCITY:
            law_out[LOW] = min(-stop[BOUNCE] * v, law_out[HIGH]) if below >= 0.0 else -_INFINITY


@kernel
def set_elastic_stop(stop, above, below, v, h, law_out):
    """
    Write the effort that an elastic stop would exert if the step left the velocity v unchanged.

    The effort belongs to the step's end, half a step of drift after the given position. above,
    below: excess of this position beyond the upper and the lower stop [m, rad].
    """
    if above > 0.0 or below > 0.0:
        moved = 0.5 * h * v
        law_out[STOP] = 1.0 if above > 0.0 else -1.0
        law_out[STOP_EFFORT] = spring_and_damper(
            stop, above + moved if above > 0.0 else moved - below, v, h
        )


@kernel
def lagging_slope(stop, h):
    """Return the loss of elastic stop effort per acceleration at an instant between steps."""
    return (0.5 - 0.375 * stop[ERP]) * h / stop[CFM]


@kernel
def spring_and_damper(stop, excess, v, h):
    """Return the effort of ODE's ERP and CFM as spring and damper, also where it pulls."""
    return -(stop[ERP] / h * excess + (1.0 - stop[ERP]) * v) / stop[CFM]


@kernel
def set_motor(limits, motor, q, v, u, control, target, aim, moved, h, law_out):
    """
    Write the active motor's law; motor and command u together respect the effort limit.

    aim: a servo's target at the time of q and v, and its change in a step, see `target_course`.
    moved: joint displacement in a step at its velocity [m, rad].

    A servo's spring acts at the middle of the position change. This conserves the spring's energy,
    so the joint would ring forever if the step is too long for its oscillation. The spring is
    therefore shifted, by the weight `articulated.servo_stiffness`, towards the position error
    after a whole step from q at the new velocity. Likewise the damper acts between the middle and
    the end of the step, by the weight `articulated.damper_weight`.
    """
    most = min(motor[MAX_EFFORT], limits[EFFORT] - u)
    least = max(motor[MIN_EFFORT], limits[LOWER_EFFORT] - u)
    law_out[MOST], law_out[LEAST] = most, least
    if control == BY_SERVO:
        law_out[MOTOR] = SERVO
        x_target, v_target, dx_target, dv_target = aim
        law_out[SERVO_BASE] = motor[GAIN_P] * (x_target - q) + motor[GAIN_D] * (v_target - v)
        law_out[SERVO_EFFORT] = law_out[SERVO_BASE]
        law_out[SERVO_LAG] = motor[GAIN_P] * (dx_target - moved)
        law_out[SERVO_CHANGE] = motor[GAIN_D] * dv_target
        law_out[SERVO_SPRING] = 0.25 * h * motor[GAIN_P]
        law_out[SERVO_DAMPING] = motor[GAIN_D]
    else:
        law_out[MOTOR] = HARD
        v_target = wanted_velocity(limits, q, control, target, h)
        # a motor with unlimited effort must not press against a stop
        if least == -_INFINITY:
            v_target = max(v_target, law_out[LOW])
        if most == _INFINITY:
            v_target = min(v_target, law_out[HIGH])
        law_out[TARGET] = v_target


@kernel
def wanted_velocity(limits, q, control, target, h):
    """
    Return the velocity that a hard motor keeps; q: position after half a step's drift.

    With BY_POSITION, the joint would reach its target within one step at this velocity. The joint
    arrives in two steps and stays: the second step drifts the other half of the first.
    """
    if control != BY_POSITION:
        return target[TARGET_VELOCITY]
    missing = target[TARGET_POSITION] - q - 0.5 * h * target[TARGET_VELOCITY]
    if abs(missing) <= _ROUNDING * (abs(target[TARGET_POSITION]) + abs(q)):
        missing = 0.0
    return min(max(target[TARGET_VELOCITY] + missing / h, -limits[VELOCITY]), limits[VELOCITY])
