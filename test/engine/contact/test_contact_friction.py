"""Friction: its cone, its effect on sliding, rolling and spinning bodies, moving surfaces."""

from __future__ import annotations

from contact_worlds import add_ball, add_block, G, grounded, push, tilt
import numpy as np
import pytest

import sim_bridge as sb

MU = 0.5
CONE = np.arctan(MU)
MARGIN = np.radians(0.1)
HEADINGS = 2.0 * np.pi * np.arange(16) / 16


def velocity(world, body, steps=1):
    """Step, and return the velocity of a body's origin [m/s]."""
    world.step(steps)
    return body.root_link.v


# --- the cone ------------------------------------------------------------------------------------


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize('heading', HEADINGS)
def test_block_is_held_just_below_the_cone(heading, solver):
    """Creep less than a micrometre in two seconds on a slope 0.1 degrees less than atan(mu)."""
    world = grounded({'friction': MU}, solver=solver)
    block = add_block(world)
    tilt(world, CONE - MARGIN, heading)
    start = block.root_link.p
    world.step(2000)
    assert np.linalg.norm(block.root_link.p - start) < 1e-6
    assert np.linalg.norm(block.root_link.w) < 1e-6


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize('heading', HEADINGS)
def test_block_slips_just_above_the_cone(heading, solver):
    """Slide straight down a slope 0.1 degrees above atan(mu), by Newton's law."""
    world = grounded({'friction': MU}, solver=solver)
    block = add_block(world)
    angle = CONE + MARGIN
    tilt(world, angle, heading)
    world.step(500)
    speed = 0.5 * G * (np.sin(angle) - MU * np.cos(angle))
    np.testing.assert_allclose(
        block.root_link.v,
        speed * np.array([np.cos(heading), np.sin(heading), 0.0]),
        atol=1e-8 if solver == 'direct' else 3e-5,
    )


@pytest.mark.parametrize('heading', HEADINGS[:4] + 0.1)
def test_sliding_block_brakes_by_mu_g(heading):
    """Decelerate by mu g in any direction, stop, and stay."""
    world = grounded({'friction': MU})
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    block = add_block(world, linear_velocity=2.0 * along)
    start = block.root_link.p
    for k in range(1, 8):
        np.testing.assert_allclose(
            velocity(world, block, 50), (2.0 - MU * G * 0.05 * k) * along, atol=1e-8
        )
        time = 0.05 * k
        way = 2.0 * time - 0.5 * MU * G * time**2
        np.testing.assert_allclose(block.root_link.p - start, way * along, atol=1e-8)
    world.step(100)
    # it stops within a step, over a distance below its speed times the time step
    way = 2.0**2 / (2.0 * MU * G)
    np.testing.assert_allclose(block.root_link.p - start, way * along, atol=MU * G * 1e-6)
    rest = block.root_link.p
    world.step(1000)
    np.testing.assert_allclose(block.root_link.p, rest, atol=1e-9)


def test_friction_obeys_the_implicit_rule_of_materials():
    """Brake two blocks by the geometric mean of their own and the ground's coefficients."""
    world = sb.World()
    world.add_ground(sb.Material('floor', friction=0.4))
    blocks = [
        add_block(
            world,
            at=(0.0, 2.0 * k),
            material=sb.Material(f'm{k}', friction=friction),
            linear_velocity=(2.0, 0.0, 0.0),
        )
        for k, friction in enumerate((0.1, 0.9))
    ]
    world.step(200)
    for block, friction in zip(blocks, (0.1, 0.9), strict=True):
        expected = 2.0 - 0.2 * G * np.sqrt(0.4 * friction)
        assert block.root_link.v[0] == pytest.approx(expected, abs=1e-8)


def test_frictionless_block_slides_on_forever():
    """Keep the velocity at zero friction."""
    world = grounded({'friction': 0.0})
    block = add_block(world, linear_velocity=(1.0, 2.0, 0.0), angular_velocity=(0, 0, 3.0))
    world.step(500)
    np.testing.assert_allclose(block.root_link.v, (1.0, 2.0, 0.0), atol=1e-10)
    np.testing.assert_allclose(block.root_link.w, (0.0, 0.0, 3.0), atol=1e-9)


def test_infinite_friction_holds_on_any_slope():
    """Hold a flat block on a 60 degree slope."""
    world = grounded({'friction': np.inf})
    block = add_block(world)
    tilt(world, np.radians(60.0), 0.7)
    start = block.root_link.p
    world.step(500)
    np.testing.assert_allclose(block.root_link.p, start, atol=1e-9)


# --- two directions ------------------------------------------------------------------------------


@pytest.mark.parametrize('turn', [0.0, 0.6])
def test_elliptic_friction_dissipates_the_most(turn):
    """
    Direct friction by maximum dissipation over an ellipse with half axes mu N and mu2 N.

    For the velocity u in the block's directions, the friction direction is (mu² u1, mu2² u2) /
    |(mu u1, mu2 u2)|.
    """
    mu, mu2 = 0.6, 0.2
    world = grounded({'friction': mu, 'friction2': mu2})
    heading = (0.0, 0.0, np.sin(turn / 2), np.cos(turn / 2))
    block = add_block(
        world, fdir1=(1.0, 0.0, 0.0), orientation=heading, linear_velocity=(1.0, 2.0, 0.0)
    )
    for _ in range(100):
        world.step()
        u = (block.root_link.R.T @ block.root_link.v)[:2]
        force = (block.root_link.R.T @ world.contacts.force_on(block.root_link))[:2]
        expected = -block.mass * G * np.array([mu**2 * u[0], mu2**2 * u[1]])
        np.testing.assert_allclose(force, expected / np.hypot(mu * u[0], mu2 * u[1]), rtol=1e-5)


def test_friction_along_and_across_the_direction():
    """Brake by mu g along ODE's fdir1 and by mu2 g across it, for the cone and the pyramid."""
    for model in ('cone', 'pyramid'):
        world = grounded({'friction': 0.6, 'friction2': 0.2, 'friction_model': model})
        along = add_block(world, fdir1=(1, 0, 0), linear_velocity=(2.0, 0.0, 0.0))
        across = add_block(world, fdir1=(1, 0, 0), at=(0.0, 2.0), linear_velocity=(0.0, 2.0, 0.0))
        world.step(200)
        np.testing.assert_allclose(along.root_link.v, (2.0 - 0.12 * G, 0.0, 0.0), atol=1e-8)
        np.testing.assert_allclose(across.root_link.v, (0.0, 2.0 - 0.04 * G, 0.0), atol=1e-8)


@pytest.mark.parametrize('model', ['cone', 'pyramid'])
@pytest.mark.parametrize('motion', [0.0, 1e-9])
@pytest.mark.parametrize('gravity', [(0, 0, -G), (0, 0, G)])
def test_first_direction_without_a_rule_is_the_world_x(model, motion, gravity):
    """Brake by mu g along x and by mu2 g along y, with and without motion, above and below."""
    law = {'friction': 0.4, 'friction2': 0.2, 'friction_model': model, 'motion': motion}
    world = sb.World(gravity=gravity)
    world.materials.add(sb.Material('block'))
    world.set_contact_material('block', 'default', sb.ContactMaterial(**law))
    side = np.sign(gravity[2])
    world.add_body(sb.Box((9, 9, 1)), motion='static', position=(0, 0, 0.5 * side))
    for velocity, mu in (((2.0, 0.0, 0.0), 0.4), ((0.0, 2.0, 0.0), 0.2)):
        block = world.add_body(
            sb.Box((0.4, 0.4, 0.1)),
            mass=1.0,
            position=(*velocity[:2], -0.05 * side),
            linear_velocity=velocity,
            material='block',
        )
        world.step(200)
        speed = np.linalg.norm(block.root_link.v)
        assert speed == pytest.approx(2.0 - 0.2 * mu * G, abs=1e-6)


def test_pyramid_brakes_each_direction_for_itself():
    """Decelerate by mu g along both ODE directions at once."""
    world = grounded({'friction': 0.5, 'friction2': 0.3, 'friction_model': 'pyramid'})
    block = add_block(world, fdir1=(1, 0, 0), linear_velocity=(2.0, 2.0, 0.0))
    world.step(200)
    np.testing.assert_allclose(block.root_link.v, (2.0 - 0.1 * G, 2.0 - 0.06 * G, 0.0), atol=1e-8)


def test_pyramid_holds_more_on_its_edges():
    """Hold a diagonal load up to the edge of ODE's box, beyond the circular cone."""
    world = grounded({'friction': 0.5, 'friction_model': 'pyramid'})
    block = add_block(world, fdir1=(1, 0, 0))
    edge = np.arctan(0.5 * np.sqrt(2.0))
    tilt(world, edge - MARGIN, np.pi / 4)
    start = block.root_link.p
    world.step(500)
    np.testing.assert_allclose(block.root_link.p, start, atol=1e-8)
    tilt(world, edge + MARGIN, np.pi / 4)
    world.step(500)
    speed = 0.5 * G * (np.sin(edge + MARGIN) - np.sqrt(0.5) * np.cos(edge + MARGIN))
    assert np.linalg.norm(block.root_link.v) == pytest.approx(speed, abs=1e-7)


@pytest.mark.parametrize('mass', [2.0, 20.0])
def test_constant_limit_is_a_force(mass):
    """Bound friction at each of four points by 0.5 N and 0.25 N, at any weight."""
    world = grounded({'friction': 0.5, 'friction2': 0.25, 'friction_model': 'constant'})
    block = add_block(world, mass=mass, fdir1=(1, 0, 0), linear_velocity=(2.0, 2.0, 0.0))
    world.step(200)
    np.testing.assert_allclose(
        block.root_link.v, (2.0 - 0.2 * 2.0 / mass, 2.0 - 0.2 * 1.0 / mass, 0.0), atol=1e-8
    )


# --- rolling and spinning ------------------------------------------------------------------------


def test_pushed_ball_comes_to_roll_at_five_sevenths():
    """Slide at first, then roll at 5/7 of the speed, from 2 v / (7 mu g) on."""
    world = grounded({'friction': 0.3})
    ball = add_ball(world, linear_velocity=(2.0, 0.0, 0.0))
    slides = 2.0 * 2.0 / (7.0 * 0.3 * G)
    steps = int(slides / world.time_step)
    np.testing.assert_allclose(
        velocity(world, ball, steps), (2.0 - 0.3 * G * steps * 1e-3, 0.0, 0.0), atol=1e-9
    )
    for _ in range(2):
        np.testing.assert_allclose(velocity(world, ball, 300), (10.0 / 7.0, 0, 0), atol=1e-9)
        np.testing.assert_allclose(ball.root_link.w, (0.0, 100.0 / 7.0, 0.0), atol=1e-8)


def test_ball_rolls_down_a_slope_at_five_sevenths_of_g_sin():
    """Roll without slipping if friction suffices."""
    world = grounded({'friction': 1.0})
    ball = add_ball(world)
    tilt(world, 0.3, 0.5)
    world.step(500)
    speed = 5.0 / 7.0 * G * np.sin(0.3) * 0.5
    np.testing.assert_allclose(
        ball.root_link.v, speed * np.array([np.cos(0.5), np.sin(0.5), 0.0]), atol=1e-8
    )
    np.testing.assert_allclose(
        ball.root_link.w, speed / 0.1 * np.array([-np.sin(0.5), np.cos(0.5), 0.0]), atol=1e-7
    )


def test_rolling_friction_stops_a_ball():
    """Brake a rolling ball by 5 rho g / (7 r), and keep it at its stopping point."""
    rho, radius, speed = 0.005, 0.1, 0.5
    world = grounded({'friction': 0.8, 'rolling_friction': rho})
    ball = add_ball(
        world,
        radius,
        linear_velocity=(0.0, speed, 0.0),
        angular_velocity=(-speed / radius, 0.0, 0.0),
    )
    braking = 5.0 * rho * G / (7.0 * radius)
    np.testing.assert_allclose(
        velocity(world, ball, 500), (0.0, speed - 0.5 * braking, 0.0), atol=1e-8
    )
    world.step(1500)
    assert ball.root_link.p[1] == pytest.approx(speed**2 / (2.0 * braking), abs=1e-6)
    np.testing.assert_allclose(ball.root_link.w, np.zeros(3), atol=1e-9)


def test_rolling_friction_holds_a_ball_on_a_slope():
    """Hold up to a slope of rho / r, and not beyond."""
    world = grounded({'friction': 0.8, 'rolling_friction': 0.01})
    ball = add_ball(world, 0.1)
    tilt(world, np.arctan(0.1) - MARGIN, 0.4)
    start = ball.root_link.p
    world.step(500)
    np.testing.assert_allclose(ball.root_link.p, start, atol=1e-8)
    angle = np.arctan(0.1) + MARGIN
    tilt(world, angle, 0.4)
    world.step(500)
    speed = 0.5 * 5.0 / 7.0 * G * (np.sin(angle) - 0.1 * np.cos(angle))
    assert np.linalg.norm(ball.root_link.v) == pytest.approx(speed, abs=1e-7)


def test_spinning_friction_stops_a_ball():
    """Decelerate a ball spinning on the spot by rho_n N / I."""
    world = grounded({'friction': 0.8, 'spinning_friction': 0.004})
    ball = add_ball(world, 0.1, angular_velocity=(0.0, 0.0, 5.0))
    braking = 0.004 * G / (0.4 * 0.1**2)
    world.step(300)
    np.testing.assert_allclose(ball.root_link.w, (0.0, 0.0, 5.0 - 0.3 * braking), atol=1e-8)
    np.testing.assert_allclose(ball.root_link.v, np.zeros(3), atol=1e-9)
    world.step(700)
    np.testing.assert_allclose(ball.root_link.w, np.zeros(3), atol=1e-9)


def test_friction_of_four_corners_stops_a_spinning_block():
    """Brake by mu g times the corners' radius over the squared radius of gyration."""
    world = grounded({'friction': MU})
    block = add_block(world, angular_velocity=(0.0, 0.0, 6.0))
    braking = MU * G * np.hypot(0.2, 0.2) / (2 * 0.4**2 / 12)
    world.step(100)
    np.testing.assert_allclose(block.root_link.w, (0.0, 0.0, 6.0 - 0.1 * braking), atol=1e-6)
    world.step(200)
    np.testing.assert_allclose(block.root_link.w, np.zeros(3), atol=1e-8)


def test_spinning_friction_stops_a_block():
    """Brake a spinning block without other friction by rho_n N / I, summed over four corners."""
    world = grounded({'friction': 0.0, 'spinning_friction': 0.02})
    block = add_block(world, angular_velocity=(0.0, 0.0, 6.0))
    world.step(200)
    braking = 0.02 * G / (2 * 0.4**2 / 12)
    np.testing.assert_allclose(block.root_link.w, (0.0, 0.0, 6.0 - 0.2 * braking), atol=1e-7)


# --- slip and moving surfaces --------------------------------------------------------------------


def test_slip_creeps_in_proportion_to_the_force():
    """Creep under a steady push at slip times force over the four points, in each direction."""
    slip, slip2 = 0.04, 0.01
    world = grounded({'friction': 1.0, 'slip': slip, 'slip2': slip2})
    along = add_block(world, fdir1=(1, 0, 0))
    across = add_block(world, fdir1=(1, 0, 0), at=(0.0, 2.0))
    for _ in range(600):
        along.root_link.add_force((3.0, 0.0, 0.0))
        across.root_link.add_force((0.0, 3.0, 0.0))
        world.step()
    np.testing.assert_allclose(along.root_link.v, (slip * 3.0 / 4.0, 0.0, 0.0), atol=1e-8)
    np.testing.assert_allclose(across.root_link.v, (0.0, slip2 * 3.0 / 4.0, 0.0), atol=1e-8)


def test_slip_ends_at_the_friction_bound():
    """Slide by Newton's law under a push beyond mu N, at any slip."""
    world = grounded({'friction': MU, 'slip': 1e-4})
    block = add_block(world, mass=2.0)
    push(world, block.root_link, (15.0, 0.0, 0.0), 200)
    # the slip adds nothing to friction at its bound
    assert block.root_link.v[0] == pytest.approx(0.2 * (15.0 / 2.0 - MU * G), abs=1e-8)


@pytest.mark.parametrize('belt', [(0.8, 0.0, 0.0), (-0.3, 0.6, 0.0)])
def test_belt_carries_a_block_along(belt):
    """Accelerate a block by mu g to the speed of the surface below it, and no further."""
    world = sb.World()
    set_friction = {'friction': MU}
    world.set_contact_material('default', 'default', sb.ContactMaterial(**set_friction))
    world.add_body(
        sb.Placed(sb.Box((10.0, 10.0, 0.2)), surface_velocity=belt),
        name='conveyor',
        motion='static',
        position=(0.0, 0.0, -0.1),
    )
    block = add_block(world)
    speed = np.linalg.norm(belt)
    along = np.array(belt) / speed
    np.testing.assert_allclose(velocity(world, block, 100), 0.1 * MU * G * along, atol=1e-8)
    np.testing.assert_allclose(velocity(world, block, 400), belt, atol=1e-8)
    time = speed / (MU * G)
    np.testing.assert_allclose(
        block.root_link.p[:2], (speed * (0.5 - time / 2) * along)[:2], atol=MU * G * 1e-6
    )
    world.robots['conveyor'].geometries[0].surface_velocity = (0.0, 0.0, 0.0)
    np.testing.assert_allclose(velocity(world, block, 400), np.zeros(3), atol=1e-8)


def test_belt_turns_with_its_body():
    """Carry along the belt's own axes, at any orientation of its body."""
    world = sb.World()
    turned = (0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4))
    world.add_body(
        sb.Placed(sb.Box((10.0, 10.0, 0.2)), surface_velocity=(0.5, 0.0, 0.0)),
        motion='static',
        position=(0.0, 0.0, -0.1),
        orientation=turned,
    )
    block = add_block(world)
    np.testing.assert_allclose(velocity(world, block, 400), (0.0, 0.5, 0.0), atol=1e-8)


def test_motion_sets_the_contact_velocity():
    """
    Bring the contact to the velocities in ODE's motion1 and motion2.

    These are the moving body's velocities relative to the ground, along fdir1 and normal × fdir1.
    """
    world = grounded({'friction': 1.0, 'motion': 0.4, 'motion2': -0.2})
    block = add_block(world, fdir1=(1, 0, 0))
    world.step(400)
    np.testing.assert_allclose(block.root_link.v, (0.4, -0.2, 0.0), atol=1e-8)


# --- which pair, which direction -----------------------------------------------------------------


def worlds_in_both_orders(*adders):
    """Yield worlds with the same objects added in the given and in the reverse order."""
    for order in (adders, adders[::-1]):
        world = sb.World()
        for name in ('belt', 'load'):
            world.materials.add(sb.Material(name))
        for add in order:
            add(world)
        yield world


@pytest.mark.parametrize('direction', [(1.0, 0.0, 0.0), None])
@pytest.mark.parametrize('pair', [('load', 'belt'), ('belt', 'load')])
def test_motion_belongs_to_the_authors_first_material(pair, direction):
    """Move the first material's surface along the direction, in any order of addition."""

    def add_ground(world):
        world.add_ground(material='belt')

    def add_load(world):
        add_block(world, fdir1=direction, name='load', material='load')

    for world in worlds_in_both_orders(add_ground, add_load):
        law = sb.ContactMaterial(friction=1.0, motion=0.3, motion2=-0.1)
        world.set_contact_material(*pair, law)
        world.step(400)
        sign = 1.0 if pair[0] == 'load' else -1.0
        # normal × direction points to y if the normal, from second to first, points up
        np.testing.assert_allclose(
            world.robots['load'].root_link.v, (sign * 0.3, -0.1, 0.0), atol=1e-8
        )
        assert world.materials.contact_material(*pair).motion == 0.3
        assert world.materials.contact_material(*pair[::-1]).motion == -0.3


def test_bodies_of_one_material_get_no_motion():
    """Do not move two dynamic bodies of one material, since neither comes first."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction=1.0, motion=0.3))
    for side in (-1.0, 1.0):
        body = world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05 * side))
        body.set_base_velocity((0.0, 0.0, -0.01 * side), (0.0, 0.0, 0.0))
    world.step(100)
    assert all(np.abs(robot.root_link.v[:2]).max() < 1e-9 for robot in world.robots.values())


@pytest.mark.parametrize(
    ('frictions', 'turn', 'expected'),
    [
        # the direction with the lower friction holds; the coefficients come from the pair
        ((0.5, 0.9), np.pi / 2, 0.0),
        ((0.9, 0.5), np.pi / 2, np.pi / 2),
        # equal frictions: the bisector
        ((0.7, 0.7), 0.8, 0.4),
        ((0.7, 0.7), np.pi - 0.8, -0.4),
        # orthogonal up to rounding: the bisector of the vectors
        ((0.7, 0.7), np.pi / 2 + 1e-9, np.pi / 4),
    ],
)
def test_one_rule_decides_between_two_friction_directions(frictions, turn, expected):
    """Brake by mu g along the chosen direction and by mu2 g across, in both orders."""
    across = (-np.sin(expected), np.cos(expected))
    sideways = (np.cos(turn), np.sin(turn), 0.0)

    def add_base(world):
        world.add_body(
            sb.Placed(sb.Box((9.0, 9.0, 0.2)), friction_direction=sideways),
            motion='static',
            position=(0.0, 0.0, -0.1),
            material='belt',
        )

    def add_load(world):
        add_block(world, fdir1=(1.0, 0.0, 0.0), name='load', material='load')

    for world in worlds_in_both_orders(add_base, add_load):
        for name, friction in zip(('load', 'belt'), frictions, strict=True):
            world.materials.add(sb.Material(name, friction=friction, friction2=0.1))
        load = world.robots['load']
        world.step(20)
        load.set_base_velocity((*np.multiply(1.5, across), 0.0), (0.0, 0.0, 0.0))
        world.step(100)
        speed = np.dot(across, load.root_link.v[:2])
        np.testing.assert_allclose(load.root_link.v[:2], np.multiply(speed, across), atol=1e-7)
        assert speed == pytest.approx(1.5 - 0.1 * 0.1 * G, abs=1e-7)
