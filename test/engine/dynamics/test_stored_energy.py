"""Energy stored by compliant contacts, joints, stops and fields."""

from __future__ import annotations

from contact_worlds import add_ball, add_block, G, grounded
from linkages import body
import numpy as np
import pytest
from robots import rotor

import sim_bridge as sb

STIFFNESS = 3000.0


def bounce(time_step, seconds=1.0):
    """Drop a ball on an undamped spring; return the greatest energy change, and the depth."""
    world = grounded(
        {'stiffness': STIFFNESS, 'damping': 0.0, 'friction': 0.0}, time_step=time_step
    )
    ball = add_ball(world, lift=0.05)
    start, worst, deepest = world.energy().total, 0.0, 0.0
    for _ in range(round(seconds / time_step / 5)):
        world.step(5)
        worst = max(worst, abs(world.energy().total - start))
        deepest = max(deepest, 0.1 - ball.root_link.p[2])
    return worst, deepest


@pytest.mark.long
def test_a_ball_that_bounces_on_a_spring_keeps_its_energy():
    """Lose no more than the step's order: an end-of-step spring damps by the step's length."""
    coarse, fine = bounce(1e-3)[0], bounce(2.5e-4)[0]
    assert 2.8 < coarse / fine < 5.0
    worst, deepest = bounce(2e-5, 0.2)
    assert deepest > 0.02
    # half of the energy was in the spring at times
    assert 0.5 * STIFFNESS * deepest**2 > 0.9
    assert worst < 0.02


def test_a_bounce_loses_the_energy_of_an_end_of_step_spring():
    """Lose π ω h / 2 of the energy: this spring damps as k h / 2, for half a period."""
    for time_step in (1e-3, 2.5e-4):
        world = grounded(
            {'stiffness': STIFFNESS, 'damping': 0.0, 'friction': 0.0},
            time_step=time_step,
            gravity=(0.0, 0.0, 0.0),
        )
        ball = add_ball(world, lift=0.01)
        ball.set_base_velocity((0.0, 0.0, -1.0), (0.0, 0.0, 0.0))
        world.step(round(0.2 / time_step))
        assert ball.root_link.v[2] > 0.9
        lost = 1.0 - world.energy().total
        assert lost == pytest.approx(0.5 * np.pi * np.sqrt(STIFFNESS / 2.0) * time_step, rel=0.03)


@pytest.mark.parametrize(
    'law',
    [
        {'stiffness': STIFFNESS, 'damping': 50.0},
        {'erp': 0.3, 'cfm': 1e-4},
        {'erp': 0.3, 'cfm': 1e-4, 'surface_layer': 1e-3},
    ],
)
def test_energy_of_a_loaded_spring_at_rest_is_its_closed_form(law):
    """Find k x² / 2 in a ball's contact, with k from ERP and CFM if these are given."""
    world = grounded(law)
    ball = add_ball(world, lift=0.0)
    world.step(4000)
    h = world.time_step
    k = law.get('stiffness', law.get('erp', 0.0) / (h * law.get('cfm', 1.0)))
    x = 2.0 * G / k
    assert 0.1 - ball.root_link.p[2] == pytest.approx(x + law.get('surface_layer', 0.0), rel=1e-6)
    stored = world.energy().potential - 2.0 * G * ball.root_link.p[2]
    assert stored == pytest.approx(0.5 * k * x * x, rel=1e-6)


def test_a_face_of_many_corners_has_as_many_springs_as_steps_have():
    """Find F² / 2k for each point that bears a prism with 24 corners, not for all corners."""
    world = grounded({'stiffness': STIFFNESS, 'damping': 30.0})
    turns = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rim = np.stack([0.1 * np.cos(turns), 0.1 * np.sin(turns)], axis=1)
    prism = world.add_body(
        [sb.ConvexHull(np.concatenate([np.insert(rim, 2, z, axis=1) for z in (-0.05, 0.05)]))],
        mass=2.0,
        position=(0.0, 0.0, 0.05),
    )
    world.step(3000)
    forces = world.contacts.forces[:, 2]
    assert 1 < len(forces) < 24
    stored = world.energy().potential - 2.0 * G * prism.root_link.p[2]
    assert stored == pytest.approx((0.5 * forces**2 / STIFFNESS).sum(), rel=1e-5)


def test_each_point_of_a_block_is_a_spring_and_areas_share_theirs():
    """Find the springs at four corners; for an elastic foundation E A / L, at any points."""
    world = grounded({'stiffness': STIFFNESS, 'damping': 30.0})
    block = add_block(world, lift=0.0)
    world.step(3000)
    k, weight = 4.0 * STIFFNESS, 2.0 * G
    stored = world.energy().potential - weight * block.root_link.p[2]
    assert stored == pytest.approx(0.5 * weight**2 / k, rel=1e-6)
    world = grounded({'stiffness': 1e5, 'damping': 3e3, 'contact_area': True})
    block = add_block(world, lift=0.0)
    world.step(3000)
    depth = 0.05 - block.root_link.p[2]
    stored = world.energy().potential - weight * block.root_link.p[2]
    assert stored == pytest.approx(0.5 * weight * depth, rel=1e-5)


def test_forces_grow_no_more_where_their_velocity_is_limited():
    """Count the work of a force that is constant below some depth."""
    law = {'erp': 0.5, 'cfm': 1e-3, 'max_correcting_velocity': 0.5}
    world = grounded(law, gravity=(0.0, 0.0, 0.0))
    ball = add_ball(world, lift=-0.01)
    h, greatest = world.time_step, 0.5
    k, linear = law['erp'] / (h * law['cfm']), greatest * h / law['erp']
    assert linear < 0.01
    expected = k * linear * (0.01 - 0.5 * linear)
    assert world.energy().total == pytest.approx(expected, rel=1e-9)
    ball.set_base_pose((0.0, 0.0, 0.2))
    assert world.energy().total == 0.0


def test_rigid_contacts_and_sensors_store_nothing():
    """Find only gravity's energy if nothing is compliant."""
    world = grounded()
    ball = add_ball(world, lift=-0.01)
    assert world.energy().total == pytest.approx(2.0 * G * ball.root_link.p[2], rel=1e-12)


def test_compliant_joints_store_the_work_done_on_them():
    """Hang a load on a compliant joint: half of the weight times the displacement."""
    world = sb.World()
    load = body(world, (0.0, 0.0, 0.0), mass=3.0)
    softness = 1e-4 * 0.2 / world.time_step
    fixed = world.add_joint('fixed', None, load, erp=0.2, cfm=softness, tree=False)
    world.step(4000)
    way = -load.root_link.p[2]
    assert way == pytest.approx(3.0 * G * 1e-4, rel=1e-3)
    stored = world.energy().potential - 3.0 * G * load.root_link.p[2]
    assert stored == pytest.approx(0.5 * 3.0 * G * way, rel=1e-3)
    world.remove_joint(fixed)
    assert world.energy().potential == pytest.approx(3.0 * G * load.root_link.p[2], rel=1e-12)


@pytest.mark.parametrize('tree', [True, False])
def test_elastic_stops_store_energy(tree):
    """Run a wheel into an undamped stop and back: no energy is missing in between."""
    worst = []
    for time_step in (1e-3, 2.5e-4):
        world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0))
        if tree:
            wheel = world.load_urdf(rotor()).joint('joint')
        else:
            part = body(world, inertia=(0.5, 0.5, 0.5))
            wheel = world.add_joint('hinge', None, part, axis=(0, 0, 1), tree=False)
            part.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, 2.0))
        wheel.upper = 0.1
        # undamped: ERP 1 leaves only a spring k = 1 / (h CFM)
        wheel.stop_erp, wheel.stop_cfm = 1.0, 1.0 / (time_step * 200.0)
        if tree:
            wheel.dq = 2.0
        start, lost, stored = world.energy().total, 0.0, 0.0
        for _ in range(round(0.3 / time_step)):
            world.step()
            now = world.energy()
            lost, stored = max(lost, abs(now.total - start)), max(stored, now.potential)
        assert stored > 0.9 * start
        assert wheel.dq < -1.5
        worst.append(lost / start)
    assert worst[0] < 0.1
    assert worst[1] < 0.4 * worst[0]


def test_fields_with_a_potential_keep_energy():
    """Fly through conservative fields by fifth-order steps, and keep the energy sum."""
    world = sb.World(time_step=1e-3, gravity=(0.0, 0.0, 0.0), integrator='rk5')
    part = body(world, (1.0, 0.2, 0.0), mass=2.0)
    part.set_base_velocity((0.0, 1.0, 0.3), (0.3, 0.2, 0.1))
    world.add_force_field(sb.UniformField((0.3, 0.0, -0.2), (0.0, 0.1, 0.1)))
    for k, power in enumerate((1.0, -1.0, -2.0)):
        world.add_force_field(sb.PointField((0.0, 0.0, 0.1 * k), 2.0, power))
    world.add_force_field(sb.PointGravity((0.0, 0.3, 0.0), 1.5, -2.0))
    start, moved = world.energy().total, []
    for _ in range(20):
        world.step(100)
        moved.append(world.energy().kinetic)
        assert world.energy().total == pytest.approx(start, abs=1e-8)
    assert np.ptp(moved) > 0.5
