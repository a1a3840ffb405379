"""The shipped OpenPLX scenes: they load without warnings, close their mates, and move."""

from __future__ import annotations

import math

import pytest

import sim_bridge as sb
from sim_bridge.description import find_robot


def load(name):
    world = sb.World()
    return world, world.load_openplx(find_robot(name))


@pytest.mark.parametrize(('name', 'count'), [('rod', 0), ('clock', 2), ('excavator', 12)])
def test_scenes_load_closed_and_without_warnings(name, count):
    """No finding, every mate satisfied, loops closed and kept."""
    world, scene = load(name)
    assert scene.description.report.findings == ()
    assert scene.description.snap.unsatisfied == ()
    (robot,) = scene.robots
    assert len(robot.joint_names) == count
    for _ in range(20):
        world.step(10)
        assert world.report.converged
        for joint in robot.loop_joints.values():
            assert max(map(abs, joint.error)) < 1e-6


def test_the_rod_has_the_place_of_each_model_in_the_example():
    """Three models find different transforms, and the same place."""
    for model in ('World', 'SnapRod', 'SnapRodParent', 'SnapRodParentParent'):
        rod = sb.World().load_openplx(find_robot('rod'), model).link('rod_system.rod_system.rod')
        assert rod.p == pytest.approx([1.1, 0.0, 0.0], abs=1e-12)
        assert rod.R.ravel() == pytest.approx([0, 0, 1, 0, 1, 0, -1, 0, 0], abs=1e-12)


def test_the_hands_of_the_clock_tell_the_time():
    """A turn takes half a day and an hour."""
    world, scene = load('clock')
    hands = [scene.joint(f'{name}_hinge') for name in ('hour', 'minute')]
    before = [hand.q for hand in hands]
    world.step(2000)
    turn = 2.0 * math.pi
    for hand, start, speed in zip(hands, before, (turn / 43200, turn / 3600), strict=True):
        # motors take a moment to start
        assert hand.q - start == pytest.approx(2.0 * speed, rel=1e-3)


def test_the_boom_moves_at_the_commanded_speed():
    """The cylinder becomes longer by speed times time, and lifts the boom's tip."""
    world, scene = load('excavator')
    length, tip = scene.outputs['signals/boom_length'], scene.link('stick')
    world.step(200)
    before, height = length.read(), tip.p[2]
    scene.inputs['signals/boom_speed'].set(0.1)
    world.step(500)
    assert length.read() - before == pytest.approx(0.1 * world.time_step * 500, rel=0.05)
    assert tip.p[2] > height + 0.05
