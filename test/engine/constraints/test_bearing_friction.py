"""Friction growing with the joint load, and friction with two limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import rotor

import sim_bridge as sb

G, M = 10.0, 2.0


def slope(angle, coefficient, gravity=G, **options):
    """Return a world with a slider down an inclined slope, its axis, and its link."""
    world = sb.World(gravity=(0.0, 0.0, -gravity), **options)
    block = world.add_body((), mass=M, inertia=(0.1, 0.1, 0.1))
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    rail = world.add_joint('slider', None, block, np.zeros(3), down, tree=False)
    rail.axes[0].bearing_friction = coefficient
    return world, rail.axes[0], block.root_link


@pytest.mark.parametrize('angle', [0.2, 0.6, 1.2])
def test_a_slider_on_a_slope(angle):
    """Slide down by g (sin - mu cos) t, or rest if mu is above the slope's tangent."""
    for coefficient in (0.0, 0.15, 0.5, 1.0):
        world, axis, _ = slope(angle, coefficient)
        world.step(500)
        a = max(G * (math.sin(angle) - coefficient * math.cos(angle)), 0.0)
        assert axis.dq == pytest.approx(0.5 * a, abs=1e-9)
        assert axis.q == pytest.approx(0.125 * a, abs=1e-9)
        friction = min(coefficient * math.cos(angle), math.sin(angle)) * M * G
        assert axis.friction_effort == pytest.approx(-friction, abs=1e-9)
        assert world.report.converged


def test_a_slider_comes_to_rest():
    """Stop after v / (mu g) on a level, and stay; push it with its load's friction."""
    world, axis, link = slope(0.0, 0.25)
    link.robot.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(399)
    assert axis.dq == pytest.approx(1.0 - 2.5 * 0.399, abs=1e-9)
    world.step(2)
    assert abs(axis.dq) < 1e-12
    assert axis.q == pytest.approx(0.2, abs=1e-6)
    # across the axis a force of 30 N more: 0.25 (20 + 30) bears 12.5 N
    for push, moves in ((12.4, False), (12.6, True)):
        link.add_force((push, 0.0, -30.0))
        world.step()
        assert (abs(axis.dq) > 1e-9) == moves


def test_the_joint_load_depends_on_friction():
    """Solve for both: friction beside the guide's normal force rotates a load against it."""
    # a rod leans on a rail: its end slides along x, and friction there changes the rail's load
    world = sb.World(gravity=(0.0, 0.0, -G))
    rod = world.add_body((), mass=M, inertia=(0.1, 0.2, 0.1))
    angle, length, mu = 0.7, 0.5, 0.4
    along = length * np.array([math.sin(angle), 0.0, math.cos(angle)])
    cart = world.add_body((), mass=0.3, inertia=(0.1, 0.1, 0.1), position=-along)
    world.add_joint('hinge', cart, rod, -along, (0.0, 1.0, 0.0))
    rail = world.add_joint('slider', None, cart, -along, (1.0, 0.0, 0.0), tree=False)
    axis = rail.axes[0]
    axis.bearing_friction = mu
    before = rod.root_link.v.copy()
    world.step()
    # planar: unknown accelerations of the cart x, of the angle, and the normal force N
    s, c, total = math.sin(angle), math.cos(angle), M + 0.3
    x_sign = np.sign(axis.dq)
    # M rod: p = (x + l s, l c); cart friction -sign mu N
    A = np.array(
        [
            [total, M * length * c, x_sign * mu],
            [M * length * c, 0.2 + M * length**2, 0.0],
            [0.0, -M * length * s, -1.0],
        ]
    )
    b = np.array([0.0, M * G * length * s, -total * G])
    x, _, normal = np.linalg.solve(A, b)
    assert axis.dq == pytest.approx(1e-3 * x, rel=1e-3)
    assert abs(axis.friction_effort) == pytest.approx(mu * normal, rel=1e-3)
    force = rail.reaction[0]
    assert np.hypot(force[1], force[2]) > 0.0
    assert before.tolist() == [0.0, 0.0, 0.0]
    assert world.report.converged


def test_a_hinge_runs_out():
    """Decelerate a wheel by mu r m g / I; stopped, it holds an equal torque."""
    world = sb.World(gravity=(0.0, 0.0, -G))
    wheel = world.add_body((), mass=M, inertia=(0.3, 0.3, 0.3), angular_velocity=(0.0, 2.0, 0.0))
    hinge = world.add_joint('hinge', None, wheel, np.zeros(3), (0.0, 1.0, 0.0), tree=False)
    axis = hinge.axes[0]
    axis.bearing_friction = 0.03
    torque = 0.03 * M * G
    world.step(500)
    assert axis.dq == pytest.approx(2.0 - 0.5 * torque / 0.3, abs=1e-9)
    world.step(600)
    assert abs(axis.dq) < 1e-12
    for share, moves in ((0.99, False), (1.01, True)):
        axis.u = share * torque
        world.step()
        assert (abs(axis.dq) > 1e-9) == moves
    twin = world.copy()
    world.step(5), twin.step(5)
    assert world.state_hash() == twin.state_hash()


@pytest.mark.parametrize('tree', [True, False])
def test_two_limits_of_friction(tree):
    """Slow down by the limit of the direction, and hold within both."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    cart = world.add_body((), mass=M, inertia=(0.1, 0.1, 0.1))
    axis = world.add_joint('slider', None, cart, np.zeros(3), (1, 0, 0), tree=tree).axes[0]
    axis.friction = 4.0
    assert axis.back_friction == 4.0
    axis.back_friction = 1.0
    for push, expected in ((3.9, 0.0), (5.0, 0.5), (-0.9, 0.0), (-2.0, -0.5)):
        world.reset()
        axis.u = push
        world.step(1000)
        assert axis.dq == pytest.approx(expected, abs=1e-9)
        assert world.report.converged
        assert axis.ddq == pytest.approx(expected, abs=1e-9)
    world.reset()
    axis.u = -9.0
    world.step(100)
    axis.u = 0.0
    slow = axis.dq
    world.step(100)
    assert axis.dq == pytest.approx(slow + 0.1 * 0.5, abs=1e-9)
    assert axis.friction_effort == pytest.approx(1.0)


def test_only_constraint_joints_have_bearings():
    """Refuse bearing friction on a tree joint."""
    wheel = sb.World().load_urdf(rotor())
    with pytest.raises(sb.StateError, match='only constraint joints have it'):
        wheel.joint('joint').axes[0].bearing_friction = 0.1
    with pytest.raises(sb.InvalidValueError, match='bearing_friction'):
        slope(0.1, -1.0)
