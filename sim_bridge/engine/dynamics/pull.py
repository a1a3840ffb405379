"""
Gravity towards a point, as a force on every link at its centre of mass.

Uniform gravity is an acceleration of the world, see `kinematics.move_bodies`. Gravity varying with
position is added to the body wrenches, at the poses in the middle of the step. Other force fields
can be added to the wrenches in the same way.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.inertia import MASS
from sim_bridge.engine.data.model import CENTRE, EXPONENT, PULL, PULL_CENTRE
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import FORCE, load_pose, TORQUE
from sim_bridge.engine.math.vec3 import add, cross, dot, load_v, norm, scale, sub, ZERO


@subroutine
def push_bodies(model, wrench, ws):
    """Write the given wrenches plus the point gravity at the bodies' poses into ws.wrench."""
    ws.wrench[:, :] = wrench
    add_pulls(model, ws)


@kernel
def add_pulls(model, ws):
    """Add the point gravity on all bodies to ws.wrench."""
    if model.gravity[PULL] == 0.0:
        return
    for row in range(model.pulled.shape[0]):
        body = model.pulled_body[row]
        R, p = load_pose(ws.pose, body)
        arm = mul_mv(R, load_v(model.pulled[row], CENTRE))
        f = scale(model.pulled[row, MASS], pull_at(model.gravity, add(p, arm)))
        n = cross(arm, f)
        for k in range(3):
            ws.wrench[body, TORQUE + k] += n[k]
            ws.wrench[body, FORCE + k] += f[k]


@kernel
def pull_at(gravity, p):
    """Return the acceleration towards the gravity point of Model.gravity [m/s²]."""
    away = sub(p, load_v(gravity, PULL_CENTRE))
    r = norm(away)
    if r == 0.0:
        return ZERO
    return scale(-gravity[PULL] * math.pow(r, gravity[EXPONENT]) / r, away)


@kernel
def gravity_at(gravity, p):
    """Return the free-fall acceleration at a point [m/s²]."""
    if gravity[PULL] == 0.0:
        return load_v(gravity, 0)
    return add(load_v(gravity, 0), pull_at(gravity, p))


@kernel
def pull_potential(gravity, p):
    """Return the potential energy per mass at a point [J/kg]; it rises against the pull."""
    return gravity[PULL] * power_potential(sub(p, load_v(gravity, PULL_CENTRE)), gravity[EXPONENT])


@kernel
def power_potential(away, exponent):
    """Return the integral of rⁿ from 0 to |away|; for n <= -1, up to a constant."""
    r = math.sqrt(dot(away, away))
    power = exponent + 1.0
    if power == 0.0:
        return math.log(r)
    return math.pow(r, power) / power
