"""Robots of many makers, dropped onto the ground without control."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

HEIGHT = 0.5  # lowest point of all collision shapes [m]

# four legs and a hand, with primitives and with hulls
ROBOTS = ['anymal_b_simple/anymal', 'allegro_hand/allegro_left_hand', 'quadruped/quadruped']


@pytest.mark.parametrize('name', ROBOTS)
def test_robot_falls_and_stays_above_the_ground(example_robots, name):
    """
    Fall half a metre and come to rest: nothing sinks into the ground, and energy only decreases.

    Impacts at 3 m/s must be stopped, in any order of pushes from links and stops.
    """
    world = sb.World()
    robot = world.load_urdf(example_robots[name], base='free')
    ground = world.add_ground()

    def lowest() -> float:
        """Return the height of the lowest point of all collision shapes [m]."""
        return min(
            world.distance(geometry, ground.root_link).distance for geometry in robot.geometries
        )

    robot.set_base_pose((0.0, 0.0, HEIGHT - lowest()))
    dropped = world.energy().total
    scale = robot.mass * 9.81 * HEIGHT
    for _ in range(100):
        world.step(10)
        assert world.report.residual < 1e-6, world.report
        assert world.energy().total - dropped <= 1e-6 * scale
        assert np.max(world.contacts.depths, initial=0.0) < 0.005
    assert len(world.contacts) > 0, 'on the ground'
    assert lowest() > -0.01
