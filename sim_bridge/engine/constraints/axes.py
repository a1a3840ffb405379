"""
Axes of constraint joints: positions, directions and efforts.

`measure_axis`, `axis_direction` and `axis_wrench` define the motion of each axis kind; joints of
the public interface also read their coordinates with them. There, `loops` is any object with
`axis_kind` and `axis_vector`.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.bearing import begin_bearing
from sim_bridge.engine.constraints.rows import column, frames_of, store_arms
from sim_bridge.engine.data.joint_laws import (
    clear_law,
    locked_velocity,
    loose_effort,
    MOTOR,
    next_mode,
    SERVO,
    share_effort,
    STOP_EFFORT,
    STOP_SLOPE,
)
from sim_bridge.engine.data.loops import (
    ALONG,
    EULER,
    GONE,
    HINGE,
    HOW,
    JOINT_ROWS,
    TILT,
    TURN_A,
    TURN_B,
    TURN_W,
    UNIVERSAL_A,
    UNIVERSAL_B,
    X,
    Y,
    Z,
)
from sim_bridge.engine.data.model import ARMATURE, CFM, EFFORT, ERP, LOWER, LOWER_EFFORT, UPPER
from sim_bridge.engine.data.state import (
    AT_LOWER,
    AT_UPPER,
    BY_SERVO,
    LOCKED,
    LOOSE,
    STUCK,
    TOTAL_SHARE,
)
from sim_bridge.engine.dynamics.active_set import FIRST, guess_mode, RELEASE
from sim_bridge.engine.dynamics.articulated import implicit_inertia, lagging_inertia
from sim_bridge.engine.dynamics.set_joint_laws import (
    explicit_effort,
    lagging_slope,
    set_elastic_stop,
    set_joint_laws,
    set_motor,
)
from sim_bridge.engine.dynamics.target_course import advance_course, aim_of_instant
from sim_bridge.engine.dynamics.twists import row_velocity
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import add_spatial
from sim_bridge.engine.math.vec3 import cross, dot, load3, norm, scale, sub, ZERO

_LOCKED_GIMBAL = 1e-6  # least squared sine between the outer axes
_STILL = 1e-9  # greatest velocity due to rounding on an axis held by friction [m/s, rad/s]
_SLACK = 0.1  # share of half a step's motion by which an axis may turn farther than expected
_STIFF = 1e-12  # negligible effort slope, relative to the inertia in a step


@subroutine
def start_axes(root, pose, h, state, loops, work):
    """
    Write the axes' laws at mid-step, and guess their modes.

    work.twist: body velocities at the step's start.
    """
    first = loops.size[JOINT_ROWS]
    for axis in range(loops.axis_joint.shape[0]):
        least, most = loops.limits[axis, LOWER_EFFORT], loops.limits[axis, EFFORT]
        state.axis_u[axis] = min(max(state.axis_u[axis], least), most)
        R_A, p_A, R_B, p_B = frames_of(pose, loops, loops.axis_joint[axis])
        torque, force = axis_wrench(loops, axis, R_A, R_B)
        store_arms(
            root, pose, loops, loops.axis_joint[axis], p_B, torque, force, first + axis, work.arm
        )
        work.v[axis] = row_velocity(
            loops, loops.axis_joint[axis], first + axis, work.arm, work.twist
        )
        expected = state.axis_q[axis] + 0.5 * h * work.v[axis]
        work.q[axis] = measure_axis(loops, axis, R_A, p_A, R_B, p_B, expected)
    set_joint_laws(
        loops,
        loops.axis_index,
        work.q,
        work.v,
        state.axis_u,
        state.axis_control,
        state.axis_target,
        state.axis_course,
        h,
        work,
    )
    for axis in range(loops.axis_joint.shape[0]):
        if work.broken[loops.axis_joint[axis]] & GONE != 0:
            disable_axis(axis, work)
        else:
            begin_bearing(loops, state, axis, work)
        last = state.axis_mode[axis]
        # v is computed from the bodies' velocities, so friction leaves it at rounding
        v = 0.0 if last == STUCK and abs(work.v[axis]) <= _STILL else work.v[axis]
        work.mode[axis] = guess_mode(work.law[axis], v, last)


@kernel
def disable_axis(axis, work):
    """Remove all efforts and laws from an axis."""
    clear_law(work.law[axis])
    work.given[axis], work.inertia[axis], work.mode[axis] = 0.0, 0.0, LOOSE
    work.borne[axis] = 0.0


@kernel
def find_excesses(pose, h, state, loops, work):
    """Write the corrections for axes beyond their rigid stops into work.right."""
    for axis in range(loops.axis_joint.shape[0]):
        row = loops.size[JOINT_ROWS] + axis
        work.right[row] = 0.0
        if work.own[row] >= 0:
            work.right[row] = correction_of(pose, h, state, loops, work, axis)


@kernel
def correction_of(pose, h, state, loops, work, axis):
    """
    Return the correction of an axis beyond a rigid stop; 0 for all other axes.

    As for tree joints: the whole excess if the step passed the stop; only the stop's ERP share of
    an earlier excess. Velocities are unchanged.
    """
    upper, lower = loops.limits[axis, UPPER], loops.limits[axis, LOWER]
    if loops.stop[axis, CFM] > 0.0 or upper == math.inf and lower == -math.inf:
        return 0.0
    R_A, p_A, R_B, p_B = frames_of(pose, loops, loops.axis_joint[axis])
    expected = work.q[axis] + 0.5 * h * work.v_next[axis]
    q = measure_axis(loops, axis, R_A, p_A, R_B, p_B, expected)
    left = 1.0 - loops.stop[axis, ERP]
    if q > upper:
        return min(upper + left * max(state.axis_q[axis] - upper, 0.0) - q, 0.0)
    if q < lower:
        return max(lower + left * min(state.axis_q[axis] - lower, 0.0) - q, 0.0)
    return 0.0


@kernel
def may_exceed(h, loops, work):
    """Return whether a loose axis may end the step beyond a rigid stop."""
    for axis in range(loops.axis_joint.shape[0]):
        if loops.stop[axis, CFM] == 0.0 and not is_in_basis(loops, work, axis):
            moved = 0.5 * h * work.v_next[axis]
            end, slack = work.q[axis] + moved, _SLACK * abs(moved)
            upper, lower = loops.limits[axis, UPPER], loops.limits[axis, LOWER]
            if end + slack > upper or end - slack < lower:
                return True
    return False


@kernel
def is_in_basis(loops, work, axis):
    """Return whether an axis has a rigid row in the basis."""
    row = loops.size[JOINT_ROWS] + axis
    return work.own[row] >= 0 and work.softness[row] == 0.0


@kernel
def lock_excesses(pose, h, state, loops, work):
    """
    Lock loose axes beyond their rigid stops, for the projection; return whether there are any.

    An axis bounces from the step after the one that passes the stop, and an axis at rest beyond
    its stop needs no effort, so both are loose: their rows are not in the basis.
    """
    is_any = False
    for axis in range(loops.axis_joint.shape[0]):
        is_broken = work.broken[loops.axis_joint[axis]] & GONE != 0
        if is_broken or is_in_basis(loops, work, axis):
            continue
        correction = correction_of(pose, h, state, loops, work, axis)
        if correction != 0.0:
            work.mode[axis] = AT_UPPER if correction < 0.0 else AT_LOWER
            is_any = True
    return is_any


@kernel
def axis_direction(loops, axis, R_A, R_B):
    """Return the unit vector along or about which an axis moves the second body, world axes."""
    kind, number = loops.axis_kind[axis, 0], loops.axis_kind[axis, 1]
    if kind == TURN_A or kind == TURN_B:
        return mul_mv(R_B if kind == TURN_B else R_A, load3(loops.axis_vector, axis, 0))
    if kind == TURN_W:
        return load3(loops.axis_vector, axis, 0)
    if kind == EULER:
        if number == 0:
            return column(R_A, Z)
        if number == 2:
            return column(R_B, X)
        middle = cross(column(R_B, X), column(R_A, Z))
        return scale(1.0 / norm(middle), middle)
    return column(R_B if kind == UNIVERSAL_B else R_A, number)


@kernel
def axis_wrench(loops, axis, R_A, R_B):
    """
    Return the torque and force on the second body for one unit of effort on an axis.

    A joint's effort about one axis does no work about its other axis, even if the two are not
    orthogonal. The wrench therefore also gives the velocity along the axis: the torque's product
    with the relative angular velocity, plus the force's product with the relative velocity of the
    joint's points.
    """
    kind = loops.axis_kind[axis, 0]
    if kind == EULER:
        number = loops.axis_kind[axis, 1]
        return euler_wrench(number, column(R_A, Z), column(R_B, X)), ZERO
    own = axis_direction(loops, axis, R_A, R_B)
    if kind == ALONG:
        return ZERO, own
    if kind == UNIVERSAL_A or kind == UNIVERSAL_B:
        other = column(R_B if kind == UNIVERSAL_A else R_A, Z)
        c = dot(own, other)
        return scale(1.0 / (1.0 - c * c), sub(own, scale(c, other))), ZERO
    if kind == TILT:
        return tilt_wrench(own, column(R_B, X)), ZERO
    return own, ZERO


@kernel
def tilt_wrench(axis, tilted):
    """
    Return the gradient of the angle by which a unit vector is turned about an axis.

    tilted: the vector; it may leave the plane orthogonal to the axis.
    """
    out = dot(axis, tilted)
    return scale(1.0 / max(1.0 - out * out, _LOCKED_GIMBAL), sub(axis, scale(out, tilted)))


@kernel
def euler_wrench(number, first, last):
    """
    Return a torque doing work on only one angle of an angular motor.

    first, last: rotation axes of the first and the last angle.
    """
    middle = cross(last, first)
    square = max(dot(middle, middle), _LOCKED_GIMBAL)
    if number == 0:
        return scale(1.0 / square, cross(middle, last))
    if number == 1:
        return scale(1.0 / math.sqrt(square), middle)
    return scale(1.0 / square, cross(first, middle))


@kernel
def measure_axis(loops, axis, R_A, p_A, R_B, p_B, expected):
    """Return the position of an axis; among equivalent angles, the one nearest to `expected`."""
    kind = loops.axis_kind[axis, 0]
    if kind == ALONG:
        return dot(column(R_A, loops.axis_kind[axis, 1]), sub(p_B, p_A))
    if kind == TURN_A or kind == TURN_B or kind == TURN_W:
        return expected
    if kind == HINGE or kind == TILT:
        s, c = dot(column(R_A, Y), column(R_B, X)), dot(column(R_A, X), column(R_B, X))
    elif kind == EULER:
        s, c = euler_angle(loops.axis_kind[axis, 1], R_A, R_B)
    elif kind == UNIVERSAL_A:
        s, c = dot(column(R_A, Y), column(R_B, Z)), dot(column(R_A, X), column(R_B, Z))
    else:
        s, c = -dot(column(R_B, Y), column(R_A, Z)), dot(column(R_B, X), column(R_A, Z))
    angle = math.atan2(s, c)
    return angle + 2.0 * math.pi * math.floor((expected - angle) / (2.0 * math.pi) + 0.5)


@kernel
def euler_angle(number, R_A, R_B):
    """Return the sine and cosine of an angular motor's angle, times a common factor."""
    x, z = column(R_B, X), column(R_A, Z)
    if number == 0:
        return dot(column(R_A, Y), x), dot(column(R_A, X), x)
    if number == 1:
        # 0 if the outer axes are orthogonal
        across = cross(x, z)
        return dot(x, z), norm(across)
    return dot(column(R_B, Y), z), dot(column(R_B, Z), z)


@kernel
def is_idle(loops, state, work, axis):
    """Return whether only a rigid stop can act on an axis."""
    total = abs(state.axis_u[axis]) + abs(work.given[axis])
    for k in range(loops.passive.shape[1]):
        total += abs(loops.passive[axis, k])
    return total == 0.0 and state.axis_control[axis] == 0 and loops.stop[axis, CFM] == 0.0


@kernel
def set_axis_row(loops, h, axis, square, work):
    """
    Set up the row of an axis for its mode: in the basis, or with a known effort outside it.

    An effort that falls as the velocity grows becomes a compliant row. square: squared norm of the
    whitened row; 0 if all joints moved by the axis are locked (the effort then still acts on
    them).
    """
    row, mode, law = loops.size[JOINT_ROWS] + axis, work.mode[axis], work.law[axis]
    work.active[row], work.softness[row], work.impulse[row] = 0, 0.0, 0.0
    work.inertia[axis] = 1.0 / square if square > 0.0 else 0.0
    if mode >= LOCKED:
        work.active[row] = 1
        work.error[row] = locked_velocity(law, mode)
        return
    d = work.inertia[axis]
    own = d + loops.passive[axis, ARMATURE]
    slope = implicit_inertia(loops.passive, axis, mode, own, h, law) - d
    effort = work.given[axis] + loose_effort(law, mode)
    if slope > _STIFF * d:
        # effort = F - slope / h (v⁺ - v)
        work.active[row] = 1
        work.softness[row] = 1.0 / slope
        work.error[row] = work.v[axis] + h * effort / slope
    else:
        work.impulse[row] = h * effort


@subroutine
def switch_axes(h, loops, work):
    """Correct wrong modes of axes as `active_set.update_active_set` does; return their number."""
    changed, slack, how = 0, work.slack[0], work.pivot[HOW]
    for axis in range(loops.axis_joint.shape[0]):
        law = work.law[axis]
        if work.mode[axis] >= LOCKED:
            work.v_next[axis] = locked_velocity(law, work.mode[axis])
        work.held[axis] = effort_of_elements(h, loops, work, axis)
        mode = next_mode(
            law,
            work.mode[axis],
            work.v[axis],
            work.v_next[axis],
            work.held[axis],
            slack,
            work.inertia[axis] * (slack / h),
        )
        if how == RELEASE and mode >= LOCKED:
            continue
        if mode != work.mode[axis]:
            work.mode[axis] = mode
            changed += 1
            if how == FIRST:
                break
    return changed


@kernel
def effort_of_elements(h, loops, work, axis):
    """Return the effort of friction, motor and stop on a locked axis; not that on its armature."""
    gained = (work.v_next[axis] - work.v[axis]) / h
    return (
        work.impulse[loops.size[JOINT_ROWS] + axis] / h
        - work.given[axis]
        + loops.passive[axis, ARMATURE] * gained
    )


@kernel
def keep_axes(pose, h, loops, work, state):
    """
    Store the axes' positions, and their efforts in the step, in the state.

    Adds the efforts to work.mean, and the efforts at the step's end to work.yielded.
    """
    for axis in range(loops.axis_joint.shape[0]):
        R_A, p_A, R_B, p_B = frames_of(pose, loops, loops.axis_joint[axis])
        expected = work.q[axis] + 0.5 * h * work.v_next[axis]
        state.axis_q[axis] = measure_axis(loops, axis, R_A, p_A, R_B, p_B, expected)
        state.axis_mode[axis] = work.mode[axis]
        state.axis_load[axis] = work.borne[axis]
        if state.axis_control[axis] == BY_SERVO:
            advance_course(state.axis_target[axis], state.axis_course[axis])
        total = work.impulse[loops.size[JOINT_ROWS] + axis] / h
        shares = share_effort(
            work.law[axis],
            work.mode[axis],
            work.v[axis],
            work.v_next[axis],
            effort_of_elements(h, loops, work, axis),
        )
        for k in range(3):
            state.axis_effort[axis, k] = shares[k]
        state.axis_effort[axis, TOTAL_SHARE] = total
        row = loops.size[JOINT_ROWS] + axis
        is_own = work.active[row] == 0 or work.own[row] >= 0
        last = total
        if work.mode[axis] < LOCKED and is_own and work.inertia[axis] > 0.0:
            last = effort_at_end(h, loops, state, work, axis, total)
        joint = loops.axis_joint[axis]
        torque, force = axis_wrench(loops, axis, R_A, R_B)
        add_spatial(work.mean, joint, scale(total, torque), scale(total, force))
        add_spatial(work.yielded, joint, scale(last, torque), scale(last, force))


@kernel
def effort_at_end(h, loops, state, work, axis, mean):
    """
    Return the effort on a loose axis at the step's end, including the armature.

    Computed as in `laws_at_instant`, with one assumption: if the effort differs from its mean over
    the step, the acceleration differs from its own mean in proportion. Overwrites the law of the
    axis for the step.
    """
    law, v, mode = work.law[axis], work.v_next[axis], work.mode[axis]
    q, u, control = state.axis_q[axis], state.axis_u[axis], state.axis_control[axis]
    limits, stop, target = loops.limits[axis], loops.stop[axis], state.axis_target[axis]
    if law[MOTOR] == SERVO:
        set_motor(
            limits,
            loops.motor[axis],
            q,
            v,
            u,
            control,
            target,
            aim_of_instant(target, state.axis_course[axis]),
            0.5 * h * (work.v[axis] + v),
            h,
            law,
        )
    if stop[CFM] > 0.0:
        law[STOP_EFFORT] = 0.0
        set_elastic_stop(stop, q - limits[UPPER], limits[LOWER] - q, v, h, law)
        law[STOP_SLOPE] = lagging_slope(stop, h) if law[STOP_EFFORT] != 0.0 else 0.0
    inertia = (
        lagging_inertia(loops.passive, axis, mode, 0.0, h, law) + loops.passive[axis, ARMATURE]
    )
    effort = explicit_effort(loops.passive, axis, u, q, v) + loose_effort(law, mode)
    share = inertia / work.inertia[axis]
    return (effort - inertia * (v - work.v[axis]) / h + share * mean) / (1.0 + share)
