"""
Forces at places of links: fluid forces, see `description.fluid_forces`, and wrenches.

They are evaluated with the force fields, in the same stage.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import (
    ADDED_MASS,
    AIR_DENSITY,
    AIRCRAFT,
    AIRCRAFT_WIND,
    ALPHA0,
    AREA,
    BLADDER,
    BLADDER_DENSITY,
    BOX_FLOW,
    BUOYANCY,
    CD,
    CD_STALL,
    CHORD,
    CL,
    CL_JOINT,
    CL_STALL,
    CM,
    CM_JOINT,
    CM_STALL,
    CONTROL_SIZE,
    CONTROLS,
    CURRENT,
    CURVE_SIZE,
    CURVES,
    DENSITY,
    DENSITY_OF_AIR,
    DERIVATIVES,
    ELLIPSOID_FLOW,
    FIRST_CONTROL,
    FIRST_CURVE,
    FIRST_LAYER,
    FIRST_VOLUME,
    FORWARD,
    HAS_CORIOLIS,
    HAS_LAGS,
    HYDRODYNAMICS,
    INDUCED,
    INERTIAS,
    IS_RADIAL,
    IS_REVERSIBLE,
    LAG_DOWN,
    LAG_UP,
    LAYERS,
    LIFT_DRAG,
    MOMENT,
    NEUTRAL,
    NOW,
    PER_ADVANCE,
    PER_SQUARE,
    PITCH_STALL,
    PLAN_AREA,
    PLATE_DRAG,
    PRESSURE,
    PUMP_RATE,
    PUMP_START,
    ROLLING,
    ROTOR,
    ROTOR_DRAG,
    ROTOR_WIND,
    SHAPE_CENTRE,
    SLOWDOWN,
    SPAN,
    STALL,
    STALL_ANGLE,
    SURFACE,
    TARGET_VOLUME,
    THRUST,
    THRUSTER,
    TURN_AXIS,
    TURNS,
    UPWARD,
    VOLUME,
    WING_WIND,
    WRENCH,
    WRENCH_FORCE,
    WRENCH_IS_LOCAL,
    WRENCH_POINT,
    WRENCH_TORQUE,
)
from sim_bridge.engine.data.fields import LINEAR as LINEAR_DAMPING
from sim_bridge.engine.data.joint_laws import HARD, MOTOR, TARGET
from sim_bridge.engine.data.model import CENTRE
from sim_bridge.engine.data.state import BY_VELOCITY, TARGET_VELOCITY
from sim_bridge.engine.dynamics.flows import box_force, ellipsoid_force, place_of_flow
from sim_bridge.engine.dynamics.immersion import volume_below
from sim_bridge.engine.dynamics.pull import gravity_at
from sim_bridge.engine.dynamics.twists import point_velocity
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.spatial import ANGULAR, carried, FORCE, load_pose, ORIGIN, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, norm, scale, sub, ZERO

_STILL = 0.01  # air speed up to which wings feel nothing [m/s]
_NO_FLOW = 1e-9  # the same for aircraft [m/s]
_BLENDING = 15.0  # of the sigmoid between airfoil and flat plate [1/rad]


@subroutine
def add_fluid_force(table, row, h):
    """Add a row's wrench to ws.wrench, at ws.pose, ws.v and ws.velocity. h: see `force_of`."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    own = world.fields(table)
    body, kind, values = own.body[row], own.kind[own.of[row]], own.fluid[own.fluid_at[row] :]
    R_B, p_B = load_pose(ws.pose, body)
    R_L, p_L = load_pose(own.frame, row)
    R, p = carried((R_B, p_B), R_L, p_L)
    if kind == ROTOR:
        x = add(p_B, mul_mv(R_B, load_v(own.link[row], CENTRE)))
        spin_rotor(model, own, ws, values, row, R, x)
    elif kind == THRUSTER:
        thrust = thrust_of(
            values,
            state.target[own.joint[row], TARGET_VELOCITY],
            norm(point_velocity(model, ws, ws.velocity, body, p)),
        )
        push_at_point(ws, body, p, scale(thrust, mul_mv(R, load_v(values, TURN_AXIS))), ZERO)
    elif kind == LIFT_DRAG:
        fly_wing(model, own, ws, values, row, R, p)
    elif kind == AIRCRAFT:
        fly_aircraft(model, own, ws, values, body, R, p)
    elif kind == BLADDER:
        f = bladder_force(model.gravity, values, p, own.time[NOW])
        push_at_point(ws, body, p, f, ZERO)
    elif kind == HYDRODYNAMICS:
        resist(model, ws, values, body, R, p, h)
    elif kind == BUOYANCY:
        lift_shape(model, ws, values, body, R_B, p_B)
    elif kind == BOX_FLOW or kind == ELLIPSOID_FLOW:
        R, x = place_of_flow(values, R_B, p_B)
        if kind == BOX_FLOW:
            f, n = box_force(model, own, ws, values, row, R, x, h)
        else:
            f, n = ellipsoid_force(model, own, ws, values, row, R, x, h)
        push_at_point(ws, body, x, mul_mv(R, f), mul_mv(R, n))
    elif kind == WRENCH:
        f, n = load_v(values, WRENCH_FORCE), load_v(values, WRENCH_TORQUE)
        if values[WRENCH_IS_LOCAL] != 0.0:
            f, n = mul_mv(R, f), mul_mv(R, n)
        push_at_point(ws, body, add(p, mul_mv(R, load_v(values, WRENCH_POINT))), f, n)


@kernel
def push_at_point(ws, body, x, f, n):
    """Add a force at a world point, and a torque, to a body's wrench."""
    n = add(n, cross(sub(x, load3(ws.pose, body, ORIGIN)), f))
    for k in range(3):
        ws.wrench[body, TORQUE + k] += n[k]
        ws.wrench[body, FORCE + k] += f[k]


@kernel
def air_velocity(model, own, ws, body, x, wind):
    """Return a body point's velocity relative to the air [m/s]; wind: beside the world's."""
    v = point_velocity(model, ws, ws.velocity, body, x)
    return sub(v, add(wind, load_v(own.wind, 0)))


@kernel
def spin_rotor(model, own, ws, values, row, R, x):
    """Add a rotor's thrust and drag at its mass centre x, and its parent's torques."""
    speed = values[SLOWDOWN] * ws.v[own.joint[row]]
    thrust = math.copysign(values[TURNS] * speed * speed * values[THRUST], values[TURNS] * speed)
    up, axis = column(R, 2), mul_mv(R, load_v(values, TURN_AXIS))
    v = air_velocity(model, own, ws, own.body[row], x, load_v(values, ROTOR_WIND))
    across = sub(v, scale(dot(v, axis), axis))
    drag = scale(-abs(speed) * values[ROTOR_DRAG], across)
    push_at_point(ws, own.body[row], x, add(scale(thrust, up), drag), ZERO)
    other = own.other[row]
    if other >= 0:
        torque = add(
            scale(-values[TURNS] * thrust * values[MOMENT], up),
            scale(-abs(speed) * values[ROLLING], across),
        )
        for k in range(3):
            ws.wrench[other, TORQUE + k] += torque[k]


@kernel
def thrust_of(values, turning, speed):
    """Return a thruster's force [N]; turning: target [rad/s]. speed: the link's [m/s]."""
    return abs(turning) * (values[PER_SQUARE] * turning + values[PER_ADVANCE] * speed)


@kernel
def fly_wing(model, own, ws, values, row, R, p):
    """Add a wing's lift, drag and moment; p: the link's origin."""
    body = own.body[row]
    x = add(p, mul_mv(R, load_v(values, PRESSURE)))
    v = air_velocity(model, own, ws, body, x, load_v(values, WING_WIND))
    forward, upward = mul_mv(R, load_v(values, FORWARD)), mul_mv(R, load_v(values, UPWARD))
    speed = norm(v)
    if speed <= _STILL or (values[IS_REVERSIBLE] == 0.0 and dot(forward, v) <= 0.0):
        return
    if values[IS_RADIAL] != 0.0:
        upward = normalized(cross(forward, cross(forward, v)))
    span = normalized(cross(forward, upward))
    sweep = dot(span, v) / speed
    in_plane = sub(v, scale(dot(v, span), span))
    plane_speed = norm(in_plane)
    if plane_speed == 0.0:
        return
    lift = scale(1.0 / plane_speed, cross(span, in_plane))
    alpha = attack_of(lift, forward, upward, values[ALPHA0])
    straight = 1.0 - sweep * sweep
    cl = straight * stalled(alpha, values[STALL], values[CL], values[CL_STALL])
    cd = abs(straight * stalled(alpha, values[STALL], values[CD], values[CD_STALL]))
    cm = straight * stalled(alpha, values[STALL], values[CM], values[CM_STALL])
    if abs(alpha) > values[STALL]:
        # lift and moment keep the angle's sign
        cl = max(cl, 0.0) if alpha > 0.0 else min(cl, 0.0)
        cm = max(cm, 0.0) if alpha > 0.0 else min(cm, 0.0)
    if own.joint[row] >= 0:
        at = model.q_of_v[own.joint[row]]
        cl += values[CL_JOINT] * ws.q[at]
        cm += values[CM_JOINT] * ws.q[at]
    pressure = 0.5 * values[AIR_DENSITY] * plane_speed * plane_speed * values[AREA]
    f = sub(scale(cl * pressure, lift), scale(cd * pressure / plane_speed, in_plane))
    push_at_point(ws, body, x, f, scale(cm * pressure, span))


@kernel
def normalized(v):
    """Return a unit vector, zero for zero."""
    length = norm(v)
    return scale(1.0 / length, v) if length > 0.0 else ZERO


@kernel
def attack_of(lift, forward, upward, alpha0):
    """Return the attack angle, within a quarter turn [rad]."""
    angle = math.acos(min(max(dot(lift, upward), -1.0), 1.0))
    alpha = alpha0 + (angle if dot(lift, forward) >= 0.0 else -angle)
    while abs(alpha) > 0.5 * math.pi:
        alpha -= math.copysign(math.pi, alpha)
    return alpha


@kernel
def stalled(alpha, stall, slope, slope_beyond):
    """Return a coefficient at an attack angle."""
    within = min(max(alpha, -stall), stall)
    return slope * within + slope_beyond * (alpha - within)


@subroutine
def fly_aircraft(model, own, ws, values, body, R, p):
    """Add an aircraft's forces and moments; p: the link's origin. See `AdvancedLiftDrag`."""
    x = add(p, mul_mv(R, load_v(values, PRESSURE)))
    v = air_velocity(model, own, ws, body, x, load_v(values, AIRCRAFT_WIND))
    ahead = mul_mv(R, load_v(values, FORWARD))
    down = scale(-1.0, mul_mv(R, load_v(values, UPWARD)))
    right = cross(down, ahead)
    in_plane = sub(v, scale(dot(v, right), right))
    speed = norm(in_plane)
    if speed <= _NO_FLOW:
        return
    flow = scale(1.0 / speed, in_plane)
    alpha = math.atan2(dot(flow, down), dot(flow, ahead))
    beta = math.atan2(dot(v, right), dot(v, ahead))
    w = load3(ws.velocity, body, ANGULAR)
    span, chord = values[SPAN], values[CHORD]
    p_hat = 0.5 * span * dot(w, ahead) / speed
    q_hat = 0.5 * chord * dot(w, right) / speed
    r_hat = 0.5 * span * dot(w, down) / speed
    steady = steady_part(own, model, ws, values, alpha, beta)
    turning = turning_part(values, p_hat, q_hat, r_hat)
    area = 0.5 * values[DENSITY_OF_AIR] * speed * speed * values[PLAN_AREA]
    f = scale(-area * (steady[0] + turning[0]), flow)
    f = add(f, scale(area * (steady[1] + turning[1]), right))
    f = sub(f, scale(area * (steady[2] + turning[2]), cross(flow, right)))
    n = scale(area * span * (steady[3] + turning[3]), ahead)
    n = add(n, scale(area * chord * (steady[4] + turning[4]), right))
    n = add(n, scale(area * span * (steady[5] + turning[5]), down))
    push_at_point(ws, body, x, f, n)


@kernel
def steady_part(own, model, ws, values, alpha, beta):
    """Return drag, side force, lift, roll, pitch and yaw coefficients without turning."""
    control = control_part(own, model, ws, values)
    stall = values[STALL_ANGLE]
    share = stall_share(alpha, stall)
    plate = math.sin(alpha) * math.sin(alpha)
    sign = 1.0 if alpha > 0.0 else -1.0
    at = DERIVATIVES + 12
    lift = (1.0 - share) * (values[at] + values[at + 1] * alpha)
    lift += share * 2.0 * sign * plate * math.cos(alpha)
    lift += values[at + 2] * beta + control[2]
    at = DERIVATIVES
    drag = (1.0 - share) * (values[at] + values[INDUCED] * lift * lift)
    drag += share * values[PLATE_DRAG] * plate + control[0]
    drag += values[at + 1] * alpha + values[at + 2] * beta
    within = min(max(alpha, -stall), stall)
    pitch = linear_part(values, 4, within, beta) + values[PITCH_STALL] * (alpha - within)
    return (
        drag,
        linear_part(values, 1, alpha, beta) + control[1],
        lift,
        linear_part(values, 3, alpha, beta) + control[3],
        pitch + control[4],
        linear_part(values, 5, alpha, beta) + control[5],
    )


@kernel
def stall_share(alpha, stall):
    """Return the share of the flat plate in the lift: 0 within the stall angles, 1 beyond."""
    over = math.exp(-_BLENDING * (alpha - stall))
    under = math.exp(_BLENDING * (alpha + stall))
    return (1.0 + over + under) / ((1.0 + over) * (1.0 + under))


@kernel
def linear_part(values, k, alpha, beta):
    """Return a coefficient from its value at zero and its derivatives by the angles."""
    at = DERIVATIVES + 6 * k
    return values[at] + values[at + 1] * alpha + values[at + 2] * beta


@kernel
def turning_part(values, p_hat, q_hat, r_hat):
    """Return the six coefficients from dimensionless rates."""
    y = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    rates = (p_hat, q_hat, r_hat)
    for j in range(3):
        at = DERIVATIVES + 3 + j
        y = (
            y[0] + values[at] * rates[j],
            y[1] + values[at + 6] * rates[j],
            y[2] + values[at + 12] * rates[j],
            y[3] + values[at + 18] * rates[j],
            y[4] + values[at + 24] * rates[j],
            y[5] + values[at + 30] * rates[j],
        )
    return y


@kernel
def control_part(own, model, ws, values):
    """Return the six coefficients from the control surfaces' positions."""
    y = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for surface in range(int(values[CONTROLS])):
        at = FIRST_CONTROL + CONTROL_SIZE * surface
        q = ws.q[model.q_of_v[int(values[at])]]
        y = (
            y[0] + values[at + 1] * q,
            y[1] + values[at + 2] * q,
            y[2] + values[at + 3] * q,
            y[3] + values[at + 4] * q,
            y[4] + values[at + 5] * q,
            y[5] + values[at + 6] * q,
        )
    return y


@kernel
def bladder_force(gravity, values, p, time):
    """Return a bladder's force at the link's origin p [N]."""
    volume, target = values[FIRST_VOLUME], values[TARGET_VOLUME]
    pumped = values[PUMP_RATE] * max(time - values[PUMP_START], 0.0)
    volume += min(max(target - volume, -pumped), pumped)
    displaced = values[BLADDER_DENSITY] * volume if p[2] < values[SURFACE] else 0.0
    neutral = values[BLADDER_DENSITY] * values[NEUTRAL]
    return scale(neutral - displaced, gravity_at(gravity, p))


@kernel
def pumping_end(fluid, at):
    """Return the time at which a bladder has its target volume [s]; at: first of its values."""
    change = abs(fluid[at + TARGET_VOLUME] - fluid[at + FIRST_VOLUME])
    rate = fluid[at + PUMP_RATE]
    return fluid[at + PUMP_START] + (change / rate if rate > 0.0 else 0.0)


@kernel
def resist(model, ws, values, body, R, p, h):
    """
    Add a hull's damping, and its added mass beside inertia.

    The medium has added the inertia A (a, dw), with the acceleration a at the link's origin. With
    the water's momentum (P, Q) = A (u, w) the forces are -P' - w x P and -Q' - w x Q - u x P,
    and the velocity u relative to the current changes by a - w x u in the link's axes.
    """
    u = mul_tv(R, sub(point_velocity(model, ws, ws.velocity, body, p), load_v(values, CURRENT)))
    w = mul_tv(R, load3(ws.velocity, body, ANGULAR))
    nu = u + w
    f, n = map_6(values, ADDED_MASS, cross(w, u) + ZERO)
    if values[HAS_CORIOLIS] != 0.0:
        P, Q = map_6(values, ADDED_MASS, nu)
        f = sub(f, cross(w, P))
        n = sub(sub(n, cross(w, Q)), cross(u, P))
    damping = damping_of(values, nu, h)
    f = sub(f, (damping[0], damping[1], damping[2]))
    n = sub(n, (damping[3], damping[4], damping[5]))
    push_at_point(ws, body, p, mul_mv(R, f), mul_mv(R, n))


@kernel
def map_6(values, at, x):
    """Return a (6, 6) matrix times six numbers, as two vectors."""
    y = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for j in range(6):
        y = (
            y[0] + values[at + j] * x[j],
            y[1] + values[at + 6 + j] * x[j],
            y[2] + values[at + 12 + j] * x[j],
            y[3] + values[at + 18 + j] * x[j],
            y[4] + values[at + 24 + j] * x[j],
            y[5] + values[at + 30 + j] * x[j],
        )
    return (y[0], y[1], y[2]), (y[3], y[4], y[5])


@kernel
def damping_of(values, nu, h):
    """
    Return the six damping forces at a velocity.

    Each is divided by √(1 + (h r)⁴), with r the sum over its rates, as for `Drag`.
    """
    d0 = damping_along(values, 0, nu, h)
    d1 = damping_along(values, 1, nu, h)
    d2 = damping_along(values, 2, nu, h)
    d3 = damping_along(values, 3, nu, h)
    d4 = damping_along(values, 4, nu, h)
    d5 = damping_along(values, 5, nu, h)
    return d0, d1, d2, d3, d4, d5


@subroutine
def damping_along(values, i, nu, h):
    """Return the damping force in one direction."""
    force, own = 0.0, 0.0
    for j in range(6):
        force += values[LINEAR_DAMPING + 6 * i + j] * nu[j]
    own = abs(values[LINEAR_DAMPING + 7 * i])
    for curve in range(int(values[CURVES])):
        at = FIRST_CURVE + CURVE_SIZE * curve
        if int(values[at]) == i:
            j, factor = int(values[at + 1]), nu[int(values[at + 2])]
            if values[at + 3] != 0.0:
                factor = abs(factor)
            force += values[at + 4] * factor * nu[j]
            if j == i:
                own += abs(values[at + 4] * factor)
    part = h * own / values[INERTIAS + i]
    return force / math.sqrt(1.0 + part * part * part * part)


@kernel
def lift_shape(model, ws, values, body, R_B, p_B):
    """Add a shape's buoyancy: the sum over the layers, each with its added density."""
    R_S = load_v(values, 0), load_v(values, 3), load_v(values, 6)
    R, x = carried((R_B, p_B), R_S, load_v(values, SHAPE_CENTRE))
    layers = int(values[LAYERS])
    density = values[FIRST_LAYER + 2 * layers - 1] if layers > 0 else values[DENSITY]
    # displaced mass, and its first moment about the volume's centre
    mass, moment, under = density * values[VOLUME], ZERO, values[DENSITY]
    for layer in range(layers):
        height, above = values[FIRST_LAYER + 2 * layer], values[FIRST_LAYER + 2 * layer + 1]
        volume, m = volume_below(values, R, height - x[2])
        mass += (under - above) * volume
        moment = add(moment, scale(under - above, m))
        under = above
    g = gravity_at(model.gravity, x)
    push_at_point(ws, body, x, scale(-mass, g), scale(-1.0, cross(moment, g)))


@kernel
def lag_targets(own, state, h, ws):
    """Replace the lagging motors' targets in ws.law: a first-order lag."""
    if own.call[HAS_LAGS] == 0:
        return
    for row in range(own.body.shape[0]):
        joint = own.joint[row]
        is_hard = is_lagging(own, row) and ws.law[joint, MOTOR] == HARD
        if is_hard and state.control[joint] == BY_VELOCITY:
            ws.law[joint, TARGET] = lagged_target(own, state, row, h)


@kernel
def advance_lags(own, state_inout, h):
    """Keep the lagging motors' targets for the next step."""
    if own.call[HAS_LAGS] == 0:
        return
    for row in range(own.body.shape[0]):
        if is_lagging(own, row):
            target = lagged_target(own, state_inout, row, h)
            state_inout.course[own.joint[row], TARGET_VELOCITY] = target


@kernel
def is_lagging(own, row):
    """Return whether a row's joint lags behind its target."""
    kind = own.kind[own.of[row]]
    return kind == ROTOR or kind == THRUSTER


@kernel
def lagged_target(own, state, row, h):
    """Return the velocity after a step with a first-order lag; zero time constants are none."""
    joint, at = own.joint[row], own.fluid_at[row]
    now, wanted = state.course[joint, TARGET_VELOCITY], state.target[joint, TARGET_VELOCITY]
    grows = own.fluid[at + TURNS] * (wanted - now) > 0.0
    lag = own.fluid[at + LAG_UP] if grows else own.fluid[at + LAG_DOWN]
    if lag <= 0.0:
        return wanted
    return wanted + math.exp(-h / lag) * (now - wanted)
