"""Conservation during motion: energy, momentum, and the closed forms of free flight."""

from __future__ import annotations

from contact_worlds import push
import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb

BOX = robot(link('box', 10.0, inertia=(0.80833333, 0.68333333, 0.14166667)))


def chain(n, free=False):
    """Return a chain with n links and alternating axes, fixed to the world or flying."""
    parent = 'base' if free else 'world'
    parts = [link(parent, 2.0 if free else 0.0)]
    for k in range(n):
        axis = (0, 1, 0) if k % 2 else (1, 0, 0)
        parts += [
            link(f'l{k}', 1.0, (0, 0, -0.1), (0.01, 0.01, 0.005)),
            joint(f'j{k}', parent, f'l{k}', 'continuous', axis, (0, 0, -0.2)),
        ]
        parent = f'l{k}'
    return robot(*parts)


def test_free_flight_is_exact():
    """
    Follow p + v t + g t²/2 for ten seconds.

    Semi-implicit Euler would drift by 0.049 m at this step.
    """
    world = sb.World(gravity=(0, 0, -9.8))
    box = world.load_urdf(BOX)
    box.set_base_velocity((-2, 2, 8), (0.1, 5, 0.1))
    world.step(10_000)
    np.testing.assert_allclose(box.center_of_mass, (-20, 20, 80 - 490), rtol=1e-11)
    np.testing.assert_allclose(box.root_link.v, (-2, 2, 8 - 98), rtol=1e-11)


def test_tumbling_body_keeps_energy_and_momentum_exactly():
    """
    Keep both to rounding, during ten seconds of tumbling about an unstable axis.

    The body is scpeters' complex box.
    """
    world = sb.World(gravity=(0, 0, 0))
    box = world.load_urdf(BOX)
    box.set_base_velocity((0, 0, 0), (0.1, 5, 0.1))
    energy, momentum = world.energy().total, world.momentum().angular
    for _ in range(100):
        world.step(100)
        assert world.energy().total == pytest.approx(energy, rel=1e-11)
        np.testing.assert_allclose(world.momentum().angular, momentum, atol=1e-11)


def test_rotation_about_a_principal_axis_is_exact():
    """Turn by w t exactly."""
    world = sb.World(gravity=(0, 0, 0))
    box = world.load_urdf(BOX)
    box.set_base_velocity((0, 0, 0), (0.5, 0, 0))
    world.step(10_000)
    turned = (0, np.cos(5.0), np.sin(5.0))
    np.testing.assert_allclose(box.root_link.R @ (0, 1, 0), turned, atol=1e-11)


def energy_error(time_step, free=False):
    """Return the largest relative energy change of a swinging chain within a second."""
    world = sb.World(time_step=time_step, gravity=(0, 0, 0) if free else (0, 0, -9.81))
    body = world.load_urdf(chain(3, free))
    body.q = [0.9, -0.4, 0.7]
    body.dq = [1.0, 2.0, -1.5]
    start = world.energy().total
    worst = 0.0
    for _ in range(50):
        world.step(round(0.02 / time_step))
        worst = max(worst, abs(world.energy().total - start))
    return worst / abs(start)


@pytest.mark.parametrize('free', [False, True])
def test_energy_error_is_of_second_order(free):
    """Shrink the error sixteenfold with a quarter of the step."""
    coarse, fine = energy_error(1e-3, free), energy_error(2.5e-4, free)
    assert coarse < 1e-5
    assert 12.0 < coarse / fine < 20.0


def test_rk5_is_of_fifth_order_and_agrees_with_midpoint():
    """Reduce the energy error a thousandfold; end at the limit of ever finer midpoint steps."""
    ends = {}
    for name, step in (('rk5', 2e-3), ('midpoint', 2e-3), ('midpoint', 2.5e-4)):
        world = sb.World(time_step=step, integrator=name)
        body = world.load_urdf(chain(3, free=True))
        body.q, body.dq = [0.9, -0.4, 0.7], [1.0, 2.0, -1.5]
        body.set_base_velocity((0.1, 0, 2), (0.5, 1, 0))
        for joint_ in body.joints:
            joint_.damping = 0.01
        world.step(round(0.5 / step))
        ends[name, step] = np.concatenate([body.q, body.dq, body.root_link.p])
    coarse = np.abs(ends['midpoint', 2e-3] - ends['rk5', 2e-3]).max()
    fine = np.abs(ends['midpoint', 2.5e-4] - ends['rk5', 2e-3]).max()
    assert 50.0 < coarse / fine < 80.0


def test_rk5_keeps_energy():
    """Keep a fast double pendulum's energy to ten digits for five seconds."""
    world = sb.World(integrator='rk5')
    body = world.load_urdf(chain(2))
    body.q = [1.5, 0.3]
    start = world.energy().total
    for _ in range(50):
        world.step(100)
        assert world.energy().total == pytest.approx(start, rel=1e-9)


def test_rk5_leaves_stops_and_friction_to_the_midpoint_step():
    """Hold a stop to the last bit, rub, and match the plain step at every instant."""
    laws = (
        '<limit lower="-0.1" upper="1" effort="9" velocity="9"/><dynamics friction="2"/>',
        '<limit effort="9" velocity="9" lower="-9" upper="9"/><dynamics friction="0.05"/>',
    )
    xml = robot(
        link('world', 0.0),
        link('body', 2.0),
        link('arm', 1.0, (0.2, 0, 0)),
        joint('slide', 'world', 'body', 'prismatic', (0, 0, 1), inside=laws[0]),
        joint('hinge', 'body', 'arm', 'revolute', (0, 1, 0), inside=laws[1]),
    )
    worlds = [sb.World(integrator=name) for name in ('rk5', 'midpoint')]
    rk5, midpoint = (world.load_urdf(xml) for world in worlds)
    touched = 0
    for _ in range(500):
        for world in worlds:
            world.step(2)
        np.testing.assert_array_equal(rk5.q, midpoint.q)
        np.testing.assert_array_equal(rk5.dq, midpoint.dq)
        touched += rk5.q[0] == -0.1 and rk5.dq[0] == 0.0
    assert touched > 250
    assert abs(rk5.dq[1]) > 0.01


def test_energy_does_not_drift():
    """Stay within the same band in the tenth ten seconds as in the first."""
    world = sb.World()
    body = world.load_urdf(chain(2))
    body.q = [0.9, -0.4]
    start = world.energy().total
    bands = []
    for _ in range(10):
        errors = []
        for _ in range(1000):
            world.step(10)
            errors.append(world.energy().total - start)
        bands.append(np.max(np.abs(errors)))
    assert bands[-1] < 3.0 * bands[0]


def momentum_error(time_step):
    """Return a flying chain's changes of linear and angular momentum within two seconds."""
    world = sb.World(time_step=time_step, gravity=(0, 0, 0))
    body = world.load_urdf(chain(4, free=True))
    body.dq = [1.0, -2.0, 1.5, 0.5]
    body.set_base_velocity((0.1, 0.2, 0.3), (1, 2, 3))
    before = world.momentum()
    world.step(round(2.0 / time_step))
    after = world.momentum()
    return (
        np.linalg.norm(after.linear - before.linear),
        np.linalg.norm(after.angular - before.angular),
    )


def test_flying_chain_keeps_its_momentum():
    """Keep both momenta to second order: a sixteenth of the error with a quarter of the step."""
    for coarse, fine in zip(momentum_error(1e-3), momentum_error(2.5e-4), strict=True):
        assert coarse < 1e-4
        assert 12.0 < coarse / fine < 20.0


def test_push_changes_the_momentum_by_force_times_time():
    """Add the impulse to both momenta of a body pushed off its centre, and nothing afterwards."""
    world = sb.World(gravity=(0, 0, 0))
    box = world.load_urdf(BOX)
    link_ = box.link('box')
    link_.add_force((3, 0, 0), point=(0, 0.2, 0))
    link_.add_torque((0, 0, 0.6))
    world.step()
    momentum = world.momentum()
    np.testing.assert_allclose(momentum.linear, (3e-3, 0, 0), rtol=1e-12)
    np.testing.assert_allclose(momentum.angular, (0, 0, -0.6e-3 + 0.6e-3), atol=1e-8)
    world.step(10)
    np.testing.assert_allclose(world.momentum().linear, (3e-3, 0, 0), rtol=1e-12)


def test_push_at_the_centre_of_mass_does_not_turn():
    """Push at the centre of mass if no point is given."""
    world = sb.World(gravity=(0, 0, 0))
    box = world.load_urdf(robot(link('box', 2.0, (0.3, 0.1, 0))))
    push(world, box.link('box'), (1, 2, 3), 10)
    np.testing.assert_allclose(box.link('box').w, 0, atol=1e-15)
    np.testing.assert_allclose(box.link('box').v, np.array((1, 2, 3)) / 2.0 * 0.01, rtol=1e-9)


def lost_at_a_stop(time_step: float, integrator: str) -> float:
    """Return the momentum lost when a light base swings a heavy body into a stop [kg m/s]."""
    world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0), integrator=integrator)
    base = world.add_body((), mass=0.5, inertia=(0.01, 0.01, 0.01))
    heavy = world.add_body((), mass=100.0, inertia=(3.0, 3.0, 3.0), position=(0.4, 0.0, 0.0))
    hinge = world.add_joint('hinge', base, heavy, anchor=(0.1, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    base.set_base_velocity((0.0, 2.0, 0.0), (0.0, 0.0, 5.0))
    (axis,) = hinge.axes
    # touched in the middle of a step
    axis.lower, axis.upper, axis.dq = -0.0501, 0.1, -5.0
    first, worst = world.momentum().linear, 0.0
    for _ in range(round(0.02 / time_step)):
        world.step()
        worst = max(worst, float(np.abs(world.momentum().linear - first).max()))
    assert axis.q < 0.0
    return worst


def test_momentum_lost_at_impacts_is_of_first_order():
    """Halve the loss with the step; lose nothing with the integrator for it."""
    coarse, fine = (lost_at_a_stop(step, 'midpoint') for step in (1e-3, 5e-4))
    assert coarse > 0.01
    assert 0.3 < fine / coarse < 0.7
    assert lost_at_a_stop(1e-3, 'momentum') < 1e-11
