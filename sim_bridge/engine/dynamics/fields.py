"""
Force fields as wrenches on bodies; compiled separately, see `compiler.stage`.

A field acts on a link at its centre of mass. A step evaluates each field once at its middle: at
the poses and the time there, and at the velocity extrapolated from the last step's acceleration.
The error per step is of third order.

Wind is evaluated once for all fields, see `description.force_fields.Wind`.

A drag of rate r (coefficient over mass) is divided by √(1 + (h r)⁴). This keeps the order and
allows any coefficient: r h stays below 1, the limit of the extrapolation.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import (
    ACCELERATION,
    AIRCRAFT,
    ANGULAR_DRAG,
    ASKED,
    BEGUN,
    BLADDER,
    BOX_FLOW,
    CALLBACK,
    CENTER,
    DECAYS,
    DRAG,
    DRAG_WIND,
    ELLIPSOID_FLOW,
    FAILED,
    FALL,
    FINAL,
    FIRST_FLUID,
    FORCES,
    FUNCTION,
    GRAVITY,
    GUST,
    GUST_RATE,
    GUST_SHARE,
    GUST_TURNS,
    HAS_GRAVITY,
    IN_STEP,
    LEAST_INERTIA,
    LIFT_DRAG,
    LINEAR_DRAG,
    MOTION,
    NOW,
    OFFSETS,
    PER_MASS,
    PLACE,
    POINT,
    POWER,
    PUSH,
    PUSH_RATE,
    QUADRATIC_DRAG,
    ROTOR,
    STAGE,
    START,
    STRENGTH,
    SWING,
    SWING_TURNS,
    UNIFORM,
    WIND,
)
from sim_bridge.engine.data.inertia import MASS
from sim_bridge.engine.data.model import CENTRE
from sim_bridge.engine.data.state import DISABLED
from sim_bridge.engine.dynamics.flows import bounded_drag
from sim_bridge.engine.dynamics.fluid_forces import add_fluid_force, pumping_end
from sim_bridge.engine.dynamics.twists import find_twists
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import ANGULAR, FORCE, LINEAR, load_pose, ORIGIN, TORQUE
from sim_bridge.engine.math.vec3 import (
    add,
    cross,
    load3,
    load_v,
    norm,
    scale,
    store3,
    store_v,
    sub,
    ZERO,
)


def fields(table, phase):
    """
    Add all field wrenches to ws.wrench, at ws.pose and the velocities ws.v.

    Writes ws.velocity. phase: IN_STEP or AT_INSTANT. Returns FAILED if a Python function raised an
    exception, else 0.
    """
    model, ws, own = world.model(table), world.workspace(table), world.fields(table)
    h = world.options(table).time_step if phase == IN_STEP else 0.0
    find_twists(model, model.kind, ws, ws.v, ws.velocity)
    find_wind(own)
    if own.call[CALLBACK] != 0:
        for row in range(own.body.shape[0]):
            if own.kind[own.of[row]] == FUNCTION:
                arm, x = centre_of(own, ws, row)
                store3(own.sample, row, PLACE, x)
                store3(own.sample, row, MOTION, velocity_of(model, ws, own.body[row], x))
        if call_stage(own.call[CALLBACK], table, FORCES) < 0:
            return FAILED
    for row in range(own.body.shape[0]):
        body = own.body[row]
        if own.kind[own.of[row]] >= FIRST_FLUID:
            add_fluid_force(table, row, h)
            continue
        arm, x = centre_of(own, ws, row)
        f, n = force_of(
            own, row, x, velocity_of(model, ws, body, x), load3(ws.velocity, body, ANGULAR), h
        )
        n = add(n, cross(arm, f))
        for k in range(3):
            ws.wrench[body, TORQUE + k] += n[k]
            ws.wrench[body, FORCE + k] += f[k]
    return 0


@kernel
def centre_of(own, ws, row):
    """Return the mass centre of a row's link: from its body's origin, and in the world [m]."""
    R, p = load_pose(ws.pose, own.body[row])
    arm = mul_mv(R, load_v(own.link[row], CENTRE))
    return arm, add(p, arm)


@kernel
def velocity_of(model, ws, body, x):
    """Return a body's velocity at a world point [m/s]."""
    p_O = sub(x, load3(ws.pose, model.root[body], ORIGIN))
    return add(load3(ws.velocity, body, LINEAR), cross(load3(ws.velocity, body, ANGULAR), p_O))


@kernel
def force_of(own, row, x, v, w, h):
    """
    Return the force and torque on a row's link at its centre of mass [N, N m], world axes.

    x, v: position and velocity of the centre of mass. w: angular velocity. h: time step in a step,
    0 at an instant [s].
    """
    law, kind, mass = own.law[own.of[row]], own.kind[own.of[row]], own.link[row, MASS]
    if kind == FUNCTION:
        return load3(own.sample, row, PUSH), ZERO
    if kind == UNIFORM:
        return add(load_v(law, 0), scale(mass, load_v(law, ACCELERATION))), ZERO
    if kind == POINT:
        away = sub(x, load_v(law, CENTER))
        r = norm(away)
        if r == 0.0:
            return ZERO, ZERO
        strength = law[STRENGTH] * (mass if law[PER_MASS] != 0.0 else 1.0)
        return scale(-strength * math.pow(r, law[POWER]) / r, away), ZERO
    if kind == WIND:
        slip = sub(v, wind_of(law, own.time[NOW]))
        return scale(-bounded_drag(law[PUSH_RATE] * mass, mass, h), slip), ZERO
    wind = load_v(law, DRAG_WIND)
    if law[GUST_RATE] != 0.0:
        wind = add(wind, scale(math.sin(law[GUST_RATE] * own.time[NOW]), load_v(law, GUST)))
    slip = sub(v, wind)
    drag = law[LINEAR_DRAG] + law[QUADRATIC_DRAG] * norm(slip)
    f = scale(-bounded_drag(drag, mass, h), slip)
    if law[ANGULAR_DRAG] == 0.0:
        return f, ZERO
    return f, scale(-bounded_drag(law[ANGULAR_DRAG], own.link[row, LEAST_INERTIA], h), w)


@kernel
def find_wind(own_inout):
    """Write the sum of the winds at the time NOW to own.wind."""
    own, wind = own_inout, ZERO
    for field in range(own.kind.shape[0]):
        if own.kind[field] == WIND:
            wind = add(wind, wind_of(own.law[field], own.time[NOW]))
    store_v(own_inout.wind, 0, wind)


@subroutine
def wind_of(law, time):
    """Return a wind's velocity at a time [m/s]; see `Wind.velocity_at`."""
    speed = law[FINAL] + offset_at(law, 0, time)
    speed *= 1.0 + law[GUST_SHARE] * math.sin(law[GUST_TURNS] * time)
    angle = law[FINAL + 1] + offset_at(law, 1, time)
    angle += law[SWING] * math.sin(law[SWING_TURNS] * time)
    rise = law[FINAL + 2] + offset_at(law, 2, time)
    return speed * math.cos(angle), speed * math.sin(angle), rise


@kernel
def offset_at(law, k, time):
    """Return the rest of a wind's offset from its final value: speed, direction or rise."""
    if law[DECAYS + k] == 0.0:
        return 0.0
    return law[OFFSETS + k] * math.exp(-law[DECAYS + k] * max(time - law[BEGUN], 0.0))


FIELDS = Stage(fields)


@kernel
def push_in_step(model, options, state, ws, table, done):
    """
    Add the field wrenches at the middle of the next step to ws.wrench.

    done: number of steps since the time START. Writes ws.v too. Returns FAILED if a Python
    function raised an exception.
    """
    own, h = world.fields(table), options.time_step
    own.time[NOW] = own.time[START] + (float(done) + 0.5) * h
    if own.call[STAGE] == 0:
        return 0
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = state.v[joint] + 0.5 * h * state.acceleration[joint]
    return call_stage(own.call[STAGE], table, IN_STEP)


@kernel
def push_at(table, time, phase):
    """
    Add all field wrenches, evaluated at `time` and the velocities ws.v, to ws.wrench.

    phase: IN_STEP or AT_INSTANT. Returns FAILED if a Python function raised an exception.
    """
    own = world.fields(table)
    if own.call[STAGE] == 0:
        return 0
    own.time[NOW] = time
    return call_stage(own.call[STAGE], table, phase)


_STEADY = 1e-6  # winds closer to their final values are steady [m/s, rad]


@kernel
def stay_awake(model, own, idle_inout):
    """Keep trees awake in time-varying fields, unless they are disabled."""
    if own.call[STAGE] == 0:
        return
    is_windy = False
    for field in range(own.kind.shape[0]):
        if own.kind[field] == WIND and is_varying(own, field):
            is_windy = True
    for row in range(own.body.shape[0]):
        field = own.of[row]
        kind = own.kind[field]
        feels_wind = kind == ROTOR or kind == LIFT_DRAG or kind == AIRCRAFT
        feels_wind = feels_wind or kind == BOX_FLOW or kind == ELLIPSOID_FLOW
        is_pumping = kind == BLADDER and own.time[NOW] < pumping_end(own.fluid, own.fluid_at[row])
        if is_varying(own, field) or (feels_wind and is_windy) or is_pumping:
            root = model.root[own.body[row]]
            if idle_inout[root] != DISABLED:
                idle_inout[root] = 0


@kernel
def is_varying(own, field):
    """Return whether a field's law changes with time: functions, gusts, changing winds."""
    kind = own.kind[field]
    if kind == DRAG:
        return own.law[field, GUST_RATE] != 0.0
    if kind != WIND:
        return kind == FUNCTION
    has_gusts = own.law[field, GUST_SHARE] != 0.0 or own.law[field, SWING] != 0.0
    rest = 0.0
    for k in range(3):
        rest = max(rest, abs(offset_at(own.law[field], k, own.time[NOW])))
    return has_gusts or rest > _STEADY


@kernel
def function_gravity(table, p):
    """
    Return the free-fall acceleration from the world's Python function at a point [m/s²].

    Returns 0 in a world without this function, and after an exception.
    """
    own = world.fields(table)
    if own.call[HAS_GRAVITY] == 0:
        return ZERO
    store_v(own.point, ASKED, p)
    if call_stage(own.call[CALLBACK], table, GRAVITY) < 0:
        return ZERO
    return load_v(own.point, FALL)
