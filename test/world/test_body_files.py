"""Robots from Choreonoid body files in motion: standing, driving, a closed loop."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sim_bridge as sb


def test_biped_stands_under_pd_control():
    """Hold the file's start posture for two seconds; the feet bear the weight."""
    world = sb.World()
    world.add_ground()
    robot = world.load_body('biped')
    start = {name: robot.joint(name).q for name in robot.joint_names}
    assert start['RLEG_KNEE'] == pytest.approx(np.radians(30))
    assert robot.joint_names[6] == 'LLEG_HIP_R'
    for _ in range(2000):
        for name, position in start.items():
            joint = robot.joint(name)
            joint.u = 300.0 * (position - joint.q) - 10.0 * joint.dq
        world.step()
    assert robot.root_link.R[2, 2] > 0.999
    assert robot.root_link.p == pytest.approx([0.0, 0.0, 0.51], abs=0.01)
    # Choreonoid's sign: the ground's force on the foot, upwards
    foot = robot.link('RLEG_ANKLE_R').description.inertial.mass
    lift = sum(robot.device(f'{side}_FOOT').f[2] for side in 'RL')
    assert lift == pytest.approx((robot.mass - 2.0 * foot) * 9.81, rel=0.01)


def test_crawler_vehicle_drives_and_turns():
    """Drive ahead with equal track speeds, turn left with opposite ones."""
    world = sb.World()
    world.add_ground()
    robot = world.load_body('crawler_vehicle')
    assert [each.name for each in robot.crawlers] == ['TRACK_L', 'TRACK_R']
    world.step(500)
    begun = robot.root_link.p[0]
    for crawler in robot.crawlers:
        crawler.speed = 0.5
    world.step(2000)
    assert robot.root_link.p[0] - begun == pytest.approx(1.0, abs=0.05)
    assert robot.root_link.p[1] == pytest.approx(0.0, abs=0.01)
    left, right = robot.crawlers
    left.speed, right.speed = -0.3, 0.3
    world.step(500)
    assert robot.root_link.w[2] > 0.3


@pytest.mark.parametrize('track', ['pseudoContinuousTrack', 'pseudo_continuous_track', 'crawler'])
def test_two_touching_crawlers_add_their_speeds(tmp_path, track):
    """Carry a vehicle on an upturned one: it moves by the sum of both speeds."""
    path = tmp_path / 'track.body'
    text = """format: ChoreonoidBody
formatVersion: 2.0
links:
  - {name: A, jointType: free, mass: 1, inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
  - {name: T, parent: A, jointType: TRACK, jointAxis: Y, mass: 1,
     inertia: [0.1, 0, 0, 0.1, 0, 0.1],
     elements: {Shape: {geometry: {type: Box, size: [1, 1, 0.2]}}}}
"""
    path.write_text(text.replace('TRACK', track))
    world = sb.World()
    low = world.load_body(path, 'low', base='fixed')
    high = world.load_body(path, 'high', position=(0, 0, 0.2))
    low.crawler('T').speed, high.crawler('T').speed = 0.2, 0.3
    world.step(500)
    assert high.root_link.v == pytest.approx([0.5, 0, 0], abs=1e-6)


def test_loop_of_extra_joint_stays_closed():
    """Rotate the crank: the piston follows the crank-slider equation."""
    world = sb.World()
    robot = world.load_body('crank_slider')
    crank, slider, rod = robot.joint('CRANK'), robot.joint('SLIDER'), robot.link('ROD')
    for _ in range(2000):
        crank.u = 2.0 * (5.0 - crank.dq)
        world.step()
        pin = rod.p + rod.R @ [0.3, 0.0, 0.0]
        assert pin == pytest.approx(robot.link('SLIDER').p, abs=1e-9)
        x = 0.1 * np.cos(crank.q) + np.sqrt(0.3**2 - (0.1 * np.sin(crank.q)) ** 2)
        assert slider.q == pytest.approx(x - 0.4, abs=1e-9)
    assert crank.q > 2.0 * np.pi


def test_copies_pickles_and_scenes_hold_bodies(tmp_path):
    """Load a body by a scene, copy and pickle the world: all continue with the same bits."""
    world = sb.World()
    world.load_scene({'world': {'robots': {'engine': {'urdf': 'crank_slider'}}}})
    world.robots['engine'].joint('CRANK').u = 3.0
    twin, loaded = world.copy(), pickle.loads(pickle.dumps(world))
    for each in (world, twin, loaded):
        each.step(100)
    assert world.state_hash() == twin.state_hash() == loaded.state_hash()


def test_static_body_does_not_move(tmp_path):
    """Keep a body with only fixed joints in place, and let another one rest on it."""
    path = tmp_path / 'floor.body'
    path.write_text(
        'format: ChoreonoidBody\nformat_version: 2.0\nlinks:\n'
        '  - {name: FLOOR, translation: [0, 0, -0.05], elements: '
        '{Shape: {geometry: {type: Box, size: [2, 2, 0.1]}}}}\n'
    )
    world = sb.World()
    floor = world.load_body(path)
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 0.1))
    world.step(500)
    assert floor.fixed_base
    assert floor.root_link.p.tolist() == [0, 0, -0.05]
    assert ball.root_link.p[2] == pytest.approx(0.1, abs=1e-4)
