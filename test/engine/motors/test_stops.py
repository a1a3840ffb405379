"""Bouncing and compliant stops, against closed forms and ODE."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from robots import joint, link, robot, rotor

from benchmarks.peers import libode
import sim_bridge as sb

LIMIT = '<limit lower="-0.2" upper="0.3" effort="1e9" velocity="10"/>'
MASS = 2.0


def cart(**options):
    """Return a 2 kg cart between two stops, its joint, and their world."""
    world = sb.World(**options)
    body = world.load_urdf(rotor(kind='prismatic', inside=LIMIT))
    return world, body, body.joint('joint')


@pytest.mark.parametrize('bounce', [1.0, 0.5, 0.1])
def test_stops_give_back_their_share_of_the_velocity(bounce):
    """Bounce between both stops, losing the given share of velocity, and nothing in between."""
    world, body, axis = cart()
    axis.bounce = bounce
    body.dq = [1.0]
    velocities = [1.0]
    for _ in range(6500):
        world.step()
        assert -0.2 <= body.q[0] <= 0.3
        if body.dq[0] != velocities[-1]:
            velocities.append(body.dq[0])
    assert len(velocities) > 2
    assert velocities == pytest.approx([(-bounce) ** k for k in range(len(velocities))])


def test_dropped_cart_loses_energy_by_the_restitution():
    """Drop a cart on its stop: each hop is bounce² times as high as the last, then it rests."""
    world = sb.World(time_step=1e-4)
    body = world.load_urdf(
        robot(
            link('world', 0.0),
            link('body', MASS),
            joint(
                'joint',
                'world',
                'body',
                'prismatic',
                (0, 0, 1),
                inside=('<limit lower="0" upper="9" effort="9" velocity="9"/>'),
            ),
        )
    )
    axis = body.joint('joint')
    axis.bounce = 0.7
    body.q = [0.5]
    tops, last = [], 0.0
    for _ in range(30000):
        world.step()
        if body.dq[0] <= 0.0 < last:
            tops.append(body.q[0])
        last = body.dq[0]
    for k, top in enumerate(tops[:5]):
        assert top == pytest.approx(0.5 * 0.49 ** (k + 1), rel=0.02)
    world.step(30000)
    assert (body.q[0], body.dq[0], body.ddq[0]) == (0.0, 0.0, 0.0)
    assert axis.stop_effort == pytest.approx(MASS * 9.81)


def test_slow_joints_do_not_bounce():
    """Come to rest below a millimetre per second."""
    world, body, axis = cart()
    axis.bounce = 1.0
    body.q, body.dq = [0.2999], [0.9e-3]
    world.step(1000)
    assert (body.q[0], body.dq[0]) == (0.3, 0.0)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_elastic_stop_sinks_in_by_cfm_h_over_erp(sign):
    """Hold a static load at the deflection of the ERP and CFM spring, at either stop."""
    h, erp, cfm, load = 1e-3, 0.3, 2e-5, 25.0
    world, body, axis = cart(time_step=h)
    axis.stop_erp, axis.stop_cfm = erp, cfm
    body.u = [sign * load]
    world.step(5000)
    stop = 0.3 if sign > 0 else -0.2
    assert body.q[0] - stop == pytest.approx(sign * cfm * load * h / erp, rel=1e-9)
    assert body.dq[0] == pytest.approx(0.0, abs=1e-12)
    assert axis.stop_effort == pytest.approx(-sign * load, rel=1e-9)
    assert body.ddq[0] == pytest.approx(0.0, abs=1e-6)


def collision(h, kp, kd):
    """Return the velocity after a cart's impact at 1 m/s on an elastic stop."""
    world, body, axis = cart(time_step=h)
    axis.stop_erp, axis.stop_cfm = h * kp / (h * kp + kd), 1.0 / (h * kp + kd)
    body.q, body.dq = [0.29], [1.0]
    world.step(round(0.3 / h))
    assert body.q[0] < 0.3
    assert axis.stop_effort == 0.0
    return body.dq[0]


def test_elastic_stop_is_a_one_sided_spring_and_damper():
    """Converge to the rebound of m x'' = -max(0, kp x + kd x')."""
    kp, kd = 2e3, 20.0
    # integrate finely, because the release time has no closed form
    x, v, dt = 0.0, 1.0, 1e-7
    while True:
        force = kp * x + kd * v
        if force <= 0.0:
            break
        v -= dt * force / MASS
        x += dt * v
    errors = [abs(collision(h, kp, kd) - v) for h in (1e-3, 2.5e-4, 6.25e-5)]
    assert errors[2] < 4e-3
    assert errors[1] < errors[0] / 2.5
    assert errors[2] < errors[1] / 2.5


def test_elastic_stop_only_pushes():
    """Release a joint that is pulled away, from beyond the stop too."""
    world, body, axis = cart()
    axis.stop_erp, axis.stop_cfm = 0.1, 1e-3
    body.q, body.dq = [0.31], [-3.0]
    for _ in range(20):
        world.step()
        assert axis.stop_effort <= 0.0
    assert body.dq[0] <= -3.0


def test_rigid_stop_gives_back_its_share_of_an_excess():
    """Remove a fifth, or the given share, of the excess in each step."""
    for erp, expected in ((0.2, 0.3 + 0.1 * 0.8), (1.0, 0.3), (0.0, 0.4)):
        world, body, axis = cart()
        axis.stop_erp = erp
        body.q = [0.4]
        world.step()
        assert body.q[0] == pytest.approx(expected, abs=1e-15)
        assert body.dq[0] == 0.0


def ode_path(h, kp, kd, load, steps):
    """Return ODE's cart positions at every step, from 0.29 m at 1 m/s."""
    world = libode.world_create()
    libode.set_gravity(world, 0.0, 0.0, 0.0)
    body, mass = libode.body_create(world), libode.Mass()
    libode.mass_set(ctypes.byref(mass), MASS, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0)
    libode.set_mass(body, ctypes.byref(mass))
    slider = libode.create_slider(world, None)
    libode.attach(slider, body, None)
    libode.slider_axis(slider, 1.0, 0.0, 0.0)
    # dParamLoStop, dParamHiStop, dParamStopERP, dParamStopCFM
    stop = {0: -0.2, 1: 0.3, 9: h * kp / (h * kp + kd), 10: 1.0 / (h * kp + kd)}
    for parameter, value in stop.items():
        libode.slider_parameter(slider, parameter, value)
    libode.set_position(body, 0.29, 0.0, 0.0)
    libode.set_velocity(body, 1.0, 0.0, 0.0)
    path = []
    for _ in range(steps):
        libode.set_force(body, load, 0.0, 0.0)
        libode.world_step(world, h)
        path.append(libode.get_position(body)[0])
    libode.world_destroy(world)
    return np.array(path)


@pytest.mark.parametrize('load', [0.0, 40.0])
def test_elastic_stops_agree_with_ode(load):
    """Converge to ODE's path with the same ERP and CFM."""
    kp, kd, errors = 2e3, 20.0, []
    for h in (1e-3, 2.5e-4, 6.25e-5):
        steps = round(0.25 / h)
        world, body, axis = cart(time_step=h)
        axis.stop_erp, axis.stop_cfm = h * kp / (h * kp + kd), 1.0 / (h * kp + kd)
        body.q, body.dq, body.u = [0.29], [1.0], [load]
        path = []
        for _ in range(steps):
            world.step()
            path.append(body.q[0])
        errors.append(np.abs(np.array(path) - ode_path(h, kp, kd, load, steps)).max())
    assert max(path) > 0.31
    assert errors[2] < 2e-4
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2


@pytest.mark.parametrize('bounce', [0.0, 0.8])
def test_motor_and_friction_share_a_bouncing_joint(bounce):
    """End at the stop under a motor, with any restitution."""
    world, body, axis = cart()
    axis.bounce, axis.friction = bounce, 1.0
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 9.0
    world.step(8000)
    assert (body.q[0], body.dq[0]) == (0.3, 0.0)
    assert axis.motor_effort == 9.0
    assert axis.stop_effort + axis.friction_effort == pytest.approx(-9.0)
    assert math.isclose(abs(axis.friction_effort), 1.0)
