"""Servos, against closed forms and MuJoCo's actuators."""

from __future__ import annotations

import math

from carts import cart, load
from linkages import body, INERTIA, Z
import mujoco
import numpy as np
import pytest
from robots import double_pendulum, rotor

import sim_bridge as sb


def servo_error(h, kp, kd):
    """Return the error of a servo's step response after half a second."""
    inertia, t = 0.5, 0.5
    world, body, axis = load(rotor(inertia=inertia), time_step=h)
    axis.control, axis.kp, axis.kd, axis.target_position = 'servo', kp, kd, 1.0
    world.step(round(t / h))
    w = math.sqrt(kp / inertia)
    zeta = kd / (2.0 * inertia * w)
    wd = w * math.sqrt(1.0 - zeta * zeta)
    exact = 1.0 - math.exp(-zeta * w * t) * (math.cos(wd * t) + zeta * w / wd * math.sin(wd * t))
    return abs(body.q[0] - exact)


@pytest.mark.parametrize(('kp', 'kd'), [(50.0, 2.0), (200.0, 0.0), (5.0, 3.0)])
def test_servo_step_response_converges_to_the_closed_form(kp, kd):
    """Follow mass, spring and damper to second order in the step."""
    errors = [servo_error(h, kp, kd) for h in (2e-3, 1e-3, 5e-4)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize('kd', [0.0, 1.0, 1e9])
@pytest.mark.parametrize('kp', [0.0, 1e3, 1e6, 1e9, 1e15])
def test_servo_is_stable_for_any_gains(kp, kd):
    """Neither gain energy beyond the spring's, nor ring if the step is far too long."""
    world, body, axis = load(rotor(inertia=0.5))
    axis.control, axis.kp, axis.kd, axis.target_position = 'servo', kp, kd, 1.0
    for _ in range(300):
        world.step(10)
        assert abs(body.q[0] - 1.0) <= 1.0 + 1e-9
    if kp >= 1e9 > kd:
        assert (body.q[0], body.dq[0]) == (pytest.approx(1.0, abs=1e-12), pytest.approx(0.0))


def test_servo_follows_a_moving_target_without_lag():
    """Stay on a ramp with given velocity, at stiff gains too."""
    for kp in (1e3, 1e9):
        world, body, axis = load(rotor(inertia=0.5))
        axis.control, axis.kp, axis.kd = 'servo', kp, 50.0
        for k in range(1, 1001):
            body.command_position([2.0 * k * 1e-3], velocities=[2.0])
            world.step()
        assert body.dq[0] == pytest.approx(2.0, rel=1e-9)
        assert body.q[0] == pytest.approx(2.0, abs=1e-9)


def test_saturated_servo_gives_its_strength():
    """Accelerate by the greatest effort, leave it without a jump, and settle."""
    world, body, axis = cart()
    axis.control, axis.kp, axis.kd, axis.max_effort = 'servo', 400.0, 60.0, 5.0
    axis.target_position = 1.0
    assert body.ddq[0] == pytest.approx(2.5, rel=1e-12)
    world.step(100)
    assert body.dq[0] == pytest.approx(0.25, rel=1e-12)
    assert axis.motor_effort == 5.0
    last = 5.0
    for _ in range(5000):
        world.step()
        assert abs(axis.motor_effort) <= 5.0
        # as much as kd a h + kp v h allow
        assert abs(axis.motor_effort - last) < 0.9
        last = axis.motor_effort
    assert body.q[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize('strength', [50.0, math.inf])
@pytest.mark.parametrize('lock', [{'friction': 2.0}, {'upper': 0.0}])
def test_servo_starts_against_friction_and_from_a_stop(lock, strength, tree):
    """Stay while the servo is too weak for friction, or leans on a stop; then start."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    joint = world.add_joint('hinge', None, body(world), axis=Z, tree=tree)
    for name, value in lock.items():
        setattr(joint, name, value)
    joint.control, joint.kp, joint.kd, joint.max_effort = 'servo', 10.0, 0.1, strength
    joint.target_position = 0.1
    world.step(50)
    assert (joint.q, joint.dq) == (0.0, 0.0)
    assert joint.friction_effort + joint.stop_effort == pytest.approx(-1.0)
    joint.target_position = -1.0
    world.step(50)
    # from rest, with the initial effort; the target takes a step to get there, and spring and
    # damper take some effort back
    start = (10.0 - lock.get('friction', 0.0)) / INERTIA[2]
    assert joint.q == pytest.approx(-0.5 * start * 0.05**2, rel=0.12)


def test_servo_sags_under_a_load_and_leans_on_a_stop():
    """Balance kp (target - q) with the load, and the stop with the excess."""
    world, body, axis = cart(upper=0.3)
    axis.control, axis.kp, axis.kd = 'servo', 400.0, 60.0
    axis.target_position = 0.2
    body.u = [-8.0]
    world.step(5000)
    assert body.q[0] == pytest.approx(0.2 - 8.0 / 400.0, abs=1e-9)
    axis.target_position = 0.5
    world.step(5000)
    assert body.q[0] == 0.3
    assert axis.motor_effort == pytest.approx(400.0 * 0.2, rel=1e-9)
    assert axis.stop_effort == pytest.approx(8.0 - 80.0, rel=1e-9)
    assert body.ddq[0] == 0.0


def mujoco_path(kinds):
    """Return MuJoCo's angles of the double pendulum every 10 ms, with two kinds of actuators."""
    actuators = {
        'velocity': '<velocity joint="{}" kv="3" forcerange="-4 4" forcelimited="true"/>',
        'position': '<position joint="{}" kp="60" kv="2" forcerange="-4 4" forcelimited="true"/>',
    }
    lines = ''.join(actuators[kind].format(name) for kind, name in zip(kinds, 'ab', strict=True))
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><compiler angle="radian"/><option timestep="2e-5" integrator="RK4"/>
        <worldbody><body><joint name="a" axis="0 1 0"/>
          <inertial pos="0 0 -0.2" mass="1.2" diaginertia="0.02 0.02 0.01"/>
          <body pos="0 0 -0.4"><joint name="b" axis="0 1 0"/>
            <inertial pos="0 0 -0.15" mass="0.8" diaginertia="0.01 0.01 0.01"/>
        </body></body></worldbody><actuator>{lines}</actuator></mujoco>""")
    data, path = mujoco.MjData(model), []
    data.ctrl[:] = 1.5, -1.0
    for _ in range(60):
        mujoco.mj_step(model, data, 500)
        path.append(data.qpos.copy())
    return np.array(path)


@pytest.mark.parametrize('kinds', [('position', 'velocity'), ('velocity', 'position')])
def test_servos_agree_with_actuators_of_mujoco(kinds):
    """Converge to MuJoCo's path as the step shrinks, including clamped efforts."""
    reference, errors, clamped = mujoco_path(kinds), [], 0
    for h in (2e-3, 1e-3, 5e-4):
        world = sb.World(time_step=h)
        arm = world.load_urdf(double_pendulum())
        for kind, axis, target in zip(kinds, arm.joints, (1.5, -1.0), strict=True):
            axis.control, axis.max_effort = 'servo', 4.0
            if kind == 'position':
                axis.kp, axis.kd, axis.target_position = 60.0, 2.0, target
            else:
                axis.kd, axis.target_velocity = 3.0, target
        worst = 0.0
        for row in reference:
            world.step(round(0.01 / h))
            clamped += max(abs(axis.motor_effort) for axis in arm.joints) == 4.0
            worst = max(worst, np.abs(arm.q - row).max())
        errors.append(worst)
    assert clamped > 5
    assert errors[2] < 2e-5
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 2


def test_work_of_motors_is_the_energy_gained():
    """Match summed effort times mean velocity with the arm's energy, at second order."""
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        world = sb.World(time_step=h)
        arm = world.load_urdf(double_pendulum())
        first, second = arm.joints
        first.control, first.kp, first.kd, first.target_position = 'servo', 40.0, 1.0, 1.0
        second.control, second.target_velocity, second.max_effort = 'velocity', 2.0, 1.5
        start, work = world.energy().total, 0.0
        for _ in range(round(0.8 / h)):
            before = arm.dq.copy()
            world.step()
            efforts = np.array([first.motor_effort, second.motor_effort])
            work += efforts @ (0.5 * h * (before + arm.dq))
        gained = world.energy().total - start
        assert gained > 1.0
        errors.append(abs(work - gained))
    assert errors[2] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)
