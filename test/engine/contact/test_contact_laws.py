"""Contact along the normal: bouncing, softness, adhesion, depth; collision exclusions."""

from __future__ import annotations

from contact_worlds import add_ball, add_block, G, grounded, push, set_law
import numpy as np
import pytest

import sim_bridge as sb


def heights(world, body, steps):
    """Return a body's heights above its first body's lowest point, one per step [m]."""
    found = np.empty(steps)
    for k in range(steps):
        world.step()
        found[k] = body.root_link.p[2]
    return found


def apexes(track):
    """Return a track's local maxima."""
    inner = track[1:-1]
    return inner[(inner >= track[:-2]) & (inner > track[2:])]


def creep_apart(world, body, rate, steps):
    """Push a body for some steps; return whether it has moved by more than a micrometre."""
    start = body.root_link.p
    push(world, body.root_link, (0.0, 0.0, rate), steps)
    return np.linalg.norm(body.root_link.p - start) > 1e-6


# --- bouncing ------------------------------------------------------------------------------------


@pytest.mark.parametrize('restitution', [0.5, 0.8, 1.0])
def test_ball_rises_to_the_square_of_its_restitution(restitution):
    """
    Rise to e² of the last height after every bounce.

    The impact lies anywhere in a step. Its velocity is taken at the step's start, exact up to g h,
    and its position at mid-step.
    """
    drop = 1.0
    world = grounded({'restitution': restitution})
    ball = add_ball(world, lift=drop)
    found = apexes(heights(world, ball, 1800)) - 0.1
    assert len(found) >= 1
    for before, after in zip((drop, *found), found, strict=False):
        impact = np.sqrt(2.0 * G * before)
        slack = 2.0 * G * world.time_step / impact * before + 0.5 * impact * world.time_step
        assert after == pytest.approx(restitution**2 * before, abs=slack)


def test_ball_without_restitution_stays_down():
    """Stop in the middle of the impact's step, and come to rest from there."""
    world = grounded({'restitution': 0.0})
    ball = add_ball(world, lift=0.2)
    world.step(int(np.sqrt(2.0 * 0.2 / G) / world.time_step) + 2)
    assert ball.root_link.v[2] > -0.02
    assert ball.root_link.p[2] - 0.1 < 0.5 * np.sqrt(2.0 * 0.2 * G) * world.time_step
    world.step(15)
    np.testing.assert_allclose(ball.root_link.v, np.zeros(3), atol=1e-12)
    np.testing.assert_allclose(ball.root_link.p[2], 0.1, atol=2e-9)
    assert np.abs(heights(world, ball, 200) - 0.1).max() < 2e-9


@pytest.mark.parametrize('time_step', [1e-3, 5e-3])
def test_elastic_ball_keeps_its_energy(time_step):
    """Keep the energy over several smooth bounces to 1e-9."""
    world = grounded({'restitution': 1.0, 'friction': 0.0}, time_step=time_step)
    ball = add_ball(world, lift=0.5, linear_velocity=(0.3, -0.2, 0.0))
    start, fall = world.energy().total, ball.mass * G * 0.5
    bounces = 0
    for _ in range(int(3.0 / time_step)):
        before = ball.root_link.v[2]
        world.step()
        bounces += before < 0.0 < ball.root_link.v[2]
        assert abs(world.energy().total - start) < 1e-9 * fall
    assert bounces >= 4


def test_elastic_balls_exchange_their_velocities():
    """Stop one of two equal balls and give the other all its velocity."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    set_law(world, restitution=1.0)
    first = add_ball(world, linear_velocity=(2.0, 0.0, 0.0))
    second = add_ball(world, at=(0.5, 0.0))
    world.step(300)
    np.testing.assert_allclose(first.root_link.v, np.zeros(3), atol=1e-9)
    np.testing.assert_allclose(second.root_link.v, (2.0, 0.0, 0.0), atol=1e-9)


def test_collision_keeps_momentum():
    """
    Keep the momentum in oblique, rough collisions of tumbling boxes.

    The angular momentum holds to first order in the step, since gyroscopic torques use the mean
    velocity.
    """
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    set_law(world, restitution=0.6, friction=0.4)
    for k in range(4):
        world.add_body(
            sb.Box((0.3, 0.2, 0.1)),
            mass=1.0 + k,
            position=(0.4 * k, 0.05 * k, 0.0),
            linear_velocity=(1.5 - k, 0.0, 0.1 * k),
            angular_velocity=(1.0, 2.0, k),
        )
    start = world.momentum()
    touched = 0
    for _ in range(50):
        world.step(10)
        touched += len(world.contacts) > 0
        now = world.momentum()
        np.testing.assert_allclose(now.linear, start.linear, atol=1e-10)
        np.testing.assert_allclose(now.angular, start.angular, atol=0.3 * world.time_step)
    assert touched > 2


def test_slow_approach_does_not_bounce():
    """Bounce only above the bounce velocity."""
    world = grounded({'restitution': 0.9, 'bounce_velocity': 1.0})
    slow = add_ball(world, lift=0.9 / (2.0 * G))
    fast = add_ball(world, at=(1.0, 0.0), lift=1.1 / (2.0 * G))
    tracks = np.empty((500, 2))
    for k in range(500):
        world.step()
        tracks[k] = slow.root_link.p[2], fast.root_link.p[2]
    assert len(apexes(tracks[:, 0])) == 0
    assert apexes(tracks[:, 1])[0] - 0.1 == pytest.approx(0.81 * 1.1 / (2 * G), rel=0.02)


def test_resting_ball_does_not_jitter_with_restitution():
    """Lie still on the ground at any restitution, after a start at rest."""
    world = grounded({'restitution': 1.0})
    ball = add_ball(world)
    assert np.abs(heights(world, ball, 300) - 0.1).max() < 2e-9


# --- softness ------------------------------------------------------------------------------------


def test_elastic_block_sinks_by_force_over_stiffness():
    """Rest at the depth m g / (4 k) on four points with stiffness k."""
    stiffness = 5000.0
    world = grounded({'stiffness': stiffness, 'damping': 200.0})
    block = add_block(world, mass=8.0)
    world.step(3000)
    assert block.root_link.p[2] - 0.05 == pytest.approx(-8.0 * G / (4 * stiffness), rel=1e-6)
    np.testing.assert_allclose(world.contacts.depths, 8.0 * G / (4 * stiffness), rtol=1e-6)


def test_elastic_ball_swings_as_a_spring_does():
    """Oscillate at sqrt(k / m) about the rest depth, and lose the damper's energy."""
    stiffness, mass = 2000.0, 2.0
    world = grounded({'stiffness': stiffness, 'damping': 2.0}, time_step=1e-4)
    sunk = mass * G / stiffness
    ball = add_ball(world, mass=mass)
    track = heights(world, ball, 4000) - 0.1 + sunk
    # it starts at the upper turning point, sunk above the middle
    period = 2.0 * np.pi / np.sqrt(stiffness / mass)
    first = int(round(period / world.time_step))
    peak = first - 100 + int(np.argmax(track[first - 100 : first + 100]))
    assert (peak + 1) * world.time_step == pytest.approx(period, rel=0.01)
    assert track[peak] == pytest.approx(sunk * np.exp(-2.0 / (2 * mass) * period), rel=0.03)


def test_youngs_modulus_alone_makes_a_spring():
    """Rest at force over the two stiffnesses in series, with all other parameters unchanged."""
    world = sb.World()
    world.add_ground(sb.Material('soil', youngs_modulus=2000.0, damping=0.05))
    rubber = sb.Material('rubber', youngs_modulus=6000.0, damping=0.05)
    ball = add_ball(world, mass=1.0, material=rubber)
    world.step(3000)
    assert ball.root_link.p[2] - 0.1 == pytest.approx(-G / 1500.0, rel=1e-6)


def test_cfm_yields_as_odes():
    """Rest at the depth h cfm F / erp, the balance of ODE's error reduction and softness."""
    cfm, erp = 1e-3, 0.2
    world = grounded({'cfm': cfm, 'erp': erp, 'max_correcting_velocity': np.inf})
    ball = add_ball(world, mass=4.0)
    world.step(2000)
    depth = world.time_step * cfm * 4.0 * G / erp
    assert ball.root_link.p[2] - 0.1 == pytest.approx(-depth, rel=1e-6)


# --- adhesion ------------------------------------------------------------------------------------


def test_adhesion_holds_up_to_its_force():
    """Hold a lifted ball up to the adhesion beyond its weight, and release it above."""
    mass, adhesion = 0.5, 3.0
    world = grounded({'adhesion': adhesion})
    ball = add_ball(world, mass=mass)
    world.step(10)
    limit = adhesion + mass * G
    assert not creep_apart(world, ball, limit - 0.05, 300)
    # the ground's force balances the ball
    force = world.contacts.force_on(ball.root_link)
    np.testing.assert_allclose(force, (0.0, 0.0, mass * G - (limit - 0.05)), atol=1e-7)
    assert creep_apart(world, ball, limit + 0.05, 300)
    height = ball.root_link.p[2]
    push(world, ball.root_link, (0.0, 0.0, limit), 200)
    assert ball.root_link.p[2] > height + 0.02


def test_adhesion_holds_a_block_on_the_ceiling():
    """Hang with all four points on 4 N under a plate, and fall when heavier."""
    world = sb.World()
    set_law(world, adhesion=4.0)
    world.add_body(sb.Box((5.0, 5.0, 0.2)), motion='static', position=(0.0, 0.0, 1.1))
    light = add_block(world, mass=3.9 / G, lift=0.9)
    heavy = add_block(world, mass=4.1 / G, at=(1.0, 0.0), lift=0.9)
    world.step(500)
    assert light.root_link.p[2] == pytest.approx(0.95, abs=1e-6)
    assert heavy.root_link.p[2] < 0.94
    np.testing.assert_allclose(
        world.contacts.force_on(light.root_link), (0.0, 0.0, 3.9), atol=1e-6
    )


@pytest.mark.parametrize('overlap', [0.0, 2e-3])
@pytest.mark.parametrize('add', [add_ball, add_block])
def test_adhesion_is_shared_by_the_points_of_two_bodies(add, overlap):
    """Hold a ball and a box up to the same force, and let them rest at the overlap."""
    adhesion, weight = 4.0, 2.0 * G
    world = grounded({'adhesion': adhesion, 'adhesive_overlap': overlap})
    body = add(world, mass=2.0)
    start = body.root_link.p[2]
    world.step(300)
    assert body.root_link.p[2] - start == pytest.approx(-overlap, abs=2e-9)
    np.testing.assert_allclose(world.contacts.depths, overlap, atol=2e-9)
    assert not creep_apart(world, body, weight + adhesion - 0.05, 300)
    assert world.contacts.force_on(body.root_link)[2] == pytest.approx(0.05 - adhesion, abs=1e-7)
    assert creep_apart(world, body, weight + adhesion + 0.05, 300)


def test_adhesion_of_materials_rests_at_the_lesser_overlap():
    """Take the sum of two adhesions and the lesser of two overlaps."""
    world = sb.World()
    world.add_ground(material=sb.Material('glue', adhesion=3.0, adhesive_overlap=4e-3))
    tape = sb.Material('tape', adhesion=1.0, adhesive_overlap=1e-3)
    block = add_block(world, mass=1.0, material=tape)
    world.step(300)
    assert block.root_link.p[2] == pytest.approx(0.05 - 1e-3, abs=2e-9)
    assert not creep_apart(world, block, G + 3.95, 200)
    assert creep_apart(world, block, G + 4.05, 300)


def test_each_pair_of_bodies_adheres_for_itself():
    """Hold a block between two plates with twice the force of one plate."""
    for plates, holds in ((1, False), (2, True)):
        world = sb.World()
        set_law(world, adhesion=4.0)
        for k in range(plates):
            world.add_body(
                sb.Box((0.2, 1.0, 0.2)), motion='static', position=(0.2 * k - 0.1, 0.0, 1.1)
            )
        block = add_block(world, mass=6.0 / G, at=(0.0, 0.0), lift=0.9, size=(0.4, 0.4, 0.1))
        world.step(200)
        assert (block.root_link.p[2] == pytest.approx(0.95, abs=1e-6)) == holds


# --- overlap -------------------------------------------------------------------------------------


def test_surface_layer_is_left_alone():
    """Keep an overlap within the layer, and remove the excess."""
    world = grounded({'surface_layer': 1e-3})
    within = add_block(world, lift=-0.6e-3)
    beyond = add_block(world, at=(1.0, 0.0), lift=-3e-3)
    world.step(1000)
    assert within.root_link.p[2] - 0.05 == pytest.approx(-0.6e-3, abs=1e-8)
    assert beyond.root_link.p[2] - 0.05 == pytest.approx(-1e-3, abs=1e-8)


@pytest.mark.parametrize('greatest', [0.1, 0.5])
def test_sunken_block_is_taken_out_at_the_correcting_velocity(greatest):
    """Rise at the greatest correcting velocity, finally by ERP, and never jump off."""
    world = grounded({'max_correcting_velocity': greatest, 'erp': 0.2})
    block = add_block(world, lift=-0.03)
    steps = int(0.02 / (greatest * world.time_step))
    world.step(steps)
    rise = greatest * steps * world.time_step
    assert block.root_link.p[2] == pytest.approx(0.05 - 0.03 + rise, abs=1e-8)
    # from here on the ERP share of the depth is below the bound
    depth = greatest * world.time_step / 0.2
    track = heights(world, block, 1000) - 0.05
    below = track[(track < -1e-6) & (track > -depth)]
    np.testing.assert_allclose(below[1:] / below[:-1], 0.8, rtol=1e-4)
    assert track.max() < 1e-9
    np.testing.assert_allclose(block.root_link.v, np.zeros(3), atol=1e-9)


def test_sunken_boxes_part_without_gaining_energy():
    """Separate overlapping boxes by their positions alone."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    first, second = add_block(world), add_block(world, at=(0.395, 0.0))
    world.step(500)
    assert world.distance(first.root_link, second.root_link).distance > -1e-6
    assert world.energy().kinetic < 1e-15


# --- collision exclusions ------------------------------------------------------------------------


def fallen(body, start, time):
    """Return whether a body has fallen freely for a time [s]."""
    return body.root_link.p[2] == pytest.approx(start - 0.5 * G * time**2, abs=1e-9)


def test_sensor_reports_without_pushing():
    """Report the contacts of a body falling through a sensor, with no force."""
    world = sb.World()
    world.add_body(sb.Placed(sb.Box((1.0, 1.0, 0.2)), name='gate', sensor=True), motion='static')
    ball = add_ball(world, lift=0.2)
    seen = 0
    for _ in range(400):
        world.step()
        for contact in world.contacts:
            assert {contact.geometry_a.name, contact.geometry_b.name} >= {'gate'}
            np.testing.assert_array_equal(contact.force, np.zeros(3))
            seen += contact.depth > 0.0
    assert seen > 50
    assert fallen(ball, 0.3, 0.4)


def test_disabled_geometry_falls_through_until_it_is_enabled():
    """Fall freely while disabled; be stopped by a floor below afterwards."""
    world = grounded()
    ball = add_ball(world, lift=0.5)
    ball.geometries[0].enabled = False
    world.step(300)
    assert fallen(ball, 0.6, 0.3)
    assert len(world.contacts) == world.contact_count == 0
    ball.geometries[0].enabled = True
    world.step(200)
    assert ball.root_link.p[2] == pytest.approx(0.1, abs=1e-8)


def test_groups_keep_apart_and_let_collide_again():
    """Fall through shapes of the excluded group only."""
    world = grounded()
    first = world.add_body(sb.Placed(sb.Sphere(0.1), groups={'ghosts'}), position=(0, 0, 0.1))
    second = world.add_body(sb.Placed(sb.Sphere(0.1), groups={'solids'}), position=(0, 0, 0.5))
    world.set_group_collision('ghosts', 'solids', False)
    world.step(600)
    assert first.root_link.p[2] == pytest.approx(0.1, abs=1e-8)
    assert second.root_link.p[2] == pytest.approx(0.1, abs=1e-8)
    world.set_group_collision('ghosts', 'solids', True)
    world.step(3000)
    assert world.distance(first.root_link, second.root_link).distance > -1e-3


def test_contacts_end_when_all_pairs_are_excluded():
    """Remove the only contact in a world, and its force, in the step after its exclusion."""
    world = sb.World()
    ground = world.add_ground()
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 0.1))
    world.step(10)
    assert world.contact_count == 1
    world.exclude(ground.root_link, ball.root_link)
    world.step(10)
    assert world.contact_count == 0
    assert not world.contacts
    # in free fall from the step after the exclusion
    np.testing.assert_allclose(ball.root_link.dv, (0.0, 0.0, -G), atol=1e-9)
    assert ball.root_link.v[2] == pytest.approx(-G * 0.01, abs=1e-9)


def test_excluded_links_do_not_touch():
    """Let links pass through each other only while they are excluded."""
    world = grounded()
    ground, ball = world.robots['ground'], add_ball(world, lift=0.3)
    world.exclude(ground.root_link, ball.root_link)
    world.step(100)
    assert fallen(ball, 0.4, 0.1)
    world.exclude(ground.root_link, ball.root_link, excluded=False)
    world.step(400)
    assert ball.root_link.p[2] == pytest.approx(0.1, abs=1e-8)


# --- kinematic bodies ----------------------------------------------------------------------------


def tray(world, **options):
    """Add a kinematic plate with its upper face at height 0."""
    return world.add_body(
        sb.Box((2.0, 2.0, 0.1)),
        name='tray',
        motion='kinematic',
        position=(0.0, 0.0, -0.05),
        **options,
    )


def test_moving_tray_carries_a_block():
    """Carry a load by friction, below mu g, along a curve, unaffected by the load."""
    world = sb.World()
    set_law(world, friction=0.5)
    plate, block = tray(world), add_block(world, mass=50.0)
    for k in range(1, 1001):
        time = k * world.time_step
        place = np.array([0.5 * np.cos(2 * time) - 0.5, 0.4 * time**2, 0.1 * time - 0.05])
        plate.move_to(place)
        world.step()
        np.testing.assert_allclose(plate.root_link.p, place, atol=1e-12)
    # it slips at first, since the tray starts with a jump to 0.1 m/s upwards only
    np.testing.assert_allclose(block.root_link.p - plate.root_link.p, (0.0, 0.0, 0.1), atol=1e-6)
    # the plate's velocity is the mean over the step, the block's that at its end
    np.testing.assert_allclose(block.root_link.v, plate.root_link.v, atol=2.0 * world.time_step)


def test_tray_with_a_sudden_start_lets_a_block_slide_first():
    """Accelerate the block by mu g until it has the tray's velocity."""
    world = sb.World()
    set_law(world, friction=0.3)
    plate, block = tray(world), add_block(world)
    plate.move_to((0.0, 0.6, -0.05), dt=1.0)
    world.step(100)
    np.testing.assert_allclose(block.root_link.v, (0.0, 0.03 * G, 0.0), atol=1e-8)
    world.step(200)
    np.testing.assert_allclose(block.root_link.v, (0.0, 0.6, 0.0), atol=1e-8)


def test_lift_presses_with_its_acceleration():
    """Press by m (g + a) in a lift accelerating by a."""
    world = sb.World()
    plate, block = tray(world), add_block(world, mass=3.0)
    for k in range(1, 201):
        plate.move_to((0.0, 0.0, -0.05 + 0.5 * 1.5 * (k * world.time_step) ** 2))
        world.step()
    force = world.contacts.force_on(block.root_link)
    np.testing.assert_allclose(force, (0.0, 0.0, 3.0 * (G + 1.5)), rtol=1e-6, atol=1e-6)


def test_turntable_throws_off_beyond_the_cone():
    """Keep a block at the radius with w² r < mu g, and lose one at a greater radius."""
    world = sb.World()
    set_law(world, friction=0.5)
    table = world.add_body(sb.Cylinder(2.0, 0.1), motion='kinematic', position=(0, 0, -0.05))
    size, radii = (0.1, 0.1, 0.05), (0.5, 1.4)
    turning = 2.0  # w² r is 2.0 inside, 5.6 outside, and the cone 4.9 m/s²
    blocks = [
        add_block(
            world,
            size,
            at=(radius, 0.0),
            linear_velocity=(0, turning * radius, 0),
            angular_velocity=(0, 0, turning),
        )
        for radius in radii
    ]
    table.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, turning))
    world.step(500)
    within, outside = (np.hypot(*block.root_link.p[:2]) for block in blocks)
    assert within == pytest.approx(0.5, abs=1e-5)
    assert outside > 1.42
