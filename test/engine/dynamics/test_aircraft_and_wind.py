"""Aircraft by derivatives, bladders and the world's wind, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb

DEGREE = math.pi / 180.0
NO_GRAVITY = (0.0, 0.0, 0.0)
# rows CD, CY, CL, Cl, Cm, Cn: at zero, by α, β, p, q, r
DERIVATIVES = np.array(
    [
        [0.02, 0.0, 0.0, 0.01, 0.02, 0.03],
        [0.0, 0.04, -0.3, 0.05, 0.06, 0.2],
        [0.15, 5.0, 0.01, 0.02, 7.0, 0.03],
        [0.0, 0.02, -0.06, -0.4, 0.01, 0.1],
        [0.05, -0.8, 0.02, 0.01, -12.0, 0.03],
        [0.0, 0.01, 0.09, -0.02, 0.01, -0.1],
    ]
)
FLAP = np.array([0.01, 0.02, 0.4, 0.3, -1.1, 0.05])


def expected_wrench(plane, v, w, flap=0.0):
    """Return force and moment in aircraft axes (x forward, y right, z down), as in AVL."""
    span = math.sqrt(plane.area * plane.aspect_ratio)
    chord = plane.chord or plane.area / span
    speed = math.hypot(v[0], v[2])
    alpha, beta = math.atan2(v[2], v[0]), math.atan2(v[1], v[0])
    rates = np.array([span * w[0], chord * w[1], span * w[2]]) / (2.0 * speed)
    table = np.array(plane.derivatives)
    steady = table[:, :3] @ [1.0, alpha, beta] + flap * FLAP
    over = 1.0 / (1.0 + math.exp(-15.0 * (alpha - plane.alpha_stall)))
    under = 1.0 / (1.0 + math.exp(15.0 * (alpha + plane.alpha_stall)))
    stall = 1.0 - (1.0 - over) * (1.0 - under)
    plate = 2.0 / (1.0 + math.exp(-0.224 - 0.115 * plane.aspect_ratio))
    lift = (
        (1.0 - stall) * (table[2, 0] + table[2, 1] * alpha)
        + stall * math.copysign(2.0, alpha) * math.sin(alpha) ** 2 * math.cos(alpha)
        + table[2, 2] * beta
        + flap * FLAP[2]
    )
    induced = lift**2 / (math.pi * plane.aspect_ratio * plane.efficiency)
    drag = (
        (1.0 - stall) * (table[0, 0] + induced)
        + stall * plate * math.sin(alpha) ** 2
        + flap * FLAP[0]
    )
    steady[0], steady[2] = drag, lift
    if abs(alpha) > plane.alpha_stall:
        beyond = alpha - math.copysign(plane.alpha_stall, alpha)
        steady[4] += (plane.pitch_stall - table[4, 1]) * beyond
    total = steady + table[:, 3:] @ rates
    scale = 0.5 * plane.air_density * speed**2 * plane.area
    flow, side = np.array([v[0], 0.0, v[2]]) / speed, np.array([0.0, 1.0, 0.0])
    force = scale * (-total[0] * flow + total[1] * side - total[2] * np.cross(flow, side))
    return force, scale * total[3:] * [span, chord, span]


def flown(plane, v, w=(0.0, 0.0, 0.0), flap=0.0, wind=None):
    """Return force and torque of an aircraft after a tiny step; all in aircraft axes."""
    world = sb.World(time_step=1e-9, gravity=NO_GRAVITY)
    text = robot(
        link('base', 5.0, NO_GRAVITY, (0.3, 0.4, 0.5)),
        link('flap', 1e-6, NO_GRAVITY, (1e-9, 1e-9, 1e-9)),
        joint('flap_joint', 'base', 'flap', 'revolute', (0, 1, 0)),
    )
    body = world.load_urdf(text, base='free')
    body.set_base_pose((0.0, 0.0, 0.0), (0.0, 0.0, math.sin(0.4), math.cos(0.4)))
    body.joint('flap_joint').q = flap
    world.add_force_field(plane, 'plane', body.root_link)
    if wind is not None:
        world.add_force_field(wind, 'wind')
    flip = np.diag([1.0, -1.0, -1.0])
    R = body.root_link.R
    body.set_base_velocity(R @ flip @ np.array(v), R @ flip @ np.array(w))
    world.step()
    force, torque = body.root_link.last_force, body.root_link.last_torque
    return flip @ R.T @ force, flip @ R.T @ torque


@pytest.mark.parametrize('alpha', [-100.0, -22.0, -4.0, 0.0, 3.0, 14.0, 21.0, 60.0, 170.0])
def test_an_aircraft_has_the_wrench_of_its_derivatives(alpha):
    """Match all six coefficients in turning flight with sideslip and flaps, beyond stall too."""
    plane = sb.AdvancedLiftDrag(
        DERIVATIVES,
        ['flap_joint'],
        [FLAP],
        alpha_stall=0.3,
        pitch_stall=-0.4,
        area=0.6,
        aspect_ratio=6.5,
        efficiency=0.97,
        chord=0.22,
    )
    angle = alpha * DEGREE
    v, w = (12.0 * math.cos(angle), 0.9, 12.0 * math.sin(angle)), (0.3, -0.5, 0.2)
    force, torque = flown(plane, v, w, 0.1)
    wanted = expected_wrench(plane, v, w, 0.1)
    assert force == pytest.approx(wanted[0], rel=1e-6, abs=1e-6)
    assert torque == pytest.approx(wanted[1], rel=1e-6, abs=1e-6)


def test_wind_acts_on_aircraft_like_their_own_velocity():
    """Have the same wrench at rest in a head wind, with a moment arm at the reference point."""
    plane = sb.AdvancedLiftDrag(DERIVATIVES, alpha_stall=0.3, cp=(0.1, 0.0, 0.05))
    moving = flown(plane, (15.0, 1.0, 1.5))
    # aircraft axes to the world's, turned by 0.8 rad
    ahead, left, up = -15.0, 1.0, 1.5
    c, s = math.cos(0.8), math.sin(0.8)
    wind = sb.Wind((c * ahead - s * left, s * ahead + c * left, up))
    resting = flown(plane, (0.0, 0.0, 0.0), wind=wind)
    for one, other in zip(moving, resting, strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-6)


def test_aircraft_reject_other_shapes_and_unknown_joints():
    """Name the attribute; control surfaces must be joints of the robot."""
    for wrong in ({'derivatives': [[1.0] * 5]}, {'controls': [[0.0] * 6]}, {'aspect_ratio': 0.0}):
        with pytest.raises(sb.InvalidValueError, match=next(iter(wrong))):
            sb.AdvancedLiftDrag(**wrong)
    world = sb.World()
    body = world.add_body(sb.Sphere(0.1), mass=1.0)
    with pytest.raises(sb.InvalidValueError, match='joint'):
        world.add_force_field(
            sb.AdvancedLiftDrag(joints=['flap'], controls=[[0.0] * 6]), links=body
        )


def test_a_bladder_is_pumped_at_its_rate_and_lifts_by_its_volume():
    """Follow v = ∫ g ρ (V - V₀) / m dt, exactly with second order, and no lift above the water."""
    world = sb.World(time_step=1e-3)
    ball = world.add_body(sb.Sphere(0.1), mass=2.0, position=(0.0, 0.0, -5.0))
    ball.root_link.gravity = False
    engine = sb.BuoyancyEngine(1000.0, 3e-4, 3e-4, 3e-4, 1e-4, surface=0.0)
    world.add_force_field(engine, 'bladder', ball)
    world.step(1000)
    assert not ball.root_link.v.any()
    world.set_force_field('bladder', engine.pumped_to(5e-4, world.time))
    world.step(1000)
    a = 9.81 * 1000.0 / 2.0
    # V grows by 1e-4 t
    assert ball.root_link.v[2] == pytest.approx(a * 0.5e-4, rel=1e-9)
    world.step(2000)
    assert world.force_fields['bladder'].volume_at(world.time) == pytest.approx(5e-4)
    assert ball.root_link.v[2] == pytest.approx(a * (0.5e-4 + 1e-4 + 2e-4 + 0.5e-4), rel=1e-3)
    ball.set_base_pose((0.0, 0.0, 1.0))
    ball.set_base_velocity((0.0, 0.0, 0.0))
    world.step(100)
    assert ball.root_link.v[2] == pytest.approx(-0.1 * a * 3e-4, rel=1e-9)


def test_links_with_wind_follow_it_exponentially_and_others_do_not():
    """Match v = w (1 - exp(-rate t)) for the links that enable wind, by default or named."""
    world = sb.World(gravity=NO_GRAVITY)
    leaf, stone, named = (
        world.add_body(sb.Sphere(0.1), mass=m, position=(k, 0.0, 0.0))
        for k, m in enumerate((0.1, 2.0, 3.0))
    )
    leaf.root_link.enable_wind = True
    world.add_force_field(sb.Wind((2.0, -1.0, 0.5), rate=0.7), 'wind')
    world.step(1000)
    gained = 1.0 - math.exp(-0.7)
    assert leaf.root_link.v == pytest.approx(np.array([2.0, -1.0, 0.5]) * gained, rel=1e-6)
    assert not stone.root_link.v.any()
    world.remove_force_field('wind')
    world.add_force_field(sb.Wind((3.0, 0.0, 0.0)), links=named)
    before = leaf.root_link.v
    world.step(1000)
    assert named.root_link.v[0] == pytest.approx(3.0 * (1.0 - math.exp(-1.0)), rel=1e-6)
    assert leaf.root_link.v == pytest.approx(before)


def test_wind_rises_turns_and_gusts_as_its_description_says():
    """Compare the step's wind with `velocity_at`, by a link that follows it at once."""
    wind = sb.Wind(
        (3.0, 3.0, 1.0),
        rate=100.0,
        rise_time=0.5,
        turn_time=0.3,
        vertical_rise_time=0.2,
        gust=0.2,
        gust_period=0.7,
        swing=0.4,
        swing_period=1.1,
        start=(-2.0, 1.0, 0.0),
    )
    assert wind.mean_at(0.0) == pytest.approx((-2.0, 1.0, 0.0))
    # half-way: the direction turns the short way round
    passed = math.exp(-0.3 / 0.5), math.exp(-1.0), math.exp(-0.3 / 0.2)
    angle = math.pi / 4 + (math.atan2(1.0, -2.0) - math.pi / 4) * passed[1]
    speed = math.hypot(3, 3) + (math.hypot(2, 1) - math.hypot(3, 3)) * passed[0]
    assert wind.mean_at(0.3) == pytest.approx(
        (speed * math.cos(angle), speed * math.sin(angle), 1.0 - passed[2])
    )
    world = sb.World(gravity=NO_GRAVITY, time_step=1e-4)
    leaf = world.add_body(sb.Sphere(0.1), mass=1.0)
    world.add_force_field(wind, 'wind', leaf)
    leaf.set_base_velocity(wind.velocity_at(0.0))
    for _ in range(10):
        world.step(500)
        h = world.time_step
        # the link lags behind by 1 / rate
        slope = np.subtract(wind.velocity_at(world.time), wind.velocity_at(world.time - h)) / h
        lagging = np.array(wind.velocity_at(world.time)) - slope / wind.rate
        if world.time > 0.1:
            assert leaf.root_link.v == pytest.approx(lagging, abs=0.02)
    turned = wind.turned_to((0.0, 0.0, 0.0), world.time)
    assert turned.mean_at(world.time) == pytest.approx(wind.mean_at(world.time))
    assert turned.mean_at(world.time + 9.0) == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_wind_drives_rotors_and_wings_and_belongs_to_snapshots():
    """Let a still wing feel the wind, keep it in snapshots, and give the same bits again."""
    world = sb.World(gravity=NO_GRAVITY)
    body = world.add_body(sb.Sphere(0.1), mass=1.0)
    world.add_force_field(sb.LiftDrag(cda=0.5, a0=0.1), links=body)
    world.step()
    assert not body.root_link.last_force.any()
    world.add_force_field(sb.Wind((-10.0, 0.0, 0.0)), 'wind')
    world.step()
    pressure = 0.5 * 1.2041 * 100.0
    assert body.root_link.last_force[::2] == pytest.approx([-0.05 * pressure, 0.1 * pressure])
    body.root_link.enable_wind = True
    saved = world.save()
    digest = world.state_hash()
    world.step(10)
    end = world.state_hash()
    body.root_link.enable_wind = False
    world.set_force_field('wind', sb.Wind((1.0, 0.0, 0.0)))
    world.restore(saved)
    assert world.state_hash() == digest and body.root_link.enable_wind
    world.step(10)
    assert world.state_hash() == end


def test_a_changing_wind_keeps_bodies_awake():
    """Let a body rest under a steady wind, and move it when the wind turns."""
    world = sb.World(sleep=True)
    world.add_ground()
    box = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1))
    wind = sb.Wind((1.0, 0.0, 0.0))
    world.add_force_field(wind, 'wind', box)
    world.step(2000)
    assert box.is_asleep
    world.set_force_field('wind', sb.Wind((30.0, 0.0, 0.0), rise_time=1.0, since=world.time))
    world.step(3000)
    assert box.root_link.v[0] > 1.0
