"""Force fields and gravity functions, against closed forms."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import sim_bridge as sb

NO_GRAVITY = (0.0, 0.0, 0.0)


def ball(world, position=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0), mass=2.0, **options):
    """Add a ball; return its link."""
    body = world.add_body(
        sb.Sphere(0.1), mass=mass, position=position, linear_velocity=velocity, **options
    )
    return body.root_link


def towards_origin(position):
    """Return the acceleration in AGX's example of a custom gravity field."""
    return -position


def drag_and_spring(position, velocity, mass, time):
    """Return a force from all arguments of the function."""
    return -mass * position - 0.5 * velocity + np.array([math.sin(time), 0.0, 0.0])


@pytest.mark.parametrize(
    'make',
    [
        lambda world: setattr(world, 'gravity', towards_origin),
        lambda world: world.add_force_field(sb.PointGravity(strength=1.0, exponent=1.0)),
        lambda world: world.add_force_field(sb.PointField(strength=2.0, exponent=1.0)),
        lambda world: world.add_force_field(lambda x, v, m, t: -m * x),
    ],
)
def test_acceleration_towards_the_origin_follows_the_cosine_at_second_order(make):
    """Match x = cos t, with a quarter of the error at half the step."""
    errors = []
    for h in (0.02, 0.01, 0.005):
        world = sb.World(time_step=h, gravity=NO_GRAVITY)
        make(world)
        link = ball(world, (1.0, 0.0, 0.0))
        world.step(round(1.0 / h))
        errors.append(abs(link.p[0] - math.cos(1.0)))
    assert errors[0] < 2e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.01)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize(
    'field',
    [
        sb.PointGravity(strength=1.0, exponent=-2.0),
        lambda x, v, m, t: -m * x / np.linalg.norm(x) ** 3,
    ],
)
def test_orbit_closes_to_ten_parts_in_a_million_per_turn(field):
    """Return to the start after a turn at a time step of 1 ms, like a planet at distance 1."""
    world = sb.World(gravity=NO_GRAVITY)
    world.add_force_field(field)
    link = ball(world, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    steps = round(2.0 * math.pi / 1e-3)
    world.step(steps)
    angle = steps * 1e-3
    assert np.linalg.norm(link.p - [math.cos(angle), math.sin(angle), 0.0]) < 1e-5


def test_linear_drag_in_wind_and_its_terminal_velocity():
    """Fall as v = v∞ (1 - exp(-c t / m)), carried by the wind, and end at m g / c."""
    c, m = 3.0, 2.0
    world = sb.World()
    world.add_force_field(sb.Drag(linear=c, wind=(1.5, 0.0, 0.0)))
    link = ball(world, mass=m)
    world.step(700)
    share = 1.0 - math.exp(-c * 0.7 / m)
    np.testing.assert_allclose(link.v, [1.5 * share, 0.0, -9.81 * m / c * share], rtol=1e-6)
    world.step(20000)
    np.testing.assert_allclose(link.v, [1.5, 0.0, -9.81 * m / c], rtol=1e-9)


def test_quadratic_drag_has_its_terminal_velocity():
    """Fall as v = v∞ tanh(g t / v∞), with v∞ = √(m g / k)."""
    k, m = 0.4, 2.0
    world = sb.World()
    world.add_force_field(sb.Drag(quadratic=k))
    link = ball(world, mass=m)
    world.step(900)
    end = math.sqrt(m * 9.81 / k)
    assert link.v[2] == pytest.approx(-end * math.tanh(9.81 * 0.9 / end), rel=1e-6)


def test_drag_of_any_size_is_stable():
    """Slow down and stay slow with a million times the drag that a step resolves."""
    world = sb.World(gravity=NO_GRAVITY)
    world.add_force_field(sb.Drag(linear=2e9, angular=1e9))
    link = ball(world, velocity=(1.0, 0.0, 0.0), angular_velocity=(0.0, 2.0, 0.0))
    speeds = []
    for _ in range(100):
        world.step()
        speeds.append(np.linalg.norm([*link.v, *link.w]))
    assert np.isfinite(speeds).all() and max(speeds) < 2.3


def test_rotation_decays_by_angular_drag():
    """Turn as w = w0 exp(-c t / I)."""
    world = sb.World(gravity=NO_GRAVITY)
    world.add_force_field(sb.Drag(angular=0.02))
    link = ball(world, angular_velocity=(0.0, 0.0, 5.0))
    world.step(500)
    assert link.w[2] == pytest.approx(5.0 * math.exp(-0.01 / link.I[2, 2]), rel=1e-6)


def test_gusts_push_in_time_at_second_order():
    """Follow the closed form of m v' = c g sin(w t) - c v for a second."""
    c, m, g, period = 1.0, 2.0, 3.0, 0.7
    rate, r = 2.0 * math.pi / period, c / m
    wanted = (
        g
        * r
        / (r * r + rate * rate)
        * (r * math.sin(rate) - rate * math.cos(rate) + rate * math.exp(-r))
    )
    errors = []
    for h in (0.01, 0.005):
        world = sb.World(time_step=h, gravity=NO_GRAVITY)
        world.add_force_field(sb.Drag(linear=c, gust=(g, 0.0, 0.0), period=period))
        link = ball(world, mass=m)
        world.step(round(1.0 / h))
        errors.append(abs(link.v[0] - wanted))
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_functions_get_the_middle_of_the_step():
    """Pass position, velocity, mass and time at the middle of the step; apply the result."""
    seen = []

    def note(position, velocity, mass, time):
        seen.append((position.tolist(), velocity.tolist(), mass, time))
        return 0.0, 4.0, 0.0

    world = sb.World(time_step=0.1, gravity=NO_GRAVITY)
    world.step_count = 5
    world.add_force_field(note)
    link = ball(world, (1.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    world.step(2)
    for (position, velocity, mass, time), (x, y, vy, t) in zip(
        seen, [(1.1, 0.0, 0.0, 0.55), (1.3, 0.02, 0.3, 0.65)], strict=True
    ):
        np.testing.assert_allclose(position, (x, y, 0.0), atol=1e-12)
        np.testing.assert_allclose(velocity, (2.0, vy, 0.0), atol=1e-12)
        assert mass == 2.0
        assert time == pytest.approx(t, abs=1e-12)
    assert link.v[1] == pytest.approx(0.4, abs=1e-12)


def test_fifth_order_steps_keep_their_order_with_functions():
    """Reduce the error by 2⁵ or more at half the step."""
    errors = []
    for h in (0.1, 0.05):
        world = sb.World(time_step=h, gravity=NO_GRAVITY, integrator='rk5')
        world.add_force_field(lambda x, v, m, t: m * np.array([math.cos(t), 0.0, 0.0]) - m * x)
        link = ball(world)
        world.step(round(1.0 / h))
        errors.append(abs(link.p[0] - 0.5 * math.sin(1.0)))
    assert errors[0] / errors[1] > 25.0


def test_fields_turn_links_of_robots_about_their_joints():
    """Accelerate a pendulum by a force at the centre of mass, like its weight."""
    twins = []
    for gravity, field in (
        ((0.0, 0.0, -9.81), None),
        (NO_GRAVITY, sb.UniformField(acceleration=(0.0, 0.0, -9.81))),
    ):
        world = sb.World(gravity=gravity)
        robot = world.load_urdf('pendulum')
        robot.q = 0.7
        if field is not None:
            world.add_force_field(field)
        world.step(500)
        twins.append((robot.q[0], robot.dq[0], robot.ddq[0]))
    np.testing.assert_allclose(twins[0], twins[1], rtol=1e-5)


def test_only_chosen_links_are_pushed_and_later_ones_by_fields_for_all():
    """Push one of two bodies, then both, then none, then a third body added later."""
    world = sb.World(gravity=NO_GRAVITY)
    one, other = ball(world), ball(world, (1.0, 0.0, 0.0))
    name = world.add_force_field(sb.UniformField((2.0, 0.0, 0.0)), links=one)
    world.step(100)
    np.testing.assert_allclose([one.v[0], other.v[0]], [0.1, 0.0], atol=1e-12)
    world.add_force_field(sb.UniformField((0.0, 2.0, 0.0)), 'wind')
    third = ball(world, (2.0, 0.0, 0.0))
    world.step(100)
    np.testing.assert_allclose([one.v[1], other.v[1], third.v[1]], [0.1] * 3, atol=1e-12)
    world.set_force_field('wind', sb.UniformField((0.0, -2.0, 0.0)))
    world.step(100)
    world.remove_force_field('wind'), world.remove_force_field(name)
    assert world.force_fields == {}
    speed = one.v[0]
    world.step(100)
    np.testing.assert_allclose([one.v[0], other.v[1], third.v[1]], [speed, 0.0, 0.0], atol=1e-12)


def test_last_force_is_the_change_of_momentum():
    """Report gravity, fields and pushes of the last step, without contacts, like AGX."""
    world = sb.World()
    link = ball(world, velocity=(1.0, 2.0, 0.0), angular_velocity=(0.3, 0.2, 0.1))
    assert not link.last_force.any()
    world.add_force_field(sb.Drag(linear=0.5, angular=0.1))
    world.gravity = towards_origin
    for push in ((3.0, 0.0, 1.0), (0.0, 0.0, 0.0)):
        before, spin = link.v, link.w
        link.add_force(push)
        world.step()
        np.testing.assert_allclose(link.last_force, 2.0 * (link.v - before) / 1e-3, atol=1e-9)
        gain = link.I[0, 0] * (link.w - spin) / 1e-3
        np.testing.assert_allclose(link.last_torque, gain, rtol=1e-9)
    snapshot, force = world.save(), link.last_force
    twin = world.copy()
    world.add_ground(height=-5.0)
    assert (link.last_force == force).all()
    assert (twin.robots['body'].root_link.last_force == force).all()
    twin.step()
    twin.restore(snapshot)
    assert (twin.robots['body'].root_link.last_force == force).all()
    world.reset()
    assert not link.last_force.any()


def test_last_force_leaves_out_contacts_and_weight_that_does_not_act():
    """Report the weight of a resting ball, and none for a ball without gravity."""
    world = sb.World()
    world.add_ground()
    resting, floating = ball(world, (0.0, 0.0, 0.1)), ball(world, (1.0, 0.0, 3.0))
    floating.gravity = False
    world.step(100)
    np.testing.assert_allclose(resting.last_force, (0.0, 0.0, -19.62), atol=1e-12)
    assert np.linalg.norm(resting.v) < 1e-6
    np.testing.assert_allclose(floating.last_force, 0.0, atol=1e-12)
    assert not world.robots['ground'].root_link.last_force.any()


def test_accelerometers_feel_no_gravity_of_a_function():
    """Read the same as in a uniform gravity of the same strength."""
    world = sb.World(gravity=lambda x: (0.0, 0.0, -9.81))
    held = world.load_urdf('arm')
    world.step(50)
    other = sb.World(gravity=(0.0, 0.0, -9.81))
    twin = other.load_urdf('arm')
    other.step(50)
    for one, two in zip(
        held.devices(sb.AccelerationSensor), twin.devices(sb.AccelerationSensor), strict=True
    ):
        np.testing.assert_allclose(one.dv, two.dv, rtol=1e-6, atol=1e-6)


def test_snapshots_copies_and_pickles_hold_fields():
    """Continue with the same bits from a copy, a pickle and a snapshot, including functions."""
    world = sb.World(gravity=towards_origin)
    link = ball(world, (1.0, 0.0, 0.0))
    world.add_force_field(drag_and_spring, 'function')
    world.add_force_field(sb.Drag(linear=0.1, gust=(1.0, 0.0, 0.0), period=0.3), 'wind', link)
    world.step(10)
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    before, hash_before = world.save(), world.state_hash()
    world.step(20)
    for twin in twins:
        assert twin.state_hash() == hash_before
        twin.step(20)
        assert twin.state_hash() == world.state_hash()
    end = world.state_hash()
    world.remove_force_field('wind')
    world.gravity = NO_GRAVITY
    assert world.state_hash() != end
    world.restore(before)
    assert world.gravity is towards_origin and list(world.force_fields) == ['function', 'wind']
    world.step(20)
    assert world.state_hash() == end
    world.add_force_field(lambda x, v, m, t: x)
    with pytest.raises(sb.StateError, match=r'lambda> \(force field .field.\) cannot be pickled'):
        pickle.dumps(world)


def test_bodies_in_varying_wind_do_not_sleep():
    """Keep a body awake under a gust and a function; let it sleep under steady drag."""
    gusty = sb.Drag(linear=1.0, gust=(1.0, 0.0, 0.0))
    for field, sleeps in (
        (sb.Drag(linear=1.0), True),
        (gusty, False),
        (lambda x, v, m, t: (0.0, 0.0, 0.0), False),
    ):
        world = sb.World(sleep=True)
        world.add_ground()
        body = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1))
        world.add_force_field(field)
        world.step(200)
        assert body.is_asleep == sleeps


def test_a_function_that_fails_leaves_the_world_as_it_was():
    """Raise the function's exception, or name the expected result, before anything moves."""
    world = sb.World()
    link = ball(world)
    count = 0

    def fails(position, velocity, mass, time):
        nonlocal count
        count += 1
        if count > 4:
            raise LookupError('gone')
        return 0.0, 0.0, 0.0

    name = world.add_force_field(fails)
    with pytest.raises(LookupError, match='gone'):
        world.step(20)
    taken = world.step_count
    assert 0 < taken < 5
    world.remove_force_field(name)
    assert link.p[2] == pytest.approx(-0.5 * 9.81 * (taken * 1e-3) ** 2)
    for wrong in (None, (1.0, 2.0), (0.0, 0.0, math.nan), 'up'):
        name = world.add_force_field(lambda x, v, m, t, wrong=wrong: wrong)
        with pytest.raises(sb.InvalidValueError, match='three finite numbers returned by'):
            world.step()
        world.remove_force_field(name)
    assert world.step_count == taken
    world.gravity = lambda x: link.p
    with pytest.raises(sb.StateError, match='uses its arguments alone'):
        world.step()


def test_fields_follow_masses_and_leave_disabled_bodies():
    """Pull by the current mass, keep earlier fields, and wake no disabled body."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_body(sb.Sphere(0.1), 'body', mass=1.0)
    link = body.root_link
    world.add_force_field(sb.UniformField(acceleration=(1.0, 0.0, 0.0)))
    world.add_force_field(lambda x, v, m, t: (0.0, m, 0.0))
    world.step()
    link.m = 2.0
    np.testing.assert_allclose(link.last_force, (1.0, 1.0, 0.0))
    world.step()
    np.testing.assert_allclose(link.last_force, (2.0, 2.0, 0.0))
    body.disable()
    place = link.p.copy()
    world.step(10)
    np.testing.assert_array_equal(link.p, place)


def test_invalid_fields_are_refused():
    """Name the value, the place, and the alternatives."""
    world, other = sb.World(), sb.World()
    stranger = ball(other)
    with pytest.raises(sb.InvalidValueError, match='linear = -1.0 .Drag.'):
        sb.Drag(linear=-1.0)
    with pytest.raises(sb.InvalidValueError, match='period'):
        sb.Drag(period=0.0)
    with pytest.raises(sb.InvalidValueError, match='force'):
        sb.UniformField(force=(1.0, 2.0))
    with pytest.raises(sb.InvalidValueError, match='UniformField, PointField, Drag'):
        world.add_force_field((0.0, 0.0, 1.0))
    with pytest.raises(sb.InvalidValueError, match='links of this world'):
        world.add_force_field(sb.UniformField(), links=stranger)
    walker = world.load_urdf('quadruped')
    with pytest.raises(sb.InvalidValueError, match='links with mass'):
        world.add_force_field(sb.UniformField(), links=walker.root_link)
    world.add_force_field(sb.UniformField(), 'wind')
    with pytest.raises(sb.InvalidValueError, match='taken: wind'):
        world.add_force_field(sb.UniformField(), 'wind')
    with pytest.raises(sb.UnknownNameError, match='wind'):
        world.remove_force_field('wnd')
    assert list(world.force_fields) == ['wind']


def test_contact_problems_know_fields_and_dynamics_refuse_functions():
    """Predict the next step with the contact problem; name a gravity function as refused."""
    world = sb.World(gravity=towards_origin)
    world.add_ground(height=-0.1)
    link = ball(world, velocity=(1.0, 0.0, 0.0))
    world.add_force_field(sb.Drag(linear=3.0))
    world.add_force_field(sb.PointGravity((2.0, 0.0, 0.0), 5.0))
    problem = world.contact_problem([])
    free = problem.v_free.copy()
    world.step()
    np.testing.assert_allclose(free[:3], link.v, atol=2e-5)
    assert abs(free[0] - 1.0 - (5.0 - 1.5) * 1e-3) < 1e-5
    robot = world.load_urdf('pendulum')
    sb.dynamics.mass_matrix(robot)
    for ask in (sb.dynamics.bias_forces, sb.dynamics.gravity_forces, sb.dynamics.potential_energy):
        with pytest.raises(sb.StateError, match='the gravity of the world is a function'):
            ask(robot)


def test_wrench_at_the_mass_centre_accelerates_and_turns_in_world_axes():
    """Follow F t² / 2 m and T t / I, wherever the link's origin is."""
    world = sb.World(gravity=NO_GRAVITY)
    link = ball(world, mass=2.0)
    pull = sb.Wrench(force=(3.0, -1.0, 0.5), torque=(0.02, 0.0, 0.01))
    world.add_force_field(pull, 'pull', link)
    world.step(500)
    time = 500 * world.time_step
    np.testing.assert_allclose(link.p, 0.25 * time**2 * np.array([3.0, -1.0, 0.5]), rtol=1e-12)
    inertia = 0.4 * 2.0 * 0.1**2
    np.testing.assert_allclose(
        link.w, time / inertia * np.array([0.02, 0.0, 0.01]), rtol=1e-9, atol=1e-12
    )


def test_wrench_in_the_axes_of_a_link_turns_with_it():
    """Turn a crank on a hinge with the constant torque of a force across its arm."""
    world = sb.World(gravity=NO_GRAVITY)
    link = ball(world, mass=2.0)
    hinge = world.add_joint('hinge', None, link, axis=(0.0, 0.0, 1.0))
    crank = sb.Wrench(force=(0.0, 3.0, 0.0), point=(0.5, 0.0, 0.0), is_local=True)
    world.add_force_field(crank, links=link)
    world.step(200)
    time, inertia = 200 * world.time_step, 0.4 * 2.0 * 0.1**2
    assert hinge.q == pytest.approx(0.5 * 0.5 * 3.0 / inertia * time**2, rel=1e-9)
    # a force of the world's axes at the same place pulls the arm into its direction
    world = sb.World(gravity=NO_GRAVITY)
    link = ball(world, mass=2.0)
    hinge = world.add_joint('hinge', None, link, axis=(0.0, 0.0, 1.0))
    towed = sb.Wrench(force=(0.0, 3.0, 0.0), point=(0.5, 0.0, 0.0))
    world.add_force_field(towed, links=link)
    world.step(200)
    energy = 0.5 * inertia * hinge.dq**2
    assert energy == pytest.approx(3.0 * 0.5 * math.sin(hinge.q), rel=1e-4)
