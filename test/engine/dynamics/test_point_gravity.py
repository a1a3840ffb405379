"""Gravity towards a point, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb


def ball(gravity, position, velocity=(0.0, 0.0, 0.0), time_step=1e-3, **options):
    """Return a world with a ball under gravity, and the ball."""
    world = sb.World(time_step=time_step, gravity=gravity, **options)
    body = world.add_body(sb.Sphere(0.1), mass=2.0, position=position, linear_velocity=velocity)
    return world, body.root_link


def test_an_oscillation_follows_the_cosine_at_second_order():
    """Swing through the point by a = -x as cos t, with a quarter of the error at half the step."""
    errors = []
    for time_step in (2e-3, 1e-3):
        world, body = ball(
            sb.PointGravity((0.0, 1.0, 0.0), 1.0, 1.0), (1.0, 1.0, 0.0), time_step=time_step
        )
        world.step(round(5.0 / time_step))
        errors.append(np.linalg.norm(body.p - [math.cos(5.0), 1.0, 0.0]))
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.01)
    world, body = ball(
        sb.PointGravity((0.0, 1.0, 0.0), 1.0, 1.0), (1.0, 1.0, 0.0), integrator='rk5'
    )
    world.step(5000)
    assert abs(body.p - [math.cos(5.0), 1.0, 0.0]).max() < 1e-12


def test_an_orbit_closes():
    """Return to the start of an ellipse after a turn; keep energy and angular momentum."""
    turn, eccentricity = 6.0, 0.3
    mu = (2.0 * math.pi / turn) ** 2
    near = 1.0 - eccentricity
    for start, speed in ((1.0, math.sqrt(mu)), (near, math.sqrt(mu * (2.0 / near - 1.0)))):
        world, body = ball(
            sb.PointGravity(strength=mu, exponent=-2.0), (start, 0.0, 0.0), (0.0, speed, 0.0)
        )
        first = world.energy().total
        assert first == pytest.approx(-mu, rel=1e-12)
        world.step(6000)
        assert np.linalg.norm(body.p - [start, 0.0, 0.0]) < 1e-5
        assert world.energy().total == pytest.approx(first, rel=1e-9)
        assert np.cross(body.p, body.v)[2] == pytest.approx(start * speed, rel=1e-12)


def test_the_magnitude_is_the_same_everywhere():
    """Fall from rest to the point by g t² / 2, and away from it with negative strength."""
    for strength in (9.81, -9.81):
        world, body = ball(sb.PointGravity((1.0, 0.0, 0.0), strength), (1.0, 0.0, 30.0))
        world.step(1000)
        assert body.p == pytest.approx([1.0, 0.0, 30.0 - 0.5 * strength], abs=1e-12)
        assert body.dv == pytest.approx([0.0, 0.0, -strength], abs=1e-12)


def test_joints_feel_it():
    """Pull each chain link at its centre of mass; from far away, like uniform gravity."""
    text = robot(
        link('base'),
        link('a', com=(0.0, 0.1, -0.3)),
        link('b', com=(0.2, 0.0, -0.3)),
        joint('first', 'base', 'a', axis=(1, 0, 0)),
        joint('second', 'a', 'b', axis=(0, 1, 0), xyz=(0, 0, -0.5)),
    )
    far = 1e9
    found = []
    for gravity in ((0.0, 0.0, -9.81), sb.PointGravity((0.0, 0.0, -far), 9.81)):
        world = sb.World(gravity=gravity)
        arm = world.load_urdf(text, base='fixed')
        arm.q = 0.5
        bias = sb.dynamics.bias_forces(arm)
        free = sb.dynamics.forward_dynamics(arm, np.zeros(2))
        world.step(300)
        found.append(
            np.concatenate([bias, free, arm.q, arm.dq, arm.ddq, arm.joint('first').reaction[0]])
        )
    assert found[1] == pytest.approx(found[0], abs=1e-6)


def test_forces_at_any_configuration_are_the_slope_of_the_potential():
    """Compare gravity and bias forces at rest with differences of the potential energy."""
    world = sb.World(gravity=sb.PointGravity((0.3, -0.2, 4.0), 2.0, -2.0))
    robot = world.load_urdf('quadruped')
    q = sb.dynamics.random_configuration(robot, 7)
    slopes = []
    for change in 1e-6 * np.eye(len(sb.dynamics.velocity(robot))):
        rise = [
            sb.dynamics.potential_energy(robot, sb.dynamics.integrate(robot, sign * change, q))
            for sign in (1, -1)
        ]
        slopes.append((rise[0] - rise[1]) / 2e-6)
    forces = sb.dynamics.gravity_forces(robot, q)
    assert forces == pytest.approx(slopes, abs=1e-6)
    still = np.zeros_like(forces)
    assert forces.tolist() == sb.dynamics.bias_forces(robot, q, still).tolist()
    free = sb.dynamics.forward_dynamics(robot, still, q, still)
    assert sb.dynamics.inverse_dynamics(robot, free, q, still) == pytest.approx(still, abs=1e-9)
    with pytest.raises(sb.StateError, match='has a PointGravity'):
        sb.dynamics.inverse_dynamics_derivatives(robot, still)


def test_gravity_can_be_changed_copied_and_refused():
    """Assign it, copy it with the world, restore it with a snapshot, refuse invalid values."""
    world, body = ball((0.0, 0.0, -9.81), (1.0, 0.0, 0.0))
    before = world.save()
    world.gravity = sb.PointGravity((0.0, 0.0, 0.0), 2.0, -1.0)
    assert world.gravity == sb.PointGravity((0.0, 0.0, 0.0), 2.0, -1.0)
    twin = world.copy()
    assert twin.gravity == world.gravity
    world.step(10), twin.step(10)
    assert world.state_hash() == twin.state_hash()
    assert body.v[0] == pytest.approx(-0.02, rel=1e-4)
    world.restore(before)
    assert world.gravity.tolist() == [0.0, 0.0, -9.81]
    world.gravity = (0.0, 0.0, -1.62)
    assert world.gravity.tolist() == [0.0, 0.0, -1.62]
    with pytest.raises(sb.InvalidValueError, match='strength = inf .PointGravity.'):
        sb.PointGravity(strength=math.inf)
    with pytest.raises(sb.InvalidValueError, match='or a PointGravity'):
        world.gravity = 'down'


def test_a_link_without_gravity_and_an_accelerometer():
    """Leave links without gravity alone; read zero in free fall."""
    text = robot(link('body'), '<gazebo reference="body"><sensor name="imu" type="imu"/></gazebo>')
    world = sb.World(gravity=sb.PointGravity((0.0, 0.0, 0.0), 5.0))
    free = world.load_urdf(text, position=(0.0, 3.0, 0.0))
    world.step()
    imu = free.device('imu')
    assert imu.accelerometer.dv == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    free.link('body').gravity = False
    assert free.link('body').dv == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    world.step()
    assert imu.accelerometer.dv == pytest.approx([0.0, 5.0, 0.0], abs=1e-6)
