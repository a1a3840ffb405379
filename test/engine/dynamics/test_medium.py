"""Effects of the medium on links: damping and effective mass by axis, after AGX."""

from __future__ import annotations

from contact_worlds import add_block, grounded, push
import numpy as np
import pytest
from robots import pendulum
from swimming import SETTINGS, stir, swimming

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

G = 9.81
TURNED = (0.2, -0.5, 0.3, 0.7874007874011811)
"""An orientation askew to all axes; x y z w."""
INERTIA = np.array([[0.4, 0.05, -0.02], [0.05, 0.3, 0.03], [-0.02, 0.03, 0.5]])


def floating(time_step=1e-3, gravity=(0, 0, 0), center=(0, 0, 0), **options):
    """Return a world with one turned body weighing 2 kg, and the body."""
    world = sb.World(time_step=time_step, gravity=gravity, **options)
    body = world.add_body(
        sb.Box((1, 1, 1)), mass=2.0, inertia=INERTIA, center_of_mass=center, orientation=TURNED
    )
    return world, body


def resistance(each):
    """Return the medium's force on a link and its torque about the mass centre, by hand."""
    R, arm = each.R, each.R @ each.c
    v = each.v + np.cross(each.w, arm)
    a = each.dv + np.cross(each.dw, arm) + np.cross(each.w, np.cross(each.w, arm))
    added, drag = np.diag(each.mass_coefficients), np.diag(each.linear_velocity_damping)
    force = -each.m * R @ (added @ R.T @ a + drag @ R.T @ v)
    turn, twist = np.sqrt(each.inertia_coefficients), np.sqrt(each.angular_velocity_damping)
    torque = -R @ (
        turn * (each.I @ (turn * (R.T @ each.dw))) + twist * (each.I @ (twist * (R.T @ each.w)))
    )
    return force, torque, a


# --- damping -------------------------------------------------------------------------------------


def test_damping_is_agx_formula():
    """Divide the velocity by 1 + h d in each step, along each link axis independently."""
    world, body = floating(time_step=0.01, center=(0.1, 0.2, 0.3))
    rates = np.array([0.5, 3.0, 1e5])
    body.root_link.linear_velocity_damping = rates
    R, velocity = body.root_link.R, np.array([1.0, -2.0, 3.0])
    body.set_base_velocity(R @ velocity)
    world.step(50)
    np.testing.assert_allclose(
        R.T @ body.root_link.v, velocity / (1.0 + 0.01 * rates) ** 50, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(body.root_link.w, 0.0, atol=1e-12)


def decay_error(time_step, angular):
    """Return the difference between velocities and exp(-d t) after a second."""
    world, body = floating(time_step)
    body.root_link.linear_velocity_damping = (0.5, 1.0, 2.0)
    body.root_link.angular_velocity_damping = (1.5, 1.5, 1.5)
    R = body.root_link.R
    if angular:
        axis = np.linalg.eigh(INERTIA)[1][:, 0]
        body.set_base_velocity((0, 0, 0), R @ axis)
        world.step(round(1.0 / time_step))
        return np.abs(R.T @ body.root_link.w - np.exp(-1.5) * axis).max()
    body.set_base_velocity(R @ (1, 1, 1))
    world.step(round(1.0 / time_step))
    return np.abs(R.T @ body.root_link.v - np.exp([-0.5, -1.0, -2.0])).max()


@pytest.mark.parametrize('angular', [False, True])
def test_velocity_decays_exponentially(angular):
    """Approach exp(-d t) at first order in the step."""
    errors = [decay_error(step, angular) for step in (4e-3, 2e-3, 1e-3)]
    assert errors[2] < 5e-4
    for coarse, fine in zip(errors, errors[1:], strict=False):
        assert coarse / fine == pytest.approx(2.0, rel=0.01)


def fall_error(time_step):
    """Return a falling body's distance in a medium from the closed form after a second."""
    world, body = floating(time_step, (0, 0, -G))
    body.root_link.linear_velocity_damping = (2.0, 2.0, 2.0)
    world.step(round(1.0 / time_step))
    depth = G / 2.0 * (1.0 - (1.0 - np.exp(-2.0)) / 2.0)
    return abs(body.root_link.p[2] + depth)


def test_fall_has_a_terminal_velocity():
    """Follow the closed form at first order, and end at g / d, exactly and upright."""
    errors = [fall_error(step) for step in (4e-3, 2e-3, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.02)
    world, body = floating(gravity=(0, 0, -G), center=(0.1, 0, 0.2))
    body.root_link.linear_velocity_damping = (2.0, 2.0, 2.0)
    world.step(20_000)
    np.testing.assert_allclose(body.root_link.v, (0, 0, -G / 2.0), atol=1e-12)


def test_spin_does_not_turn_the_drag():
    """Slow a spinning body down along its path if all rates are equal."""
    world, body = floating(time_step=5e-3)
    body.root_link.linear_velocity_damping = (20.0, 20.0, 20.0)
    body.set_base_velocity((1.0, 2.0, -1.0), (10.0, -30.0, 20.0))
    world.step(20)
    slowed = np.array([1.0, 2.0, -1.0]) / 1.1**20
    np.testing.assert_allclose(body.root_link.v, slowed, rtol=1e-9)


@pytest.mark.parametrize('rate', [10.0, 1e3, 1e9])
def test_no_damping_is_too_large(rate):
    """Lose energy in every step, at any rates."""
    world, body = swimming(time_step=0.01)
    world.gravity = (0, 0, 0)
    rng = np.random.default_rng(3)
    for each in body.links:
        each.linear_velocity_damping = rate * rng.uniform(0.0, 1.0, 3)
        each.angular_velocity_damping = rate * rng.uniform(0.0, 1.0, 3)
        each.mass_coefficients = each.inertia_coefficients = (0, 0, 0)
    kinetic = world.energy().kinetic
    start = kinetic
    for _ in range(50):
        world.step()
        assert world.energy().kinetic <= kinetic * (1.0 + 1e-12)
        kinetic = world.energy().kinetic
    assert kinetic < 0.2 * start


# --- effective mass ------------------------------------------------------------------------------


def test_effective_mass_is_by_axis():
    """Accelerate by F / (m (1 + C)) along each axis of a turned link."""
    world, body = floating(gravity=(0, 0, 0), center=(0.1, 0, 0))
    own, coefficients = body.root_link, np.array([0.0, 1.0, 4.0])
    own.mass_coefficients = coefficients
    own.add_force(own.R @ (1.0, 1.0, 1.0))
    np.testing.assert_allclose(own.R.T @ own.dv, 0.5 / (1.0 + coefficients), rtol=1e-12)
    np.testing.assert_allclose(own.dw, 0.0, atol=1e-14)
    world.step()
    push(world, own, own.R @ (1.0, 1.0, 1.0), 9)
    np.testing.assert_allclose(own.R.T @ own.v, 0.005 / (1.0 + coefficients), rtol=1e-12)


def test_effective_inertia_is_by_axis():
    """Accelerate a turned link by (I + √C I √C)⁻¹ times the torque."""
    _, body = floating()
    own, roots = body.root_link, np.diag(np.sqrt([0.5, 2.0, 7.0]))
    own.inertia_coefficients = (0.5, 2.0, 7.0)
    own.add_torque(own.R @ (1.0, -2.0, 3.0))
    effective = INERTIA + roots @ INERTIA @ roots
    np.testing.assert_allclose(effective @ own.R.T @ own.dw, (1.0, -2.0, 3.0), rtol=1e-12)


def test_weight_and_momentum_are_those_of_the_own_mass():
    """Fall by g / (1 + C); compute energy and momentum from the link's own mass."""
    world, body = floating(gravity=(0, 0, -G))
    body.root_link.mass_coefficients = (1.0, 1.0, 1.0)
    np.testing.assert_allclose(body.root_link.dv, (0, 0, -G / 2.0), atol=1e-12)
    world.step(1000)
    np.testing.assert_allclose(world.momentum().linear, (0, 0, -G), atol=1e-9)
    assert world.energy().kinetic == pytest.approx(G * G / 4.0, rel=1e-9)
    np.testing.assert_allclose(sb.dynamics.mass_matrix(body)[:3, :3], 2.0 * np.eye(3), atol=1e-12)


def swing(time_step, coefficient):
    """Return the period of small pendulum swings in water."""
    world = sb.World(time_step=time_step)
    body = world.load_urdf(pendulum())
    body.link('bob').mass_coefficients = np.full(3, coefficient)
    body.q = [1e-4]
    previous, time = body.q[0], 0.0
    while body.q[0] > 0.0:
        previous, time = body.q[0], world.time
        world.step()
    return 4.0 * (time + time_step * previous / (previous - body.q[0]))


def test_pendulum_swings_more_slowly_in_water():
    """Swing with a period of 2π √((1 + C) l / g), at second order."""
    period = 2.0 * np.pi * np.sqrt(2.5 / G)
    assert swing(1e-3, 1.5) == pytest.approx(period, rel=1e-6)
    assert swing(1e-2, 1.5) == pytest.approx(period, rel=1e-4)


# --- combinations --------------------------------------------------------------------------------


@pytest.mark.parametrize('free', [True, False])
def test_reactions_balance_with_the_medium(free):
    """
    Find through each joint the force needed by the links it carries, less the medium's force.

    By Newton and Euler for every link; all links of a free robot together need no joint force.
    """
    world, body = swimming(free=free)
    body.u = [0.3, -0.2]
    body.link('tip').gravity = False
    world.step(7)
    all_carried = {'two': ['b'], 'one': ['a', 'tip', 'b'], '': ['base', 'a', 'tip', 'b']}
    for name, carried in all_carried.items():
        pivot = body.link(carried[0]).p
        needed_f, needed_n = np.zeros(3), np.zeros(3)
        for each in map(body.link, carried):
            force, torque, a = resistance(each)
            weight = each.m * world.gravity if each.gravity else np.zeros(3)
            f = each.m * a - weight - force
            inertia = each.R @ each.I @ each.R.T
            needed_f += f
            needed_n += (
                inertia @ each.dw
                + np.cross(each.w, inertia @ each.w)
                - torque
                + np.cross(each.wc - pivot, f)
            )
        if name:
            force, torque = body.joint(name).reaction
            np.testing.assert_allclose(force, needed_f, atol=1e-10)
            np.testing.assert_allclose(torque, needed_n, atol=1e-10)
        elif free:
            np.testing.assert_allclose(needed_f, 0.0, atol=1e-10)
            np.testing.assert_allclose(needed_n, 0.0, atol=1e-10)


def swum(time_step, integrator):
    """Return the chain's place after a fifth of a second."""
    world, body = swimming(time_step, integrator)
    world.step(round(0.2 / time_step))
    return np.array([*body.q, *body.root_link.p, *body.root_link.R.ravel()])


def test_integrators_agree():
    """Approach the fifth-order integrator's result at first order."""
    truth = swum(1e-3, 'rk5')
    assert np.abs(swum(5e-4, 'rk5') - truth).max() < 1e-12
    errors = [np.abs(swum(step, 'midpoint') - truth).max() for step in (2e-3, 1e-3, 5e-4)]
    assert errors[2] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)


def test_stiff_drag_is_left_to_the_implicit_step():
    """Stay stable under the fifth-order integrator too, at huge damping."""
    world, body = floating(gravity=(0, 0, -G), integrator='rk5')
    body.root_link.linear_velocity_damping = (1e6, 1e6, 1e6)
    body.set_base_velocity((1.0, 0.0, 0.0))
    world.step(100)
    np.testing.assert_allclose(body.root_link.v, (0, 0, -G / 1e6), atol=1e-12)


def test_medium_acts_on_bodies_in_loops():
    """Swing a ball on a constraint like on a tree joint, which is exact."""
    ends = []
    for tree in (True, False):
        world = sb.World()
        ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.0))
        world.add_joint('hinge', None, ball, (0, 0, 0), (0, 1, 0), tree=tree)
        stir(ball, 5)
        world.step(500)
        ends.append(ball.root_link.p)
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-5)


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_medium_acts_on_sliding_bodies(solver):
    """Slide with the effective mass, up to the velocity at which drag and friction balance."""
    world = grounded({'friction': 0.5}, solver=solver)
    block = add_block(world, mass=2.0)
    own = block.root_link
    own.mass_coefficients = (3.0, 0.0, 0.0)
    for _ in range(100):
        own.add_force((25.0, 0.0, 0.0))
        world.step()
    pull = 25.0 - 0.5 * 2.0 * G
    assert own.v[0] == pytest.approx(pull / 8.0 * 0.1, rel=1e-5)
    own.linear_velocity_damping = (10.0, 10.0, 10.0)
    for _ in range(5000):
        own.add_force((25.0, 0.0, 0.0))
        world.step()
    assert own.v[0] == pytest.approx(pull / 20.0, rel=1e-5)
    assert world.contacts.force_on(own)[2] == pytest.approx(2.0 * G, rel=1e-4)


# --- changes at run time -------------------------------------------------------------------------


def test_snapshot_holds_the_medium():
    """Restore to the bit, also to the time before the medium acted."""
    world, body = swimming()
    other = world.add_body(sb.Sphere(0.1), mass=1.0, position=(3, 0, 0))
    calm, hash_before = world.save(), world.state_hash()
    other.root_link.linear_velocity_damping = (1, 2, 3)
    body.link('a').gravity = False
    assert world.state_hash() != hash_before
    stirred = world.save()
    ends = []
    for snapshot in (calm, stirred, calm, stirred):
        world.restore(snapshot)
        world.step(50)
        ends.append(world.state_hash())
    assert ends[0] == ends[2] and ends[1] == ends[3] and ends[0] != ends[1]
    world.restore(calm)
    assert world.state_hash() == hash_before
    assert body.link('a').gravity and not other.root_link.linear_velocity_damping.any()


def test_reset_leaves_the_medium():
    """Start again with the current parameters, and repeat the motion."""
    world, body = swimming()
    world.reset()
    world.step(50)
    first = body.q.copy()
    world.reset()
    assert body.link('a').linear_velocity_damping.all()
    world.step(50)
    np.testing.assert_array_equal(body.q, first)


def test_views_stay_valid():
    """Keep a user's arrays valid when the medium begins and ends to act."""
    world, body = swimming()
    q = body.q
    other = world.add_body(sb.Sphere(0.1), mass=1.0, position=(3, 0, 0))
    q = body.q
    for rate in (1.0, 0.0):
        other.root_link.linear_velocity_damping = np.full(3, rate)
        world.step(10)
        assert np.shares_memory(q, body.q)
        np.testing.assert_array_equal(q, body.q)


def test_still_water_changes_nothing():
    """Take the same steps to the last bit after all rates and coefficients return to 0."""
    ends = []
    for touched in (False, True):
        world, body = floating(gravity=(0, 0, -G))
        body.set_base_velocity((1, 2, 3), (0.1, 5, 0.1))
        if touched:
            stir(body)
            world.simulation.cache.settle()
            for setting in SETTINGS:
                setattr(body.root_link, setting, (0, 0, 0))
        world.step(100)
        ends.append(world.state_hash())
    assert ends[0] == ends[1]


@pytest.mark.parametrize('setting', SETTINGS)
@pytest.mark.parametrize('value', [(-1, 0, 0), (1, 2), 3.0, (np.inf, 0, 0), 'thick', None])
def test_wrong_rates_are_refused(setting, value):
    """Name the link, and leave it unchanged."""
    _, body = floating()
    with pytest.raises(InvalidValueError, match=f"{setting}.*link 'body'"):
        setattr(body.root_link, setting, value)
    assert not getattr(body.root_link, setting).any()
